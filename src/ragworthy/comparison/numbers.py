"""One metric in two runs: both values, the paired difference, its interval, and how likely chance alone would do it."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.differences import TWO_SIDED, Difference, Pairs, difference
from ragworthy.gates import DROP, Gate
from ragworthy.metrics.fold import percent_of, value_of
from ragworthy.metrics.registry import Metric
from ragworthy.paired import bounds, exact
from ragworthy.stats import Interval

MCNEMAR, SWAP, CLUSTERS, EXCEEDANCE = "mcnemar", "swap", "clusters", "exceedance"
Values = tuple[Fraction | None, Fraction | None]


def alike(a: Any, b: Any) -> bool:
    """Whether two numbers are one, of which a file may have kept the nearest float."""
    return a == b or (isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS) and abs(Fraction(a) - Fraction(b)) < SLACK)


_NUMBERS = (int, float, Fraction)
SLACK = Fraction(1, 10**12)
"""Far below what one question can change, far above what a float loses."""


class Pair(NamedTuple):
    """One metric in two runs, before anything is tested."""

    metric: Metric | None
    values: Values
    found: Difference | str
    """What the questions say, or why they say nothing."""

    @property
    def difference(self) -> Fraction | None:
        """How much higher the second run is."""
        a, b = self.values
        return None if a is None or b is None else Fraction(0) if alike(a, b) else b - a


def pair_of(name: str, metric: Metric | None, pairs: Pairs, values: Values | None) -> Pair:
    """A metric that both runs have; values are those of the reports, or folded from the words of common questions."""
    found = difference(Gate(name, DROP, "0"), metric or _unknown(name), pairs)
    if values is None:
        old, new = ([column[place] for place in places] for column, places in _columns(name, pairs))
        values = _folded(metric, old), _folded(metric, new)
    return Pair(metric, values, found)


def _columns(name: str, pairs: Pairs) -> Sequence[tuple[Sequence[Any], Sequence[int]]]:
    sides = ((pairs.old, [old for old, _ in pairs.both]), (pairs.new, [new for _, new in pairs.both]))
    return [(rows.words.get(name, (None,) * len(rows.qids)), places) for rows, places in sides]


def _folded(metric: Metric | None, words: Sequence[Any]) -> Fraction | None:
    if metric is not None:
        return value_of(metric, words).exact
    there = [Fraction(*word) if isinstance(word, tuple) else Fraction(word) for word in words if word is not None]
    return sum(there, Fraction(0)) / len(there) if there else None


def _unknown(name: str) -> Metric:
    """A metric that nobody here knows: a mean of what it says of every question."""
    return Metric(name, len, "higher", "mean", "question", "", None, False, (), "", "", "", "")


# how likely is it by chance


class Tested(NamedTuple):
    """A two-sided p-value, and how it was found."""

    p: float
    method: str


def exact_test(found: Difference) -> Tested | None:
    """The exact test, where the words are yes and no and no two questions that changed stand or fall together."""
    flips = found.flips
    if flips is None:
        return None
    if flips.plain:
        return Tested(exact.two_sided(*flips.right_wrong), MCNEMAR)
    ways = [flips, flips.turned]
    ps = [exact.swap(one.right_wrong, one.counted_wrong, one.right_counted, one.rate) for one in ways]
    known = [p for p in ps if p is not None]
    return Tested(min(1.0, 2 * min(known)), SWAP) if len(known) == len(ways) else None


def method_of(metric: Metric | None) -> str:
    """How a metric is tested where there is no exact test."""
    return EXCEEDANCE if metric is not None and percent_of(metric.kind) is not None else CLUSTERS


def toward_worse(column: Mapping[str, int]) -> dict[str, int]:
    """Losses of clusters, turned so that their sum is not negative: both directions are tested alike."""
    sign = -1 if sum(column.values()) < 0 else 1
    return {name: sign * loss for name, loss in column.items()}


# how far may it be


def interval_of(pair: Pair) -> Interval | None:
    """The 95 % interval of the difference; None where there is none."""
    metric, found = pair.metric, pair.found
    if metric is None or isinstance(found, str) or pair.difference is None:
        return None
    if not found.moved and method_of(metric) != EXCEEDANCE:
        return _unchanged(metric, found)
    if found.interval is None or metric.highest is None:
        return found.interval
    return Interval(max(found.interval.low, -metric.highest), min(found.interval.high, metric.highest))


def _unchanged(metric: Metric, found: Difference) -> Interval | None:
    """Nothing changed among so many cases: what may change all the same, where there is a greatest value."""
    if metric.highest is None:
        return None
    bound = bounds.tango(0, 0, found.cases, TWO_SIDED)
    return Interval(bound.low * metric.highest, bound.high * metric.highest)
