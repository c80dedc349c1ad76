"""Bars and points with their names beside them: stability by jitter, slices by metric, the way through the pipeline."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from ragworthy.report.html.charts.axes import GAP, Plot, along, column, said, wide
from ragworthy.report.html.charts.scale import RATE, Limits, Scale
from ragworthy.report.html.charts.svg import LINE, WIDTH, Point, Svg, listed

ROW = 20.0
NAMES = 0.42
"""The share of the width that names may take."""


class Bar(NamedTuple):
    """A value with its name."""

    name: str
    value: float | None
    interval: tuple[float, float] | None = None
    shown: str = ""
    """The value in words; of its own where nothing is given."""
    outcome: str = ""
    """pass or fail, where a gate says so: it is said beside the value too."""


class Bars(NamedTuple):
    """Values of one metric."""

    title: str
    bars: Sequence[Bar]
    threshold: float | None = None
    limits: Limits = RATE._replace(zero=True)
    noun: str = "value"


def picture(chart: Bars, width: float = WIDTH) -> Markup:
    """A bar for each value from 0 on, its interval over it, its number behind."""
    words = [_words(bar) for bar in chart.bars]
    names, numbers = column([bar.name for bar in chart.bars], NAMES * width), column(words, 0.3 * width)
    known = [value for bar in chart.bars for value in _values(bar)]
    limit = [] if chart.threshold is None else [chart.threshold]
    plot = Plot(names + GAP, 6 + (LINE if limit else 0), width - numbers - GAP, 0)
    plot = plot._replace(bottom=plot.top + ROW * len(chart.bars))
    axis = wide([*known, *limit], plot.left + 2, plot.right - 2, chart.limits)
    svg = Svg(width, plot.bottom + LINE + 6, chart.title, finding(chart))
    _rules(svg, plot, axis, chart.threshold)
    for nth, bar in enumerate(chart.bars):
        y = plot.top + ROW * nth + ROW / 2
        svg.text(Point(0, y + 4), bar.name, room=names)
        svg.text(Point(width, y + 4), words[nth], anchor="end", room=numbers)
        if bar.value is not None:
            zero = axis.at(0)
            x = axis.at(bar.value)
            css = f"value {bar.outcome}".strip()
            svg.box(Point(min(x, zero), y - 6), abs(x - zero), 12, css, f"{bar.name}: {words[nth]}")
            _interval(svg, axis, bar.interval, y)
    along(svg, plot, axis)
    return svg.done()


def _words(bar: Bar) -> str:
    told = bar.shown or ("–" if bar.value is None else said(bar.value))
    return f"{told} ✗" if bar.outcome == "fail" else told


def _values(bar: Bar) -> list[float]:
    return [] if bar.value is None else [bar.value, *(bar.interval or ())]


def _rules(svg: Svg, plot: Plot, axis: Scale, threshold: float | None) -> None:
    for tick in axis.ticks:
        svg.line(Point(axis.at(tick.value), plot.top), Point(axis.at(tick.value), plot.bottom), "grid")
    if threshold is not None:
        x = axis.at(threshold)
        svg.line(Point(x, plot.top - 3), Point(x, plot.bottom), "threshold dashed")
        label = f"gate {said(threshold)}"
        end = x > (plot.left + plot.right) / 2
        room = x if end else svg.width - x
        svg.text(Point(x, plot.top - 6), label, "tick", anchor="end" if end else "start", room=room)


def _interval(svg: Svg, axis: Scale, interval: tuple[float, float] | None, y: float) -> None:
    if interval is None:
        return
    low, high = axis.at(interval[0]), axis.at(interval[1])
    svg.line(Point(low, y), Point(high, y), "whisker")
    for x in (low, high):
        svg.line(Point(x, y - 3), Point(x, y + 3), "whisker")


def finding(chart: Bars) -> str:
    """The least and the most, and what fails."""
    known = [(bar.value, bar.name) for bar in chart.bars if bar.value is not None]
    if not known:
        return "no value"
    low, high = min(known), max(known)
    told = f"{len(known):,} values, from {said(low[0])} ({low[1]}) to {said(high[0])} ({high[1]})"
    if len(known) == 1:
        told = f"{low[1]}: {said(low[0])}"
    if chart.threshold is not None:
        told += f"; the gate is at {said(chart.threshold)}"
    failing = [bar.name for bar in chart.bars if bar.outcome == "fail"]
    return f"{told}; {listed(failing)} fail" if failing else told


# slices: a panel for each metric, the same rows in all of them


class Slices(NamedTuple):
    """The same metrics of several slices."""

    title: str
    slices: Sequence[str]
    metrics: Sequence[str]
    values: Sequence[Sequence[Bar]]
    """By metric, then by slice."""
    overall: Sequence[float | None] = ()
    """Of the whole gold set, by metric."""
    limits: Limits = RATE


def small_multiples(chart: Slices, width: float = WIDTH) -> Markup:
    """A panel for each metric; the point is the value, the line its interval, the dashed line the whole gold set."""
    names = column(chart.slices, NAMES * width)
    across = max(1, int((width - names) // 110))
    rows = -(-len(chart.metrics) // across)
    tall = 2 * LINE + 6 + ROW * len(chart.slices) + LINE
    svg = Svg(width, rows * tall + 4, chart.title, _of_slices(chart))
    size = (width - names) / across
    for nth, metric in enumerate(chart.metrics):
        top = (nth // across) * tall
        if nth % across == 0:
            for row, name in enumerate(chart.slices):
                svg.text(Point(0, top + 2 * LINE + ROW * row + ROW / 2 + 4), name, room=names)
        left = names + size * (nth % across) + 2 * GAP
        plot = Plot(left, top + 2 * LINE, left + size - 3 * GAP, top + 2 * LINE + ROW * len(chart.slices))
        overall = chart.overall[nth] if nth < len(chart.overall) else None
        _panel(svg, plot, metric, chart, nth, overall)
    return svg.done()


def _panel(svg: Svg, plot: Plot, metric: str, chart: Slices, nth: int, overall: float | None) -> None:
    bars = chart.values[nth]
    known = [value for bar in bars for value in _values(bar)]
    axis = wide([*known, *([] if overall is None else [overall])], plot.left, plot.right, chart.limits)
    svg.text(Point(plot.left, plot.top - LINE), metric, "strong", room=plot.right - plot.left)
    for tick in axis.ticks:
        svg.line(Point(axis.at(tick.value), plot.top), Point(axis.at(tick.value), plot.bottom), "grid")
    if overall is not None:
        x = axis.at(overall)
        svg.line(Point(x, plot.top - 4), Point(x, plot.bottom), "lead dashed")
    for row, bar in enumerate(bars):
        y = plot.top + ROW * row + ROW / 2
        if bar.value is None:
            svg.text(Point((plot.left + plot.right) / 2, y + 4), "–", anchor="middle")
            continue
        _interval(svg, axis, bar.interval, y)
        tip = f"{bar.name}: {bar.shown or said(bar.value)}"
        svg.mark(
            "diamond" if bar.outcome == "fail" else "circle", Point(axis.at(bar.value), y), bar.outcome or "s0", tip
        )
    ends = [axis.ticks[0], axis.ticks[-1]] if len(axis.ticks) > 1 else list(axis.ticks)
    for tick, anchor in zip(ends, ("start", "end"), strict=False):
        x = axis.at(tick.value) + (-3 if anchor == "start" else 3)
        svg.text(Point(x, plot.bottom + LINE - 2), tick.text, "tick", anchor=anchor)


def _of_slices(chart: Slices) -> str:
    told = []
    for metric, bars in zip(chart.metrics, chart.values, strict=True):
        known = [(bar.value, bar.name) for bar in bars if bar.value is not None]
        if known:
            low, high = min(known), max(known)
            told.append(f"{metric}: least {said(low[0])} in {low[1]}, most {said(high[0])} in {high[1]}")
    return listed(told, 6) if told else "no value"


# the way through the pipeline


class Step(NamedTuple):
    """A step of the pipeline: how many questions are left after it, and how many were lost in it."""

    name: str
    left: int
    lost: int
    note: str = ""


class Waterfall(NamedTuple):
    """Where questions were lost on their way."""

    title: str
    steps: Sequence[Step]
    noun: str = "answerable questions"


def waterfall(chart: Waterfall, width: float = WIDTH) -> Markup:
    """A bar for each step: what is left is solid, what was lost in it is striped and counted."""
    names = column([step.name for step in chart.steps], NAMES * width)
    words = [_lost(step) for step in chart.steps]
    numbers = column(words, 0.4 * width)
    most = max((step.left + step.lost for step in chart.steps), default=0) or 1
    begin, end = names + GAP, width - numbers - GAP
    noted = [f"* {step.name}: {step.note}" for step in chart.steps if step.note]
    bottom = ROW * len(chart.steps) + 4
    svg = Svg(width, bottom + (LINE * len(noted) + 4 if noted else 0), chart.title, _of_steps(chart))
    for nth, note in enumerate(noted):
        svg.text(Point(0, bottom + LINE * (nth + 1) - 2), note, "tick", room=width)
    for nth, step in enumerate(chart.steps):
        y = 2 + ROW * nth
        left = (end - begin) * step.left / most
        lost = (end - begin) * step.lost / most
        svg.text(Point(0, y + 14), step.name, room=names)
        svg.box(Point(begin, y + 3), left, 14, "value", f"{step.name}: {step.left:,} left")
        if step.lost:
            svg.box(Point(begin + left, y + 3), max(lost, 1.5), 14, "value lost", f"{step.name}: {step.lost:,} lost")
        svg.text(Point(width, y + 14), words[nth], anchor="end", room=numbers)
    return svg.done()


def _lost(step: Step) -> str:
    """What is said of a step.

    >>> _lost(Step("retrieved", 36, 12)), _lost(Step("asked", 48, 0)), _lost(Step("cited", 9, 1, "1 of them fine"))
    ('36 (−12)', '48', '9 (−1)*')
    """
    told = f"{step.left:,} (−{step.lost:,})" if step.lost else f"{step.left:,}"
    return f"{told}*" if step.note else told


def _of_steps(chart: Waterfall) -> str:
    if not chart.steps:
        return f"no {chart.noun}"
    first, last = chart.steps[0], chart.steps[-1]
    told = f"{last.left:,} of {first.left + first.lost:,} {chart.noun} come through"
    lost = sorted((step for step in chart.steps if step.lost), key=lambda step: -step.lost)
    return f"{told}; lost: {listed([f'{step.lost:,} at {step.name}' for step in lost], 9)}" if lost else told
