"""What earlier runs had: the numbers of the runs that a run can be held against, for the charts of its report."""

from typing import TYPE_CHECKING

from ragworthy.history.entries import Run
from ragworthy.history.points import from_store, last_line
from ragworthy.report.html.material import Point, Trend

if TYPE_CHECKING:
    from ragworthy.history.store import Store

MOST = 30
"""So many runs are looked at."""


def before(store: "Store", run: Run) -> Trend:
    """The line of runs that ends with this one, by metric; nothing where it is not the end of one."""
    found: dict[str, list[Point]] = {}
    for suite in run.suites:
        every = store.runs(suite=suite)
        at = next(nth for nth, one in enumerate(every) if one.id == run.id)
        verdicts = {one.id: one.verdict for one in every}
        line, _, _ = last_line(from_store(store, every[max(0, at + 1 - MOST) : at + 1], suite))
        if len(line) < 2 or line[-1].name != run.id:
            continue
        for point in line:
            for metric, value in point.metrics.items():
                if value is not None:
                    made = Point(point.name, point.at, float(value), verdicts[point.name])
                    found.setdefault(metric, []).append(made)
    return found
