"""What a set of questions can show, and how many it would take. Rates between 0 and 1; flips are questions that change.

z of 95 % one-sided is 1.645, of 80 % power 0.842: all of it means "found in four of five".
"""

import math
from fractions import Fraction
from functools import lru_cache

from ragworthy.paired.bounds import normal
from ragworthy.stats import wilson

_Z1 = 1.6448536269514722
_Z2 = 0.8416212335729143
_Z95 = 1.959963984540054
POWER = 0.80
ASSUMED = 0.05
"""The share of questions that flip between two runs of the same pipeline, where nothing is known of it."""
EXACTLY = 2_000
"""Up to so many cases they are counted exactly; beyond, the formula lacks about 1.5 %."""


def flips_of(cases: int, flips: int) -> float:
    """The share of questions that flip, from how many did: never 0, as the next one may.

    >>> flips_of(98, 4)
    0.05
    """
    return (flips + 1) / (cases + 2)


def connor(drop: float, flips: float) -> float:
    """The cases in which a drop is found in four of five, where `flips` of the questions flip without it (Connor 1987).

    >>> round(connor(0.0573, 0.05))
    200
    """
    both = flips + drop
    return (_Z1 * math.sqrt(both) + _Z2 * math.sqrt(both - drop * drop)) ** 2 / (drop * drop)


def connor_drop(cases: int, flips: float) -> float | None:
    """The drop that so many cases find in four of five; None where none is large enough.

    >>> round(connor_drop(200, 0.05), 4), connor_drop(2, 0.05)
    (0.0573, None)
    """
    low, high = 0.0, 1.0 - flips
    if high <= 0 or connor(high, flips) > cases:
        return None
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        if connor(middle, flips) > cases:
            low = middle
        else:
            high = middle


def detectable(cases: int, flips: float) -> float | None:
    """The same for the exact test, which needs a little more: 1.05 times the drop from 200 cases, 1.1 below.

    >>> round(detectable(200, 0.05), 3), round(detectable(50, 0.0), 3)
    (0.06, 0.13)
    """
    drop = connor_drop(cases, flips)
    if drop is None:
        return None
    drop *= 1.05 if cases >= 200 else 1.1
    return drop if drop <= 1 - flips else None


def fewest_for(tolerance: float, flips: float, gates: int = 1) -> int:
    """The cases from which two equal runs exceed the tolerance in at most 5 % of all pairs, over all gates together.

    >>> fewest_for(0.02, 0.05), fewest_for(0.02, 0.05, gates=5)
    (339, 677)
    """
    if tolerance <= 0 or gates < 1:
        raise ValueError(f"a tolerance above 0 and gates from 1, not {tolerance} and {gates}")
    z = _Z1 if gates == 1 else normal(1 - 0.05 / gates)
    return math.ceil(z * z * flips / (tolerance * tolerance))


def cases_for(op: str, threshold: float | Fraction, rate: float | Fraction) -> int | None:
    """The cases in which an interval gate (`>=` or `<=`) passes in four of five at a true rate; None if it never does.

    >>> cases_for(">=", 0.80, 0.85), cases_for("<=", 0.05, 0.03), cases_for(">=", 0.80, 0.80)
    (471, 815, None)
    """
    share, limit = float(rate), float(threshold)
    room = share - limit if op == ">=" else limit - share
    if room <= 0 or not 0 <= limit <= 1 or not 0 <= share <= 1:
        return None
    spread = _Z95 * math.sqrt(limit * (1 - limit)) + _Z2 * math.sqrt(share * (1 - share))
    return max(1, math.ceil((spread / room) ** 2))


@lru_cache(maxsize=1 << 12)  # a report asks for the same more than once, and of a million cases it takes a while
def chance(op: str, threshold: float | Fraction, rate: float | Fraction, cases: int) -> float:
    """How often an interval gate passes with so many cases at a true rate: exactly, over all numbers of good cases.

    >>> round(chance("<=", 0.05, 0.02, 73), 3), round(chance(">=", 0.80, 0.90, 16), 3), chance(">=", 0.80, 0.9, 0)
    (0.229, 0.185, 0.0)
    """
    if cases < 1:
        return 0.0
    share, limit = (rate, threshold) if op == ">=" else (1 - rate, 1 - Fraction(threshold))
    fewest = _fewest_good(float(limit), cases)
    return 0.0 if fewest is None else _at_least(fewest, cases, min(1.0, max(0.0, float(share))))


def cases_to_show(op: str, threshold: float | Fraction, rate: float | Fraction) -> int | None:
    """The same as `cases_for`, by the exact chance: the fewest cases from which on it stays at four of five.

    >>> cases_to_show("<=", 0.05, 0.02), cases_to_show(">=", 0.80, 0.85), cases_to_show(">=", 0.80, 0.80)
    (337, 481, None)
    """
    first = cases_for(op, threshold, rate)
    if first is None or first > EXACTLY:
        return None if first is None else rounded(1.015 * first)
    last = first + first // 12 + 40
    below = (cases for cases in range(last, first - 1, -1) if chance(op, threshold, rate, cases) < POWER)
    return 1 + next(below, first - 1)


def _fewest_good(limit: float, cases: int) -> int | None:
    """The fewest good cases with which the interval is wholly above a limit; None where not even all are enough."""

    def passes(good: int) -> bool:
        interval = wilson(good, cases)
        return interval is not None and interval.low >= limit

    if not passes(cases):
        return None
    low, high = -1, cases
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def _at_least(fewest: int, cases: int, share: float) -> float:
    """The chance of at least so many good cases, summed from the likelier end of the shorter tail."""
    if share in (0.0, 1.0) or fewest <= 0:
        return 1.0 if fewest <= 0 or share == 1.0 else 0.0
    if fewest <= cases * share:
        return 1.0 - _at_least(cases - fewest + 1, cases, 1.0 - share)
    log = math.lgamma(cases + 1) - math.lgamma(fewest + 1) - math.lgamma(cases - fewest + 1)
    term = math.exp(log + fewest * math.log(share) + (cases - fewest) * math.log1p(-share))
    total, odds = 0.0, share / (1.0 - share)
    for good in range(fewest, cases + 1):
        total += term
        term *= (cases - good) / (good + 1) * odds
        if term < total * 1e-16 or not term:  # a chance too small for a number stays 0 however many are added
            break
    return min(1.0, total)


def shrunk(op: str, num: int | Fraction, den: int) -> Fraction:
    """A rate that was seen with one bad case more, for `cases_for`: a clean set is not a perfect system.

    >>> shrunk(">=", 20, 20), shrunk("<=", 0, 19)
    (Fraction(20, 21), Fraction(1, 20))
    """
    return Fraction(num) / (den + 1) if op == ">=" else Fraction(num + 1) / (den + 1)


def about_in_all(cases: int, worse: int, better: int) -> int | None:
    """Roughly how many cases settle a loss as large as the one seen; None where nothing was lost.

    To two digits: what is advised scatters by half either way.

    >>> about_in_all(200, 11, 5), about_in_all(200, 5, 5)
    (620, None)
    """
    if worse <= better:
        return None
    return about_for((worse - better) / cases, flips_of(cases, worse + better))


def about_for(drop: float, flips: float, gates: int = 1) -> int:
    """Roughly how many cases prove a loss, where so many questions flip, those that were lost included.

    >>> about_for(0.03, 17 / 202), about_for(0.03, 17 / 202, gates=5)
    (620, 1000)
    """
    z = _Z1 if gates == 1 else normal(1 - 0.05 / gates)
    inside = max(0.0, flips - drop * drop)
    return rounded(1.06 * (z * math.sqrt(flips) + _Z2 * math.sqrt(inside)) ** 2 / (drop * drop) + 5)


def about_to_exclude(room: float, flips: float) -> int:
    """Roughly how many cases exclude a loss beyond the tolerance, where so much of it is left.

    >>> about_to_exclude(0.02, 0.05)
    830
    """
    return rounded(1.06 * (_Z1 + _Z2) ** 2 * flips / (room * room) + 5)


def about_more(cases: int, worse: int, better: int) -> int | None:
    """Roughly how many more cases that is, 0 where there are enough already.

    >>> about_more(200, 11, 5), about_more(200, 60, 5), about_more(200, 5, 5)
    (420, 0, None)
    """
    needed = about_in_all(cases, worse, better)
    return None if needed is None else rounded(max(0, needed - cases))


def rounded(number: float) -> int:
    """Up, to two digits: what is advised is no more exact than that.

    >>> rounded(615.6), rounded(7), rounded(0)
    (620, 7, 0)
    """
    step = int(10 ** max(0, len(str(math.floor(number))) - 2))
    return math.ceil(number / step) * step
