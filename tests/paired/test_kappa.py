"""The jackknife of κ, against leaving every item out by hand."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.paired.kappa import SCALE, cohen, interval, jackknife

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


def table(both: int, neither: int, one: int = 0, other: int = 0) -> list[tuple[str, str]]:
    return [("a", "a")] * both + [("b", "b")] * neither + [("a", "b")] * one + [("b", "a")] * other


@pytest.mark.parametrize(("both", "neither"), [(2, 2), (3, 2), (15, 15), (45, 5)])
def test_complete_agreement_is_as_sure_as_the_agreement_is(both: int, neither: int) -> None:
    size = both + neither
    low = scipy.stats.binomtest(size, size).proportion_ci(method="wilson").low
    chance = (both**2 + neither**2) / size**2
    found = jackknife(table(both, neither), cohen)
    assert found is not None and found.interval == (1.0, 1.0)
    assert interval(table(both, neither)) == pytest.approx(((low - chance) / (1 - chance), 1.0))


@pytest.mark.parametrize(("size", "both"), [(30, 15), (50, 42), (100, 50), (200, 180)])
def test_one_more_disagreement_never_lifts_the_lower_end(size: int, both: int) -> None:
    ends = []
    for apart in range(12):
        one = (apart + 1) // 2
        found = interval(table(both - one, size - both - apart // 2, one, apart // 2))
        assert found is not None
        ends.append(found.low)
    assert ends == sorted(ends, reverse=True)


@pytest.mark.parametrize(
    ("size", "chances", "holds"),
    [(30, (90, 6, 2, 2), 0.929), (50, (90, 6, 2, 2), 0.967), (30, (50, 46, 2, 2), 0.998)],
)
def test_coverage_with_few_disagreements(size: int, chances: tuple[int, ...], holds: float) -> None:
    """Exact, over every table: the jackknife alone holds the true κ in 73, 86 and 70 % of those with an interval.

    What is left at 30 pairs are upper ends, of tables in which the rare label is never agreed on; the lower end, by
    which gates pass, is above the true κ in fewer than 1 of 500.
    """
    held = above = without = 0.0
    true = cohen({("a", "a"): chances[0], ("b", "b"): chances[1], ("a", "b"): chances[2], ("b", "a"): chances[3]})
    assert true is not None
    for apart, one, neither in itertools.product(range(min(size, 14)), range(14), range(size + 1)):
        cells = (size - apart - neither, neither, one, apart - one)
        if min(cells) < 0:
            continue
        chance = float(scipy.stats.multinomial.pmf(cells, size, [one / 100 for one in chances]))
        if chance < 1e-6:
            continue
        found = interval(table(*cells))
        if found is None:
            without += chance
            continue
        above += chance * (found.low > true)
        held += chance * (found.low <= true <= found.high)
    assert held / (1 - without) == pytest.approx(holds, abs=0.001)
    assert above < 0.002


def test_without_a_jackknife_there_is_no_interval() -> None:
    assert interval([]) is None
    assert interval(table(5, 0)) is None
    assert interval(table(5, 1)) is None
