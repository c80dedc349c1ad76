"""Ranked lists made one."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.index.ranking import intersection, knee, rrf, union

LISTS = st.lists(st.lists(st.integers(0, 12), unique=True, max_size=8), min_size=1, max_size=3)


def test_reciprocal_rank_fusion_as_worked_out() -> None:
    # b: 1/62 + 1/61; a: 1/61; c: 1/62
    items, scores = zip(*rrf(["ab", "bc"]), strict=True)
    assert items == ("b", "a", "c")
    assert scores == pytest.approx((1 / 62 + 1 / 61, 1 / 61, 1 / 62), abs=1e-15)


def test_equal_scores_keep_the_order_asked_for() -> None:
    assert [item for item, _ in rrf(["ab", "ba"])] == ["a", "b"]
    assert [item for item, _ in rrf(["ab", "ba"], lambda item: -ord(item))] == ["b", "a"]


def test_intersection_and_union() -> None:
    assert [item for item, _ in intersection(["abc", "cbd"])] == ["c", "b"]  # 1/61 + 1/63 is more than 2/62
    assert [item for item, _ in union(["abc", "cbd"])] == ["a", "c", "b", "d"]
    assert intersection(["ab", ""]) == []
    assert [item for item, _ in union(["ab", ""])] == ["a", "b"]


@settings(deadline=None)
@given(LISTS)
def test_fusion_against_exact_fractions(lists: list[list[int]]) -> None:
    exact: dict[int, Fraction] = {}
    for one in lists:
        for rank, item in enumerate(one, 1):
            exact[item] = exact.get(item, Fraction(0)) + Fraction(1, 60 + rank)
    fused = rrf(lists)
    assert [item for item, _ in fused] == sorted(exact, key=lambda item: (-exact[item], item))
    assert all(score == pytest.approx(float(exact[item]), abs=1e-14) for item, score in fused)
    in_all = {item for item in exact if all(item in one for one in lists)}
    assert [item for item, _ in intersection(lists)] == [item for item, _ in fused if item in in_all]
    assert {item for item, _ in union(lists)} == set(exact)


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([10, 9.5, 9, 2, 1.9, 1.8], 3),
        ([10, 2, 1.9, 1.8], 1),
        ([5, 4, 3, 2, 1], 5),
        ([3, 3, 3], 3),
        ([10, 9.9, 9.8, 9.7, 1], 5),  # every point lies above the line
        ([9, 1], 2),
        ([9], 1),
        ([], 0),
    ],
)
def test_knee(scores: list[float], kept: int) -> None:
    assert knee(scores) == kept


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), max_size=30))
def test_knee_keeps_something_and_does_not_depend_on_the_scale(scores: list[int]) -> None:
    falling = sorted(map(float, scores), reverse=True)
    kept = knee(falling)
    assert min(1, len(falling)) <= kept <= len(falling)
    assert knee([4 * score for score in falling]) == kept
