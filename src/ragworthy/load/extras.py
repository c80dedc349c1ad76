"""The smaller inputs: chunk texts, contradiction packs, the lock of a gold set, an earlier report."""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import MOST_PROBLEMS, DataError, PolicyError, Problem, data_error
from ragworthy.files import read_text, sha256_of, shown_path
from ragworthy.gates import Baseline
from ragworthy.load.checker import load_toml
from ragworthy.load.decode import Decoder, Fault, record_offsets
from ragworthy.load.sources import Source
from ragworthy.metrics.facts.constraints import Contradictions, Pattern
from ragworthy.records import Chunk, SchemaOnly, explained
from ragworthy.stats import exact, ratio
from ragworthy.text import described, fold

LOCK_SCHEMA = "ragworthy.lock/1"
REPORT_SCHEMA = "ragworthy.report/1"
BUNDLED_PACKS = ("wfgy-neg-4",)


def load_chunks(source: Source) -> dict[str, str]:
    """Chunk texts by id, folded for comparison."""
    return {chunk.name: fold(chunk.text) for chunk in read_chunks(source)}


def read_chunks(source: Source) -> list[Chunk]:
    """Every chunk of a file, in its order."""
    decoder = Decoder(Chunk)
    found: list[Chunk] = []
    nameless: list[int] = []
    for block in source.blocks():
        chunks = decoder.records(block)
        if not all(chunk.name for chunk in chunks):
            offsets = record_offsets(Chunk, block)
            nameless += [offset for offset, chunk in zip(offsets, chunks, strict=True) if not chunk.name]
        found += chunks
    missing = "expected a non-empty string, got nothing"
    faults = sorted([*decoder.faults, *(Fault(offset, "RW-C01", "chunk_id", missing) for offset in nameless)])
    if faults:
        lines = source.lines_at(fault.offset for fault in faults[:MOST_PROBLEMS])
        problems = [
            Problem(fault.code, fault.message, f"{source.given}:{lines[fault.offset]}", fault.field)
            for fault in faults[:MOST_PROBLEMS]
        ]
        raise DataError(problems, len(faults))
    if not found:
        raise data_error("RW-F04", "expected chunks, got none", where=source.given)
    return found


class Pack(NamedTuple):
    """Contradiction rules: where the first pattern matches a lock, the second must not match the claim."""

    id: str
    rules: Contradictions
    sha256: str


def load_pack(name: str, path: Path) -> Pack:
    """A bundled pack by name, else the TOML file at the path."""
    if name in BUNDLED_PACKS:
        from importlib import resources

        with resources.as_file(resources.files("ragworthy") / "packs" / f"{name}.toml") as bundled:
            return _read_pack(bundled, name)
    return _read_pack(path, shown_path(path))


def _read_pack(path: Path, label: str) -> Pack:
    def wrong(message: str, field: str = "") -> DataError:
        return data_error("RW-K01", message, where=label, field=field)

    try:
        table = load_toml(path)
    except PolicyError as error:
        raise wrong(error.problems[0].message) from None
    if not isinstance(table.get("id"), str):
        raise wrong(f"expected a text, got {described(table['id']) if 'id' in table else 'nothing'}", "id")
    given = table.get("rule", [])
    if not isinstance(given, list) or not given:
        raise wrong(
            "expected [[rule]] tables, got none" if not given else "expected [[rule]] tables, got another value"
        )
    rules = []
    for i, rule in enumerate(given):
        patterns = []
        for key in ("locked", "claim"):
            field = f"rule[{i}].{key}"
            text = rule.get(key) if isinstance(rule, dict) else None
            if not isinstance(text, str):
                raise wrong(f"expected a pattern, got {'nothing' if text is None else described(text)}", field)
            patterns.append(_pattern(text, partial(wrong, field=field)))
        rules.append((patterns[0], patterns[1]))
    return Pack(table["id"], tuple(rules), sha256_of(path))


def _pattern(text: str, wrong: Callable[[str], DataError]) -> Pattern:
    """A pattern of a pack. It may come from somebody else, so it is run by an engine that knows a time limit."""
    import regex

    try:
        re.compile(text)  # says best what is wrong
        made: Pattern = regex.compile(text)
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise wrong(f"expected a regular expression, got one that fails: {error}") from None
    return made


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """The seal of a frozen gold set."""

    schema: str
    gold: str
    sha256: str
    items: int
    item_sha256: dict[str, str]
    frozen_at: str
    signers: list[str]
    reason: str
    history: list[dict[str, Any]]
    calibration: dict[str, Any] | None = None
    corpus: dict[str, Any] | None = None


def lock_path(gold: Path) -> Path:
    """Where the lock of a gold file stands: beside it, with the suffix .lock.

    >>> lock_path(Path("eval/gold.jsonl.gz")).as_posix()
    'eval/gold.lock'
    """
    name = gold.name
    for suffix in (".gz", ".zst", ".jsonl", ".json", ".parquet"):
        name = name.removesuffix(suffix)
    return gold.with_name(f"{name}.lock")


def load_lock(path: Path) -> Lock:
    """Read a lock file."""
    where = shown_path(path)
    try:
        text = read_text(path)
        schema = msgspec.json.decode(text, type=SchemaOnly).schema
        if schema != LOCK_SCHEMA:
            raise data_error("RW-L01", f'expected "{LOCK_SCHEMA}", got "{schema}"', where=where, field="schema")
        return msgspec.json.decode(text, type=Lock)
    except msgspec.MsgspecError as error:
        field, message = explained(error)
        raise data_error("RW-L01", message, where=where, field=field) from None
    except RecursionError:
        raise data_error("RW-L01", "expected a lock file, got JSON nested too deeply", where=where) from None


class _Input(msgspec.Struct, frozen=True):
    role: str
    sha256: str


_LARGEST = 10**18


class _Number(msgspec.Struct, frozen=True):
    value: float | None
    num: int | None
    den: int | None
    written: str | None = msgspec.field(default=None, name="exact")

    def __post_init__(self) -> None:
        if not all(one is None or 0 <= one <= _LARGEST for one in (self.num, self.den)):
            raise ValueError("expected a count, got a number that counts nothing")
        if self.value is None or (self.num is None and self.written is None):
            return
        if self.den == 0 or self.exact is None or abs(float(self.exact) - self.value) > 1e-9 * max(1, abs(self.value)):
            raise ValueError("expected a value that follows from its counts, got another one")

    @property
    def exact(self) -> Fraction | None:
        if self.value is None:
            return None
        if self.written is not None:
            return ratio(self.written)
        if self.num is None:
            return Fraction(self.value)
        return Fraction(self.num, self.den) if self.den else Fraction(self.num)


class _Suite(msgspec.Struct, frozen=True):
    profile: str
    frozen: str
    inputs: list[_Input]
    settings: dict[str, Any]
    metrics: dict[str, _Number]
    slices: dict[str, dict[str, _Number]]


class _Gate(msgspec.Struct, frozen=True):
    metric: str
    op: str
    threshold: str
    slice: str | None = None


class _Report(msgspec.Struct, frozen=True):
    schema: str
    verdict: str
    suites: dict[str, _Suite]
    gates: list[_Gate]


class Earlier(NamedTuple):
    """An earlier report, as far as a comparison needs it."""

    path: str
    sha256: str
    verdict: str
    suite: _Suite
    gates: list[_Gate]


def suites_in(path: Path) -> list[str]:
    """The suites that a JSON report has."""
    return list(_report(path).suites)


def load_report(path: Path, suite: str) -> Earlier:
    """Read a JSON report written by an earlier run, as far as it is about a suite."""
    report = _report(path)
    if suite not in report.suites:
        message = "expected this suite, got a report without it"
        raise data_error("RW-B01", message, where=str(path), field=f"suites.{suite}")
    return Earlier(shown_path(path), sha256_of(path), report.verdict, report.suites[suite], report.gates)


def _report(path: Path) -> _Report:
    text = read_text(path)

    def wrong(message: str, field: str = "") -> DataError:
        return data_error("RW-B01", message, where=str(path), field=field)

    try:
        schema = msgspec.json.decode(text, type=SchemaOnly).schema
        if schema != REPORT_SCHEMA:
            raise wrong(f'expected "{REPORT_SCHEMA}", got "{schema}"', "schema")
        report = msgspec.json.decode(text, type=_Report)
    except msgspec.MsgspecError as error:
        field, message = explained(error)
        raise wrong(message, field) from None
    except RecursionError:
        raise wrong("expected a JSON report, got JSON nested too deeply") from None
    for i, gate in enumerate(report.gates):
        if exact(gate.threshold) is None:
            raise wrong(f'expected a number, got "{gate.threshold}"', f"gates[{i}].threshold")
    return report


def as_baseline(earlier: Earlier, unlike: str | None) -> Baseline:
    """The numbers of an earlier report as exact fractions."""
    groups: list[tuple[str | None, dict[str, _Number]]] = [(None, earlier.suite.metrics), *earlier.suite.slices.items()]
    values = {
        (group, name): number.exact
        for group, metrics in groups
        for name, number in metrics.items()
        if number.exact is not None
    }
    thresholds = {(gate.metric, gate.op, gate.slice): gate.threshold for gate in earlier.gates}
    return Baseline(values, thresholds, unlike)
