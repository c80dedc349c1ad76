"""Metrics over runs, with the test that `ragworthy history trend` does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.errors import RagworthyError
from ragworthy.history import trend as trending
from ragworthy.history.listing import gates_of
from ragworthy.report import show
from ragworthy.viewer import pages
from ragworthy.viewer.shows.runs import number
from ragworthy.viewer.words import moment, name

if TYPE_CHECKING:
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import Response

LASTS = (10, 25, 50, 100)
PICTURES = 6
"""Metrics that have a picture of their own where none was chosen."""
WIDE = 1100.0
"""Pixels of the picture of one metric, on a screen that has them."""


class Row(NamedTuple):
    """A metric with its ends in words."""

    line: trending.Line
    first: str
    last: str
    bars: str


def page(request: "Request") -> "Response":
    """The metrics of a suite, or one of them as a picture."""
    site, asked = request.app.state.site, request.query_params
    store = site.opened()
    suites = list(dict.fromkeys(suite for one in store.runs() for suite in one.suites))
    suite = asked.get("suite") if asked.get("suite") in suites else None
    last = min(number(asked.get("last", "")) or trending.MOST, trending.MOST)
    common: dict[str, Any] = {"suites": suites, "suite": suite, "last": last, "lasts": LASTS}
    try:
        found = trending.kept_trend(store, suite=suite, last=last)
    except RagworthyError as error:
        return pages.shown(request, "trend.html", trend=None, why=pages.error_lines(error), chosen="", **common)
    names = [line.metric for line in found.lines]
    chosen = asked.get("metric", "") if asked.get("metric") in names else ""
    lines = [line for line in found.lines if chosen in ("", line.metric)]
    gated = [one for one in gates_of(store, found.reports[-1]) if one in names] or names
    pictured = [line for line in lines if chosen or line.metric in gated[:PICTURES]]
    figures = [_figure(line, found, wide=bool(chosen)) for line in pictured]
    rows = [Row(line, *_ends(line), trending.sparkline(line.values)) for line in lines]
    values = common | {"suite": found.suite}
    return pages.shown(
        request, "trend.html", trend=found, rows=rows, names=names, chosen=chosen, why=[], figures=figures,
        points=list(zip(found.reports, found.times, strict=True)), **values,
    )  # fmt: skip


def _ends(line: trending.Line) -> tuple[str, str]:
    """The first and the last number."""
    there = [value for value in line.values if value is not None]
    if not there:
        return "–", "–"
    return show.number(there[0], whole=line.whole), show.number(there[-1], whole=line.whole)


def _figure(line: trending.Line, found: trending.Trend, *, wide: bool) -> "tuple[str, Markup, Markup | None]":
    """A metric over the runs: its title, a picture that a phone has room for, and a wide one."""
    from ragworthy.report.html.charts import lines
    from ragworthy.report.html.charts.scale import ANY, RATE

    values = [None if value is None else float(value) for value in line.values]
    rate = all(0 <= value <= 1 for value in values if value is not None)
    title = f"{name(line.metric)} over {show.plural(len(values), found.noun)}"
    drawn = [lines.Line(name(line.metric), values)]
    chart = lines.Lines(title, _places(found.times), drawn, limits=RATE if rate else ANY)
    return title, lines.picture(chart), lines.picture(chart, WIDE) if wide else None


def _places(times: Sequence[str]) -> list[str]:
    """The days; the minutes too where all runs are of one day."""
    days = [moment(one)[:10] for one in times]
    return [moment(one)[11:] for one in times] if len(set(days)) == 1 else days
