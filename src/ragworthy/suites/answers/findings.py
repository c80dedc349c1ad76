"""Everything the report of the answers suite is made from."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.registry import MetricName
from ragworthy.records import Measured
from ragworthy.report.part import Frozen


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
