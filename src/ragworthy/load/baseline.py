"""An earlier report, as far as a comparison needs it."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.comparison.likeness import Made, Unlike, told_of
from ragworthy.errors import DataError, data_error
from ragworthy.files import read_text, sha256_of, shown_path
from ragworthy.gates import Baseline, Gate
from ragworthy.names import REPORT_SCHEMA
from ragworthy.records import SchemaOnly, explained
from ragworthy.rows import GONE, MOST, Rows, UnreadableError, decoded
from ragworthy.stats import exact, ratio


class _Input(msgspec.Struct, frozen=True):
    role: str
    sha256: str


_LARGEST = 10**18
NO_ROWS = "it was written by an earlier version, which kept no rows"
"""Why an old report can be compared by its numbers alone."""
WITHOUT = "it has no rows"
"""What is before why a report of this version has none."""
UNNAMED = ("agreement",)
"""Suites whose pairs may lack the ids that rows need, however few they are."""
FIRST_ROWS = (0, 2)
"""The first version whose reports have rows."""


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
    labels: dict[str, int] = {}
    counts: dict[str, Any] = {}
    rows: Any = None
    provenance: dict[str, Any] = {}
    can_show: Any = None
    """As old as rows are: a report that has it had these too."""

    @property
    def gone(self) -> tuple[int, int]:
        """How many questions ended in an error, and of how many."""
        return sum(self.labels.get(label, 0) for label in GONE), sum(self.labels.values())


class _Gate(msgspec.Struct, frozen=True):
    metric: str
    op: str
    threshold: str
    slice: str | None = None


class _Tool(msgspec.Struct, frozen=True):
    version: str = ""


class _Report(msgspec.Struct, frozen=True):
    schema: str
    verdict: str
    suites: dict[str, _Suite]
    gates: list[_Gate]
    flips: dict[str, str] = {}
    accepted: str = ""
    """Why it was blessed although it is INVALID: nothing but its own baseline was at fault."""
    tool: _Tool = _Tool()


class Earlier(NamedTuple):
    """An earlier report, as far as a comparison needs it."""

    path: str
    sha256: str
    verdict: str
    suite: _Suite
    gates: list[_Gate]
    rows: Rows | None = None
    """What every metric said of every question."""
    rowless: str = ""
    """Why there are no rows, for people."""
    flips: Mapping[str, Fraction] = {}
    """The share of questions that changed between runs like it, by metric, where it was blessed."""
    accepted: bool = False
    """Whether it was blessed although it is INVALID, its own baseline alone being at fault."""

    @property
    def made(self) -> Made:
        """How it was made, as far as that decides what it can be compared with."""
        suite = self.suite
        gold = next((one.sha256 for one in suite.inputs if one.role == "gold"), None)
        loads = tuple(name for name in suite.slices if name.startswith("load="))
        verdict = "" if self.accepted else self.verdict
        told = told_of({"provenance": suite.provenance, "settings": suite.settings})
        return Made(gold, suite.profile, suite.settings, suite.frozen, verdict, loads, told)


def suites_in(path: Path) -> list[str]:
    """The suites that a JSON report has."""
    return list(_report(path).suites)


def load_report(path: Path, suite: str) -> Earlier:
    """Read a JSON report written by an earlier run, as far as it is about a suite."""
    report = _report(path)
    if suite not in report.suites:
        message = "expected this suite, got a report without it"
        raise data_error("RW-B01", message, where=str(path), field=f"suites.{suite}")
    found = report.suites[suite]
    rows, rowless = _rows(found, path, suite, report.tool.version)
    flips = {name: _share(text, path, name) for name, text in report.flips.items()}
    told = shown_path(path), sha256_of(path), report.verdict
    return Earlier(*told, found, report.gates, rows, rowless, flips, bool(report.accepted))


def _share(text: str, path: Path, name: str) -> Fraction:
    """A share that was written beside a blessed report."""
    found = ratio(text)
    if found is None or not 0 <= found <= 1:
        raise data_error("RW-B01", f'expected a share, got "{text[:40]}"', where=str(path), field=f"flips.{name}")
    return found


def check_report(path: Path) -> None:
    """Refuse a report that cannot be compared with: all suites of it are read."""
    for suite in suites_in(path):
        load_report(path, suite)


def _rows(found: _Suite, path: Path, suite: str, version: str) -> tuple[Rows | None, str]:
    """The rows of a suite, or why it has none; whoever changed one of them, or a number, is found out."""

    def changed(message: str, field: str = "rows") -> DataError:
        return data_error("RW-B02", message, where=str(path), field=f"suites.{suite}.{field}")

    given = found.rows
    if given is None:
        if not _before_rows(version) or found.can_show is not None:
            raise changed(f"expected rows in a report of version {version or 'unknown'}, got none")
        return None, NO_ROWS
    from ragworthy.load.following import Told, astray, without_rows

    told = Told(found.metrics, found.slices, found.labels, found.counts)
    if isinstance(given, dict) and isinstance(why := given.get("none"), str):
        if suite not in UNNAMED and told.questions() <= MOST:
            few = f"{told.questions():,}"
            raise changed(f"expected rows, which reports of up to {MOST:,} questions have, got none of {few}")
        rows, wrong = None, without_rows(suite, told)
    else:
        try:
            rows, why = decoded(given), ""
        except UnreadableError as error:
            raise changed(str(error)) from None
        wrong = astray(suite, told, rows)
    if wrong is not None:
        raise changed(str(wrong), wrong.field)
    return rows, why and f"{WITHOUT} ({why})"


def _before_rows(version: str) -> bool:
    """Whether a version kept no rows.

    >>> [_before_rows(version) for version in ("0.1.0", "0.2.0", "0.10.1", "1.0.0", "")]
    [True, False, False, False, False]
    """
    numbers = [int(part) for part in version.split(".")[:2] if part.isascii() and part.isdigit()]
    return len(numbers) == 2 and tuple(numbers) < FIRST_ROWS


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


def as_baseline(earlier: Earlier, unlike: Unlike | None) -> Baseline:
    """The numbers of an earlier report as exact fractions."""
    groups: list[tuple[str | None, dict[str, _Number]]] = [(None, earlier.suite.metrics), *earlier.suite.slices.items()]
    values = {
        (group, name): number.exact
        for group, metrics in groups
        for name, number in metrics.items()
        if number.exact is not None
    }
    strict = sorted(earlier.gates, key=lambda one: Gate(one.metric, one.op, one.threshold).strictness)
    thresholds = {(gate.metric, gate.op, gate.slice): gate.threshold for gate in strict}  # of several the strictest
    what, why = unlike or ("", None)
    kept = Baseline(values, thresholds, why, rows=earlier.rows, rowless=earlier.rowless, flips=earlier.flips)
    return kept._replace(apart=what, gone=earlier.suite.gone)
