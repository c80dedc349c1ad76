"""Numbers about numbers: intervals, and the cases a gate needs."""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution: a two-sided 95 % interval."""
_Z2 = Z95 * Z95


class Interval(NamedTuple):
    """An interval: of 95 % where nothing else is said."""

    low: float
    high: float


def wilson(successes: int, cases: int) -> Interval | None:
    """The Wilson score interval of a rate; None without cases.

    >>> wilson(2, 2).low, wilson(0, 20).high
    (0.3423802275066531, 0.16112515805281938)
    """
    return wilson_mean(Fraction(successes, cases), cases) if cases else None


def wilson_mean(mean: Fraction, cases: int) -> Interval | None:
    """The same for the mean of numbers between 0 and 1: never too narrow, as none vary more than zeros and ones do.

    >>> wilson_mean(Fraction(1, 2), 10) == wilson(5, 10)
    True
    """
    if cases == 0:
        return None
    share = float(mean)
    centre = share + _Z2 / (2 * cases)
    spread = Z95 * math.sqrt(share * (1 - share) / cases + _Z2 / (4 * cases * cases))
    scale = 1 + _Z2 / cases
    low = 0.0 if mean == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if mean == 1 else min(1.0, (centre + spread) / scale)
    return Interval(low, high)


def variation_squared(values: Sequence[Fraction]) -> Fraction | None:
    """The square of σ/|μ| over a whole population, exact; None where the mean is 0 or nothing is there.

    >>> variation_squared([Fraction(1), Fraction(1, 2)])
    Fraction(1, 9)
    """
    mean = sum(values, Fraction(0)) / len(values) if values else Fraction(0)
    if mean == 0:
        return None
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / len(values) / mean**2


def percentile(values: Sequence[Any], percent: int, of: Callable[[Any], Fraction] = Fraction) -> Fraction:
    """The percentile of sorted values: position (p/100)(n − 1), linear in between, exact. Only the two values beside it
    are made exact, by `of`: that takes longest.

    >>> [str(percentile([Fraction(n) for n in (100, 200, 300, 400)], p)) for p in (50, 90, 95, 99)]
    ['250', '370', '385', '397']
    """
    place, part = divmod(percent * (len(values) - 1), 100)
    low = of(values[place])
    return low + Fraction(part, 100) * (of(values[place + 1]) - low) if part else low


def percentile_interval(values: Sequence[Fraction], percent: int) -> Interval | None:
    """An interval for a percentile from the sorted values alone; None where there are too few to bound it.

    The number of values below the true percentile is binomial; the ends are the values at its 95 % limits.

    >>> percentile_interval([Fraction(n) for n in range(100)], 50)
    Interval(low=39.0, high=60.0)
    """
    cases, share = len(values), percent / 100
    spread = Z95 * math.sqrt(cases * share * (1 - share))
    low, high = math.floor(cases * share - spread), math.ceil(cases * share + spread) + 1
    if low < 1 or high > cases:
        return None
    return Interval(float(values[low - 1]), float(values[high - 1]))


def auc(positives: Sequence[float], negatives: Sequence[float]) -> float | None:
    """How often a positive is smaller than a negative (ties count half); None where one side is empty.

    >>> auc([0.1, 0.3], [0.2, 0.4]), auc([1.0], [1.0])
    (0.75, 0.5)
    """
    if not positives or not negatives:
        return None
    ordered = sorted(negatives)
    total = 0.0
    for one in positives:
        above = len(ordered) - bisect_right(ordered, one)
        ties = bisect_right(ordered, one) - bisect_left(ordered, one)
        total += above + ties / 2
    return total / (len(positives) * len(negatives))


class Needed(NamedTuple):
    """The fewest cases at which a gate could show anything with 95 % confidence, were every case clean (or none)."""

    to_pass: int
    to_fail: int


def cases_needed(op: str, threshold: Fraction) -> Needed | None:
    """How many cases a rate gate needs; None where no number of cases would do.

    With all n cases good the Wilson interval ends at n / (n + z²); with none it ends at z² / (n + z²).

    >>> cases_needed("<=", Fraction("0.05")).to_pass, cases_needed(">=", Fraction("0.80")).to_pass
    (73, 16)
    """
    share = float(threshold)
    if not 0 < share < 1:
        return None
    all_good = _first(lambda n: n / (n + _Z2) >= share if op == ">=" else _Z2 / (n + _Z2) <= share)
    all_bad = _first(lambda n: _Z2 / (n + _Z2) < share if op == ">=" else n / (n + _Z2) > share)
    return Needed(all_good, all_bad)


def _first(holds: Callable[[int], bool]) -> int:
    """The smallest n from 1 for which a property that stays true once true holds."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


_DECIMAL = re.compile(r"[+-]?[0-9]{1,60}(?:\.[0-9]{1,60})?(?:[eE][+-]?[0-9]{1,2})?")
_RATIO = re.compile(r"[+-]?[0-9]{1,4000}(?:/[0-9]{1,4000})?")
"""Not too many digits: a long exponent could ask for a number that fills the memory."""


def exact(text: str) -> Fraction | None:
    """A decimal text as an exact fraction; None where it is not one.

    >>> exact("0.80"), exact("nan"), exact("1/2"), exact("1e99999999")
    (Fraction(4, 5), None, None, None)
    """
    return Fraction(text) if _DECIMAL.fullmatch(text) else None


def ratio(text: str) -> Fraction | None:
    """A fraction as reports write it, e.g. 3/8; None where it is not one.

    >>> ratio("3/8"), ratio("3/0"), ratio("x")
    (Fraction(3, 8), None, None)
    """
    if not _RATIO.fullmatch(text):
        return exact(text)
    top, _, bottom = text.partition("/")
    return Fraction(int(top), int(bottom or 1)) if int(bottom or 1) else None
