"""Metrics over runs, with the test that `ragworthy history trend` does."""

from typing import TYPE_CHECKING, Any

from ragworthy.errors import RagworthyError
from ragworthy.history import trend as trending
from ragworthy.report import show
from ragworthy.viewer import pages
from ragworthy.viewer.shows.runs import number

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LASTS = (10, 25, 50, 100)


def page(request: "Request") -> "Response":
    """The metrics of a suite, or one of them as a picture."""
    site, asked = request.app.state.site, request.query_params
    store = site.opened()
    suites = list(dict.fromkeys(suite for one in store.runs() for suite in one.suites))
    suite = asked.get("suite") if asked.get("suite") in suites else None
    last = number(asked.get("last", "")) or trending.MOST
    common: dict[str, Any] = {"suites": suites, "suite": suite, "last": last, "lasts": LASTS}
    try:
        found = trending.kept_trend(store, suite=suite, last=min(last, trending.MOST))
    except RagworthyError as error:
        return pages.shown(request, "trend.html", trend=None, why=pages.error_lines(error), **common)
    names = [line.metric for line in found.lines]
    chosen = asked.get("metric", "") if asked.get("metric") in names else ""
    lines = [line for line in found.lines if chosen in ("", line.metric)]
    rows = [(line, _ends(line), trending.sparkline(line.values)) for line in lines]
    values = common | {"suite": found.suite}
    return pages.shown(
        request, "trend.html", trend=found, rows=rows, names=names, chosen=chosen, why=[],
        points=list(zip(found.reports, found.times, strict=True)), chart="", **values,
    )  # fmt: skip


def _ends(line: trending.Line) -> tuple[str, str]:
    """The first and the last number."""
    there = [value for value in line.values if value is not None]
    ends = (there[0], there[-1]) if there else ()
    first, last = (show.number(value, whole=line.whole) for value in ends) if ends else ("–", "–")
    return first, last
