"""Configurations by what they cost and what they are worth, with the frontier, the gates, and their names."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from ragworthy.report.html.charts.axes import GAP, TITLE, Plot, along, level, margin, said, upright, wide
from ragworthy.report.html.charts.scale import ANY, RATE, Limits, Scale
from ragworthy.report.html.charts.svg import LINE, WIDTH, Point, Svg, fitted, listed, one_line, width_of

TALL = 190.0


class Dot(NamedTuple):
    """A configuration."""

    name: str
    x: float
    y: float
    front: bool = False
    """Whether nothing is better in both."""
    judged: bool = False
    """Whether the gates look at this one."""


class Scatter(NamedTuple):
    """Configurations and gates."""

    title: str
    along: str
    """What x is, with its unit: "p95, ms"."""
    up: str
    dots: Sequence[Dot]
    x_gate: float | None = None
    """At most this much x."""
    y_gate: float | None = None
    """At least this much y."""
    x_limits: Limits = ANY._replace(floor=0)
    y_limits: Limits = RATE


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def picture(chart: Scatter, width: float = WIDTH) -> Markup:
    """A mark for each configuration; names where there is room, else numbers with the names below."""
    x_gate, y_gate = ([] if gate is None else [gate] for gate in (chart.x_gate, chart.y_gate))
    top = LINE + 8 + (LINE if x_gate else 0)  # what y is, and below it the gate of x
    y_axis = level([*(dot.y for dot in chart.dots), *y_gate], top + TALL - 50, top, chart.y_limits)
    plot = Plot(margin(y_axis), top, width - 12, top + TALL - 50)
    x_axis = wide([*(dot.x for dot in chart.dots), *x_gate], plot.left, plot.right, chart.x_limits)
    places = [Point(x_axis.at(dot.x), y_axis.at(dot.y)) for dot in chart.dots]
    gates = _gates(chart, plot, x_axis, y_axis, width)
    steps = _steps(chart, places)
    drawn = [*(box for box, _, _ in gates), *_strokes(chart, plot, x_axis, y_axis, steps)]
    names, key = _names(chart, plot, places, drawn)
    bottom = plot.bottom + 2 * LINE + 4
    svg = Svg(width, bottom + (LINE * len(key) + 4 if key else 0), chart.title, finding(chart))
    svg.text(Point(0, 10), chart.up, room=width)
    upright(svg, plot, y_axis)
    _limits(svg, chart, plot, x_axis, y_axis)
    if len(steps) > 1:
        svg.path(steps, "frontier")
    for dot, at in zip(chart.dots, places, strict=True):
        css = "s0" if dot.front else "s3"
        tip = f"{dot.name}: {said(dot.x)}, {said(dot.y)}"
        svg.mark("circle" if dot.front else "ring", at, css, tip, 4)
        if dot.judged:
            svg.mark("ring", at, "judged", radius=7)
    for box, label, tip in (*gates, *names):
        svg.text(Point(box.left, box.bottom - 3), label, "halo", room=0 if label != tip else width)
    for nth, label in enumerate(key):
        svg.text(Point(0, bottom + LINE * (nth + 1) - 4), label, room=width)
    along(svg, plot, x_axis)
    svg.text(Point((plot.left + plot.right) / 2, plot.bottom + TITLE), chart.along, anchor="middle", room=width / 2)
    return svg.done()


def _limits(svg: Svg, chart: Scatter, plot: Plot, x_axis: Scale, y_axis: Scale) -> None:
    """The gates as lines."""
    if chart.x_gate is not None:
        x = x_axis.at(chart.x_gate)
        svg.line(Point(x, plot.top - 6), Point(x, plot.bottom), "threshold dashed")
    if chart.y_gate is not None:
        y = y_axis.at(chart.y_gate)
        svg.line(Point(plot.left, y), Point(plot.right, y), "threshold dashed")


def _gates(chart: Scatter, plot: Plot, x_axis: Scale, y_axis: Scale, width: float) -> list[tuple[_Box, str, str]]:
    """The names of the gates: that of x above its line, that of y at the left of its own, or at the right where a mark
    is at the left.
    """
    found = []
    if chart.x_gate is not None:
        label = f"≤ {said(chart.x_gate)}"
        begin = min(max(x_axis.at(chart.x_gate) - width_of(label) / 2, plot.left), width - width_of(label))
        found.append((_Box(begin, plot.top - 19, begin + width_of(label), plot.top - 7), label, ""))
    if chart.y_gate is not None:
        label = f"≥ {said(chart.y_gate)}"
        y = y_axis.at(chart.y_gate)
        top = y + 2 if y - 14 < plot.top else y - 14
        size = width_of(label)
        left, right = (_Box(begin, top, begin + size, top + 12) for begin in (plot.left + 3, plot.right - size - 3))
        marks = [_mark(Point(x_axis.at(dot.x), y_axis.at(dot.y))) for dot in chart.dots]
        taken = any(left.meets(mark) for mark in marks) and not any(right.meets(mark) for mark in marks)
        found.append((right if taken else left, label, ""))
    return found


def _steps(chart: Scatter, places: Sequence[Point]) -> list[Point]:
    """The corners of the frontier."""
    best = sorted(at for dot, at in zip(chart.dots, places, strict=True) if dot.front)
    steps: list[Point] = []
    for at in best:
        if steps:
            steps.append(Point(at.x, steps[-1].y))
        steps.append(at)
    return steps


def _strokes(chart: Scatter, plot: Plot, x_axis: Scale, y_axis: Scale, steps: Sequence[Point]) -> list[_Box]:
    """The lines of the frontier and the gates as thin boxes, so that no name is struck through."""
    found = [
        _Box(min(a.x, b.x) - 1, min(a.y, b.y) - 1, max(a.x, b.x) + 1, max(a.y, b.y) + 1) for a, b in pairwise(steps)
    ]
    if chart.x_gate is not None:
        x = x_axis.at(chart.x_gate)
        found.append(_Box(x - 1, plot.top, x + 1, plot.bottom))
    if chart.y_gate is not None:
        y = y_axis.at(chart.y_gate)
        found.append(_Box(plot.left, y - 1, plot.right, y + 1))
    return found


def _mark(at: Point) -> _Box:
    """The room that a mark takes."""
    return _Box(at.x - 5, at.y - 5, at.x + 5, at.y + 5)


def _names(
    chart: Scatter, plot: Plot, places: Sequence[Point], taken: Sequence[_Box]
) -> tuple[list[tuple[_Box, str, str]], list[str]]:
    """The name of each configuration beside it where nothing is in the way, else a number that is told below."""
    marks = list(map(_mark, places))
    order = sorted(range(len(places)), key=lambda nth: (not chart.dots[nth].front, nth))
    full = [*taken, *marks]
    shown: list[tuple[_Box, str, str]] = []
    key: list[str] = []
    for nth in order:
        whole = one_line(chart.dots[nth].name)
        label = fitted(whole, 0.4 * (plot.right - plot.left))
        box = _free(places[nth], label, plot, full, marks[nth])
        if box is None or label != whole:
            key.append(f"{len(key) + 1} {whole}")
            label = whole = str(len(key))
            box = _free(places[nth], label, plot, full, marks[nth])
        if box is not None:
            full.append(box)
            shown.append((box, label, whole))
        else:
            key[-1] = whole_of(chart.dots[nth])
    return shown, key


def whole_of(dot: Dot) -> str:
    """A configuration with its values, where there is no room for a number beside its mark.

    >>> whole_of(Dot("k=5", 120, 0.5))
    '(120, 0.5) k=5'
    """
    return f"({said(dot.x)}, {said(dot.y)}) {dot.name}"


def _free(at: Point, label: str, plot: Plot, full: Sequence[_Box], own: _Box) -> _Box | None:
    """Room for a label at a mark: on its right, on its left, above, below, and then further off."""
    size = width_of(label)
    right, left, middle = at.x + GAP + 1, at.x - GAP - 1 - size, at.x - size / 2
    corners = [(right, at.y - 6), (left, at.y - 6), (middle, at.y - 19), (middle, at.y + 7)]
    corners += [(right, at.y - 16), (right, at.y + 4), (left, at.y - 16), (left, at.y + 4)]
    for x, y in corners:
        box = _Box(x, y, x + size, y + 12)
        inside = plot.left <= box.left and box.right <= plot.right + 12 and plot.top - 6 <= box.top
        if inside and box.bottom <= plot.bottom and not any(box.meets(other) for other in full if other is not own):
            return box
    return None


def finding(chart: Scatter) -> str:
    """What is on the frontier, and what keeps the gates, in words."""
    if not chart.dots:
        return "no configuration"
    best = sorted((dot for dot in chart.dots if dot.front), key=lambda dot: (dot.x, dot.name))
    told = [f"{len(chart.dots):,} configurations"]
    if best:
        told.append(f"on the frontier: {listed([whole_of(dot) for dot in best], 5)}")
    if chart.x_gate is not None or chart.y_gate is not None:
        kept = [dot.name for dot in chart.dots if _keeps(chart, dot)]
        told.append(f"{listed(kept, 5)} keep the gates" if kept else "none keeps the gates")
    return "; ".join(told)


def _keeps(chart: Scatter, dot: Dot) -> bool:
    slow = chart.x_gate is not None and dot.x > chart.x_gate
    return not slow and (chart.y_gate is None or dot.y >= chart.y_gate)
