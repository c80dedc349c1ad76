"""Lines with their names at their ends: a metric over runs, or over k."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from ragworthy.report.html.charts.axes import BELOW, GAP, Plot, apart, level, margin, said, upright
from ragworthy.report.html.charts.scale import RATE, Limits, Scale
from ragworthy.report.html.charts.svg import (
    LINE,
    SHAPES,
    WIDTH,
    Point,
    Svg,
    fitted,
    listed,
    one_line,
    series,
    spread,
    width_of,
)

TALL = 150.0
MOST_MARKS = 40
"""With more points than that only the last one of a line has a mark."""


class Line(NamedTuple):
    """A line; None where there is no value, which leaves a gap."""

    name: str
    values: Sequence[float | None]


class Lines(NamedTuple):
    """Lines over the same places."""

    title: str
    places: Sequence[str]
    """What is below each value: runs, or depths."""
    lines: Sequence[Line]
    threshold: float | None = None
    """A gate on it, drawn as a line of its own."""
    limits: Limits = RATE
    over: str = "runs"
    """What the places are, for the sentence that is read out."""


class _End(NamedTuple):
    """What is at the end of a line."""

    nth: int
    value: float
    name: str
    said: str


def picture(chart: Lines, width: float = WIDTH) -> Markup:
    """The lines, each with its name and its last value at its end."""
    svg_height, top = _height(chart), 10.0
    svg = Svg(width, svg_height, chart.title, finding(chart))
    values = [value for line in chart.lines for value in line.values if value is not None]
    plot = Plot(0, top, width, svg_height - 22)
    axis = level([*values, *_limit(chart)], plot.bottom, plot.top, chart.limits)
    labels = [_End(nth, last, line.name, said(last)) for nth, line in enumerate(chart.lines) for last in _last(line)]
    needed = max((width_of(one_line(f"{one.said} {one.name}")) for one in labels), default=0.0)
    left = margin(axis)
    plot = plot._replace(left=left, right=width - min(needed, 0.45 * width) - 2 * GAP)
    upright(svg, plot, axis)
    _threshold(svg, plot, axis, chart)
    for nth, line in enumerate(chart.lines):
        _line(svg, plot, axis, line, nth, len(chart.places))
    _names(svg, plot, axis, labels)
    apart(svg, plot.bottom + BELOW, [(_x(plot, nth, len(chart.places)), name) for nth, name in _places(chart, plot)])
    return svg.done()


def _height(chart: Lines) -> float:
    """As tall as the names at the ends need, one below the other."""
    return max(TALL, LINE * (len(chart.lines) + 1) + 34)


def _places(chart: Lines, plot: Plot) -> Iterator[tuple[int, str]]:
    """What is said along the bottom, each cut to what it may take."""
    room = max((plot.right - plot.left) / 2, 40)
    for nth, name in enumerate(chart.places):
        yield nth, fitted(one_line(name), room)


def _limit(chart: Lines) -> list[float]:
    return [] if chart.threshold is None else [chart.threshold]


def _last(line: Line) -> list[float]:
    return [value for value in line.values if value is not None][-1:]


def _x(plot: Plot, nth: int, places: int) -> float:
    return (plot.left + plot.right) / 2 if places < 2 else plot.left + (plot.right - plot.left) * nth / (places - 1)


def _threshold(svg: Svg, plot: Plot, axis: Scale, chart: Lines) -> None:
    if chart.threshold is None:
        return
    y = axis.at(chart.threshold)
    svg.line(Point(plot.left, y), Point(plot.right, y), "threshold dashed")
    label = f"gate {said(chart.threshold)}"
    below = y - LINE < plot.top
    svg.text(Point(plot.left + 3, y + 11 if below else y - 4), label, "halo", room=plot.right - plot.left - 3)


def _line(svg: Svg, plot: Plot, axis: Scale, line: Line, nth: int, places: int) -> None:
    """The pieces of a line between its gaps, and its marks."""
    piece: list[Point] = []
    last: Point | None = None
    for place, value in enumerate([*line.values, None]):
        if value is None:
            if len(piece) > 1:
                svg.path(piece, f"line {series(nth)}")
            piece = []
            continue
        last = Point(_x(plot, place, places), axis.at(value))
        piece.append(last)
        if places <= MOST_MARKS:
            svg.mark(SHAPES[nth % len(SHAPES)], last, series(nth), f"{line.name}, {chart_place(place, value)}", 2.5)
    if last is not None and places > MOST_MARKS:
        svg.mark(SHAPES[nth % len(SHAPES)], last, series(nth), radius=2.5)


def chart_place(place: int, value: float) -> str:
    """A value of a line with its place, counted from 1.

    >>> chart_place(0, 0.5)
    '1: 0.5'
    """
    return f"{place + 1}: {said(value)}"


def _names(svg: Svg, plot: Plot, axis: Scale, labels: Sequence[_End]) -> None:
    """The names beside the ends of their lines, apart from each other."""
    ends = [axis.at(label.value) for label in labels]
    for label, end, y in zip(labels, ends, spread(ends, LINE, plot.top, plot.bottom), strict=True):
        if abs(end - y) > 2:
            svg.line(Point(plot.right + 3, end), Point(plot.right + GAP + 3, y), "lead")
        room = svg.width - plot.right - 2 * GAP
        name = fitted(one_line(label.name), room - width_of(f"{label.said} "))
        whole = "" if name == one_line(label.name) else label.name
        svg.text(Point(plot.right + 2 * GAP, y + 3.5), f"{label.said} {name}".strip(), "name", whole=whole)


def finding(chart: Lines) -> str:
    """From where to where each line goes, in words."""
    told = []
    for line in chart.lines:
        known = [(nth, value) for nth, value in enumerate(line.values) if value is not None]
        if not known:
            told.append(f"{line.name}: no value")
        elif len(known) == 1:
            told.append(f"{line.name}: {said(known[0][1])} at {chart.places[known[0][0]]}")
        else:
            low, high = min(value for _, value in known), max(value for _, value in known)
            ends = f"from {said(known[0][1])} to {said(known[-1][1])}"
            told.append(f"{line.name} {ends} over {len(known):,} {chart.over} (least {said(low)}, most {said(high)})")
    gate = "" if chart.threshold is None else f"; the gate is at {said(chart.threshold)}"
    return f"{listed(told, 6)}{gate}" if told else "nothing to show"
