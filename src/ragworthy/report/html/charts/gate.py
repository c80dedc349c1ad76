"""The picture of a gate: its value, what the cases leave open, the threshold and the margin on one scale."""

from fractions import Fraction
from typing import Any, NamedTuple

from markupsafe import Markup

from ragworthy import gates as g
from ragworthy.report.html.charts.axes import GAP
from ragworthy.report.html.charts.scale import Scale, alike, around, nice, text
from ragworthy.report.html.charts.svg import Point, Svg, width_of
from ragworthy.report.show import gate_name

WIDTH, HEIGHT = 220.0, 30.0
_Y = 9.0
_SHAPES = {"pass": "circle", "fail": "diamond", "undecided": "ring"}


class Gate(NamedTuple):
    """A gate with its numbers, and the texts in which a report tells them."""

    name: str
    outcome: str
    """pass, fail, undecided or not_measured."""
    threshold: str
    """As it was written."""
    value: float | None
    """On the scale of the threshold: of a gate that compares it is the loss. None where nothing was measured."""
    shown: str = ""
    """The value in words, never rounded across the threshold."""
    rule: str = ""
    at_least: bool = True
    """Whether the good side is above the threshold."""
    interval: tuple[float, float] | None = None
    margin: str = ""
    review: tuple[float, float] | None = None
    """The band in which a person decides."""
    compares: bool = False
    """Whether 0 means "as the baseline", which is marked then."""
    waived: bool = False
    whole: bool = False
    """Whether it is a count, of which there are no halves."""
    reason: str = ""
    """Why it was not measured, or how it failed."""


def of_report(entry: dict[str, Any]) -> Gate:
    """A gate as a report has it."""
    against = entry["op"] in g.AGAINST
    paired = entry.get("paired") or {}
    interval = None if entry["low"] is None or against else (float(entry["low"]), float(entry["high"]))
    value = entry["value"]
    if against:
        value = None if entry["margin"] is None else float(Fraction(entry["threshold"])) - entry["margin"]
        if paired.get("upper") is not None and value is not None:
            interval = value, max(value, float(paired["upper"]))
    elif entry["op"] == g.EACH:
        value = None
    review = entry.get("review")
    shown = entry["shown"]
    return Gate(
        name=gate_name(entry),
        outcome=entry["outcome"],
        threshold=entry["threshold"],
        value=None if value is None else float(value),
        shown=shown["value"],
        rule=shown["rule"],
        at_least=entry["op"] == g.MIN,
        interval=interval,
        margin=shown["margin"],
        review=None if review is None else (float(review[0]), float(review[1])),
        compares=against,
        waived="waiver" in entry,
        whole=entry["num"] is not None and entry["den"] is None,
        reason=entry["reason"] or "",
    )


def picture(gate: Gate) -> Markup:
    """One line of a table: where the value lies, how far the interval reaches, and where the threshold is."""
    svg = Svg(WIDTH, HEIGHT, f"{gate.name}: {gate.shown or '–'}, asked for {gate.rule}", _finding(gate), "gate")
    if gate.value is None:
        svg.line(Point(4, _Y), Point(WIDTH - 4, _Y), "grid")
        told = gate.shown if gate.outcome in ("pass", "fail") else gate.outcome.replace("_", " ")
        svg.text(Point(4, HEIGHT - 5), told, "tick", room=WIDTH - 8)
        return svg.done()
    scale, step = _scale(gate, gate.value)
    limit = scale.at(float(Fraction(gate.threshold)))
    good = (limit, scale.end) if gate.at_least else (scale.begin, limit)
    svg.box(Point(good[0], _Y - 5), good[1] - good[0], 10, "zone")
    if gate.review is not None:
        low, high = (scale.at(one) for one in gate.review)
        svg.box(Point(low, _Y - 5), high - low, 10, "zone warn")
    svg.line(Point(scale.begin, _Y), Point(scale.end, _Y), "axis")
    if gate.compares:
        svg.line(Point(scale.at(0), _Y - 5), Point(scale.at(0), _Y + 5), "axis")
    _values(svg, gate, scale, limit)
    _numbers(svg, gate, scale, step)
    return svg.done()


def _values(svg: Svg, gate: Gate, scale: Scale, limit: float) -> None:
    """The interval, the margin, the threshold, and over them the value."""
    at = scale.at(gate.value or 0.0)
    if gate.interval is not None:
        low, high = (scale.at(one) for one in gate.interval)
        svg.box(Point(low, _Y - 2), high - low, 4, "interval")
        for end in (low, high):
            svg.line(Point(end, _Y - 4), Point(end, _Y + 4), "whisker")
    svg.line(Point(at, _Y), Point(limit, _Y), f"margin {gate.outcome}")
    svg.line(Point(limit, 0.5), Point(limit, _Y + 8), "threshold")
    svg.mark(_SHAPES.get(gate.outcome, "square"), Point(at, _Y), gate.outcome, gate.shown)


def _scale(gate: Gate, value: float) -> tuple[Scale, Fraction]:
    """Everything that is drawn, out to the next multiples of a round step, and the step; a rate stays a rate."""
    limit = float(Fraction(gate.threshold))
    shown = [value, limit, *(gate.interval or ()), *(gate.review or ())]
    if gate.compares:
        shown.append(0.0)
    low, high = Fraction(min(shown)), Fraction(max(shown))
    span = high - low
    if alike(low, high):
        span = around(high)
    step = nice(span / 8)
    if gate.whole:
        step = max(step, Fraction(1))
    begin, end = (low - step / 2) // step * step, -((-high - step / 2) // step) * step
    if not gate.compares and low >= 0:
        begin = max(begin, Fraction(0))
        end = min(end, Fraction(1)) if high <= 1 and not gate.whole else end
    return Scale(float(begin), float(end), 5, WIDTH - 5, ()), step


def _numbers(svg: Svg, gate: Gate, scale: Scale, step: Fraction) -> None:
    """The threshold below its line, and the ends of the scale as far as there is room beside it."""
    y = HEIGHT - 2
    wide = min(width_of(gate.threshold), WIDTH)
    begin = min(max(scale.at(float(Fraction(gate.threshold))) - wide / 2, 0), WIDTH - wide)
    svg.text(Point(begin + wide / 2, y), gate.threshold, "tick strong", anchor="middle", room=WIDTH)
    taken = [(begin, begin + wide)]
    ends = [(0.0, scale.low), (WIDTH, scale.high)]
    if gate.compares:
        ends.append((scale.at(0), 0.0))
    for x, value in ends:
        label = text(round(Fraction(value) / step) * step, step).replace(",", "")  # thresholds have none either
        room = width_of(label)
        first = min(max(x - room / 2, 0), WIDTH - room)
        if all(first >= right + GAP or first + room + GAP <= left for left, right in taken):
            taken.append((first, first + room))
            svg.text(Point(first + room / 2, y), label, "tick", anchor="middle")


def _finding(gate: Gate) -> str:
    """The picture in words."""
    if gate.value is None:
        return f"{gate.outcome.replace('_', ' ')}{f': {gate.reason}' if gate.reason else ''}"
    told = [f"{gate.outcome}{', waived' if gate.waived else ''}"]
    if gate.margin:
        told.append(f"margin {gate.margin}")
    if gate.interval is not None:
        limit = float(Fraction(gate.threshold))
        low, high = gate.interval
        side = "on both sides of" if low < limit < high else "above" if low >= limit else "below"
        told.append(f"the interval is {side} the threshold {gate.threshold}")
    return "; ".join(told)
