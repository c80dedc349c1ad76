"""Whether the last run of a line is worse than all before it, for somebody who looks after every run.

Were the runs of a line all alike, then in every cluster each of them could as well have been the last. A bet on "the
last one is worse" that is fair for that pays exp(λ·d) over its mean over the runs so far, d being what the cluster
lost. Bets go on from look to look: the gains of the looks since a change multiply. Nobody knows when something changed,
so a bet begins at every look, with a stake of 1/(n·(n+1)); all stakes together are 1. What became of them is 20 or
more in 5 of 100 lines at most, in which nothing changed.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.differences import ALONE, PLAIN
from ragworthy.history.pooled import parts
from ragworthy.history.proof import Look
from ragworthy.metrics.fold import percent_of
from ragworthy.metrics.of_runs import said_of
from ragworthy.metrics.registry import Metric, all_metrics
from ragworthy.paired.family import e_holm
from ragworthy.rows import Rows

BOLD = (1, 2, 3, 4)
"""How bold bets are, in standard deviations of the sum over all clusters: the mean over all of them counts."""
_MOST = 700.0
"""The largest logarithm that is shown as a number."""


class _Bets(NamedTuple):
    last: float
    """What the last look alone made of 1."""
    all: float
    """What all looks made of 1."""


NONE = _Bets(1.0, 1.0)
"""Where nothing changed, nothing was bet."""


def over_time(runs: Sequence[Rows], metrics: Sequence[str]) -> dict[str, Look]:
    """What the last run says of every metric that single questions speak of, compared with all before it."""
    known = all_metrics()
    found: dict[str, tuple[_Bets, int, int]] = {}
    for name in metrics:
        metric = known.get(name.partition("@")[0])
        columns = None if metric is None or not _single(metric) else _columns(runs, name, metric)
        if metric is None or columns is None:
            continue
        losses = _losses(columns, 1 if metric.better == "higher" else -1, plain=metric.kind in PLAIN)
        moved = [one[-1] - _usual(one[:-1]) for one in losses]
        bets = _bets(_by_cluster(losses, _clusters(runs)))
        found[name] = bets, sum(one > 0 for one in moved), sum(one < 0 for one in moved)
    changed = [name for name, (bets, _, _) in found.items() if bets != NONE]
    family = dict(zip(changed, e_holm([found[name][0].all for name in changed]), strict=True))
    return {
        name: Look(worse, better, min(1.0, 1 / max(bets.last, 1e-300)), bets.last, len(runs) - 1, family.get(name, 1.0))
        for name, (bets, worse, better) in found.items()
    }


def _usual(losses: Sequence[float]) -> float:
    """What a question said most often; of two that it said equally often the later.

    >>> _usual([0.2, 0.2, -0.8, 0.2]), _usual([0.2, -0.8])
    (0.2, -0.8)
    """
    count = {one: (losses.count(one), nth) for nth, one in enumerate(losses)}
    return max(count, key=count.__getitem__)


def _single(metric: Metric) -> bool:
    return metric.over != "all" and metric.kind not in ALONE and percent_of(metric.kind) is None


def _shared(runs: Sequence[Rows]) -> list[list[int]]:
    """The questions that all runs have: where each is in every run."""
    places = [one.places() for one in runs]
    return [[one[qid] for one in places] for qid in runs[-1].qids if all(qid in one for one in places)]


def _clusters(runs: Sequence[Rows]) -> list[str]:
    return [runs[-1].clusters[nths[-1]] for nths in _shared(runs)]


def _columns(runs: Sequence[Rows], name: str, metric: Metric) -> list[list[tuple[Any, Any]]] | None:
    """Part and whole of every shared question in every run; None where a run does not have the metric."""
    words = [said_of(one, name, metric) for one in runs]
    there = [one for one in words if one is not None]
    if len(there) < len(words):
        return None
    return [[parts(column[nth]) for column, nth in zip(there, nths, strict=True)] for nths in _shared(runs)]


def _losses(columns: Sequence[Sequence[tuple[Any, Any]]], sign: int, *, plain: bool) -> list[list[float]]:
    """What every question took from the number in every run, the rate of all runs together being nothing."""
    mean = Fraction(0)
    if not plain:
        part, whole = (sum((Fraction(one[nth]) for runs in columns for one in runs), Fraction(0)) for nth in (0, 1))
        mean = part / whole if whole else mean
    known: dict[tuple[Any, Any], float] = {}
    for runs in columns:
        for one in runs:
            if one not in known:
                known[one] = float(sign * (mean * Fraction(one[1]) - Fraction(one[0])))
    return [[known[one] for one in runs] for runs in columns]


def _by_cluster(losses: Sequence[Sequence[float]], clusters: Sequence[str]) -> list[list[float]]:
    """Summed by cluster, less the mean of the cluster; those in which nothing changed bet nothing."""
    groups: dict[str, list[Sequence[float]]] = {}
    for one, cluster in zip(losses, clusters, strict=True):
        if max(one) > min(one):
            groups.setdefault(cluster, []).append(one)
    found = []
    for some in groups.values():
        total = [math.fsum(values) for values in zip(*some, strict=True)]
        middle = math.fsum(total) / len(total)
        found.append([value - middle for value in total])
    return [one for one in found if max(one) - min(one) > 1e-9]


def _bets(clusters: Sequence[Sequence[float]]) -> _Bets:
    if not clusters:
        return NONE
    spread = math.sqrt(math.fsum(value * value for one in clusters for value in one) / len(clusters[0]))
    lasts, totals = [], []
    for bold in BOLD:
        gains = _gains(clusters, bold / spread)
        total = -math.inf  # a logarithm, as all gains are
        for nth, gain in enumerate(gains, 1):
            total = _plus(total, -math.log(nth * (nth + 1))) + gain
        lasts.append(gains[-1])
        totals.append(total)
    last, everything = (_rounded(math.fsum(math.exp(min(one, _MOST)) for one in some) / len(BOLD)) for some in
                        (lasts, totals))  # fmt: skip
    # A line that has recovered proves nothing of its last run.
    return _Bets(last, everything if last > 1 else min(last, everything))


def _gains(clusters: Sequence[Sequence[float]], bold: float) -> list[float]:
    """The logarithm of what each look pays, the second run being the first look."""
    paid = [[] for _ in clusters[0][1:]]  # type: list[list[float]]
    for one in clusters:
        seen = math.exp(bold * one[0])
        for nth, value in enumerate(one[1:], 1):
            seen += math.exp(bold * value)
            paid[nth - 1].append(bold * value - math.log(seen / (nth + 1)))
    return [math.fsum(one) for one in paid]


def _plus(one: float, other: float) -> float:
    """The logarithm of a sum."""
    high, low = max(one, other), min(one, other)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def _rounded(value: float) -> float:
    """Ten digits: the last ones hang on the machine."""
    return float(f"{value:.10g}")
