"""Counts of pairs: what one said and what the other said, or what was expected and what came."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from ragworthy.report.html.charts.axes import GAP, column
from ragworthy.report.html.charts.svg import LINE, WIDTH, Point, Svg, listed, one_line, width_of
from ragworthy.report.show import percent

CELL = 34.0
SHADES = 5


class Matrix(NamedTuple):
    """A count for every pair of a row and a column."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    counts: Sequence[Sequence[int]]
    """By row, then by column."""
    of_rows: str = ""
    """What the rows are: "scholar", "gold set"."""
    of_columns: str = ""
    right: frozenset[tuple[int, int]] = frozenset()
    """The pairs that are as they should be; they have a frame and a tick."""
    noun: str = "questions"


def picture(chart: Matrix, width: float = WIDTH) -> Markup:
    """A cell for every pair, the darker the more of its row are in it; columns that are too narrow for their names have
    letters, and the names below.
    """
    names = column([*(f"A {name}" for name in chart.rows), f"{chart.of_rows} ↓"], 0.4 * width)
    size = min((width - names - GAP) / max(len(chart.columns), 1), 90)
    lettered = any(width_of(one_line(name)) + GAP > size for name in chart.columns)
    square = list(chart.rows) == list(chart.columns)
    top = 2 * LINE + 4 if chart.of_columns else LINE + 4
    bottom = top + CELL * len(chart.rows)
    key = chart.columns if lettered and not square else ()
    svg = Svg(width, bottom + (LINE * len(key) + 6 if key else 2), chart.title, finding(chart))
    left = names + GAP
    if chart.of_columns:
        svg.text(Point(left, LINE - 3), f"{chart.of_columns} →", "tick", room=width - left)
    if chart.of_rows:
        svg.text(Point(0, top - 6), f"{chart.of_rows} ↓", "tick", room=names)
    for nth, name in enumerate(chart.columns):
        said = letter(nth) if lettered else name
        svg.text(Point(left + size * (nth + 0.5), top - 6), said, "strong", anchor="middle", room=size)
    for nth, name in enumerate(key):
        svg.text(Point(0, bottom + LINE * (nth + 1)), f"{letter(nth)} {name}", room=width)
    for row, name in enumerate(chart.rows):
        said = f"{letter(row)} {name}" if lettered and square else name
        svg.text(Point(0, top + CELL * (row + 0.5) + 4), said, room=names)
        for nth in range(len(chart.columns)):
            _cell(svg, chart, row, nth, Point(left + size * nth, top + CELL * row), size)
    return svg.done()


def _cell(svg: Svg, chart: Matrix, row: int, nth: int, corner: Point, size: float) -> None:
    count, total = chart.counts[row][nth], sum(chart.counts[row])
    share = count / total if total else 0.0
    right = (row, nth) in chart.right
    shade = 0 if not count else min(SHADES, 1 + int(share * SHADES))
    css = f"cell h{shade}" + (" right" if right else "")
    tip = f"{chart.rows[row]}, {chart.columns[nth]}: {count:,} of {total:,}"
    svg.box(Point(corner.x + 1, corner.y + 1), size - 2, CELL - 2, css, tip)
    said = f"{count:,}{' ✓' if right and count else ''}"
    if width_of(said) > size - 4:
        said = f"{count:,}"
    middle = Point(corner.x + size / 2, corner.y + CELL / 2 + (0 if count and size > 40 else 4))
    svg.text(middle, said, "deep" if shade > 3 else "", anchor="middle", room=size - 2)
    if count and size > 40:
        svg.text(
            middle._replace(y=middle.y + 12), percent(share), "tick deep" if shade > 3 else "tick", anchor="middle"
        )


def letter(nth: int) -> str:
    """A, B, … Z, A1, B1 …

    >>> letter(0), letter(27)
    ('A', 'B1')
    """
    return f"{chr(65 + nth % 26)}{nth // 26 or ''}"


def finding(chart: Matrix) -> str:
    """How many are as they should be, and the largest counts that are not."""
    total = sum(map(sum, chart.counts))
    if not total:
        return f"no {chart.noun}"
    cells = [(chart.counts[row][nth], row, nth) for row in range(len(chart.rows)) for nth in range(len(chart.columns))]
    wrong = sorted((one for one in cells if one[0] and (one[1], one[2]) not in chart.right), key=lambda one: -one[0])
    told = [f"{count:,} {chart.rows[row]} and {chart.columns[nth]}" for count, row, nth in wrong]
    if not chart.right:
        return f"{total:,} {chart.noun}: {listed(told, 4)}"
    good = sum(count for count, row, nth in cells if (row, nth) in chart.right)
    head = f"{good:,} of {total:,} {chart.noun} ({percent(good / total)}) are as they should be"
    return f"{head}; the others: {listed(told, 4)}" if told else head
