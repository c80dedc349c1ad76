"""Which configurations are worth a look, and which to take: fast against accurate."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import NamedTuple


class Point(NamedTuple):
    """One configuration: how slow, how accurate, and how well it cites where the two are equal."""

    config: str
    p95: Fraction
    precision: Fraction
    chr: Fraction = Fraction(0)


def frontier(points: Sequence[Point], *, strict: bool = False) -> list[Point]:
    """The points that no other beats, in the order given.

    Usually a point is beaten by one that is no worse in both and better in one; `strict` asks for better in both.

    >>> slow, same = Point("slow", Fraction(2), Fraction(1, 2)), Point("same", Fraction(2), Fraction(1, 3))
    >>> [[one.config for one in frontier([slow, same], strict=strict)] for strict in (False, True)]
    [['slow'], ['slow', 'same']]
    """
    beats = _beats_in_both if strict else _beats
    return [one for one in points if not any(beats(other, one) for other in points)]


def _beats(one: Point, other: Point) -> bool:
    no_worse = one.p95 <= other.p95 and one.precision >= other.precision
    return no_worse and (one.p95 < other.p95 or one.precision > other.precision)


def _beats_in_both(one: Point, other: Point) -> bool:
    return one.p95 < other.p95 and one.precision > other.precision


def fastest(points: Sequence[Point], *, among: Collection[str] | None = None, strict: bool = False) -> Point | None:
    """The fastest of those that may be taken; ties: higher CHR, then the id.

    Points of the frontier come first. One that is beaten only by what may not be taken is still better than none.
    """
    free = [one for one in points if among is None or one.config in among]
    free = [one for one in frontier(points, strict=strict) if one in free] or free
    return min(free, key=lambda one: (one.p95, -one.chr, one.config), default=None)


def most_accurate(points: Sequence[Point], slowest: Fraction) -> Point | None:
    """The most accurate point that is fast enough; ties: lower P95, higher CHR, then the id."""
    free = [one for one in points if one.p95 <= slowest]
    return min(free, key=lambda one: (-one.precision, one.p95, -one.chr, one.config), default=None)
