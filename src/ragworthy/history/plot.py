"""The lines of a trend as a picture."""

from pathlib import Path
from typing import Any

from ragworthy.errors import missing_extra, usage_error
from ragworthy.history.trend import Trend
from ragworthy.metrics.registry import all_metrics
from ragworthy.text import clip, visible

MOST = 8
"""So many lines can be told apart."""
_VEGALITE = "5.17"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C564B")


def drawn(found: Trend, suffix: str) -> bytes:
    """The picture of a trend, as SVG or PNG."""
    if suffix.lower() not in (".png", ".svg"):
        raise usage_error(f"--plot: expected a .png or .svg file, got {suffix or 'no suffix'}")
    chart = spec(found)
    try:
        import vl_convert
    except ImportError:
        raise missing_extra("vl-convert-python", "plot", "drawing") from None
    if suffix.lower() == ".svg":
        picture: str = vl_convert.vegalite_to_svg(chart, vl_version=_VEGALITE)
        return picture.encode()
    return bytes(vl_convert.vegalite_to_png(chart, vl_version=_VEGALITE, scale=2.0))


def spec(found: Trend) -> dict[str, Any]:
    """The picture as Vega-Lite has it: one line a metric, rates only unless others were asked for."""
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
              "scale": {"domain": order, "range": list(_COLOURS[: len(order)])}}  # fmt: skip
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": f"{found.suite} over {len(found.reports)} {found.noun}s", "anchor": "start"},
        "width": 640,
        "height": 320,
        "background": "white",
        "config": {"font": "DejaVu Sans, Verdana, sans-serif", "view": {"stroke": "#bbbbbb"}},
        "data": {"values": values},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "run", "type": "ordinal", "sort": names, "title": None, "axis": {"labelAngle": -40}},
            "y": {"field": "value", "type": "quantitative", "title": None, "scale": {"zero": False}},
            "color": colour,
        },
    }
