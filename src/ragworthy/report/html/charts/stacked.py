"""Wholes and their parts: one bar for each, parts in the same order and with a legend."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from ragworthy.report.html.charts.axes import GAP, Entry, column, legend, legend_height
from ragworthy.report.html.charts.svg import SERIES, WIDTH, Point, Svg, series, width_of
from ragworthy.report.show import percent

ROW = 22.0


class Whole(NamedTuple):
    """A bar: how many there are of each part."""

    name: str
    counts: Sequence[int]


class Stacked(NamedTuple):
    """Bars of the same parts."""

    title: str
    parts: Sequence[str]
    wholes: Sequence[Whole]
    noun: str = "questions"


def picture(chart: Stacked, width: float = WIDTH) -> Markup:
    """Bars of the same length, so that shares can be compared with each other; the counts are in them."""
    single = len(chart.wholes) == 1
    totals = [sum(whole.counts[nth] for whole in chart.wholes) for nth in range(len(chart.parts))]
    entries = [
        Entry(_css(nth), f"{name} {total:,}" if single else name)
        for nth, (name, total) in enumerate(zip(chart.parts, totals, strict=True))
    ]
    names = 0.0 if single and not chart.wholes[0].name else column([one.name for one in chart.wholes], 0.4 * width)
    sums = column([f"{sum(one.counts):,}" for one in chart.wholes], width)
    head = legend_height(entries, width) + 4
    svg = Svg(width, head + ROW * len(chart.wholes) + 2, chart.title, finding(chart))
    legend(svg, 0, entries)
    for nth, whole in enumerate(chart.wholes):
        y = head + ROW * nth
        if names:
            svg.text(Point(0, y + 14), whole.name, room=names)
        begin = names + GAP if names else 0.0
        end = width - sums - GAP
        _bar(svg, chart.parts, whole, y, begin, end)
        svg.text(Point(width, y + 14), f"{sum(whole.counts):,}", anchor="end")
    return svg.done()


def _css(nth: int) -> str:
    """The look of a part; from the second round of colours on it is striped too."""
    return f"fill {series(nth)}" if nth < SERIES else f"fill {series(nth)} light"


def _bar(svg: Svg, parts: Sequence[str], whole: Whole, y: float, begin: float, end: float) -> None:
    total = sum(whole.counts)
    if not total:
        svg.line(Point(begin, y + 10), Point(end, y + 10), "grid")
        return
    x = begin
    for nth, (name, count) in enumerate(zip(parts, whole.counts, strict=True)):
        size = (end - begin) * count / total
        if not count:
            continue
        tip = f"{whole.name} {name}: {count:,} of {total:,} ({percent(count / total)})".strip()
        svg.box(Point(x, y + 2), max(size - 1, 0.5), ROW - 6, _css(nth), tip)
        if width_of(f"{count:,}") + 4 <= size:
            svg.text(Point(x + size / 2, y + 14), f"{count:,}", "inside", anchor="middle")
        x += size


def finding(chart: Stacked) -> str:
    """The parts of each bar in words."""
    told = []
    for whole in chart.wholes:
        total = sum(whole.counts)
        some = [
            f"{name} {count:,} ({percent(count / total)})"
            for name, count in zip(chart.parts, whole.counts, strict=True)
            if count
        ]
        head = f"{whole.name}: " if whole.name else ""
        told.append(f"{head}{', '.join(some)} of {total:,} {chart.noun}" if some else f"{head}no {chart.noun}")
    return "; ".join(told[:8]) + (f"; and {len(told) - 8:,} more" if len(told) > 8 else "")
