"""Percentiles: whose are the largest values of both runs?"""

import random
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.paired.percentiles import Tops, hypergeometric, tops


def fractions(*values: int) -> list[Fraction]:
    return [Fraction(value) for value in values]


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(0, 60), st.data())
def test_hypergeometric_is_that_of_scipy(marked: int, other: int, data: st.DataObject) -> None:
    total = marked + other
    drawn = data.draw(st.integers(0, total))
    seen = data.draw(st.integers(0, total + 1))
    expected = scipy.stats.hypergeom.sf(seen - 1, total, marked, drawn)
    assert hypergeometric(seen, total, marked, drawn) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_by_hand() -> None:
    """P80 of ten pooled values: the two largest, 9 and 30. Both are new: C(5,2)/C(10,2) = 10/45."""
    found = tops(fractions(1, 2, 3, 4, 5), fractions(9, 2, 3, 4, 30), 80)
    assert found == Tops((False,) * 5, (True, False, False, False, True))
    assert found.words == (1, 0, 0, 0, 1)
    assert found.p == 10 / 45


def test_what_is_allowed_is_taken_off_first() -> None:
    old = fractions(100, 200, 300, 400)
    assert sum(tops(old, fractions(115, 230, 345, 460), 75).new) == 1
    shared = tops(old, fractions(115, 230, 345, 460), 75, ratio=Fraction("0.15"))
    assert shared.words == (0, 0, 0, 0)  # equal values are together: both 400s
    assert shared.old[3] and shared.new[3]
    assert tops(old, fractions(150, 250, 350, 450), 75, shift=Fraction(50)).words == (0, 0, 0, 0)
    assert tops(old, fractions(90, 190, 290, 390), 80).words == (0, 0, 0, 0)
    assert tops(old, fractions(90, 190, 290, 390), 90).words == (0, 0, 0, -1)


def test_equal_values_stay_together_and_say_nothing() -> None:
    found = tops(fractions(7, 7, 7), fractions(7, 7, 7), 95)
    assert found.words == (0, 0, 0)
    assert found.p == 1


def test_runs_of_different_size_have_a_p_and_no_words() -> None:
    found = tops(fractions(1, 2, 3), fractions(9, 8), 60)
    assert found.p == 1 / 10
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        _ = found.words
    assert tops([], [], 95) == Tops((), ())


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="a percentile between 0 and 100, not 100"):
        tops([], [], 100)
    with pytest.raises(ValueError, match="a ratio above −1, or a shift, not both"):
        tops([], [], 95, ratio=Fraction(1, 10), shift=Fraction(1))


@pytest.mark.parametrize(("rise", "low", "high"), [(1.15, 0.005, 0.075), (1.0, 0.0, 0.02), (1.5, 0.5, 0.8)])
def test_size_and_power(rise: float, low: float, high: float) -> None:
    """P95 may rise by 15 %; 200 lognormal times each, σ = 0.5: 5 % at 1.15, next to none at 1, about 64 % at 1.5."""
    draw, failed = np.random.default_rng(8), 0
    for _ in range(150):
        old = [Fraction(float(x)) for x in draw.lognormal(0, 0.5, 200)]
        new = [Fraction(float(x) * rise) for x in draw.lognormal(0, 0.5, 200)]
        failed += tops(old, new, 95, ratio=Fraction("0.15")).p <= 0.05
    assert low * 150 <= failed <= high * 150


def test_order_makes_no_difference() -> None:
    draw = random.Random(1)
    pairs = [(Fraction(draw.randint(1, 30)), Fraction(draw.randint(1, 30))) for _ in range(40)]
    words = tops([a for a, _ in pairs], [b for _, b in pairs], 90).words
    turned = tops([a for a, _ in pairs[::-1]], [b for _, b in pairs[::-1]], 90).words
    assert turned == words[::-1]
