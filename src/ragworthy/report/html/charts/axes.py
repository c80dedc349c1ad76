"""Axes, grid lines, legends and the numbers in sentences: the same in every chart."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.report.html.charts.scale import Limits, Scale, scale
from ragworthy.report.html.charts.svg import LINE, Point, Svg, fitted, one_line, width_of
from ragworthy.report.show import number

GAP = 6.0
"""Pixels between two labels on one line, and between a label and what it is about."""


def said(value: float) -> str:
    """A number in a label or a sentence, as reports write it.

    >>> said(0.1), said(2 / 3), said(1200.0), said(0.0000000123)
    ('0.1', '0.6667', '1200', '1.23e-08')
    """
    return f"{value:.3g}" if 0 < abs(value) < 1e-6 else number(Fraction(value))


BELOW, TITLE = LINE + 1, 2 * LINE + 1
"""How far below a plot the numbers of its axis stand, and what they are numbers of."""


class Plot(NamedTuple):
    """The part of a chart in which the data is."""

    left: float
    top: float
    right: float
    bottom: float


def upright(svg: Svg, plot: Plot, axis: Scale) -> None:
    """A line across for every number of the upright axis, the numbers on its left."""
    for tick in axis.ticks:
        y = axis.at(tick.value)
        svg.line(Point(plot.left, y), Point(plot.right, y), "grid")
        svg.text(Point(plot.left - GAP, y + 3.5), tick.text, "tick", anchor="end")


def along(svg: Svg, plot: Plot, axis: Scale) -> None:
    """The numbers of the axis along the bottom, each with a stroke."""
    labels = [(axis.at(tick.value), tick.text) for tick in axis.ticks]
    for x, _ in labels:
        svg.line(Point(x, plot.bottom), Point(x, plot.bottom + 3), "axis")
    apart(svg, plot.bottom + BELOW, labels)


def apart(svg: Svg, y: float, labels: Sequence[tuple[float, str]], css: str = "tick") -> None:
    """Labels on one line below where they belong; those without room are left out, but never the last."""
    spans: list[tuple[float, float, str]] = []
    for x, label in labels:
        wide = width_of(label)
        begin = min(max(x - wide / 2, 0), svg.width - wide)
        spans.append((begin, begin + wide, label))
    kept: list[tuple[float, float, str]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1] + GAP:
            kept.append(span)
    if spans and kept[-1] is not spans[-1]:
        while kept and kept[-1][1] + GAP > spans[-1][0]:
            kept.pop()
        kept.append(spans[-1])
    for begin, end, label in kept:
        svg.text(Point((begin + end) / 2, y), label, css, anchor="middle")


def margin(axis: Scale) -> float:
    """The room that the numbers of an upright axis take."""
    return max((width_of(tick.text) for tick in axis.ticks), default=0) + GAP + 2


def level(values: Sequence[float], bottom: float, top: float, limits: Limits) -> Scale:
    """An upright axis."""
    return scale(values, bottom, top, limits, most=max(2, int((bottom - top) / 26)))


def wide(values: Sequence[float], left: float, right: float, limits: Limits) -> Scale:
    """An axis along the bottom."""
    return scale(values, left, right, limits, most=max(2, int((right - left) / 56)))


def column(names: Sequence[str], most: float) -> float:
    """The room for a column of names, at most so much."""
    return min(max((width_of(one_line(name)) for name in names), default=0), most)


class Entry(NamedTuple):
    """A line of a legend."""

    css: str
    text: str


def legend_height(entries: Sequence[Entry], width: float) -> float:
    """How much room a legend takes."""
    return LINE * len(_lines(entries, width)) + 4


def legend(svg: Svg, top: float, entries: Sequence[Entry]) -> None:
    """Squares with their names, as many on a line as there is room for."""
    for nth, line in enumerate(_lines(entries, svg.width)):
        x, y = 0.0, top + LINE * (nth + 1)
        for entry in line:
            svg.box(Point(x, y - 8), 9, 9, entry.css)
            svg.text(Point(x + 13, y), entry.text, room=svg.width - 14)
            x += _entry_width(entry, svg.width)


def _entry_width(entry: Entry, width: float) -> float:
    return 13 + width_of(fitted(one_line(entry.text), width - 14)) + 2 * GAP


def _lines(entries: Sequence[Entry], width: float) -> list[list[Entry]]:
    lines: list[list[Entry]] = []
    left = 0.0
    for entry in entries:
        needed = _entry_width(entry, width)
        if not lines or needed > left + 2 * GAP:
            lines.append([])
            left = width
        lines[-1].append(entry)
        left -= needed
    return lines
