"""What a set of questions can show, and how many it would take. Rates between 0 and 1; flips are questions that change.

z of 95 % one-sided is 1.645, of 80 % power 0.842: all of it means "found in four of five".
"""

import math
from fractions import Fraction

from ragworthy.paired.bounds import normal

_Z1 = 1.6448536269514722
_Z2 = 0.8416212335729143
_Z95 = 1.959963984540054


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


def shrunk(op: str, num: int, den: int) -> Fraction:
    """A rate that was seen with one bad case more, for `cases_for`: a clean set is not a perfect system.

    >>> shrunk(">=", 20, 20), shrunk("<=", 0, 19)
    (Fraction(20, 21), Fraction(1, 20))
    """
    return Fraction(num, den + 1) if op == ">=" else Fraction(num + 1, den + 1)


def about_in_all(cases: int, worse: int, better: int) -> int | None:
    """Roughly how many cases settle a loss as large as the one seen; None where nothing was lost.

    To two digits: what is advised scatters by half either way.

    >>> about_in_all(200, 11, 5), about_in_all(200, 5, 5)
    (620, None)
    """
    if worse <= better:
        return None
    drop, flips = (worse - better) / cases, flips_of(cases, worse + better)
    inside = max(0.0, flips - drop * drop)
    needed = 1.06 * (_Z1 * math.sqrt(flips) + _Z2 * math.sqrt(inside)) ** 2 / (drop * drop) + 5
    return _rounded(needed)


def about_more(cases: int, worse: int, better: int) -> int | None:
    """Roughly how many more cases that is, 0 where there are enough already.

    >>> about_more(200, 11, 5), about_more(200, 60, 5), about_more(200, 5, 5)
    (420, 0, None)
    """
    needed = about_in_all(cases, worse, better)
    return None if needed is None else _rounded(max(0, needed - cases))


def _rounded(number: float) -> int:
    """Up, to two digits."""
    step = int(10 ** max(0, len(str(math.floor(number))) - 2))
    return math.ceil(number / step) * step
