"""How often each value came, with the bands that give values a meaning."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from ragworthy.report.html.charts.axes import GAP, TITLE, Plot, along, level, margin, said, upright
from ragworthy.report.html.charts.axes import wide as wide_axis
from ragworthy.report.html.charts.scale import ANY, COUNT, Limits, Scale
from ragworthy.report.html.charts.svg import LINE, WIDTH, Point, Svg, fitted, listed, one_line, width_of
from ragworthy.report.show import percent


class Bin(NamedTuple):
    """Values from `low` up to `high`, and how many there are."""

    low: float
    high: float
    times: int


class Band(NamedTuple):
    """A range of values that has a name."""

    name: str
    low: float
    high: float
    bad: bool = False
    times: int | None = None


class Histogram(NamedTuple):
    """Counts of values, and bands behind them."""

    title: str
    bins: Sequence[Bin]
    bands: Sequence[Band] = ()
    what: str = "value"
    """What is counted along the bottom."""
    noun: str = "results"
    limits: Limits = ANY


def bins_of(values: Sequence[float], low: float, high: float, count: int) -> list[Bin]:
    """Values in so many bins of one width; the last one has its end too, and what is outside is in the outer ones.

    >>> [one.times for one in bins_of([0.0, 0.1, 0.5, 1.0], 0, 1, 4)]
    [2, 0, 1, 1]
    """
    counts = [0] * count
    for value in values:
        counts[min(max(int((value - low) / (high - low) * count), 0), count - 1)] += 1
    size = (high - low) / count
    return [Bin(low + nth * size, low + (nth + 1) * size, one) for nth, one in enumerate(counts)]


def picture(chart: Histogram, width: float = WIDTH) -> Markup:
    """A bar for each bin; bands behind them, with their names and counts above."""
    rows = 1 if chart.bands else 0
    ranges = [*((one.low, one.high) for one in chart.bins), *((one.low, one.high) for one in chart.bands)]
    ends = [end for one in ranges for end in one]
    level_axis = level([one.times for one in chart.bins], 150, 20 + LINE, COUNT)
    left = margin(level_axis)
    axis = wide_axis(ends, left, width - 12, chart.limits)
    placed = _placed(chart, axis, width)
    rows = max((row for row, _, _ in placed), default=-1) + 1
    top = 8 + LINE * rows
    plot = Plot(left, top, width - 12, top + 110)
    svg = Svg(width, plot.bottom + 2 * LINE + 4, chart.title, finding(chart))
    for nth, band in enumerate(chart.bands):
        begin, end = axis.at(band.low), axis.at(band.high)
        css = "band bad" if band.bad else f"band b{nth % 2}"
        svg.box(Point(begin, plot.top - 4), end - begin, plot.bottom - plot.top + 4, css, band_text(band))
        svg.line(Point(begin, plot.top - 4), Point(begin, plot.bottom), "lead")
    counts = level([one.times for one in chart.bins], plot.bottom, plot.top, COUNT)
    upright(svg, plot, counts)
    for one in chart.bins:
        begin, end, y = axis.at(one.low), axis.at(one.high), counts.at(one.times)
        tip = f"{said(one.low)} to {said(one.high)}: {one.times:,}"
        svg.box(Point(begin + 0.5, y), end - begin - 1, plot.bottom - y, "value", tip)
    for (row, x, label), _ in zip(placed, chart.bands, strict=True):
        svg.text(Point(x, LINE * (row + 1) - 3), label, "halo")
    along(svg, plot, axis)
    svg.text(Point((plot.left + plot.right) / 2, plot.bottom + TITLE), chart.what, anchor="middle", room=width - left)
    return svg.done()


def _placed(chart: Histogram, axis: Scale, width: float) -> list[tuple[int, float, str]]:
    """The row and the place of the name of each band: where a name has no room in a row it goes into the next."""
    ends: list[float] = []
    placed = []
    for band in chart.bands:
        label = fitted(one_line(band_text(band)), width - 2)
        begin = max(0.0, min(axis.at(band.low) + 2, width - width_of(label)))
        row = next((nth for nth, end in enumerate(ends) if begin >= end + GAP), len(ends))
        ends[row : row + 1] = [begin + width_of(label)]
        placed.append((row, begin, label))
    return placed


def band_text(band: Band) -> str:
    """A band with its count.

    >>> band_text(Band("danger", 0.85, 2, True, 3)), band_text(Band("stable", 0, 0.4))
    ('danger 3', 'stable')
    """
    return band.name if band.times is None else f"{band.name} {band.times:,}"


def finding(chart: Histogram) -> str:
    """How many values there are, where most of them are, and how many each band has."""
    total = sum(one.times for one in chart.bins)
    if not total:
        return f"no {chart.noun}"
    most = max(chart.bins, key=lambda one: one.times)
    told = f"{total:,} {chart.noun}; most of them, {most.times:,}, from {said(most.low)} to {said(most.high)}"
    known = [f"{one.name} {one.times:,} ({percent(one.times / total)})" for one in chart.bands if one.times is not None]
    return f"{told}; {listed(known, 8)}" if known else told
