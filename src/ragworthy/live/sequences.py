"""Confidence sequences: intervals that hold at every look at once, however often one looks and whenever one stops.

A rate uses the beta-binomial mixture (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021), a mean of numbers
between 0 and 1 the predictable plug-in of Waudby-Smith and Ramdas (2024). Both need counts of whole minutes only: what
is bet on a minute is fixed before the minute begins, so the order of its records does not matter.
"""

import math
from collections.abc import Callable, Sequence

from ragworthy.stats import Interval

_HALVINGS = 60
_LARGEST_BET = 0.5


def log_mixture(successes: int, cases: int, share: float) -> float:
    """The logarithm of the evidence against a share: the mean likelihood under a uniform prior, over that of the share.

    At the true share its expectation is 1 at every time, so it ever reaches 1/α with probability α at most.

    >>> round(math.exp(log_mixture(9, 10, 0.5)), 4)  # 2^10 / (11 · C(10, 9))
    9.3091
    """
    failures = cases - successes
    if (share <= 0 and successes) or (share >= 1 and failures):
        return math.inf
    mixed = math.lgamma(successes + 1) + math.lgamma(failures + 1) - math.lgamma(cases + 2)
    under = (successes * math.log(share) if successes else 0.0) + (failures * math.log1p(-share) if failures else 0.0)
    return mixed - under


def rate_interval(successes: int, cases: int, alpha: float) -> Interval:
    """The confidence sequence of a rate at this point of time: the shares against which there is no evidence of 1/α.

    >>> rate_interval(0, 0, 0.05)
    Interval(low=0.0, high=1.0)
    >>> [round(end, 3) for end in rate_interval(820, 1000, 0.05)]
    [0.774, 0.861]
    """
    if cases == 0:
        return Interval(0.0, 1.0)
    share, enough = successes / cases, -math.log(alpha)
    low = _edge(lambda given: log_mixture(successes, cases, given) >= enough, 0.0, share) if successes else 0.0
    high = _edge(lambda given: log_mixture(successes, cases, given) >= enough, 1.0, share) if successes < cases else 1.0
    return Interval(low, high)


def _edge(outside: Callable[[float], bool], out: float, inside: float) -> float:
    """Where a property that holds at one end and not at the other begins to hold."""
    for _ in range(_HALVINGS):
        middle = (out + inside) / 2
        if outside(middle):
            out = middle
        else:
            inside = middle
    return out


class MeanSequence:
    """The confidence sequence of the mean of numbers between 0 and 1, fed with whole minutes.

    The bet of a minute comes from the mean and the variance of the minutes before it (the predictable plug-in), with
    the level that it was made for. Its interval is centred at the mean weighted by the bets.
    """

    __slots__ = ("_penalty", "_spread", "_weight", "_weighted", "alpha", "cases", "total")

    def __init__(self, alpha: float, state: Sequence[float] = (0, 0.0, 0.0, 0.0, 0.0, 0.0)) -> None:
        self.alpha = alpha
        self.cases, self.total, self._spread, self._weight, self._weighted, self._penalty = state

    def add(self, cases: int, total: float, squares: float) -> None:
        """A minute: how many numbers, their sum and the sum of their squares."""
        if cases == 0:
            return
        mean = (0.5 + self.total) / (1 + self.cases)
        variance = (0.25 + self._spread) / (1 + self.cases)
        # How many records the minute has is not known when it begins, so the bet must not use it.
        place = self.cases + 1
        bet = min(_LARGEST_BET, math.sqrt(2 * math.log(2 / self.alpha) / (variance * place * math.log1p(place))))
        # The squared distance from what was expected before the minute; exponential in the bet as in the paper.
        self._penalty += _around(mean, cases, total, squares) * (-math.log1p(-bet) - bet)
        self._weight += bet * cases
        self._weighted += bet * total
        self.cases, self.total = self.cases + cases, self.total + total
        self._spread += _around((0.5 + self.total) / (1 + self.cases), cases, total, squares)

    def interval(self) -> Interval:
        """Where the mean lies, at every look so far and to come, but for one chance in 1/α.

        >>> sequence = MeanSequence(0.05)
        >>> for _ in range(100): sequence.add(50, 20.0, 9.0)
        >>> [round(end, 2) for end in sequence.interval()]
        [0.39, 0.41]
        """
        if not self._weight:
            return Interval(0.0, 1.0)
        centre = self._weighted / self._weight
        margin = (math.log(2 / self.alpha) + self._penalty) / self._weight
        return Interval(max(0.0, centre - margin), min(1.0, centre + margin))

    def state(self) -> list[float]:
        """All it knows, as plain numbers."""
        return [self.cases, self.total, self._spread, self._weight, self._weighted, self._penalty]


def _around(centre: float, cases: int, total: float, squares: float) -> float:
    """The sum of the squared distances from a centre, which rounding must not make negative."""
    return max(0.0, squares - 2 * centre * total + cases * centre**2)


def divergence(seen: float, true: float) -> float:
    """Kullback and Leibler's divergence between two shares.

    >>> divergence(0.5, 0.5), divergence(0.5, 1.0)
    (0.0, inf)
    """
    if (seen > 0 and true <= 0) or (seen < 1 and true >= 1):
        return math.inf
    ones = seen * math.log(seen / true) if seen > 0 else 0.0
    return ones + ((1 - seen) * math.log((1 - seen) / (1 - true)) if seen < 1 else 0.0)


def upper_bound(mean: float, cases: float, risk: float, variance: float | None = None) -> float:
    """How high the true mean of numbers between 0 and 1 may be, given the mean of a sample; wrong with this risk.

    Without a variance Chernoff's bound, which holds for any such numbers. With the sample's variance the better one of
    that and the bound of Maurer and Pontil (2009), at half the risk each.

    >>> [round(upper_bound(0.2, cases, 0.001), 3) for cases in (200, 6608, 1_000_000)]
    [0.317, 0.219, 0.201]
    >>> round(upper_bound(0.4, 6608, 0.001, variance=0.02), 3)
    0.41
    """
    if cases <= 0:
        return 1.0
    part = risk if variance is None else risk / 2
    allowed = -math.log(part) / cases
    high = _edge(lambda given: divergence(mean, given) >= allowed, 1.0, mean) if mean < 1 else 1.0
    if variance is None or cases < 2:
        return high
    spread = math.log(2 / part)
    return min(high, mean + math.sqrt(2 * variance * spread / cases) + 7 * spread / (3 * (cases - 1)))
