"""What a set can show: the published formulas, and the exact tests themselves."""

import math
import time
from fractions import Fraction

import pytest
import scipy.stats

from ragworthy.paired import exact, power
from ragworthy.stats import cases_needed, wilson

FLIPS = (0.0, 0.02, 0.05, 0.10, 0.17)
DROPS = {
    # cases: (by Connor's formula, exact) in points for each share of flips
    50: ((11.86, 13.08), (13.60, 14.94), (15.65, 17.21), (18.33, 19.78), (21.32, 22.85)),
    100: ((6.05, 6.63), (7.64, 8.34), (9.31, 9.98), (11.38, 12.11), (13.61, 14.41)),
    200: ((3.06, 3.34), (4.44, 4.77), (5.73, 6.07), (7.27, 7.65), (8.90, 9.34)),
    500: ((1.23, 1.34), (2.30, 2.43), (3.17, 3.33), (4.18, 4.37), (5.23, 5.43)),
    1000: ((0.62, 0.67), (1.46, 1.53), (2.09, 2.19), (2.81, 2.91), (3.56, 3.66)),
    2000: ((0.31, 0.34), (0.96, 1.00), (1.41, 1.45), (1.92, 1.97), (2.45, 2.50)),
}
LARGE = (0.12, 0.56, 0.85, 1.18, 1.51)


@pytest.mark.parametrize("cases", DROPS)
def test_detectable_drops(cases: int) -> None:
    for flips, (formula, exactly) in zip(FLIPS, DROPS[cases], strict=True):
        found, corrected = power.connor_drop(cases, flips), power.detectable(cases, flips)
        assert found is not None and corrected is not None
        assert found * 100 == pytest.approx(formula, abs=0.0051)
        assert corrected * 100 == pytest.approx(exactly, rel=0.05)
        assert power.connor(found, flips) == pytest.approx(cases, rel=1e-9)


def test_detectable_drops_of_a_large_set() -> None:
    for flips, formula in zip(FLIPS, LARGE, strict=True):
        found = power.connor_drop(5000, flips)
        assert found is not None and found * 100 == pytest.approx(formula, abs=0.0051)
    assert power.detectable(3, 0.1) is None
    assert power.detectable(100, 1.0) is None


def test_a_detectable_drop_is_detected_in_four_of_five() -> None:
    """Exactly: over all numbers of flips, with the one-sided 5 % test."""
    for cases, flips in ((100, 0.05), (200, 0.05), (500, 0.02)):
        drop = power.detectable(cases, flips)
        assert drop is not None
        chance = (flips / 2 + drop) / (flips + drop)
        found = 0.0
        for count in range(cases + 1):
            likely = scipy.stats.binom.pmf(count, cases, flips + drop)
            if likely > 1e-9:
                needed = next((b for b in range(count + 1) if exact.mcnemar(b, count - b) <= 0.05), count + 1)
                found += likely * scipy.stats.binom.sf(needed - 1, count, chance)
        assert 0.76 <= found <= 0.86


def test_tolerances_too_sharp_for_a_set() -> None:
    for flips, cases in ((0.02, 135), (0.05, 338), (0.10, 676), (0.17, 1150)):
        assert power.fewest_for(0.02, flips) == pytest.approx(cases, abs=1)
        assert power.fewest_for(0.02, flips, gates=5) == pytest.approx(2 * cases, rel=0.01)
    assert power.fewest_for(0.02, 0.0) == 0
    with pytest.raises(ValueError, match="a tolerance above 0"):
        power.fewest_for(0.0, 0.05)


@pytest.mark.parametrize(
    ("op", "threshold", "rate", "formula", "exactly"),
    [
        (">=", 0.80, 0.82, 3065, 3110),
        (">=", 0.80, 0.85, 470, 482),
        (">=", 0.80, 0.90, 107, 112),
        (">=", 0.75, 0.77, 3617, 3660),
        (">=", 0.75, 0.80, 562, 575),
        (">=", 0.75, 0.85, 132, 141),
        (">=", 0.95, 0.97, 814, 827),
        (">=", 0.95, 0.99, 163, 173),
        ("<=", 0.05, 0.04, 3506, 3550),
        ("<=", 0.05, 0.03, 814, 827),
        ("<=", 0.05, 0.02, 330, 337),
        ("<=", 0.05, 0.01, 163, 173),
        ("<=", 0.10, 0.08, 1666, 1705),
        ("<=", 0.10, 0.05, 238, 254),
        ("<=", 0.02, 0.01, 1283, 1295),
        ("<=", 0.02, 0.005, 495, 510),
        ("<=", 0.01, 0.005, 2588, 2600),
        ("<=", 0.01, 0.002, 845, 880),
    ],
)
def test_cases_for_an_absolute_gate(op: str, threshold: float, rate: float, formula: int, exactly: int) -> None:
    found = power.cases_for(op, threshold, rate)
    assert found == pytest.approx(formula, abs=1)
    assert found is not None and 0.93 * exactly <= found <= exactly


def test_cases_for_passes_in_four_of_five() -> None:
    found = power.cases_for(">=", Fraction("0.8"), Fraction("0.85"))
    assert found is not None
    passing = [good for good in range(found + 1) if (wilson(good, found) or (0, 0))[0] >= 0.8]
    assert 0.77 <= scipy.stats.binom.sf(passing[0] - 1, found, 0.85) <= 0.83


def test_a_perfect_rate_needs_what_clean_cases_need() -> None:
    for op, threshold, rate in ((">=", "0.8", 1), ("<=", "0.05", 0)):
        needed = cases_needed(op, Fraction(threshold))
        assert needed is not None and power.cases_for(op, Fraction(threshold), rate) == needed.to_pass
    assert power.cases_for(">=", 0.8, 0.8) is power.cases_for("<=", 0.05, 0.06) is None
    assert power.shrunk(">=", 45, 50) == Fraction(45, 51)
    assert power.shrunk("<=", 2, 99) == Fraction(3, 100)


def test_about_how_many_more() -> None:
    """11 worse and 5 better of 200: d = 0.03, ψ = 17/202 = 0.08416.

    1.06·(1.64485·0.29010 + 0.84162·√0.08326)² / 0.0009 + 5 = 1.06·(0.47718 + 0.24285)²/0.0009 + 5 = 615.6 → 620.
    """
    assert power.about_in_all(200, 11, 5) == 620
    assert power.about_more(200, 11, 5) == 420
    assert power.about_more(2000, 60, 20) == 0
    assert power.about_more(200, 5, 5) is power.about_more(200, 4, 5) is None
    assert power.about_in_all(10, 10, 0) is not None  # every question lost
    assert power.flips_of(200, 0) == 1 / 202


def test_what_is_advised_would_be_proven() -> None:
    """The same shares among as many cases as advised reach 5 %, where they did not before."""
    for cases, worse, better in ((200, 11, 5), (50, 4, 1), (500, 20, 12)):
        assert exact.mcnemar(worse, better) > 0.05
        advised = power.about_in_all(cases, worse, better)
        assert advised is not None
        grown = advised / cases
        assert exact.mcnemar(math.floor(worse * grown), math.ceil(better * grown)) <= 0.05


def test_a_chance_too_small_for_a_number_takes_no_time() -> None:
    begin = time.process_time()
    assert power.chance(">=", 0.9, 0.5, 50_000_000) == 0.0
    assert power.chance(">=", 0.5, 0.9, 50_000_000) == 1.0
    assert time.process_time() - begin < 1
