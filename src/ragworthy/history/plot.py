"""The lines of a trend as a picture."""

from pathlib import Path
from typing import Any

from ragworthy.errors import usage_error
from ragworthy.history.trend import Trend
from ragworthy.metrics.registry import all_metrics
from ragworthy.report import picture
from ragworthy.text import clip, visible

MOST = len(picture.COLOURS)
"""So many lines can be told apart."""


def drawn(found: Trend, suffix: str) -> bytes:
    """The picture of a trend, as SVG or PNG."""
    if suffix.lower() not in picture.SUFFIXES:
        raise usage_error(f"--plot: expected a .png or .svg file, got {suffix or 'no suffix'}")
    return picture.drawn(spec(found), suffix)


def spec(found: Trend) -> dict[str, Any]:
    """The picture as Vega-Lite has it: one line per metric, rates only unless others were asked for."""
    known = all_metrics()
    rates = [line for line in found.lines if known[line.metric.partition("@")[0]].highest == 1]
    lines = (rates or list(found.lines))[:MOST]
    if not lines:
        raise usage_error("nothing to draw: no metric was measured")
    names = [f"{nth} {clip(visible(Path(name).name), 24)}" for nth, name in enumerate(found.reports, 1)]
    values = [
        {"run": names[nth], "value": float(value), "metric": line.metric}
        for line in lines
        for nth, value in enumerate(line.values)
        if value is not None
    ]
    order = [line.metric for line in lines]
    colour = {"field": "metric", "type": "nominal", "sort": order, "title": None,
              "scale": {"domain": order, "range": list(picture.COLOURS[: len(order)])}}  # fmt: skip
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": f"{found.suite} over {len(found.reports)} {found.noun}s", "anchor": "start"},
        "width": 640,
        "height": 320,
        "background": "white",
        "config": {"font": picture.FONT, "view": {"stroke": "#bbbbbb"}},
        "data": {"values": values},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "run", "type": "ordinal", "sort": names, "title": None, "axis": {"labelAngle": -40}},
            "y": {"field": "value", "type": "quantitative", "title": None, "scale": {"zero": False}},
            "color": colour,
        },
    }
