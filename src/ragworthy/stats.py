"""Numbers about numbers: intervals, and the cases a gate needs."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution: a two-sided 95 % interval."""
_Z2 = Z95 * Z95


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


def wilson(successes: int, cases: int) -> Interval | None:
    """The Wilson score interval of a rate; None without cases.

    >>> wilson(2, 2).low, wilson(0, 20).high
    (0.3423802275066531, 0.16112515805281938)
    """
    if cases == 0:
        return None
    share = successes / cases
    centre = share + _Z2 / (2 * cases)
    spread = Z95 * math.sqrt(share * (1 - share) / cases + _Z2 / (4 * cases * cases))
    scale = 1 + _Z2 / cases
    low = 0.0 if successes == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if successes == cases else min(1.0, (centre + spread) / scale)
    return Interval(low, high)


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


def exact(text: str) -> Fraction | None:
    """A decimal text as an exact fraction; None where it is not one.

    >>> exact("0.80"), exact("nan"), exact("1/2")
    (Fraction(4, 5), None, None)
    """
    try:
        return Fraction(text) if "/" not in text else None
    except (ValueError, ZeroDivisionError):
        return None
