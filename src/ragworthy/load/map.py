"""Maps: how a service is asked, and where in its reply things stand. A TOML file, or one of those that are bundled."""

import re
from collections.abc import Iterable
from pathlib import Path as File
from typing import Any, NamedTuple

from ragworthy.errors import PolicyError, Problem, RagworthyError, policy_error
from ragworthy.files import read_text, sha256_of
from ragworthy.load.checker import closest, parse_toml, shown
from ragworthy.load.paths import Path, parsed
from ragworthy.load.templates import Placeholder, placeholders
from ragworthy.load.values import endless

PRESETS = ("openai", "openai-responses", "azure", "cohere", "perplexity", "langserve", "ollama", "ask")
Paths = tuple[Path, ...]
"""Places where something may stand; the first that leads to something is taken."""

_LISTS = ("ids", "texts", "scores", "documents", "citations")
_PATHS = ("claim", *_LISTS, "error", "refusal", "done")
_TABLES = ("usage", "stage_ms")
_PARSED = ("claim", "citations", "ids", "refusal")
_KEYS = {
    "": ("request", "reply", "knobs"),
    "request": ("method", "path", "headers", "query", "body"),
    "reply": (*_PATHS, *_TABLES, "stream", "parse", "parsed", "marker", "base", "id_from", "doc_id"),
    "reply.parsed": _PARSED,
}
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_DOC_ID = re.compile(r"id|content|metadata:[^,]+(,[^,]+)*")


class Request(NamedTuple):
    """How a service is asked."""

    method: str
    path: str
    """What is added to an address without a path of its own."""
    headers: dict[str, str]
    query: dict[str, Any]
    body: Any


class Reading(NamedTuple):
    """Where in a reply things stand."""

    paths: dict[str, Paths]
    """By what they lead to: claim, ids, texts, scores, documents, citations, error, refusal, done."""
    tables: dict[str, Paths | dict[str, Paths]]
    """`usage` and `stage_ms`: a path to the whole, or one for each of its names."""
    parsed: dict[str, Paths]
    """Where things are in the JSON that the claim is; empty where it is plain text."""
    stream: str
    marker: str | None
    base: int
    id_from: tuple[Path, ...]
    doc_id: str | None


class Map(NamedTuple):
    """A map that can be used."""

    name: str
    sha256: str
    request: Request
    reply: Reading
    knobs: dict[str, Any]
    """What knobs are where nobody gives them."""

    def placeholders(self) -> list[Placeholder]:
        """Every placeholder of the request."""
        request = self.request
        parts = {"path": request.path, "headers": request.headers, "query": request.query, "body": request.body}
        return [one for name, part in parts.items() for one in placeholders(part, f"request.{name}")]


def preset(name: str) -> str:
    """The text of a bundled map."""
    from importlib import resources

    if name not in PRESETS:
        raise _unknown(name)
    return (resources.files("ragworthy") / "maps" / f"{name}.toml").read_text(encoding="utf-8")


def load_map(given: str) -> Map:
    """The map that a name or a file holds; every problem of it is told at once."""
    if given in PRESETS:
        from importlib import resources

        with resources.as_file(resources.files("ragworthy") / "maps" / f"{given}.toml") as path:
            return read_map(read_text(path), given, sha256_of(path))
    file = File(given)
    if not given.strip() or (not file.exists() and not file.suffix and file.name == given):
        raise _unknown(given)
    try:
        return read_map(read_text(file), given, sha256_of(file))
    except RagworthyError as error:
        if error.problems[0].code.startswith("RW-F"):
            raise policy_error("RW-J16", error.problems[0].message, where=given) from None
        raise


def _unknown(name: str) -> PolicyError:
    close = closest(name, PRESETS, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return policy_error("RW-J16", f'--map: expected a file or one of {", ".join(PRESETS)}, got "{name}"{hint}')


def read_map(text: str, where: str, sha256: str = "") -> Map:
    """A map in TOML."""
    try:
        table = parse_toml(text, where, decimals=False)
    except PolicyError as error:
        message = error.problems[0].message
        line = re.search(r"at line ([0-9]+)", message)
        raise policy_error("RW-J16", message, where=f"{where}:{line[1]}" if line else where) from None
    check = _Checker(where, text)
    check.known(table, "")
    made = Map(
        File(where).name,
        sha256,
        _request(check, check.table(table, "request")),
        _reply(check, check.table(table, "reply")),
        check.table(table, "knobs", needed=False),
    )
    _check_placeholders(check, made)
    if wrong := endless(table):
        field, _, message = wrong.partition(": ")
        check.say(field, message)
    check.stop()
    return made


class _Checker:
    """Collects every problem of a map, each with its line."""

    def __init__(self, where: str, text: str) -> None:
        self._where = where
        self._lines = _lines(text)
        self.problems: list[Problem] = []

    def say(self, field: str, message: str) -> None:
        line = _line(self._lines, field)
        self.problems.append(Problem("RW-J17", message, f"{self._where}:{line}" if line else self._where, field))

    def stop(self) -> None:
        if self.problems:
            raise PolicyError(self.problems)

    def known(self, table: dict[str, Any], path: str) -> None:
        for key in table:
            if key not in _KEYS[path]:
                close = closest(key, _KEYS[path], n=1)
                hint = f" (did you mean {close[0]}?)" if close else f" (one of: {', '.join(_KEYS[path])})"
                self.say(f"{path}.{key}".removeprefix("."), f"expected a known key, got an unknown one{hint}")

    def table(self, table: dict[str, Any], path: str, *, needed: bool = True) -> dict[str, Any]:
        """The table at a key, with known keys only; an empty one where there is none."""
        value = table.get(path.rpartition(".")[2])
        if isinstance(value, dict):
            if path in _KEYS:
                self.known(value, path)
            return value
        if needed or value is not None:
            self.say(path, f"expected a table, got {'nothing' if value is None else shown(value)}")
        return {}

    def choice(self, table: dict[str, Any], field: str, choices: tuple[Any, ...], default: Any) -> Any:
        value = table.get(field.rpartition(".")[2], default)
        if value not in choices or isinstance(value, bool):
            self.say(field, f"expected {' or '.join(map(shown, choices))}, got {shown(value)}")
            return default
        return value

    def text(self, table: dict[str, Any], field: str) -> str | None:
        value = table.get(field.rpartition(".")[2])
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        self.say(field, f"expected a text, got {shown(value)}")
        return None

    def paths(self, value: Any, field: str) -> Paths:
        """One path, or several of which the first that leads to something is taken."""
        if value is None:
            return ()
        texts = value if isinstance(value, list) else [value]
        if not texts:
            self.say(field, "expected a path, got an empty list")
        found: list[Path] = []
        for nth, one in enumerate(texts):
            place = f"{field}[{nth}]" if isinstance(value, list) else field
            if not isinstance(one, str):
                self.say(place, f"expected a path as a text, got {shown(one)}")
                continue
            try:
                found.append(parsed(one))
            except ValueError as error:
                self.say(place, str(error))
        return tuple(found)


def _request(check: _Checker, table: dict[str, Any]) -> Request:
    method = check.choice(table, "request.method", ("POST", "GET"), "POST")
    path = check.text(table, "request.path") or ""
    if path and (not path.startswith("/") or re.search(r"[?#\s]", path)):
        check.say("request.path", f"expected a path such as /v1/ask, without query and spaces, got {shown(path)}")
    headers = check.table(table, "request.headers", needed=False)
    for name, value in headers.items():
        _check_header(check, name, value)
    query = check.table(table, "request.query", needed=False)
    for name, value in query.items():
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, str | int | float):
                check.say(f"request.query.{name}", f"expected a text, a number or a list of them, got {shown(one)}")
    body = table.get("body")
    if method == "GET" and body is not None:
        check.say("request.body", "expected none with GET, got one: write it as query, or take POST")
    if table and method == "POST" and body is None:
        check.say("request.body", 'expected what is sent, such as { question = "{q}" }, got nothing')
    for place, value in _not_json(body, "request.body"):
        check.say(place, f"expected what JSON can hold, got {value}")
    return Request(method, path, headers, query, body)


def _check_header(check: _Checker, name: str, value: Any) -> None:
    field = f"request.headers.{name}"
    if not _HEADER.fullmatch(name):
        check.say(field, "expected the name of a header, got something else")
    named = [one.variable for one in placeholders(value, field)] if isinstance(value, str) else []
    if not named or None in named:  # what is there is not shown: it may be a secret
        check.say(field, 'expected an environment variable, such as "Bearer {env.API_KEY}", got something else')


def _not_json(value: Any, field: str) -> Iterable[tuple[str, str]]:
    """What TOML can hold and JSON cannot: dates and times."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _not_json(one, f"{field}.{name}")
    elif isinstance(value, list):
        for nth, one in enumerate(value):
            yield from _not_json(one, f"{field}[{nth}]")
    elif value is not None and not isinstance(value, str | int | float):
        yield field, f"{value}: write it in quotes"


def _reply(check: _Checker, table: dict[str, Any]) -> Reading:
    paths = {name: check.paths(table.get(name), f"reply.{name}") for name in _PATHS}
    tables = {name: _named_paths(check, table, name) for name in _TABLES}
    inner = _parsed(check, table)
    reading = Reading(
        paths={name: found for name, found in paths.items() if found},
        tables={name: found for name, found in tables.items() if found},
        parsed=inner,
        stream=check.choice(table, "reply.stream", ("none", "sse", "ndjson"), "none"),
        marker=check.text(table, "reply.marker"),
        base=check.choice(table, "reply.base", (0, 1), 1),
        id_from=check.paths(table.get("id_from"), "reply.id_from"),
        doc_id=check.text(table, "reply.doc_id"),
    )
    if table and "claim" not in table:
        check.say("reply.claim", "expected the path to the answer, got nothing")
    _check_together(check, table, reading)
    return reading


def _named_paths(check: _Checker, table: dict[str, Any], name: str) -> Paths | dict[str, Paths]:
    value = table.get(name)
    if isinstance(value, dict):
        return {one: check.paths(path, f"reply.{name}.{one}") for one, path in value.items()}
    return check.paths(value, f"reply.{name}")


def _parsed(check: _Checker, table: dict[str, Any]) -> dict[str, Paths]:
    kind = check.choice(table, "reply.parse", ("text", "json"), "text")
    inner = check.table(table, "reply.parsed", needed=kind == "json")
    if inner and kind != "json":
        check.say("reply.parsed", 'expected parse = "json" with it, got none')
    if inner and "claim" not in inner:
        check.say("reply.parsed.claim", "expected the path to the answer, got nothing")
    return {name: found for name in _PARSED if (found := check.paths(inner.get(name), f"reply.parsed.{name}"))}


def _check_together(check: _Checker, table: dict[str, Any], reading: Reading) -> None:
    """What does not go together, or has no meaning alone."""
    for other in ("ids", "texts", "scores"):
        if "documents" in table and other in table:
            check.say(f"reply.{other}", "expected documents or this, got both")
    if "scores" in table and not {"ids", "texts", "documents"} & table.keys():
        check.say("reply.scores", "expected ids or texts that have them, got none")
    if "done" in table and reading.stream == "none":
        check.say("reply.done", 'expected stream = "sse" or "ndjson" with it, got none')
    if "id_from" in table and "doc_id" in table:
        check.say("reply.doc_id", "expected id_from or this, got both")
    for name in ("id_from", "doc_id"):
        if name in table and "documents" not in table:
            check.say(f"reply.{name}", "expected the path to documents with it, got none")
    if reading.doc_id and not _DOC_ID.fullmatch(reading.doc_id):
        check.say("reply.doc_id", f"expected id, content or metadata:KEY,KEY, got {shown(reading.doc_id)}")
    if reading.marker and reading.marker != "none" and (wrong := _wrong_marker(reading.marker)):
        check.say("reply.marker", f"expected none or a regular expression, got {shown(reading.marker)} ({wrong})")


def _wrong_marker(pattern: str) -> str:
    try:
        return "it matches the empty text" if re.compile(pattern).match("") else ""
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)


def _check_placeholders(check: _Checker, made: Map) -> None:
    found = made.placeholders()
    for one in found:
        if not one.known:
            hint = "{q}, {qid}, {seed}, {jitter}, {prompt}, {knobs.NAME} or {env.NAME}"
            message = f"expected {hint}, got {{{one.name}}}: in doubled braces it is text"
            check.say(one.field, message)
    if not check.problems and not any(one.name == "q" for one in found):
        check.say("request", "expected {q}, the question, somewhere in body, query or path, got it nowhere")


def _lines(text: str) -> dict[str, int]:
    """The line of every key and table of a TOML text, by its whole name; the first where there are several."""
    found: dict[str, int] = {}
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[{1,2}([^\[\]]+)\]{1,2}\s*(?:#.*)?$", line):
            inside = _plain(header[1]) + "."
            found.setdefault(inside[:-1], number)
        elif key := re.match(r"""\s*((?:[A-Za-z0-9_.\s-]|"[^"]*"|'[^']*')+?)\s*=""", line):
            found.setdefault(inside + _plain(key[1]), number)
    return found


def _plain(name: str) -> str:
    return re.sub(r"[\s\"']", "", name)


def _line(lines: dict[str, int], field: str) -> int:
    """The line of a field, or of the nearest thing around it; 0 where that is the file."""
    name = _plain(re.sub(r"\[[0-9]+\]", "", field))
    while name and name not in lines:
        name = name.rpartition(".")[0]
    return lines.get(name, 0)
