"""Intervals of clustered rates, against the plain ones, hand-worked numbers and simulation."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.paired.clusters import alike, design_effect, totals, wilson_clustered
from ragworthy.stats import Interval, wilson, wilson_mean


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=80))
def test_where_every_cluster_is_one_case_it_is_wilson_to_the_byte(values: list[bool]) -> None:
    found = totals([int(value) for value in values], [str(n) for n in range(len(values))])
    assert repr(wilson_clustered(found)) == repr(wilson(sum(values), len(values)))
    assert design_effect(alike(found)) == 1


def test_by_hand() -> None:
    """9, 6 and 10 of 10: mean 5/6, s = 2/3, −7/3, 5/3, so Σs² = 26/3.

    3/2 · 26/3 / 900 = 13/900, against 5/36/30 = 1/216: a design effect of 3.12, 9.615 cases. z = t₀.₉₇₅(2) = 4.302653:
    (0.83333 + 0.96269 ± 4.302653·√(0.0144444 + 0.0500598)) / 2.92537.
    """
    found = {"a": (9, 10), "b": (6, 10), "c": (10, 10)}
    assert design_effect(alike(found)) == pytest.approx(3.12)
    assert wilson_clustered(found) == pytest.approx((0.240395, 0.987486), abs=2e-5)


def test_the_design_effect_is_the_robust_variance_over_the_plain_one() -> None:
    draw = np.random.default_rng(2)
    clusters = draw.integers(0, 12, 300)
    values = (draw.random(300) < draw.random(12)[clusters]).astype(int)
    rest = values - values.mean()
    sums = np.array([rest[clusters == g].sum() for g in range(12)])
    robust = 12 / 11 * (sums**2).sum() / 300**2
    found = totals([int(value) for value in values], [str(g) for g in clusters])
    assert design_effect(alike(found)) == pytest.approx(robust / (values.mean() * (1 - values.mean()) / 300), rel=1e-12)


def test_equal_cases_in_a_cluster_are_worth_one() -> None:
    """Each question asked ten times with the same result: as many cases as questions, but for G/(G−1)."""
    found = {str(n): (10 * (n % 2), 10) for n in range(40)}
    assert design_effect(alike(found)) == pytest.approx(10 * 40 / 39)


def test_clusters_that_differ_less_than_chance_make_nothing_narrower() -> None:
    """A half in each of 30 clusters: the effect is 1, and t is a little wider than z."""
    found = {str(n): (5, 10) for n in range(30)}
    assert design_effect(alike(found)) == 1
    wide, plain = wilson_clustered(found), wilson(150, 300)
    assert wide is not None and plain is not None
    assert wide.low < plain.low < plain.high < wide.high
    z = scipy.stats.t.ppf(0.975, 29)
    assert wide.low == pytest.approx((0.5 + z * z / 600 - z * (0.25 / 300 + z * z / 360000) ** 0.5) / (1 + z * z / 300))


def test_ends() -> None:
    assert wilson_clustered({}) is None
    assert wilson_clustered({"a": (3, 7)}) == Interval(0.0, 1.0)
    assert wilson_clustered({"a": (1, 1)}) == wilson(1, 1)
    all_good, none_good = wilson_clustered({"a": (5, 5), "b": (4, 4)}), wilson_clustered({"a": (0, 5), "b": (0, 4)})
    assert all_good is not None and none_good is not None
    assert all_good.high == 1 and none_good.low == 0
    assert all_good.low == pytest.approx(1 - none_good.high)


def test_means_of_fractions() -> None:
    found = totals([Fraction(1, 3), Fraction(2, 3), Fraction(1)], ["a", "b", "c"])
    assert wilson_clustered(found) == wilson_mean(Fraction(2, 3), 3)
    assert totals([Fraction(1, 2), 1], ["a", "a"]) == {"a": (Fraction(3, 2), 2)}


def test_coverage_with_documents() -> None:
    """20 documents of 10 questions whose rates differ: 800 sets; plain Wilson covers far less than 95 %."""
    draw, covered, plainly = np.random.default_rng(3), 0, 0
    for _ in range(800):
        good = draw.binomial(10, draw.beta(4, 1, 20))
        interval = wilson_clustered({str(n): (int(count), 10) for n, count in enumerate(good)})
        plain = wilson(int(good.sum()), 200)
        assert interval is not None and plain is not None
        covered += interval.low <= 0.8 <= interval.high
        plainly += plain.low <= 0.8 <= plain.high
    assert covered >= 800 * 0.93
    assert plainly <= 800 * 0.87
