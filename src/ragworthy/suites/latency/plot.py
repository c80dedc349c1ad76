"""Accuracy against latency as a picture: every configuration and load, the frontier, the gates."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import usage_error
from ragworthy.files import write_whole
from ragworthy.ids import config_id
from ragworthy.report import picture
from ragworthy.text import clip, visible

WIDTH, HEIGHT = 640, 400
_LETTER, _LINE = 6.2, 13.0
"""The size of a letter of a label, in pixels."""
_GATE_TEXT = 150.0
"""The width of the name of a gate."""
_FAR = 4
"""A gate so many times beyond the slowest point is told and not drawn, or the points would all be at the edge."""
_FEW = 20
"""Under so many milliseconds the axis has a decimal."""
_LOOK = {
    "font": picture.FONT,
    "view": {"stroke": "#bbbbbb"},
    "axis": {"gridColor": "#eeeeee", "labelFontSize": 12, "titleFontSize": 13, "titlePadding": 10},
    "legend": {"labelFontSize": 12, "titleFontSize": 12},
    "title": {"fontSize": 17, "subtitleFontSize": 12, "subtitleColor": "#555555", "subtitlePadding": 6},
}
DRAWN = ("latency.p95", "answers.precision", "latency.p99", "answers.chr")
NO_LOAD = "not recorded"
MOST_NAMED, LONGEST_NAMED = 6, 18
"""Up to so many points with names of up to so many letters carry these; else letters stand for them, with a key."""
MOST_KEYS = 18


class Box(NamedTuple):
    """A rectangle on the picture, in pixels from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether the two share more than an edge."""
        beside = self.right <= other.left or other.right <= self.left
        return not beside and self.top < other.bottom and other.top < self.bottom


class Frame(NamedTuple):
    """The ranges of both axes."""

    slow: tuple[float, float]
    right: tuple[float, float]

    def at(self, slow: float, right: float) -> tuple[float, float]:
        """Where a point stands, in pixels."""
        x = (slow - self.slow[0]) / (self.slow[1] - self.slow[0]) * WIDTH
        y = (self.right[1] - right) / (self.right[1] - self.right[0]) * HEIGHT
        return x, y

    def back(self, x: float, y: float) -> tuple[float, float]:
        """The numbers that are at a place."""
        slow = self.slow[0] + x / WIDTH * (self.slow[1] - self.slow[0])
        right = self.right[1] - y / HEIGHT * (self.right[1] - self.right[0])
        return round(slow, 6), round(right, 9)


def write_plot(path: Path, body: dict[str, Any]) -> None:
    """Draw the body of a latency report into a .png or .svg file, whole or not at all."""
    if path.suffix.lower() not in picture.SUFFIXES:
        raise usage_error(f"expected a .png or .svg file to draw into, got {path.name}")
    write_whole(path, drawn(body, path.suffix))


def drawn(body: dict[str, Any], suffix: str) -> bytes:
    """The picture of the body of a latency report, as SVG or PNG."""
    return picture.drawn(spec(body), suffix)


def spec(body: dict[str, Any]) -> dict[str, Any]:
    """The picture as Vega-Lite has it."""
    points = _points(body)
    if not points:
        raise usage_error("nothing to draw: no configuration has both a P95 and a precision")
    gates = _gates(body)
    slowest = max(point["slow"] for point in points)
    beyond = gates.pop("slow") if gates.get("slow", 0) > _FAR * slowest else None
    frame = _frame([*points, *_beside(points)], gates)
    loads = list(dict.fromkeys(point["load"] for point in points))
    colour = {
        "field": "load",
        "type": "nominal",
        "sort": loads,
        "scale": {"domain": loads, "range": [picture.COLOURS[nth % len(picture.COLOURS)] for nth in range(len(loads))]},
        "legend": None
        if loads == [NO_LOAD]
        else {"title": "requests/s", "symbolType": "circle", "orient": "none", "legendX": WIDTH + 22, "legendY": 0},
    }
    axes = {
        "x": _axis("slow", "P95 latency, end to end (ms)", frame.slow, ",.0f" if slowest >= _FEW else ",.1f"),
        "y": _axis("right", "precision of shipped answers", frame.right, ".2f"),
    }
    layers = [
        *_lines(gates, frame, axes),
        *_whiskers(points, axes, colour),
        _frontier(points, axes, colour),
        *_marks(points, axes, colour),
        _labels(points, frame, axes, gates),
        *_key(points, 0 if loads == [NO_LOAD] else 34 + 18 * len(loads)),
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": WIDTH,
        "height": HEIGHT,
        "padding": 14,
        "background": "white",
        "title": {"text": "Accuracy against latency", "anchor": "start", "offset": 14}
        | {"subtitle": _told(body, points, beyond)},
        "layer": layers,
        "config": _LOOK,
    }


def _told(body: dict[str, Any], points: Sequence[dict[str, Any]], beyond: float | None) -> list[str]:
    """What the picture needs to be understood, in two lines or three."""
    judged = body["judged"]
    own = next((one for one in points if one["config"] == judged["configuration"]), None)
    name = judged["configuration"] if own is None else own["full"]
    load = "" if judged["load_rps"] is None else f" at {judged['load_rps']:g} requests/s"
    drawn = "filled: holds every gate; hollow: does not; ring: judged; whisker: to P99; small diamond: CHR"
    far = [] if beyond is None else [f"the gate P95 ≤ {beyond:,g} ms lies far to the right"]
    return [f"judged: {visible(clip(name, 60))}{load}, {judged['why']}", f"stepped line: the frontier; {drawn}", *far]


def _points(body: dict[str, Any]) -> list[dict[str, Any]]:
    names = _names(body["configurations"])
    judged = body["judged"]
    found: list[dict[str, Any]] = []
    for one in body["configurations"]:
        slow, right, tail, cited = (one["metrics"][name]["value"] for name in DRAWN)
        if slow is not None and right is not None:
            found.append(
                {
                    "config": one["config_id"],
                    "full": names[one["config_id"]],
                    "load": NO_LOAD if one["load_rps"] is None else f"{one['load_rps']:g}",
                    "slow": slow,
                    "right": right,
                    "tail": tail,
                    "cited": cited,
                    "frontier": one["frontier"],
                    "holds": one["meets_gates"],
                    "judged": (one["config_id"], one["load_rps"]) == (judged["configuration"], judged["load_rps"]),
                }
            )
    drawn = list(dict.fromkeys(point["config"] for point in found))
    plain = len(found) <= MOST_NAMED and all(len(names[config]) <= LONGEST_NAMED for config in drawn)
    for point in found:
        point["name"] = point["full"] if plain else _letter(drawn.index(point["config"]))
    return found


def _letter(nth: int) -> str:
    """A letter for each of the first configurations, a number for those after them.

    >>> _letter(0), _letter(25), _letter(26)
    ('A', 'Z', '27')
    """
    return chr(ord("A") + nth) if nth < 26 else str(nth + 1)


def _names(configurations: Iterable[dict[str, Any]]) -> dict[str, str]:
    """What each configuration is called: its own name, or the knobs in which it differs from the others."""
    knobs = {one["config_id"]: one["knobs"] for one in configurations}
    every = sorted({name for one in knobs.values() for name in one})
    moved = [name for name in every if len({repr(one.get(name)) for one in knobs.values()}) > 1]
    named = {}
    for config, one in knobs.items():
        text = ", ".join(f"{name} {one[name]}" for name in moved if name in one)
        named[config] = visible(clip(text if text and config == config_id(one) else config, 30))
    return named


def _gates(body: dict[str, Any]) -> dict[str, float]:
    limits = body["limits"]
    names = {"slow": "latency.p95", "right": "answers.precision"}
    return {axis: float(limits[name]) for axis, name in names.items() if name in limits}


def _frame(points: Sequence[dict[str, Any]], gates: dict[str, float]) -> Frame:
    """Ranges with room around every point; precision never beyond 1 by more than a margin."""

    def span(axis: str, least: float) -> tuple[float, float]:
        numbers = [point[axis] for point in points] + ([gates[axis]] if axis in gates else [])
        low, high = min(numbers), max(numbers)
        room = max((high - low) * 0.12, least)
        return max(low - room, 0.0), high + room

    low, high = span("right", 0.02)
    slow = span("slow", max(1.0, max(point["slow"] for point in points) * 0.05))
    return Frame(slow, (low, min(high, 1.03) if max(point["right"] for point in points) <= 1 else high))


def _axis(field: str, title: str, domain: tuple[float, float], written: str) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": list(domain), "nice": False, "zero": False},
        "axis": {"format": written, "tickCount": 7},
    }


def _lines(gates: dict[str, float], frame: Frame, axes: dict[str, Any]) -> list[dict[str, Any]]:
    """The gates, each with its name at the edge."""
    layers: list[dict[str, Any]] = []
    line = {"type": "rule", "color": "#888888", "strokeDash": [6, 4]}
    text = {"type": "text", "color": "#666666", "fontSize": 11, "font": picture.FONT}
    if "slow" in gates:
        place = {"slow": gates["slow"], "right": frame.right[0], "text": f"gate: P95 ≤ {gates['slow']:,g} ms"}
        layers.append({"data": {"values": [place]}, "mark": line, "encoding": {"x": axes["x"]}})
        beside = {"align": "right", "dx": -6} if _at_the_end(frame, gates) else {"align": "left", "dx": 6}
        upright = text | beside | {"baseline": "bottom", "dy": -6}
        layers.append({"data": {"values": [place]}, "mark": upright, "encoding": axes | {"text": {"field": "text"}}})
    if "right" in gates:
        end = frame.back(_right_end(frame, gates), 0)[0]
        place = {"slow": end, "right": gates["right"], "text": f"gate: precision ≥ {gates['right']:g}"}
        layers.append({"data": {"values": [place]}, "mark": line, "encoding": {"y": axes["y"]}})
        flat = text | {"align": "right", "baseline": "bottom", "dx": -6, "dy": -4}
        layers.append({"data": {"values": [place]}, "mark": flat, "encoding": axes | {"text": {"field": "text"}}})
    return layers


def _at_the_end(frame: Frame, gates: dict[str, float]) -> bool:
    """Whether there is no room for a text to the right of the P95 gate."""
    return "slow" in gates and frame.at(gates["slow"], frame.right[0])[0] > WIDTH - _GATE_TEXT


def _right_end(frame: Frame, gates: dict[str, float]) -> float:
    """Where the name of the precision gate ends, so that it does not cross the P95 gate."""
    return frame.at(gates["slow"], frame.right[0])[0] if _at_the_end(frame, gates) else WIDTH


def _frontier(points: Sequence[dict[str, Any]], axes: dict[str, Any], colour: dict[str, Any]) -> dict[str, Any]:
    best = sorted((one for one in points if one["frontier"]), key=lambda one: (one["load"], one["slow"], one["right"]))
    mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5, "opacity": 0.6}
    order = {"order": {"field": "slow", "type": "quantitative"}}
    return {"data": {"values": best}, "mark": mark, "encoding": axes | order | {"color": colour}}


def _beside(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where P99 and CHR of the points stand; a CHR that is the precision has no mark of its own."""
    tails = [one | {"slow": one["tail"]} for one in points if one["tail"] is not None]
    cited = [one | {"right": one["cited"]} for one in points if one["cited"] not in (None, one["right"])]
    return [*tails, *cited]


def _whiskers(points: Sequence[dict[str, Any]], axes: dict[str, Any], colour: dict[str, Any]) -> list[dict[str, Any]]:
    """From P95 to P99 a thin line, and from the precision to the CHR a dotted one with a small diamond."""
    thin = {"type": "rule", "strokeWidth": 1, "opacity": 0.7}
    tails = [one for one in points if one["tail"] is not None]
    cited = [one for one in points if one["cited"] not in (None, one["right"])]
    layers: list[dict[str, Any]] = []
    if tails:
        end = axes | {"x2": {"field": "tail"}, "color": colour}
        layers.append({"data": {"values": tails}, "mark": thin, "encoding": end})
        tick = {"type": "tick", "orient": "vertical", "size": 9, "thickness": 1}
        ends = {"values": [one | {"slow": one["tail"]} for one in tails]}
        layers.append({"data": ends, "mark": tick, "encoding": axes | {"color": colour}})
    if cited:
        end = axes | {"y2": {"field": "cited"}, "color": colour}
        layers.append({"data": {"values": cited}, "mark": thin | {"strokeDash": [2, 3]}, "encoding": end})
        mark = {"type": "point", "shape": "diamond", "size": 36, "fill": "white", "strokeWidth": 1.5}
        ends = {"values": [one | {"right": one["cited"]} for one in cited]}
        layers.append({"data": ends, "mark": mark, "encoding": axes | {"color": colour}})
    return layers


def _marks(points: Sequence[dict[str, Any]], axes: dict[str, Any], colour: dict[str, Any]) -> list[dict[str, Any]]:
    """Filled where every gate holds, hollow where one does not, with a ring around what is judged."""
    kinds = (
        ([one for one in points if one["holds"]], {"type": "point", "filled": True, "size": 90, "opacity": 1}),
        ([one for one in points if not one["holds"]], {"type": "point", "fill": "white", "size": 80, "strokeWidth": 2}),
        ([one for one in points if one["judged"]], {"type": "point", "fill": None, "size": 260, "strokeWidth": 1.5}),
    )
    return [
        {"data": {"values": values}, "mark": mark | {"shape": "circle"}, "encoding": axes | {"color": colour}}
        for values, mark in kinds
        if values
    ]


# labels


def _labels(
    points: Sequence[dict[str, Any]], frame: Frame, axes: dict[str, Any], gates: dict[str, float]
) -> dict[str, Any]:
    """The names of the points, each where it covers nothing else."""
    dots = [_around(*frame.at(one["slow"], one["right"]), 9 if one["judged"] else 6) for one in points]
    dots += [_around(*frame.at(one["slow"], one["right"]), 5) for one in _beside(points)]
    taken = dots + _gate_boxes(frame, gates)
    lines = _steps(points, frame)
    values = []
    for one in points:
        place, width = frame.at(one["slow"], one["right"]), len(one["name"]) * _LETTER
        box = _free(place, width, [*taken, *lines]) or _free(place, width, taken)
        if box is not None:
            taken.append(box)
            slow, right = frame.back(box.left, (box.top + box.bottom) / 2)
            values.append({"slow": slow, "right": right, "text": one["name"]})
    mark = {
        "type": "text",
        "align": "left",
        "baseline": "middle",
        "fontSize": 11,
        "font": picture.FONT,
        "color": "#222222",
    }
    return {"data": {"values": values}, "mark": mark, "encoding": axes | {"text": {"field": "text"}}}


def _around(x: float, y: float, reach: float) -> Box:
    return Box(x - reach, y - reach, x + reach, y + reach)


def _gate_boxes(frame: Frame, gates: dict[str, float]) -> list[Box]:
    """The lines of the gates and their names, which labels keep off."""
    boxes = []
    if "slow" in gates:
        x, _ = frame.at(gates["slow"], frame.right[0])
        left = x - _GATE_TEXT if _at_the_end(frame, gates) else x
        boxes += [Box(x - 1, 0, x + 1, HEIGHT), Box(left, HEIGHT - 22, left + _GATE_TEXT, HEIGHT)]
    if "right" in gates:
        _, y = frame.at(frame.slow[0], gates["right"])
        end = _right_end(frame, gates)
        boxes += [Box(0, y - 1, WIDTH, y + 1), Box(end - _GATE_TEXT, y - 20, end, y)]
    return boxes


def _steps(points: Sequence[dict[str, Any]], frame: Frame) -> list[Box]:
    """The lines of the frontier, as thin boxes."""
    boxes = []
    for load in dict.fromkeys(one["load"] for one in points):
        best = sorted((one["slow"], one["right"]) for one in points if one["load"] == load and one["frontier"])
        for before, after in pairwise(best):
            (x, y), (far, high) = frame.at(*before), frame.at(*after)
            boxes += [Box(x, y - 1, far, y + 1), Box(far - 1, min(y, high), far + 1, max(y, high))]
    return boxes


def _key(points: Sequence[dict[str, Any]], top: float) -> list[dict[str, Any]]:
    """What the letters stand for, beside the picture; nothing where the names themselves are in it."""
    names = {one["name"]: one["full"] for one in points if one["name"] != one["full"]}
    lines = [f"{letter}  {full}" for letter, full in names.items()]
    lines = [*lines[:MOST_KEYS], *([f"… {len(lines) - MOST_KEYS} more"] if len(lines) > MOST_KEYS else [])]
    text = {
        "type": "text",
        "align": "left",
        "baseline": "top",
        "fontSize": 12,
        "font": picture.FONT,
        "color": "#222222",
    }
    layers = []
    for nth, line in enumerate(["configuration", *lines] if lines else []):
        mark = text | {"text": line, "x": WIDTH + 22, "y": top + 19 * nth, "fontWeight": "normal" if nth else "bold"}
        layers.append({"data": {"values": [{}]}, "mark": mark})
    return layers


def _free(place: tuple[float, float], width: float, taken: Sequence[Box]) -> Box | None:
    """The nearest place for a label beside a point: right, left, above, below, then farther off; None without one."""
    x, y = place
    half = _LINE / 2
    for gap in (11.0, 18.0, 28.0, 40.0, 54.0):
        sides = ((x + gap, y), (x - gap - width, y), (x - width / 2, y - gap - 3), (x - width / 2, y + gap + 3))
        corners = [(left, y + turn * gap) for left in (x + gap / 2, x - gap / 2 - width) for turn in (-1, 1)]
        for left, middle in (*sides, *corners):
            box = Box(left, middle - half, left + width, middle + half)
            inside = box.left >= 2 and box.right <= WIDTH - 2 and box.top >= 2 and box.bottom <= HEIGHT - 2
            if inside and not any(box.meets(other) for other in taken):
                return box
    return None
