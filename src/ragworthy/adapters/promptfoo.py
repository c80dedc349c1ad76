"""Results of promptfoo (`-o results.json` or `.jsonl`): replies as traces, `contains` and `equals` asserts as gold."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.columns import NAMES, Columns, plain
from ragworthy.adapters.model import Adapter, Imported, Option
from ragworthy.adapters.objects import Row, Rows, read_objects
from ragworthy.adapters.rows import DOC_ID, MARKER, NO_ANSWER, Settings, convert, slice_name
from ragworthy.errors import data_error
from ragworthy.text import described

TEXTS = ("contains", "icontains", "contains-any", "icontains-any", "equals")
"""Asserts that say what the answer is; the other types are counted and left out."""
_ERRORED = 2
"""`failureReason` of a result that the provider gave no reply for."""
_FIELDS = ("qid", "question", "answer", "response", "retrieved", "error")


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Every result of one prompt and provider."""
    files = []
    left: Counter[str] = Counter()
    several = 0
    for path in paths:
        found = _results(path)
        chosen = _chosen(found, options["prompt"])
        rows = [_row(row, options["question"], left) for row in chosen]
        several += sum(len(row.value.get("answer") or ()) > 1 and not row.value.get("any") for row in rows)
        names = dict.fromkeys(name for row in rows for name in row.value)
        columns = Columns({one: one for one in _FIELDS}, [one for one in names if one not in (*_FIELDS, "any")])
        files.append((found._replace(rows=rows), Settings.of("promptfoo", columns, options)))
    made = convert(files)
    notes = [f"left out: {count} × assert of type {name}" for name, count in left.most_common()]
    if several:
        notes.append(f"{several} questions have several asserts on the text: here one of the texts is enough")
    return made._replace(unit="result", notes=[*notes, *made.notes])


def _results(path: Path) -> Rows:
    """The results of a file: `results.results` of JSON, or lines of results."""
    if path.suffix == ".csv":
        message = "expected results with their asserts, got CSV, which has none: run promptfoo with -o results.json"
        raise data_error("RW-A03", message, where=str(path))
    found = read_objects(path)
    if "evalId" in found.names or "results" in found.names:
        found = read_objects(path, "results.results")
    if not {"testCase", "vars"} & set(found.names):
        got = ", ".join(f'"{name}"' for name in found.names[:10]) or "nothing"
        raise data_error("RW-A03", f"expected results of promptfoo with testCase, got {got}", where=str(path))
    return found


def _chosen(found: Rows, prompt: str | None) -> list[Row]:
    """The results of one prompt: several replies to one question would be several runs."""
    there = sorted({row.value["promptIdx"] for row in found.rows if isinstance(row.value.get("promptIdx"), int)})
    if prompt is None:
        if len(there) > 1:
            listed = " or ".join(f"--prompt {one}" for one in there)
            message = f"expected the results of one prompt and provider, got {len(there)}; say which: {listed}"
            raise data_error("RW-A03", message, where=str(found.path))
        return found.rows
    if prompt not in map(str, there):
        message = f"expected one of {', '.join(map(str, there))}, got {prompt}"
        raise data_error("RW-A03", message, where=str(found.path), field="--prompt")
    return [row for row in found.rows if str(row.value.get("promptIdx")) == prompt]


def _row(row: Row, question: str | None, left: Counter[str]) -> Row:
    """A result with the fields of a table."""
    case = row.value.get("testCase") or {}
    given = row.value.get("vars") or case.get("vars") or {}
    if not isinstance(case, dict) or not isinstance(given, dict):
        return row._replace(
            broken=f"testCase or vars: {described(case if given else given)} where an object is expected"
        )
    kept, asserts = case.get("metadata") or {}, case.get("assert") or []
    if not isinstance(kept, dict) or not isinstance(asserts, list):
        return row._replace(broken="testCase: expected metadata as an object and assert as a list")
    asked = question or _asked(given)
    answers, alternatives = _answers(asserts, left)
    nth = row.value.get("testIdx")
    value: dict[str, Any] = {
        **{slice_name(key): one for key, one in kept.items() if not isinstance(one, dict | list)},
        "qid": f"Q{nth + 1:03d}" if isinstance(nth, int) else "",
        "question": given.get(asked) if asked else None,
        "answer": answers,
        "any": alternatives,
        "retrieved": next((given[key] for key in given if plain(key) in ("context", "contexts")), None),
    }
    response = row.value.get("response") or {}
    output = response.get("output") if isinstance(response, dict) else None
    if row.value.get("failureReason") == _ERRORED or output is None:
        value["error"] = row.value.get("error") or "no reply"
    elif not isinstance(output, str):
        return row._replace(broken=f"response.output: {described(output)} where a text is expected")
    else:
        value["response"] = output
    broken = "" if answers else "no assert that says what the answer is (contains, icontains, contains-any, equals)"
    return row._replace(value=value, broken=broken)


def _asked(given: Mapping[str, Any]) -> str | None:
    """The variable that holds the question: by name, or the only one."""
    named = [key for one in NAMES["question"] for key in given if plain(key) == one]
    return named[0] if named else next(iter(given)) if len(given) == 1 else None


def _answers(asserts: Sequence[Any], left: Counter[str]) -> tuple[list[str], bool]:
    """What the asserts look for, and whether all of it comes from one that is content with any."""
    answers: list[str] = []
    used = 0
    for one in asserts:
        kind, value = (one.get("type"), one.get("value")) if isinstance(one, dict) else ("unknown", None)
        if kind not in TEXTS or value is None:
            left[str(kind)] += 1
            continue
        used += 1
        if isinstance(value, str) and kind.endswith("-any"):
            value = [piece.strip() for piece in value.split(",")]
        answers += [str(text) for text in (value if isinstance(value, list) else [value])]
    return answers, used == 1


ADAPTER = Adapter(
    "promptfoo",
    "results of promptfoo (-o results.json or .jsonl)",
    ("gold", "trace", "chunks"),
    (
        Option("--question", "the variable that holds the question (default: by its name)", "VAR"),
        Option("--prompt", "which prompt and provider, by promptIdx, where there are several", "N"),
        NO_ANSWER,
        MARKER,
        DOC_ID,
    ),
    read,
)
