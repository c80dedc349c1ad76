"""What a page is made of. Callers above the reports fill it; every section only shows it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ragworthy.report.part import Voices
from ragworthy.report.sheet import Viewed


class Point(NamedTuple):
    """A number of one earlier run."""

    run: str
    """Its id in the history."""
    when: str
    value: float
    verdict: str
    low: float | None = None
    high: float | None = None


class Material(NamedTuple):
    """A report with everything that stands in a page besides it. What is empty has no section."""

    report: dict[str, Any]
    """`ragworthy.report/1`."""
    voices: Voices
    rows: Sequence[dict[str, Any]] = ()
    """Every question: rows with texts, as `flow.Run.table` gives them; `suite` is a key where there are several."""
    sheets: Mapping[tuple[str, str], Viewed] = {}
    """What is known of single questions, by suite and qid, worst first; of the others there is the row alone."""
    trend: Mapping[str, Sequence[Point]] = {}
    """Earlier runs of the same gold set, oldest first, by metric; this run is the last."""
