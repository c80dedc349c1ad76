"""Exact tests of flips: questions that got worse against questions that got better. Integers, one division at the end.

Under "nothing changed" old and new may be swapped in every question, so each flip is a fair coin.
"""

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

MOST_TERMS = 4_000_000
"""`swap` sums no more of them: a few seconds."""
MOST_FLIPS = 20_000
"""`swap` takes no more of one kind: their binomials alone would take seconds."""
_NEGLIGIBLE = 1e-24


def mcnemar(worse: int, better: int, *, mid: bool = False) -> float:
    """The chance that as many flips, or more, are for the worse by luck alone; `mid` counts the observed number half.

    >>> mcnemar(5, 0), mcnemar(8, 1), mcnemar(4, 0, mid=True), mcnemar(0, 0)
    (0.03125, 0.01953125, 0.03125, 1.0)
    """
    flips = _counted(worse, better)
    whole = _at_least(flips, worse)
    if mid:
        return (2 * whole - math.comb(flips, worse)) / (1 << (flips + 1))
    return whole / (1 << flips)


def two_sided(worse: int, better: int) -> float:
    """The same for a change in either direction.

    >>> two_sided(8, 1), two_sided(1, 8), two_sided(3, 3)
    (0.0390625, 0.0390625, 1.0)
    """
    return min(1.0, 2 * mcnemar(max(worse, better), min(worse, better)))


def evalue(worse: int, better: int) -> float:
    """What a bet on "worse" has made of 1 by now; at 20 the proof is made, however often one looked (Ville).

    The bet mixes all chances of "worse" between a half and one evenly: 2^(n+1) · B(b+1, c+1) · P(Bin(n+1, ½) ≤ b) with
    n = b + c, which is Σ_{k≤b} C(n+1, k) / ((n+1) · C(n, b)). Larger than any float, it is the largest one.

    >>> evalue(4, 0), evalue(5, 0), evalue(0, 0), evalue(5000, 0) > 1e308
    (6.2, 10.5, 1.0, True)
    """
    flips = _counted(worse, better)
    top = (1 << (flips + 1)) - _at_least(flips + 1, worse + 1)
    try:
        return top / ((flips + 1) * math.comb(flips, worse))
    except OverflowError:
        return sys.float_info.max


def fewest_bets(alpha: float) -> int:
    """How many flips for the worse, and none for the better, it takes until the e-value is at 1/alpha.

    >>> fewest_bets(0.05), fewest_bets(0.025), fewest_bets(0.01)
    (7, 8, 9)
    """
    flips = 0
    while evalue(flips, 0) * alpha < 1:
        flips += 1
    return flips


class _Kind(NamedTuple):
    """Flips of one size: what each weighs, how many went each way."""

    weight: int
    worse: int
    flips: int


def swap(
    right_wrong: tuple[int, int], counted_wrong: tuple[int, int], right_counted: tuple[int, int], rate: Fraction
) -> float | None:
    """The exact question swap of a rate whose cases may differ between the runs; each pair is (worse, better).

    right_wrong    right in one run, wrong in the other: weighs 1
    counted_wrong  wrong in one run, no case in the other: weighs `rate`
    right_counted  right in one run, no case in the other: weighs 1 − `rate`

    `rate` is that of both runs together. What weighs as much as was seen, or more, is found by comparing integers. With
    flips of one kind only it is `mcnemar`. None where the sum would be too long: draw swaps instead (`swaps.swap_all`).

    >>> swap((10, 3), (4, 2), (5, 1), Fraction(3, 4))  # doctest: +ELLIPSIS
    0.011046200990...
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"a rate between 0 and 1, not {rate}")
    weights = (rate.denominator, rate.numerator, rate.denominator - rate.numerator)
    pairs = (right_wrong, counted_wrong, right_counted)
    kinds = [_Kind(weight, pair[0], _counted(*pair)) for weight, pair in zip(weights, pairs, strict=True)]
    kinds = sorted((kind for kind in kinds if kind.weight and kind.flips), key=lambda kind: kind.flips)
    if not kinds:
        return 1.0
    if len(kinds) == 1:
        return mcnemar(kinds[0].worse, kinds[0].flips - kinds[0].worse)
    if kinds[-1].flips > MOST_FLIPS:
        return None
    kinds = [_Kind(1, 0, 0), *kinds][-3:]
    return _summed(kinds[0], kinds[1], kinds[2])


def _summed(first: _Kind, second: _Kind, last: _Kind) -> float | None:
    """Over all outcomes of the two kinds with fewer flips, the tail that is left for the third.

    Outcomes that together weigh less than 1e-18 of the result are left out: what is seen, or more in every kind,
    bounds the result from below.
    """
    least = math.prod(mcnemar(kind.worse, kind.flips - kind.worse) for kind in (first, second, last))
    ones = _likely(first.flips, least * _NEGLIGIBLE)
    others = _likely(second.flips, least * _NEGLIGIBLE)
    if len(ones) * len(others) > MOST_TERMS:
        return None
    tails = _tails(last.flips)
    seen = sum(kind.weight * kind.worse for kind in (first, second, last))

    def terms() -> Iterator[float]:
        for one, chance in ones:
            rest = seen - first.weight * one
            for other, likely in others:
                need = -((second.weight * other - rest) // last.weight)  # rounded up
                if need <= last.flips:
                    yield chance * likely * tails[max(need, 0)]

    return min(1.0, math.fsum(terms()))


def _counted(worse: int, better: int) -> int:
    if worse < 0 or better < 0:
        raise ValueError(f"numbers of flips, not {worse} and {better}")
    return worse + better


def _at_least(flips: int, worse: int) -> int:
    """In how many of the 2^flips outcomes at least so many are for the worse: Σ_{k≥worse} C(flips, k)."""
    if worse > flips:
        return 0
    if 2 * worse <= flips:  # the other side is at or beyond the middle
        return (1 << flips) - _at_least(flips, flips - worse + 1)
    if 3 * worse >= 2 * flips:
        return _sum(flips, worse, flips)
    return ((1 << flips) - _sum(flips, flips - worse + 1, worse - 1)) // 2  # all but the middle, which is shorter


def _sum(flips: int, low: int, high: int) -> int:
    """Σ C(flips, k) for k from low to high."""
    if low > high:
        return 0
    total = term = math.comb(flips, low)
    for k in range(low, high):
        term = term * (flips - k) // (k + 1)
        total += term
    return total


def _binomials(flips: int) -> Iterator[int]:
    """C(flips, k) for k from 0."""
    term = 1
    for k in range(flips + 1):
        yield term
        term = term * (flips - k) // (k + 1)


def _likely(flips: int, least: float) -> list[tuple[int, float]]:
    """How many are for the worse, and the chance of it, where that is not below `least`."""
    whole = 1 << flips
    chances = [(k, term / whole) for k, term in enumerate(_binomials(flips))]
    return [(k, chance) for k, chance in chances if chance >= least]


def _tails(flips: int) -> list[float]:
    """The chance that at least k are for the worse, for k from 0."""
    whole, left = 1 << flips, 1 << flips
    found = []
    for term in _binomials(flips):
        found.append(left / whole)
        left -= term
    return found
