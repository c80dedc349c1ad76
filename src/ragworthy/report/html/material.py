"""What a page is made of. Callers above the reports fill it; every section only shows it."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from ragworthy.report.part import Voices
from ragworthy.report.sheet import Earlier, Viewed


class Point(NamedTuple):
    """A number of one run of the history."""

    run: str
    """Its id in the history."""
    when: str
    value: float
    verdict: str
    low: float | None = None
    high: float | None = None


Trend: TypeAlias = Mapping[str, Sequence[Point]]
"""Runs of the same gold set by metric, oldest first; the last one is the run that is shown."""
Past: TypeAlias = Callable[[str, str], Sequence[Earlier]]
"""What became of a question in earlier runs, by its suite and its id, the newest first."""


class History(NamedTuple):
    """What earlier runs tell."""

    trend: Trend = MappingProxyType({})
    past: Past | None = None


Key: TypeAlias = tuple[str, str]
"""A question: its suite and its id."""


class Material(NamedTuple):
    """A report with everything that is in a page besides it. What is empty has no section."""

    report: dict[str, Any]
    """`ragworthy.report/1`."""
    voices: Voices
    rows: Sequence[dict[str, Any]] = ()
    """Every question: rows with texts, as `flow.Run.table` gives them; each says its `suite`."""
    sheets: Mapping[Key, Viewed] = MappingProxyType({})
    """What is known of single questions, by suite and qid, worst first; of the others there is the row alone."""
    trend: Trend = MappingProxyType({})
    claims: Mapping[Key, str] = MappingProxyType({})
    """What was answered in the baseline, of questions that changed, where that is known."""
