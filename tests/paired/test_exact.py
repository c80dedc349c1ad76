"""Exact tests of flips, against published numbers, scipy and every outcome gone through."""

import itertools
import math
from fractions import Fraction

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.paired import exact

KNOWN = [
    # worse, better, one-sided, two-sided, mid-p, e-value
    (0, 0, 1, 1, 0.5, 1),
    (4, 0, 0.0625, 0.125, 0.03125, 6.2),
    (5, 0, 0.03125, 0.0625, 0.015625, 10.5),
    (6, 1, 0.0625, 0.125, 0.03515625, 4.41071),
    (8, 1, 0.01953125, 0.0390625, 0.0107421875, 11.2556),
    (10, 3, 0.046142578125, 0.09228515625, 0.0286865234375, 3.97453),
    (20, 10, 0.0493685733527, 0.0987371467054, 0.0353777729906, 2.22409),
    (60, 40, 0.0284439668205, 0.056887933641, 0.0230220334647, 1.78406),
]
NONE = (0, 0)
Pair = tuple[int, int]
Kinds = tuple[Pair, Pair, Pair]


@pytest.mark.parametrize(("worse", "better", "one", "two", "mid", "e"), KNOWN)
def test_known_numbers(worse: int, better: int, one: float, two: float, mid: float, e: float) -> None:
    assert exact.mcnemar(worse, better) == pytest.approx(one, rel=1e-11)
    assert exact.two_sided(worse, better) == pytest.approx(two, rel=1e-11)
    assert exact.mcnemar(worse, better, mid=True) == pytest.approx(mid, rel=1e-11)
    assert exact.evalue(worse, better) == pytest.approx(e, rel=1e-5)


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_the_binomial_test(worse: int, better: int) -> None:
    flips = worse + better
    assert exact.mcnemar(worse, better) == pytest.approx(scipy.stats.binom.sf(worse - 1, flips, 0.5), rel=1e-9)
    if flips:
        both = scipy.stats.binomtest(worse, flips, 0.5).pvalue
        assert exact.two_sided(worse, better) == pytest.approx(both, rel=1e-9)


@pytest.mark.parametrize("worse", [0, 1, 900, 1499, 1500, 1501, 1560, 1999, 2000, 2001, 2999, 3000])
def test_every_way_of_summing_gives_the_whole_sum(worse: int) -> None:
    """Tails, middles and the other side are summed as is shortest; here all terms are added."""
    whole = sum(math.comb(3000, k) for k in range(worse, 3001))
    assert exact.mcnemar(worse, 3000 - worse) == whole / 2**3000


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_the_e_value_is_the_mean_bet(worse: int, better: int) -> None:
    """The likelihood ratio against a half, averaged over all chances between a half and one."""
    flips = worse + better
    beta = scipy.special.beta(worse + 1, better + 1) * scipy.special.betaincc(worse + 1, better + 1, 0.5)
    assert exact.evalue(worse, better) == pytest.approx(2.0 ** (flips + 1) * beta, rel=1e-9)


def test_the_e_value_of_many_flips_is_a_number() -> None:
    assert exact.evalue(5000, 0) == pytest.approx(1.7976931348623157e308)
    assert exact.evalue(0, 5000) == pytest.approx(1 / 5001)
    log = 5001 * math.log(2) + scipy.special.betaln(2601, 2401) + scipy.stats.binom.logcdf(2600, 5001, 0.5)
    assert exact.evalue(2600, 2400) == pytest.approx(math.exp(log), rel=1e-8)


@pytest.mark.parametrize("bet", [0.5, 0.4])
def test_the_e_value_is_fair_under_no_change(bet: float) -> None:
    """Its mean over all outcomes is 1 with fair coins, and below 1 where the new run is better."""
    mean = sum(scipy.stats.binom.pmf(k, 12, bet) * exact.evalue(k, 12 - k) for k in range(13))
    assert mean == pytest.approx(1, abs=1e-9) if bet == 0.5 else mean < 1


@pytest.mark.parametrize(
    ("kinds", "rate", "expected"),
    [
        (((10, 3), (4, 2), (5, 1)), "0.75", 0.0110462009907),
        (((2, 1), (3, 0), (6, 2)), "0.6", 0.0360107421875),
        ((NONE, (5, 0), NONE), "0.9", 0.03125),
        (((3, 3), (3, 3), (3, 3)), "0.5", 0.565086364746),
        (((10, 3), NONE, NONE), "0.1", 0.046142578125),
        (((10, 3), NONE, NONE), "1", 0.046142578125),
    ],
)
def test_known_swaps(kinds: Kinds, rate: str, expected: float) -> None:
    assert exact.swap(*kinds, Fraction(rate)) == pytest.approx(expected, rel=1e-11)


def brute(kinds: Kinds, rate: Fraction) -> Fraction:
    """Every swap of every question, in fractions."""
    weights = (Fraction(1), rate, 1 - rate)
    sizes = [weight for weight, pair in zip(weights, kinds, strict=True) for _ in range(sum(pair))]
    seen = sum((weight * (pair[0] - pair[1]) for weight, pair in zip(weights, kinds, strict=True)), Fraction(0))
    reached = sum(
        sum((size * sign for size, sign in zip(sizes, signs, strict=True)), Fraction(0)) >= seen
        for signs in itertools.product((1, -1), repeat=len(sizes))
    )
    return Fraction(reached, 2 ** len(sizes))


few = st.tuples(st.integers(0, 2), st.integers(0, 2))


@settings(deadline=None)
@given(st.tuples(few, few, few).filter(lambda kinds: sum(map(sum, kinds)) <= 8), st.fractions(0, 1))
def test_a_swap_is_every_swap_gone_through(kinds: Kinds, rate: Fraction) -> None:
    assert exact.swap(*kinds, rate) == pytest.approx(float(brute(kinds, rate)), rel=1e-12)


def test_ties_are_found_by_integers_not_floats() -> None:
    """One question of weight 1 got worse, three of 1/3 better: the sum is 0. It is reached in all 8 outcomes in which
    the first is worse, and in the one of the other 8 in which all three are: −1 + 1/3 + 1/3 + 1/3.
    """
    kinds = ((1, 0), (0, 3), (0, 0))
    assert exact.swap(*kinds, Fraction(1, 3)) == float(brute(kinds, Fraction(1, 3))) == 9 / 16


def test_many_flips_are_summed_and_far_too_many_are_left_to_draws() -> None:
    half = exact.swap((2000, 2000), (1500, 1500), (1000, 1000), Fraction(71, 101))
    assert half == pytest.approx(0.5, abs=0.002)
    assert half is not None and half > 0.5  # what was seen counts as reached
    assert exact.swap((30_000, 30_000), (1, 0), (1, 0), Fraction(1, 2)) is None
    assert exact.swap((9_000, 8_000), (19_000, 10), (19_000, 10), Fraction(1, 2)) is None
    assert exact.swap((60_300, 59_700), NONE, NONE, Fraction(1, 2)) == exact.mcnemar(60_300, 59_700)


def test_leaving_out_the_negligible_leaves_the_result() -> None:
    """Far in the tail, where the result itself is below 1e-24."""
    kinds = ((90, 0), (8, 0), (6, 0))
    assert exact.swap(*kinds, Fraction(3, 4)) == pytest.approx(2.0**-104, rel=1e-12)


def test_what_is_no_count_or_no_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="numbers of flips, not -1 and 2"):
        exact.mcnemar(-1, 2)
    with pytest.raises(ValueError, match="a rate between 0 and 1, not 3/2"):
        exact.swap(NONE, NONE, NONE, Fraction(3, 2))
    assert exact.swap(NONE, NONE, NONE, Fraction(1, 2)) == 1
    assert exact.swap((0, 0), (7, 0), (0, 0), Fraction(0)) == 1  # wrong answers weigh nothing where all are wrong
