"""Everything a report is made from."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.registry import MetricName
from ragworthy.records import Measured


class Frozen(NamedTuple):
    """The state of the gold set: unlocked, frozen, broken, or unfrozen (broken, and scored on purpose)."""

    state: str
    reason: str


class Part(NamedTuple):
    """What one suite contributes to the report and to the receipt."""

    suite: str
    body: dict[str, Any]
    judged: list[g.Judged]
    invalid: list[str]
    """Why the evidence cannot carry a verdict."""
    steps: list[dict[str, str]]
    provenance: dict[str, Any]
    rows: Callable[[], Iterator[dict[str, Any]]]
    evidence: dict[str, Any]
    """What the receipt keeps of the facts."""


class Findings(NamedTuple):
    """Everything a report is made from."""

    measured: Measured
    ks: tuple[int, ...]
    names: list[MetricName]
    values: dict[tuple[str | None, str], g.Value]
    judged: list[g.Judged]
    inputs: list[dict[str, Any]]
    settings: dict[str, Any]
    frozen: Frozen
    lines: Callable[[str, Iterable[int]], dict[int, str]]
    baseline_verdict: str | None
    repeated_questions: list[tuple[str, str]]
