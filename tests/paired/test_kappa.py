"""The jackknife of κ, against leaving every item out by hand."""

import math
import random
from collections import Counter
from fractions import Fraction

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.paired.kappa import SCALE, cohen, jackknife

labels = st.sampled_from(["VALID", "INVALID", "ABSTAIN"])


def plain(pairs: list[tuple[str, str]]) -> Fraction | None:
    """κ from its definition."""
    size = len(pairs)
    observed = Fraction(sum(a == b for a, b in pairs), size)
    firsts, seconds = [a for a, _ in pairs], [b for _, b in pairs]
    chance = sum(Fraction(firsts.count(one) * seconds.count(one), size * size) for one in set(firsts))
    return None if chance == 1 else (observed - chance) / (1 - chance)


@settings(deadline=None)
@given(st.lists(st.tuples(labels, labels), min_size=2, max_size=25))
def test_every_item_left_out(pairs: list[tuple[str, str]]) -> None:
    size, value = len(pairs), plain(pairs)
    without = [plain(pairs[:n] + pairs[n + 1 :]) for n in range(size)]
    found = jackknife(pairs, cohen)
    if value is None or None in without:
        assert found is None
        return
    assert found is not None
    numbers = [float(one) for one in without if one is not None]
    error = math.sqrt((size - 1) / size * sum((one - sum(numbers) / size) ** 2 for one in numbers))
    half = scipy.stats.t.ppf(0.975, size - 1) * error
    assert found.value == value
    assert found.error == pytest.approx(error, abs=1e-9)
    assert found.interval == pytest.approx((max(-1, float(value) - half), min(1, float(value) + half)), abs=1e-6)
    expected = [(size * float(value) - (size - 1) * one) * SCALE for one in numbers]
    assert found.pseudo == pytest.approx(expected, abs=2)


def test_a_mean_is_its_own_pseudo_values() -> None:
    """The jackknife of a mean is the usual standard error, and an item contributes itself."""

    def mean(counts: Counter[int]) -> Fraction:
        return Fraction(sum(item * count for item, count in counts.items()), sum(counts.values()))

    found = jackknife([0, 1, 1, 0, 1], mean)  # type: ignore[arg-type]
    assert found is not None
    assert found.pseudo == (0, SCALE, SCALE, 0, SCALE)
    assert found.error == pytest.approx(scipy.stats.sem([0, 1, 1, 0, 1]))


def test_coverage() -> None:
    """True κ 0.75 of two balanced labels, 200 items, 400 sets: the interval holds it in about 95 %."""
    draw, held = random.Random(6), 0
    for _ in range(400):
        pairs = []
        for _ in range(200):
            one = draw.choice("ab")
            pairs.append((one, one if draw.random() < 0.75 else draw.choice("ab")))
        found = jackknife(pairs, cohen)
        assert found is not None
        held += found.interval.low <= 0.75 <= found.interval.high
    assert 0.92 * 400 <= held <= 0.98 * 400


def test_no_value() -> None:
    assert jackknife([("a", "a")], cohen) is None
    assert jackknife([("a", "a")] * 5, cohen) is None
    assert jackknife([("a", "a")] * 5 + [("a", "b")], cohen) is None  # without the last there is one label
    assert cohen({("a", "a"): 3}) is None
