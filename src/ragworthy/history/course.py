"""The way of the numbers up to one run, for the page of that run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragworthy.history.points import from_store, last_line
from ragworthy.report.html.material import History, Point, Trend

if TYPE_CHECKING:
    from ragworthy.history.store import Store

MOST = 30
"""So many runs are shown."""
LAST = 10
"""So many of the last runs are looked into for single questions."""


def history_of(store: "Store", report: Mapping[str, Any], run: str) -> History:
    """What the runs before one tell: of the numbers, and of single questions."""
    from ragworthy.history.past import Told

    runs = store.runs()
    nth = next((nth for nth, one in enumerate(runs) if one.id == run), len(runs))
    return History(course(store, report, run), Told(store, runs[max(0, nth - LAST) : nth]).past)


def course(store: "Store", report: Mapping[str, Any], run: str) -> Trend:
    """Every gated number of a run and of those before it that compare with it; nothing where it is the first."""
    found: dict[str, list[Point]] = {}
    gated = dict.fromkeys(gate["metric"] for gate in report["gates"] if gate["slice"] is None)
    for suite in report["suites"]:
        runs = store.runs(suite=suite)
        nth = next((nth for nth, one in enumerate(runs) if one.id == run), None)
        if nth is None:
            continue
        line, _, _ = last_line(from_store(store, runs[max(0, nth + 1 - MOST) : nth + 1], suite))
        if len(line) < 2 or line[-1].name != run:
            continue
        for name in gated:
            values = [one.metrics.get(name) for one in line]
            if any(values):  # a count that was always 0 has no way
                kept = [(one, value) for one, value in zip(line, values, strict=True) if value is not None]
                found[name] = [Point(one.name, one.at, float(value), one.verdict) for one, value in kept]
    return found
