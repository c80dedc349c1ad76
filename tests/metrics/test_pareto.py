"""The frontier and the two choices: the worked example by hand, and what must hold for any points."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragworthy.suites.latency.choice import Point, fastest, frontier, most_accurate


def point(config: str, p95: str, precision: str, chr: str = "0") -> Point:
    return Point(config, Fraction(p95), Fraction(precision), Fraction(chr))


# W-40: C is as fast as B and less accurate; D is slower than B and less accurate.
WORKED = [
    point("A", "900", "0.80"),
    point("B", "1200", "0.86"),
    point("C", "1200", "0.84"),
    point("D", "1500", "0.85"),
    point("E", "2100", "0.90"),
]


def names(points: list[Point]) -> str:
    return "".join(one.config for one in points)


def test_w40_frontier() -> None:
    assert names(frontier(WORKED)) == "ABE"
    assert names(frontier(WORKED, strict=True)) == "ABCE"


def test_w40_choices() -> None:
    meeting = {one.config for one in WORKED if one.p95 <= 2000 and one.precision >= Fraction("0.80")}
    assert fastest(WORKED, among=meeting) == WORKED[0]
    assert most_accurate(WORKED, Fraction(2500)) == WORKED[4]
    assert most_accurate(WORKED, Fraction(2000)) == WORKED[1]


def test_equal_points_stay_both() -> None:
    twins = [point("b", "5", "0.5"), point("a", "5", "0.5")]
    assert frontier(twins) == twins
    assert frontier(twins, strict=True) == twins


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (point("z", "5", "0.5", "0.9"), point("a", "5", "0.5", "0.8")),  # the better citations first
        (point("a", "5", "0.5", "0.9"), point("z", "5", "0.5", "0.9")),  # then the id
    ],
)
def test_ties(one: Point, other: Point) -> None:
    for points in ([one, other], [other, one]):
        assert fastest(points) == one
        assert most_accurate(points, Fraction(5)) == one


def test_of_equally_accurate_points_the_faster_is_taken() -> None:
    assert most_accurate([point("a", "6", "0.5", "1"), point("b", "5", "0.5")], Fraction(9)) == point("b", "5", "0.5")


def test_nothing_to_choose_from() -> None:
    assert frontier([]) == []
    assert fastest([]) is None
    assert fastest(WORKED, among=set()) is None
    assert most_accurate(WORKED, Fraction(899)) is None


numbers = st.fractions(min_value=0, max_value=4, max_denominator=3)
some = st.lists(st.builds(Point, st.sampled_from("abcdef"), numbers, numbers, numbers), max_size=8)


@given(some, st.booleans())
def test_the_frontier_beats_everything_it_leaves_out_and_nothing_it_keeps(points: list[Point], strict: bool) -> None:
    kept = frontier(points, strict=strict)
    for one in points:
        if strict:
            beaten = any(other.p95 < one.p95 and other.precision > one.precision for other in kept)
        else:
            better = [other for other in kept if other.p95 <= one.p95 and other.precision >= one.precision]
            beaten = any((other.p95, other.precision) != (one.p95, one.precision) for other in better)
        assert beaten == (one not in kept)


@given(some)
def test_the_order_of_the_points_does_not_matter(points: list[Point]) -> None:
    turned = list(reversed(points))
    assert sorted(frontier(turned)) == sorted(frontier(points))
    assert fastest(turned) == fastest(points)
    assert most_accurate(turned, Fraction(2)) == most_accurate(points, Fraction(2))
