"""What a chart says, read back from its SVG: the texts with the room they take, and every coordinate."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree

from ragworthy.report.html.charts.svg import width_of

NAMES = re.compile(r"-?\d+(?:\.\d+)?")


class Text(NamedTuple):
    """A text and the room it takes."""

    said: str
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Text") -> bool:
        """Whether two texts are printed over each other."""
        across = self.left < other.right - 0.2 and other.left < self.right - 0.2
        return across and self.top < other.bottom and other.top < self.bottom


def parsed(svg: str) -> ElementTree.Element:
    """The chart; what is not XML raises."""
    return ElementTree.fromstring(svg)


def texts(root: ElementTree.Element) -> list[Text]:
    """All texts that can be seen."""
    found = []
    for one in root.iter("text"):
        said = (one[-1].tail if len(one) else one.text) or ""
        x, y, wide = float(one.attrib["x"]), float(one.attrib["y"]), width_of(said)
        left = {"start": x, "middle": x - wide / 2, "end": x - wide}[one.get("text-anchor", "start")]
        found.append(Text(said, left, y - 8.5, left + wide, y + 2.5))
    return found


def said(root: ElementTree.Element) -> list[str]:
    """The words of all texts."""
    return [one.said for one in texts(root)]


def classed(root: ElementTree.Element, css: str) -> list[ElementTree.Element]:
    """The marks of a class."""
    return [one for one in root.iter() if css in one.get("class", "").split()]


def corners(root: ElementTree.Element) -> Iterator[tuple[float, float]]:
    """Every place that something is drawn at."""
    for one in root.iter():
        at = {
            key: float(one.attrib[key]) for key in ("x", "y", "x1", "y1", "x2", "y2", "cx", "cy") if key in one.attrib
        }
        if one.tag == "rect":
            yield at["x"], at["y"]
            yield at["x"] + float(one.attrib["width"]), at["y"] + float(one.attrib["height"])
        elif one.tag == "line":
            yield at["x1"], at["y1"]
            yield at["x2"], at["y2"]
        elif one.tag == "circle":
            radius = float(one.attrib["r"])
            yield at["cx"] - radius, at["cy"] - radius
            yield at["cx"] + radius, at["cy"] + radius
        elif "points" in one.attrib:
            numbers = [float(each) for each in NAMES.findall(one.attrib["points"])]
            yield from zip(numbers[::2], numbers[1::2], strict=True)


def sound(svg: str) -> ElementTree.Element:
    """A chart as it has to be: everything inside it, no text over another, and words for those who do not see it."""
    root = parsed(svg)
    width, height = (float(one) for one in root.attrib["viewBox"].split()[2:])
    outside = [at for at in corners(root) if not (-0.6 <= at[0] <= width + 0.6 and -0.6 <= at[1] <= height + 0.6)]
    assert outside == [], (outside, width, height)
    seen = texts(root)
    cut = [
        one for one in seen if one.left < -0.6 or one.right > width + 0.6 or one.top < -1.5 or one.bottom > height + 1
    ]
    assert cut == [], (cut, width, height)
    over = [(a, b) for a, b in combinations(seen, 2) if a.meets(b)]
    assert over == [], over
    assert root.attrib["role"] == "img"
    assert root[0].tag == "title" and root[0].text
    assert root[1].tag == "desc" and root[1].text
    return root
