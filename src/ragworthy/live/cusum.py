"""Detectors of a change for the worse whose false alarms are bounded for ever: Shiryaev and Roberts, and a CUSUM.

Numbers lie between 0 and 1, where 1 is bad. A bet λ on a mean above m multiplies its money by 1 + λ(y − m) with every
number y. As long as no mean, given the past, is above m, money does not grow in expectation, whatever the distribution.

Each step (a minute, an hour) puts one new coin on a change that begins now: M' = (M + 1) · L. So M less the number of
steps does not grow in expectation. An alarm at M ≥ c takes c away and starts again; hence in any n steps at most n / c
false alarms are expected, from the first step on, for ever, however often anyone looks. The CUSUM
S' = max(S, 1) · L never has more money than that, so the same c does. (Shin, Ramdas and Rinaldo 2024 call these
e-detectors.)
"""

import math
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Any, NamedTuple

_SMALLEST_EFFECT, _LARGEST_SHARE = 0.005, 0.95
_BETS = 10


class Batch(NamedTuple):
    """The numbers of one minute, spread over a grid from 0 to 1."""

    cases: int
    total: float
    weights: tuple[float, ...]


def batch(counts: Mapping[float, int], cells: int) -> Batch:
    """Numbers between 0 and 1 with how often each occurred, spread over the points 0, 1/cells … 1.

    A number between two points counts for both in proportion. Since the logarithm is concave, that can only understate
    what a bet earns; the mean stays as it is. Zeros and ones need a single cell and lose nothing.

    >>> batch({0.0: 3, 1.0: 1}, 1)
    Batch(cases=4, total=1.0, weights=(3.0, 1.0))
    >>> batch({0.25: 2, 0.5: 1}, 2).weights
    (1.0, 2.0, 0.0)
    """
    weights = [0.0] * (cells + 1)
    cases, total = 0, 0.0
    for value in sorted(counts):  # the order of a sum of floats must not depend on the order of arrival
        times = counts[value]
        place = min(cells - 1, int(value * cells))
        above = value * cells - place
        weights[place] += times * (1 - above)
        weights[place + 1] += times * above
        cases += times
        total += value * times
    return Batch(cases, total, tuple(weights))


def bets(limit: float) -> tuple[float, ...]:
    """Ten bets on a mean above a limit, from one for an effect of half a point to nearly all the money."""
    least, most = _SMALLEST_EFFECT / (limit * (1 - limit)), _LARGEST_SHARE / limit
    if least >= most:
        return (most,)
    step = (most / least) ** (1 / (_BETS - 1))
    return tuple(least * step**n for n in range(_BETS))


def drift_bet(limit: float, effect: float, variance: float | None = None) -> float:
    """The bet that grows fastest when the mean lies by an effect above the limit.

    Of zeros and ones it is the likelihood ratio of the two shares.

    >>> round(1 + drift_bet(0.2, 0.05) * (1 - 0.2), 6), round(0.25 / 0.2, 6)
    (1.25, 1.25)
    """
    spread = limit * (1 - limit) if variance is None else variance + effect**2
    return min(effect / spread, _LARGEST_SHARE / limit)


def earnings(bet: float, limit: float, cells: int, dispersion: float = 1.0) -> tuple[float, ...]:
    """The logarithm of what a bet is multiplied by at each point of the grid; where records come in clumps, less."""
    return tuple(math.log1p(bet * (point / cells - limit)) / dispersion for point in range(cells + 1))


class Stretch(NamedTuple):
    """Since when the money of a bet grows, and what was seen since."""

    since: int
    cases: int
    total: float


class _Run:
    """A bet that begins again whenever it has lost its coin: a CUSUM, and since when it runs."""

    __slots__ = ("cases", "money", "since", "total")

    def __init__(self, state: Sequence[float] = (0.0, 0, 0, 0.0)) -> None:
        self.money = state[0]
        self.since, self.cases, self.total = int(state[1]), int(state[2]), state[3]

    def step(self, at: int, earned: float, seen: Batch) -> None:
        if self.money <= 0:
            self.money, self.since, self.cases, self.total = 0.0, at, 0, 0.0
        self.money += earned
        self.cases += seen.cases
        self.total += seen.total

    def state(self) -> list[float]:
        return [self.money, self.since, self.cases, self.total]


class Detector:
    """Shiryaev and Roberts with ten bets at once, each with a tenth of the coins: quick for changes of any size."""

    __slots__ = ("_earnings", "_runs", "_stakes", "evidence")

    def __init__(
        self, limit: float, cells: int, dispersion: float = 1.0, state: Mapping[str, Any] | None = None
    ) -> None:
        self._earnings = [earnings(bet, limit, cells, dispersion) for bet in bets(limit)]
        self._stakes: list[float] = state["stakes"][:] if state else [0.0] * len(self._earnings)
        """For each bet log(1 + M)."""
        self._runs = [_Run(run) for run in state["runs"]] if state else [_Run() for _ in self._earnings]
        self.evidence: float = state["evidence"] if state else 0.0
        """The logarithm of 1 + the money of all bets together after the last step."""

    def step(self, at: int, seen: Batch) -> None:
        """One step; a minute without a number is none."""
        if not seen.cases:
            return
        logs = []
        for n, table in enumerate(self._earnings):
            earned = math.fsum(map(mul, seen.weights, table))
            logs.append(self._stakes[n] + earned)
            self._stakes[n] = _log_of_one_more(logs[-1])
            self._runs[n].step(at, earned, seen)
        most = max(logs)
        whole = most + math.log(math.fsum(math.exp(each - most) for each in logs) / len(logs))
        self.evidence = _log_of_one_more(whole)

    def above(self, threshold: float) -> bool:
        """Whether the money has reached a threshold."""
        return self.evidence >= math.log1p(threshold)

    def stretch(self) -> Stretch:
        """Since when the richest bet grows."""
        best = max(range(len(self._stakes)), key=lambda n: self._stakes[n])
        run = self._runs[best]
        return Stretch(run.since, run.cases, run.total)

    def state(self) -> dict[str, Any]:
        """All it knows, as plain values."""
        return {"evidence": self.evidence, "stakes": self._stakes[:], "runs": [run.state() for run in self._runs]}


class Cusum:
    """A CUSUM with one small bet and a step each hour, for what worsens slowly. It says since when."""

    __slots__ = ("_cases", "_earned", "_earnings", "_hour", "_run", "_total")

    def __init__(
        self, limit: float, bet: float, cells: int, dispersion: float = 1.0, state: Sequence[Any] | None = None
    ) -> None:
        self._earnings = earnings(bet, limit, cells, dispersion)
        self._run = _Run(state[0]) if state else _Run()
        self._hour: int = state[1] if state else 0
        self._earned: float = state[2] if state else 0.0
        self._cases: int = state[3] if state else 0
        self._total: float = state[4] if state else 0.0

    def step(self, at: int, seen: Batch) -> None:
        """One minute. Its hour counts once it is over, with its last minute or with the first one after it."""
        hour = -(-at // 60)
        if hour != self._hour:
            self._close()
            self._hour = hour
        if seen.cases:
            self._earned += math.fsum(map(mul, seen.weights, self._earnings))
            self._cases += seen.cases
            self._total += seen.total
        if at % 60 == 0:
            self._close()

    def _close(self) -> None:
        if self._cases:
            first = 60 * (self._hour - 1) + 1
            self._run.step(first, self._earned, Batch(self._cases, self._total, ()))
        self._earned, self._cases, self._total = 0.0, 0, 0.0

    def above(self, threshold: float) -> bool:
        """Whether the money has reached a threshold."""
        return self._run.money >= math.log(threshold)

    @property
    def evidence(self) -> float:
        """The logarithm of the money after the last hour."""
        return self._run.money

    def stretch(self) -> Stretch:
        """Since when the money grows."""
        return Stretch(self._run.since, self._run.cases, self._run.total)

    def state(self) -> list[Any]:
        """All it knows, as plain values."""
        return [self._run.state(), self._hour, self._earned, self._cases, self._total]


def _log_of_one_more(log: float) -> float:
    """log(1 + e^x), for any x."""
    return log + math.log1p(math.exp(-log)) if log > 0 else math.log1p(math.exp(log))
