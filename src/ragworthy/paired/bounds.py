"""How large a loss may be: quantiles, Tango's interval, the delta method with clusters, and "unchanged"."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from ragworthy.stats import Interval

ONE_SIDED = 0.90
"""The level of a two-sided interval whose upper end is a one-sided 95 % bound."""
_NO_PULL = 1e-9
"""What pulls less is rounding."""
_SUMMED = 2_000
"""Up to so many degrees of freedom Student's distribution is a finite sum; beyond, an expansion is as exact."""


def normal(p: float) -> float:
    """The quantile of the normal distribution.

    >>> round(normal(0.975), 9), normal(0.5)
    (1.959963985, 0.0)
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


@lru_cache(maxsize=1 << 10)  # the metrics of a report mostly have the same degrees of freedom
def student(p: float, df: int) -> float:
    """The quantile of Student's distribution.

    >>> round(student(0.975, 4), 6), round(student(0.975, 10**6), 6)
    (2.776445, 1.959966)
    """
    if df < 1 or not 0 < p < 1:
        raise ValueError(f"degrees of freedom from 1 and a p between 0 and 1, not {df} and {p}")
    if p < 0.5:
        return -student(1 - p, df)
    if p == 0.5:
        return 0.0
    if df > _SUMMED:
        return _expanded(normal(p), df)
    if df == 1:
        return math.tan(math.pi * (p - 0.5))
    angle = _crossing(lambda angle: p - _student_cdf(angle, df), 0.0, math.pi / 2)
    return math.sqrt(df) * math.tan(angle)


def _student_cdf(angle: float, df: int) -> float:
    """P(t ≤ √df · tan angle) for an angle from 0: Abramowitz & Stegun 26.7.3 and 26.7.4."""
    cos, sin = math.cos(angle), math.sin(angle)
    odd = df % 2
    term = total = cos if odd else 1.0
    for power in range(odd + 2, df - 1, 2):
        term *= cos * cos * (power - 1) / power
        total += term
    inside = 2 / math.pi * (angle + sin * total) if odd else sin * total
    return 0.5 + inside / 2


def _expanded(z: float, df: int) -> float:
    """Abramowitz & Stegun 26.7.5."""
    square = z * z
    parts = (
        z * (square + 1) / 4,
        z * ((5 * square + 16) * square + 3) / 96,
        z * (((3 * square + 19) * square + 17) * square - 15) / 384,
        z * ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92160,
    )
    return z + math.fsum(part / df ** (nth + 1) for nth, part in enumerate(parts))


def _crossing(of: Callable[[float], float], low: float, high: float) -> float:
    """Where something that falls from low to high passes 0, as near as floats come."""
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if of(middle) > 0:
            low = middle
        else:
            high = middle


def tango(worse: int, better: int, cases: int, level: float = ONE_SIDED) -> Interval:
    """Tango's score interval of the loss (worse − better) / cases, two-sided.

    >>> [round(end, 6) for end in tango(10, 3, 200)]
    [0.005954, 0.068958]
    """
    _check(worse, better, cases)
    return _scored(worse, better, cases, normal((1 + level) / 2))


def _scored(worse: float, better: float, cases: float, z: float) -> Interval:
    low = _crossing(lambda loss: _score(worse, better, cases, loss) - z, -1.0, 1.0)
    high = _crossing(lambda loss: _score(worse, better, cases, loss) + z, -1.0, 1.0)
    return Interval(low, high)


def noninferior(worse: int, better: int, cases: int, margin: float) -> float:
    """The p-value of "the loss is at least the margin" (Tango's score test): small means that it is not.

    >>> round(noninferior(60, 40, 2000, 0.02), 4)
    0.0262
    """
    _check(worse, better, cases)
    return math.erfc(-_score(worse, better, cases, margin) / math.sqrt(2)) / 2


def tost(worse: int, better: int, cases: int, margin: float) -> float:
    """The p-value of "it changed by the margin or more", in either direction: small means unchanged (Schuirmann).

    >>> tost(60, 40, 2000, 0.02) == noninferior(60, 40, 2000, 0.02)
    True
    """
    return max(noninferior(worse, better, cases, margin), noninferior(better, worse, cases, margin))


def within(interval: Interval, margin: float) -> bool:
    """The same at 5 % from a 90 % interval of whatever kind: it lies between −margin and margin.

    >>> within(Interval(-0.01, 0.019), 0.02), within(Interval(-0.01, 0.021), 0.02)
    (True, False)
    """
    return -margin <= interval.low and interval.high <= margin


def _check(worse: int, better: int, cases: int) -> None:
    if worse < 0 or better < 0 or worse + better > cases or cases < 1:
        raise ValueError(f"flips among cases, not {worse} and {better} of {cases}")


def _score(worse: float, better: float, cases: float, loss: float) -> float:
    """How far what was seen lies above a loss, in standard errors that the loss itself implies; falls with it."""
    spread = loss * (1 - loss)
    middle = (2 * cases - worse + better) * loss - worse - better
    root = math.sqrt(max(0.0, middle * middle + 8 * cases * better * spread))
    likely = (root - middle) / (4 * cases)
    variance = cases * (2 * likely + spread)
    above = worse - better - cases * loss
    if variance <= 0:
        return math.copysign(math.inf, above) if above else 0.0
    return above / math.sqrt(variance)


class Loss(NamedTuple):
    """What a ratio lost from the old run to the new one."""

    loss: Fraction
    residuals: dict[str, float]
    """By cluster: how much each pulls at it; they add up to 0. For `clustered`."""

    @property
    def pulled(self) -> bool:
        """Whether any cluster pulls: not where nothing changed, or every cluster by as much."""
        return max(map(abs, self.residuals.values())) >= _NO_PULL


def lost(
    old: Sequence[tuple[int | Fraction, int]], new: Sequence[tuple[int | Fraction, int]], clusters: Sequence[str]
) -> Loss | None:
    """The loss of Σpart/Σwhole, from the (part, whole) of every question in both runs; None where a run has no case.

    A question that does not count for a run is (0, 0) there.

    >>> found = lost([(1, 1), (1, 1)], [(1, 1), (0, 1)], ["a", "b"])
    >>> str(found.loss), found.residuals
    ('1/2', {'a': -0.5, 'b': 0.5})
    """
    old_whole, new_whole = sum(whole for _, whole in old), sum(whole for _, whole in new)
    if not old_whole or not new_whole:
        return None
    old_rate = Fraction(sum(part for part, _ in old), old_whole)
    new_rate = Fraction(sum(part for part, _ in new), new_whole)
    before, after, cases = float(old_rate), float(new_rate), len(old)
    pulls: dict[str, list[float]] = {}
    for (part, whole), (new_part, after_whole), cluster in zip(old, new, clusters, strict=True):
        pull = (float(part) - before * whole) * cases / old_whole
        pull -= (float(new_part) - after * after_whole) * cases / new_whole
        pulls.setdefault(cluster, []).append(pull)
    return Loss(old_rate - new_rate, {cluster: math.fsum(some) for cluster, some in pulls.items()})


def clustered(u: Mapping[str, float], cases: int, level: float = ONE_SIDED, *, loss: float) -> Interval | None:
    """The interval of a loss from what every cluster pulls at it (`lost`): delta method, t with G − 1 degrees.

    Where nothing pulls (no question changed, or every cluster by as much) each cluster counts as one unchanged case of
    `tango`: an interval of no width would claim too much. None with fewer than two clusters. Where few clusters carry
    the loss, its upper end misses more often than it should (design/paired.md): for a rate with the same cases in both
    runs, `tango_clustered` is nearer.

    >>> [round(end, 4) for end in clustered({"a": -0.5, "b": 0.5, "c": 0.0}, 3, loss=0.1)]
    [-0.7429, 0.9429]
    """
    count = len(u)
    if count < 2:
        return None
    if max(map(abs, u.values())) < _NO_PULL:
        half = tango(0, 0, count, level).high
        return Interval(loss - half, loss + half)
    error = math.sqrt(count / (count - 1) * math.fsum(pull * pull for pull in u.values())) / cases
    half = student((1 + level) / 2, count - 1) * error
    return Interval(loss - half, loss + half)


def tango_clustered(
    worse: int, better: int, cases: int, u: Mapping[str, float], level: float = ONE_SIDED
) -> Interval | None:
    """Tango's interval with clusters: flips and cases divided by the design effect of the loss, t with G − 1 degrees.

    For a rate with the same cases in both runs; `u` is of `lost`. The effect is never below 1. Where every cluster is
    one case it is `tango` itself. None with fewer than two clusters.

    >>> tango_clustered(0, 0, 6, {"a": 0.0, "b": 0.0, "c": 0.0}) == tango(0, 0, 3)
    True
    """
    _check(worse, better, cases)
    count = len(u)
    if count == cases:
        return tango(worse, better, cases, level)
    if count < 2:
        return None
    if not worse and not better:
        return tango(0, 0, count, level)
    loss = (worse - better) / cases
    plain = ((worse + better) / cases - loss * loss) * cases
    robust = count / (count - 1) * math.fsum(pull * pull for pull in u.values())
    effect = max(1.0, robust / plain) if plain > 0 else 1.0
    z = student((1 + level) / 2, count - 1)
    return _scored(worse / effect, better / effect, cases / effect, z)


def hull(intervals: Sequence[Interval]) -> Interval:
    """The interval from the lowest end to the highest.

    >>> hull([Interval(0.0, 0.2), Interval(-0.1, 0.1)])
    Interval(low=-0.1, high=0.2)
    """
    return Interval(min(one.low for one in intervals), max(one.high for one in intervals))
