"""Pictures: a Vega-Lite chart as SVG or PNG, and what all of ours look alike in."""

from typing import Any

from ragworthy.errors import missing_extra

FONT = "DejaVu Sans, Verdana, sans-serif"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C564B")
"""Told apart by everybody, colour-blind people too."""
SUFFIXES = (".png", ".svg")
_VEGALITE = "5.17"
_SCALE = 2.0


def drawn(chart: dict[str, Any], suffix: str) -> bytes:
    """A chart as the picture that a file of this suffix holds."""
    try:
        import vl_convert
    except ImportError:
        raise missing_extra("vl-convert-python", "plot", "drawing") from None
    if suffix.lower() == ".svg":
        picture: str = vl_convert.vegalite_to_svg(chart, vl_version=_VEGALITE)
        return picture.encode()
    return bytes(vl_convert.vegalite_to_png(chart, vl_version=_VEGALITE, scale=_SCALE))
