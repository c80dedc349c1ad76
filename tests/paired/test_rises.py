"""By how much a percentile may have risen: against every sign gone through, planted rises, and the test itself."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.paired.rises import Runs, between, rise, seldom


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=18))
def test_the_tail_is_that_of_all_signs(moved: list[int]) -> None:
    sizes = [abs(one) for one in moved if one]
    seen = sum(moved)
    signs = [sum(sign * size for sign, size in zip(one, sizes, strict=True)) for one in every(len(sizes))]
    expected = sum(one >= seen for one in signs) / len(signs) if seen > 0 else 1.0
    assert seldom(np.array(moved)) == pytest.approx(expected, rel=1e-12)


def every(many: int) -> list[tuple[int, ...]]:
    return list(itertools.product((1, -1), repeat=many))


def test_large_and_odd_numbers_take_neither_time_nor_memory() -> None:
    """Sums that are too large to go through: all signs for few of them, else the normal distribution."""
    assert seldom(np.array([10**9 + 7, 10**9 + 9, 10**9 + 33, -1])) == 2 / 16
    draw = np.random.default_rng(3)
    moved = draw.integers(10**6, 2 * 10**6, 60) * np.where(np.arange(60) < 35, 1, -1)
    signs = draw.choice([-1, 1], (20_000, 60)) @ np.abs(moved)
    assert seldom(moved) == pytest.approx(float((signs >= moved.sum()).mean()), abs=0.012)


def test_runs_of_many_different_numbers_are_weighed() -> None:
    old = [[float(100 + nth)] * (nth % 23 + 1) for nth in range(60)]
    new = [[2.0 * (100 + nth)] * (nth % 19 + 1) for nth in range(60)]
    found = rise(Runs(old, new, [str(nth) for nth in range(60)]), 90, 153.1, 0.05, share=True)
    assert found is not None and 1 <= found / 153.1 < 1.3


def test_many_are_as_good_as_normal() -> None:
    import scipy.stats

    moved = np.array([1] * 260 + [-1] * 220)
    assert seldom(moved) == pytest.approx(scipy.stats.binom.sf(259, 480, 0.5), abs=2e-4)


def alone(old: list[float], new: list[float]) -> Runs:
    return Runs([[one] for one in old], [[one] for one in new], [str(nth) for nth in range(len(old))])


def test_few_questions_bound_nothing() -> None:
    """Of 40 values of both runs two are the largest: were both old, chance would do that in a quarter of the cases."""
    times = [float(100 + nth) for nth in range(20)]
    assert rise(alone(times, times), 95, 118.05, 0.05, share=True) is None
    assert between(alone(times, times), 95, 118.05, 0.95) is None
    assert rise(alone([0.0] * 90, [0.0] * 90), 95, 0.0, 0.05) is None


def test_runs_of_one_question_and_questions_of_one_document_count_once() -> None:
    """Each of 60 questions asked four times, with the same times: no more is known than of each asked once."""
    old = [float(100 + 7 * nth % 60) for nth in range(60)]
    new = [one * 1.2 for one in old]
    once = rise(alone(old, new), 90, 153.1, 0.05, share=True)
    clusters = [str(nth) for nth in range(60)]
    again = rise(Runs([[one] * 4 for one in old], [[one] * 4 for one in new], clusters), 90, 153.1, 0.05, share=True)
    assert once is not None and again == once
    # and ten in each of six documents: of six coins none proves a thing at this level
    assert rise(alone(old, new)._replace(clusters=["d"] * 60), 90, 153.1, 0.05, share=True) is None


@pytest.mark.parametrize(("percent", "share"), [(95, 0.15), (50, 0.0), (90, -0.2)])
def test_a_planted_rise_is_seldom_excluded(percent: int, share: float) -> None:
    """5 % may be missed: 21 of 200 sets would be so many by chance in fewer than one of 2,000 cases."""
    draw = np.random.default_rng(7)
    below = outside = 0
    for _ in range(200):
        shared = draw.standard_normal(150)
        old, new = (np.exp(0.4 * shared + 0.3 * draw.standard_normal(150)) * 100 for _ in range(2))
        before = float(np.percentile(old, percent))
        runs = alone(list(map(float, old)), list(map(float, new * (1 + share))))
        upper = rise(runs, percent, before, 0.05, share=True)
        assert upper is not None
        below += upper / before < share
        amount = between(alone(list(map(float, old)), list(map(float, new + 30))), percent, before, 0.95)
        assert amount is not None
        outside += not amount.low <= 30 <= amount.high
    assert below <= 20 and outside <= 20


def test_where_lower_is_worse_values_are_negated() -> None:
    """A percentile of 100 that fell by a fifth: −100 became −80, and that share is not excluded."""
    old = [-(100.0 + nth % 10) for nth in range(200)]
    new = [0.8 * one for one in old]
    found = rise(alone(old, new), 90, -100.0, 0.05, share=True)
    assert found is not None and 20 <= found < 26
