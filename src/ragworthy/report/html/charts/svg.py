"""What every chart is drawn with: lines, marks, texts that fit their room, and numbers written the same everywhere."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from ragworthy.report.html.env import steerless
from ragworthy.text import clip

WIDTH = 360
"""Pixels of a chart unless it is told otherwise: what a phone shows without making the letters smaller."""
SIZE = 11.0
"""Pixels of a letter."""
LINE = 14.0
"""Pixels from one line of text to the next."""
SHAPES = ("circle", "square", "diamond", "triangle", "cross", "ring")
"""Marks of the series, so that colours are not all that tells them apart."""
SERIES = 6
"""So many colours there are; further series begin again with another dash."""
_NARROW, _WIDE = frozenset("iIjl.,:;'|!()[]/ "), frozenset("mwMW@%—…")
_LONGEST = 300


class Point(NamedTuple):
    """A place in a chart, in pixels from its upper left corner."""

    x: float
    y: float


class Svg:
    """A chart that is being drawn."""

    def __init__(self, width: float, height: float, title: str, finding: str, css: str = "") -> None:
        self.width, self.height = width, height
        self._title, self._finding, self._css = title, finding, f"chart {css}".strip()
        self._parts: list[Markup] = []

    def line(self, begin: Point, end: Point, css: str) -> None:
        """A straight line."""
        ends = f'x1="{px(begin.x)}" y1="{px(begin.y)}" x2="{px(end.x)}" y2="{px(end.y)}"'
        self._add(f'<line class="{css}" {ends}/>')

    def box(self, corner: Point, width: float, height: float, css: str, tip: str = "") -> None:
        """A rectangle; `tip` is read out and shown under the mouse."""
        size = f'width="{px(max(width, 0))}" height="{px(max(height, 0))}"'
        self._add(f'<rect class="{css}" x="{px(corner.x)}" y="{px(corner.y)}" {size}', "rect", tip)

    def path(self, points: Sequence[Point], css: str) -> None:
        """A line through several places."""
        told = " ".join(f"{px(one.x)},{px(one.y)}" for one in points)
        self._add(f'<polyline class="{css}" fill="none" points="{told}"/>')

    def area(self, points: Sequence[Point], css: str) -> None:
        """What lies between several places."""
        told = " ".join(f"{px(one.x)},{px(one.y)}" for one in points)
        self._add(f'<polygon class="{css}" points="{told}"/>')

    def mark(self, shape: str, at: Point, css: str, tip: str = "", radius: float = 3.5) -> None:
        """A mark at a place: one of `SHAPES`."""
        if shape in ("circle", "ring"):
            hollow = " hollow" if shape == "ring" else ""
            circle = f'<circle class="{css}{hollow}" cx="{px(at.x)}" cy="{px(at.y)}" r="{px(radius)}"'
            self._add(circle, "circle", tip)
            return
        around = [Point(at.x + radius * x, at.y + radius * y) for x, y in _CORNERS[shape]]
        told = " ".join(f"{px(one.x)},{px(one.y)}" for one in around)
        self._add(f'<polygon class="{css}" points="{told}"', "polygon", tip)

    def text(
        self, at: Point, said: str, css: str = "", *, anchor: str = "start", room: float = 0, whole: str = ""
    ) -> None:
        """A text; where `room` is too narrow for it the end is cut, and the whole is shown under the mouse, or what
        `whole` says.
        """
        line = one_line(said)
        shown = fitted(line, room) if room else line
        whole = one_line(whole) or line
        named = f' class="{css}"' if css else ""
        side = "" if anchor == "start" else f' text-anchor="{anchor}"'
        tip = Markup("<title>{}</title>").format(whole) if shown != whole else Markup()
        opening = Markup(f'<text{named} x="{px(at.x)}" y="{px(at.y)}"{side}>')  # noqa: S704 - numbers and our classes
        self._parts.append(opening + tip + escape(shown) + Markup("</text>"))

    def _add(self, opening: str, name: str = "", tip: str = "") -> None:
        """A mark; one that was not closed is, with what it says."""
        if not name:
            self._parts.append(Markup(opening))  # noqa: S704 - numbers and our classes
        elif not tip:
            self._parts.append(Markup(f"{opening}/>"))  # noqa: S704
        else:
            said = Markup("<title>{}</title>").format(one_line(tip))
            self._parts.append(Markup(f"{opening}>") + said + Markup(f"</{name}>"))  # noqa: S704

    def done(self) -> Markup:
        """The chart as it is written into a page; a screen reader hears its title and what is found in it."""
        title, finding = (one_line(one, 600) for one in (self._title, self._finding))
        size = f'width="{px(self.width)}" height="{px(self.height)}" viewBox="0 0 {px(self.width)} {px(self.height)}"'
        # The name is told as a label too: of a chart without ids not every screen reader reads <desc>.
        opening = Markup(f'<svg class="{self._css}" role="img" {size}')  # noqa: S704 - numbers
        label = Markup(' aria-label="{}"><title>{}</title><desc>{}</desc>')
        inside = Markup().join(self._parts)
        return opening + label.format(f"{title}. {finding}", title, finding) + inside + Markup("</svg>")


_CORNERS: dict[str, Sequence[tuple[float, float]]] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "triangle": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "cross": (
        (-1.2, -0.8), (-0.8, -1.2), (0, -0.4), (0.8, -1.2), (1.2, -0.8), (0.4, 0),
        (1.2, 0.8), (0.8, 1.2), (0, 0.4), (-0.8, 1.2), (-1.2, 0.8), (-0.4, 0),
    ),
}  # fmt: skip
"""The corners of each mark, in radii from its centre."""


def one_line(text: str, most: int = _LONGEST) -> str:
    """A text of somebody else on one line, with nothing in it that steers."""
    return steerless(clip(text, most))


def px(value: float) -> str:
    """A coordinate: one place, without a zero that says nothing.

    >>> px(12), px(0.25), px(-0.04), px(7.96)
    ('12', '0.2', '0', '8')
    """
    told = f"{value:.1f}".removesuffix(".0")
    return "0" if told == "-0" else told


def width_of(text: str) -> float:
    """About how many pixels a text takes, and hardly ever less: letters are taken as wide as those of a wide font.

    >>> width_of("") == 0, width_of("illi") < width_of("mass") < width_of("中文中文")
    (True, True)
    """
    return SIZE * sum(map(_em, text))


def _em(sign: str) -> float:
    """The width of a sign, as a share of the size of the font."""
    if sign in _NARROW:
        return 0.42
    if sign in _WIDE:
        return 1.02
    if sign.isascii():
        return 0.66 if sign.islower() or sign.isdigit() else 0.8
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 1.1 if unicodedata.east_asian_width(sign) in "WF" or ord(sign) > 0xFFFF else 0.85


def fitted(text: str, room: float) -> str:
    """The text, cut with an ellipsis where it is wider than so many pixels; a letter keeps the marks that are on it.

    >>> fitted("recall", 100), fitted("retrieval.recall@5", 60)
    ('recall', 'retriev…')
    """
    if not text or width_of(text) <= room + 0.01:
        return text
    left, kept = room - width_of("…"), 0
    while kept < len(text) and (left := left - SIZE * _em(text[kept])) >= 0:
        kept += 1
    return text[:kept].rstrip() + "…"


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places for labels as near to where they belong as they can be without touching each other.

    >>> spread([10, 12, 50], 14, 0, 100), spread([95, 99], 14, 0, 100)
    ([10, 24, 50], [86, 100])
    """
    order = sorted(range(len(wanted)), key=lambda nth: (wanted[nth], nth))
    placed = [0.0] * len(wanted)
    floor = low
    for nth in order:
        placed[nth] = floor = max(wanted[nth], floor)
        floor += gap
    roof = high
    for nth in reversed(order):
        placed[nth] = roof = min(placed[nth], roof)
        roof -= gap
    return placed


def series(nth: int) -> str:
    """The classes of a series: its colour, and a dash from the second round on.

    >>> series(0), series(7)
    ('s0', 's1 dash1')
    """
    colour, dash = nth % SERIES, nth // SERIES
    return f"s{colour} dash{min(dash, 3)}" if dash else f"s{colour}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Names in words, the rest as a count.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
