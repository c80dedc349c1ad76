"""How far two rankings differ: worked values, another library, properties."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.metrics.facts.orders import jaccard, kendall_tau_b, rbo

LISTS = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=8)


@pytest.mark.parametrize(
    ("a", "b", "k", "tau"),
    [("abcd", "abdc", 4, 4 / 6), ("abcd", "abce", 4, 0.8), ("abc", "cba", 3, -1.0), ("abc", "xyz", 3, -0.75)],
)
def test_kendall_tau_b_as_worked_out(a: str, b: str, k: int, tau: float) -> None:
    """W-48."""
    assert kendall_tau_b(a, b, k) == pytest.approx(tau, abs=1e-12)


def test_kendall_tau_b_is_undefined_without_two_ranks_in_each_list() -> None:
    assert kendall_tau_b("", "", 5) is None
    assert kendall_tau_b("a", "a", 5) is None
    assert kendall_tau_b("abc", "", 5) is None


@settings(deadline=None)
@given(LISTS, LISTS, st.integers(1, 10))
def test_kendall_tau_b_equals_scipy(a: list[str], b: list[str], k: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="SKIPPED: scipy is not installed")
    one, other = a[:k], b[:k]
    items = sorted({*one, *other})
    ranks = [[part.index(item) if item in part else len(part) for item in items] for part in (one, other)]
    ours = kendall_tau_b(a, b, k)
    if len(set(ranks[0])) < 2 or len(set(ranks[1])) < 2:
        assert ours is None
    else:
        assert ours == pytest.approx(stats.kendalltau(*ranks, variant="b").statistic, abs=1e-12)


def test_rbo_as_worked_out() -> None:
    # abc, acb: overlaps 1, 1, 3; (0.1/0.9)(0.9 + 0.81/2 + 0.729) + 0.729
    assert rbo("abc", "acb", p=0.9, k=3) == pytest.approx(0.955, abs=1e-12)
    # ab, cb: overlaps 0, 1; (0.5/0.5)(0 + 0.25/2) + 0.25/2
    assert rbo("ab", "cb", p=0.5, k=2) == pytest.approx(0.25, abs=1e-12)
    # a against abc, p 0.5: overlaps 1, 1, 1; sums 0.5 + 0.125 + 1/24, extrapolated 0.125 + 2/3 · 0.125; ending 0.125
    assert rbo("a", "abc", p=0.5, k=3) == pytest.approx(0.5 + 0.125 + 1 / 24 + 0.125 + 1 / 12 + 0.125, abs=1e-12)


@settings(deadline=None)
@given(LISTS, LISTS, st.floats(0.05, 0.98), st.integers(1, 10))
def test_rbo_lies_between_its_bounds_and_is_symmetric(a: list[str], b: list[str], p: float, k: int) -> None:
    value = rbo(a, b, p, k)
    assert 0 <= value <= 1
    assert value == rbo(b, a, p, k)
    assert rbo(a, a, p, k) == pytest.approx(1, abs=1e-12)
    assert rbo(a, [item.upper() for item in b], p, k) == (0 if a or b else 1)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdefghijkl"), unique=True, min_size=6, max_size=12))
def test_a_swap_at_the_top_costs_more_than_one_below(items: list[str]) -> None:
    top = [items[1], items[0], *items[2:]]
    low = [*items[:-2], items[-1], items[-2]]
    assert rbo(items, top, k=12) < rbo(items, low, k=12) < 1


def test_jaccard_counts_the_first_k_once() -> None:
    assert jaccard("abcd", "abxy", 4) == 2 / 6
    assert jaccard("abcd", "abxy", 2) == 1
    assert jaccard("aab", "ab", 2) == 1
    assert jaccard("", "", 3) == 1
    assert jaccard("a", "", 3) == 0


@settings(deadline=None)
@given(LISTS, LISTS, st.integers(1, 10))
def test_jaccard_is_symmetric_and_one_only_for_equal_sets(a: list[str], b: list[str], k: int) -> None:
    assert jaccard(a, b, k) == jaccard(b, a, k)
    assert (jaccard(a, b, k) == 1) == (set(a[:k]) == set(b[:k]))


def test_senseless_depths_are_refused() -> None:
    with pytest.raises(ValueError, match="expected k of at least 1, got 0"):
        jaccard("a", "a", 0)
    with pytest.raises(ValueError, match=r"expected p between 0 and 1, got 1\.0"):
        rbo("a", "a", 1.0, 3)
    assert math.isclose(rbo("a", "a", 0.999, 1), 1)
