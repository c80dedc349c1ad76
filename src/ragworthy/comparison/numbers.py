"""One metric in two runs: both values, the paired difference, its interval, and how likely chance alone would do it."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.comparison.losses import (
    SUMMED,
    Flips,
    Losses,
    Part,
    Words,
    flips_of,
    is_percentile,
    losses_of,
    rate_of,
    testable,
    words_of,
)
from ragworthy.metrics.fold import percent_of, value_of
from ragworthy.metrics.registry import Metric
from ragworthy.paired import bounds, exact
from ragworthy.paired.percentiles import tops

LEVEL = 0.95
MCNEMAR, SWAP, CLUSTERS, EXCEEDANCE = "mcnemar", "swap", "clusters", "exceedance"


class Pair(NamedTuple):
    """One metric in two runs, before anything is tested."""

    metric: Metric | None
    values: tuple[Fraction | None, Fraction | None]
    words: Words
    losses: Losses
    clusters: Sequence[str]
    """The cluster of each question of `words`."""

    @property
    def difference(self) -> Fraction | None:
        """How much higher the second run is."""
        a, b = self.values
        return None if a is None or b is None else b - a

    @property
    def alone(self) -> bool:
        """Whether every question that counts is a cluster of its own."""
        return len(set(self.clusters)) == len(self.clusters)

    @property
    def sums(self) -> dict[str, int]:
        """The losses of each cluster that changed."""
        of = dict(zip(self.words.places, self.clusters, strict=True))
        found: dict[str, int] = {}
        for place, loss in self.losses.at.items():
            found[of[place]] = found.get(of[place], 0) + loss
        return found

    @property
    def changed_alone(self) -> bool:
        """Whether no cluster has two questions that changed: then swapping clusters is swapping questions."""
        of = dict(zip(self.words.places, self.clusters, strict=True))
        return len({of[place] for place in self.losses.at}) == len(self.losses.at)


def pair_of(
    metric: Metric | None,
    columns: tuple[Sequence[Any], Sequence[Any]],
    clusters: Sequence[str],
    values: tuple[Fraction | None, Fraction | None] | None,
) -> Pair:
    """Two columns of words, with the values of the reports, or else folded from the words."""
    words = words_of(metric.kind if metric is not None else "mean", *columns)
    if values is None:
        values = _folded(metric, columns[0]), _folded(metric, columns[1])
    losses = _exceeding(metric, words) if metric is not None and is_percentile(metric) else losses_of(metric, words)
    return Pair(metric, values, words, losses, [clusters[place] for place in words.places])


def _folded(metric: Metric | None, words: Sequence[Any]) -> Fraction | None:
    if metric is not None:
        return value_of(metric, words).exact
    there = [Fraction(*word) if isinstance(word, tuple) else Fraction(word) for word in words if word is not None]
    return sum(there, Fraction(0)) / len(there) if there else None


def _exceeding(metric: Metric, words: Words) -> Losses:
    """Of a percentile: whether a question is in the top share of both runs together, in one run and in the other."""
    both = [nth for nth, (old, new) in enumerate(zip(words.a, words.b, strict=True)) if old[1] and new[1]]
    a, b = ([Fraction(side[nth][0]) for nth in both] for side in (words.a, words.b))
    above = tops(a, b, percent_of(metric.kind) or 50).words
    sign = 1 if metric.better == "lower" else -1
    return Losses({words.places[nth]: sign * loss for nth, loss in zip(both, above, strict=True) if loss})


# how likely is it by chance


class Tested(NamedTuple):
    """A two-sided p-value, and how it was found."""

    p: float
    method: str


def exact_test(pair: Pair) -> Tested | None:
    """The exact test, where the words are yes and no and no two questions that changed stand or fall together."""
    metric = pair.metric
    if metric is None or is_percentile(metric) or not pair.words.plain or not pair.changed_alone:
        return None
    flips = flips_of(metric, pair.words)
    if flips.counted_wrong == flips.right_counted == (0, 0):
        return Tested(exact.two_sided(*flips.right_wrong), MCNEMAR)
    rate = rate_of(pair.words)
    good = 1 - rate if metric.better == "lower" else rate
    one, other = exact.swap(*flips, good), exact.swap(*_turned(flips), good)
    return None if one is None or other is None else Tested(min(1.0, 2 * min(one, other)), SWAP)


def _turned(flips: Flips) -> Flips:
    """The same with better and worse exchanged."""
    return Flips(*((better, worse) for worse, better in flips))


def method_of(pair: Pair) -> str:
    """How a metric is tested where the exact test does not fit."""
    return EXCEEDANCE if is_percentile(pair.metric) else CLUSTERS


def toward_worse(sums: Mapping[str, int]) -> dict[str, int]:
    """Losses of clusters, turned so that their sum is not negative: both directions are tested alike."""
    sign = -1 if sum(sums.values()) < 0 else 1
    return {name: sign * loss for name, loss in sums.items()}


# how far may it be


def interval_of(pair: Pair) -> tuple[float, float] | None:
    """The 95 % interval of the difference; None where there is none."""
    metric, words = pair.metric, pair.words
    if metric is None or not testable(metric) or is_percentile(metric) or pair.difference is None or not words.places:
        return None
    scale = len(words.places) if metric.kind in SUMMED else 1
    if words.plain and words.same_cases and pair.alone and metric.highest in (None, 1):
        return _scaled(_tango(metric, flips_of(metric, words), len(words.places)), scale)
    if not pair.losses.at:
        return _unchanged(metric, max(1, len(set(pair.clusters))), scale)
    return _scaled(_delta(pair), scale, metric.highest)


def _tango(metric: Metric, flips: Flips, cases: int) -> tuple[float, float]:
    """Tango's interval of a loss, as one of the difference."""
    found = bounds.tango(*flips.right_wrong, cases, LEVEL)
    return (found.low, found.high) if metric.better == "lower" else (-found.high, -found.low)


def _unchanged(metric: Metric, clusters: int, scale: int) -> tuple[float, float] | None:
    """Nothing changed among so many clusters: what may change all the same, where there is a greatest value."""
    top = 1 if metric.kind == "count" else metric.highest
    if top is None:
        return None
    found = bounds.tango(0, 0, clusters, LEVEL)
    return _scaled((found.low * top, found.high * top), scale)


def _delta(pair: Pair) -> tuple[float, float] | None:
    """The delta method over clusters, with the quantile of Student's distribution; as a difference."""
    words = pair.words
    summed = pair.metric is not None and pair.metric.kind in SUMMED
    found = bounds.lost(_whole(words.a, summed), _whole(words.b, summed), pair.clusters)
    if found is None:
        return None
    lost = bounds.clustered(found.residuals, len(words.places), LEVEL, loss=float(found.loss))
    return None if lost is None else (-lost.high, -lost.low)


def _whole(side: Sequence[Part], summed: bool) -> list[tuple[int | Fraction, int]]:
    """Parts and wholes as they are; of sums every question is a whole."""
    return [(_exact(part), 1 if summed else _exact(whole)) for part, whole in side]


def _exact(number: Any) -> Any:
    return number if isinstance(number, int) else Fraction(number)


def _scaled(interval: tuple[float, float] | None, scale: int, top: int | None = None) -> tuple[float, float] | None:
    """An interval for so many questions together; no wider than differences can be."""
    if interval is None:
        return None
    low, high = interval[0] * scale, interval[1] * scale
    return (low, high) if top is None else (max(low, -top), min(high, top))
