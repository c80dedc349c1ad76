"""Intervals of rates and means whose questions come in clusters: those about one document are worth less than others.

A number keeps its plain interval where each of its questions stands for itself, and where all are of one cluster: then
nothing says how clusters differ.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ragworthy import gates as g
from ragworthy.metrics.fold import of_nothing
from ragworthy.stats import Interval
from ragworthy.suites.evidence import Evidence, Summary

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite

FOLDED = ("rate", "mean", "share")
"""Kinds of metrics whose interval is that of a share."""
SAME = 1e-9
"""How far the words of a metric may be from its value: where they are further, it was worked out in another way."""
Part = tuple[Any, Any] | None
"""What a question adds to a number, and how much it weighs; None where it is no case."""
Totals = dict[str, tuple[Fraction, Fraction]]


def clustered(suite: "Suite", evidence: Evidence, summary: Summary) -> Summary:
    """The numbers with intervals that take clusters into account; the profile reference knows no clusters."""
    rows = summary.rows
    if rows is None or evidence.profile == "reference" or len({*rows.clusters}) == len(rows.clusters):
        return summary
    values = dict(summary.values)
    names = [name for name in summary.names if name.id in rows.words and name.metric.kind in FOLDED]
    parts = {name.id: suite.parts(name, evidence, summary) for name in names}
    for group in dict.fromkeys(group for group, _ in values):
        members = suite.members(rows, group)
        clusters = [rows.clusters[nth] for nth in members]
        for name in names if len({*clusters}) < len(clusters) else ():
            value = values.get((group, name.id))
            if value is None or value.interval is None or not value.rate or value.undefined is not None:
                continue
            column = parts[name.id]
            counts = Counter(zip(clusters, (column[nth] for nth in members), strict=True))
            values[group, name.id] = _widened(value, counts)
    return summary._replace(values=values)


def _widened(value: g.Value, counts: Counter[tuple[str, Part]]) -> g.Value:
    """A value with the interval that clusters give it; as it is where they say nothing."""
    found, cases, several = _totals(counts)
    weight = sum((size for _, size in found.values()), Fraction(0))
    if not several or len(found) < 2 or not weight or not _folds_to(found, weight, value):
        return value
    from ragworthy.paired.clusters import design_effect, wilson_clustered

    # Copies of a question add nothing: however many there are, it rests on the different ones.
    rests_on = min(cases, value.independent or cases)
    scale = rests_on / weight
    scaled: Any = {one: (total * scale / value.top, size * scale) for one, (total, size) in found.items()}
    interval = wilson_clustered(scaled)
    if interval is None:
        return value
    return value._replace(
        interval=Interval(value.top * interval.low, value.top * interval.high),
        deff=design_effect(scaled) * cases / rests_on,
        clusters=len(found),
    )


def _totals(counts: Counter[tuple[str, Part]]) -> tuple[Totals, int, bool]:
    """Sums and weights by cluster, how many questions count, and whether a cluster has several of them."""
    found: Totals = {}
    sizes: Counter[str] = Counter()
    for (cluster, part), count in counts.items():
        if part is not None and not of_nothing(part):
            total, weight = found.get(cluster, (Fraction(0), Fraction(0)))
            found[cluster] = total + count * Fraction(part[0]), weight + count * Fraction(part[1])
            sizes[cluster] += count
    return found, sizes.total(), any(size > 1 for size in sizes.values())


def _folds_to(found: Totals, weight: Fraction, value: g.Value) -> bool:
    """Whether the words are what the value was made of: blocks that are counted one by one are something else."""
    number = sum((total for total, _ in found.values()), Fraction(0)) / weight
    return value.exact is not None and abs(float(number - value.exact)) <= SAME * max(1, value.top)


def plain(words: Iterable[Any]) -> list[Part]:
    """Words as parts: a pair is one already, a number weighs 1.

    >>> plain([True, None, (3, 4)])
    [(True, 1), None, (3, 4)]
    """
    return [word if word is None or isinstance(word, tuple) else (word, 1) for word in words]
