"""What Python gives a suite: names and values, checked against what the suite declares."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any, TypedDict

from ragworthy.codes import CATALOGUE
from ragworthy.errors import Problem, RagworthyError, needing, usage_error
from ragworthy.load.checker import Checker, written
from ragworthy.load.uri import path_here, path_or_uri
from ragworthy.load.values import Refused, a, plain, taken_apart
from ragworthy.policy.declare import Declared, Input, Setting
from ragworthy.policy.gate_text import parse_ks
from ragworthy.policy.sections import NUMBERS, parse_limits
from ragworthy.suites import SUITES


class Given(TypedDict, total=False):
    """Every input and setting of every suite. Records are paths, iterables of dicts or data frames."""

    gold: Any
    traces: Any
    questions: Any
    outputs: Any
    runs: Any
    pairs: Any
    scholar: Any
    auditor: Any
    raters: Any
    operators: Any
    audit: Any
    corpus: Any
    live: Any
    live_corpus: Any
    redirects: str | Path | Sequence[str | Path]
    qrels: str | Path | None
    run: str | Path | None
    live_run: str | Path | None
    definition: str | Path | None
    subset: str | Path | None
    prompt: str | Path | None
    provenance: str | Path | None
    prices: str | Path | None
    k: int | Sequence[int] | None
    short_substr: str
    refusals: Sequence[str]
    refusal_packs: Sequence[str]
    refusal_starts: Sequence[str]
    refusal_patterns: Sequence[str]
    scu: bool
    rule_packs: Sequence[str]
    slices: Sequence[str]
    delta_s: str
    delta_s_model: str
    anchor_scope: str
    max_drop: float | str
    against_live: bool
    repair: bool
    limits: Mapping[str, float | str] | None
    configuration: str | None
    use: str
    frontier: str
    batch_p95: float | str | None
    release: bool
    baseline_cost: float | str | None
    fixes: Sequence[str]


def inputs_by_name(suite: Declared) -> dict[str, Input]:
    """The inputs that Python takes, by every name; an alias counts where the name itself is not given."""
    found: dict[str, Input] = {}
    for one in suite.inputs:
        if one.help and not one.written:
            found |= dict.fromkeys((one.key, *one.aliases), one)
    return found


def settings_by_name(suite: Declared) -> dict[str, Setting]:
    """The settings that Python takes."""
    return {one.name: one for one in suite.fields() if one.key.python}


def names() -> set[str]:
    """Everything that some suite takes."""
    return {name for suite in SUITES.values() for name in (*inputs_by_name(suite), *settings_by_name(suite))}


def check_names(suite: Declared, given: Mapping[str, Any]) -> None:
    """Refuse what no suite takes, and what this one would not look at."""
    own = {*inputs_by_name(suite), *settings_by_name(suite)}
    for name, value in given.items():
        if name not in names():
            raise TypeError(f"score() got an unexpected keyword argument '{name}'")
        if name not in own and not _usual(name, value):
            raise usage_error(f"{name}: the {suite.name} suite has none")


def _usual(name: str, value: Any) -> bool:
    """Whether a value is what suites that take it have anyway: then saying it changes nothing."""
    if value is None:
        return True
    defaults = [one.default for suite in SUITES.values() for one in suite.fields() if one.name == name]
    return isinstance(value, (str, tuple, bool, int)) and (value in defaults or (value == () and not defaults))


def inputs_of(suite: Declared, given: Mapping[str, Any]) -> dict[str, Any]:
    """The files and records that are there, by the keys of the suite."""
    found: dict[str, Any] = {}
    for one in suite.inputs:
        values = [given[name] for name in (one.key, *one.aliases) if given.get(name) is not None]
        if values and one.help and not one.written:
            found[one.key] = _input(one, values[0])
            if one.more and _are_paths(values[0]):
                found[one.key], *others = map(_place, values[0])
                found |= {one.more: tuple(others)} if others else {}
    return found


def _are_paths(value: Any) -> bool:
    """Whether a value is several files, and not records or a single path."""
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, (str, Path)) for one in value)


def _input(one: Input, value: Any) -> Any:
    if one.form == "files":
        return tuple(path_here(each, one.key) for each in ((value,) if isinstance(value, (str, Path)) else value))
    if one.form == "records":
        return _place(value)
    if isinstance(value, str):
        return path_here(value, one.key)
    if one.form == "file" and not isinstance(value, Path):
        raise usage_error(f"{one.key}: expected a path, got {type(value).__name__}")
    return value


def _place(value: Any) -> Any:
    """A path or a URI, where a value is one."""
    return path_or_uri(value) if isinstance(value, str) else value


def settings_of(suite: Declared, given: Mapping[str, Any], **known: Any) -> Any:
    """The settings that are given; `known` are those that follow from something else."""
    own = {
        one.field: _setting(one, given[name], suite) for name, one in settings_by_name(suite).items() if name in given
    }
    return suite.settings(**known | own)


def _setting(one: Setting, value: Any, suite: Declared) -> Any:
    name, reads = one.name, one.key.reads
    if one.key.choices:
        return choice(name, value, one.key.choices)
    if one.kind is bool:
        return flag(name, value)
    if value is None:
        return one.default
    if reads == "ks":
        if isinstance(value, str):
            raise usage_error(
                f"{name}: expected a whole number or a list of them, got a text: write {value.strip() or 5}"
            )
        check = Checker("score")
        ks = parse_ks(check, list(value) if isinstance(value, (list, tuple)) else value, name)
        check.stop()
        return ks
    if reads == "limits":
        return _limits(one, value, suite)
    if reads in NUMBERS:
        return _number(name, value, reads)
    if one.kind == tuple[str, ...]:
        return several(name, value)
    return value


def several(name: str, value: Any) -> tuple[str, ...]:
    """Several texts; one alone would be taken apart into its letters by Python."""
    if isinstance(value, (str, bytes)):
        raise usage_error(f"{name}: {taken_apart(str(value))}")
    if not isinstance(value, Iterable):
        raise usage_error(f"{name}: expected a list of texts, got {a(type(value).__name__)}")
    try:
        return tuple(plain(list(value)))
    except Refused as refused:
        raise usage_error(f"{name}{refused.place}: expected a text, {refused.reason.partition(', ')[2]}") from None


def paths_of(name: str, value: Any) -> tuple[str, ...]:
    """Several names or paths."""
    if isinstance(value, (str, Path)):
        raise usage_error(f"{name}: {taken_apart(str(value))}")
    if value is not None and not all(isinstance(one, (str, Path)) for one in value):
        raise usage_error(f"{name}: expected several names or paths, got {value!r}")
    return tuple(map(str, value or ()))


def choice(name: str, value: Any, choices: Sequence[str]) -> Any:
    """One of a few words."""
    if value not in choices:
        raise usage_error(f"{name}: expected {' or '.join(choices)}, got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that only looks like it."""
    if not isinstance(value, bool):
        raise usage_error(f"{name}: expected True or False, got {value!r}")
    return value


def _decimal(value: Any) -> Any:
    """A number as it is written; what is none stays what it is."""
    try:
        return Decimal(str(value)) if not isinstance(value, bool) else value
    except InvalidOperation:
        return value


def _limits(one: Setting, given: Any, suite: Declared) -> tuple[str, ...]:
    if not isinstance(given, Mapping):
        raise usage_error(f"{one.name}: expected names with numbers, got {type(given).__name__}")
    check = Checker(one.name)
    numbers = {name: _decimal(value) for name, value in given.items()}
    found = parse_limits(check, numbers, "", one.default, suite.name)
    check.stop()
    return found


def _number(name: str, value: Any, reads: str) -> str:
    expected, fits = NUMBERS[reads]
    number = written(_decimal(value))
    if number is None or not fits(Fraction(number)):
        raise usage_error(f"{name}: expected {expected}, got {value!r}")
    return number


# errors in the words of a caller who has keywords, and no flags


_CALL = "The keywords of the call are in docs/python.md."
_HINTS = {
    "RW-U01": _CALL,
    "RW-P08": "Run 'ragworthy init', or name one: gate(\"ragworthy.toml\").",
    "RW-P10": 'Write gates={"precision": 0.80, "chr": 0.75}, "precision=0.80,chr=0.75" or the path of a TOML file: '
    "docs/python.md.",
}
_VALUES = {
    "the same command with --resume": "the same call with resume=True",
    "--resume": "resume=True",
    "--retry-errors": "retry_errors=True",
    "--keep-going": "keep_going=True",
    "--unfrozen": "unfrozen=True",
    "--allow-gold-errors": "allow_gold_errors=True",
    "--jobs 1": "jobs=1",
    "--short-substr word": 'short_substr="word"',
}
_COMMAND = re.compile(r"('ragworthy [^']*')")


@contextmanager
def in_python(suite: Declared | None = None, given: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Errors that are raised meanwhile name keywords instead of flags and roles, and point at the page of Python."""
    try:
        with needing():
            yield
    except RagworthyError as error:
        roles = _spelled(suite, given or {}) if suite is not None else {}
        problems = [_named(one, roles) for one in error.problems]
        raise type(error)(problems, error.total, error.advice, _hint) from None


def _spelled(suite: Declared, given: Mapping[str, Any]) -> dict[str, str]:
    """The keyword that the caller used for each role."""
    used: dict[str, str] = {}
    for one in suite.inputs:
        name = next((name for name in (one.key, *one.aliases) if given.get(name) is not None), None)
        if name is not None:
            used[one.receipt_role] = name
    return {one.receipt_role: one.key for one in reversed(suite.inputs)} | used


def _named(problem: Problem, roles: Mapping[str, str]) -> Problem:
    where, message = problem.where, problem.message
    for role, name in roles.items():
        where = re.sub(rf"^<{re.escape(role)}>", f"<{name}>", where)
        message = re.sub(rf"^{re.escape(role)}: ", f"{name}: ", message)
    return problem._replace(where=where.removeprefix("--"), message=message.removeprefix("--"))


def _hint(code: str) -> str:
    """What to do, with keywords for flags; commands that are quoted whole stay as they are.

    >>> _hint("RW-L02").partition("; ")[2]
    'unfrozen=True scores it anyway, marked.'
    """
    parts = _COMMAND.split(_HINTS.get(code) or CATALOGUE[code].do)
    return "".join(part if part.startswith("'ragworthy ") else _keywords(part) for part in parts)


def _keywords(text: str) -> str:
    for flag, keyword in _VALUES.items():
        text = text.replace(flag, keyword)
    return re.sub(r"(?<!\S)--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_"), text)


# a run


_WORDS = {
    "the same command with --resume": "the same call with resume=True",
    "--header Authorization=VARIABLE": 'headers={"Authorization": "VARIABLE"}',
    "--concurrency 1": "concurrency=1",
    "--retry-errors": "retry_errors=True",
    "--keep-going": "keep_going=True",
    "--resume": "resume=True",
    "--header: ": "headers: ",
    "--knob: ": "knobs: ",
}
"""What a caller writes where the command line has a flag."""


@contextmanager
def in_words() -> Iterator[None]:
    """Errors of a run that are raised meanwhile speak of keywords."""
    try:
        yield
    except RagworthyError as error:
        problems = [one._replace(message=_worded(one.message)) for one in error.problems]
        raise type(error)(problems, error.total, _worded(error.advice), error.hint) from None


def _worded(text: str) -> str:
    for words, keywords in _WORDS.items():
        text = text.replace(words, keywords)
    return text
