"""Intervals of rates and means whose questions come in clusters: those about one document are worth less than others.

A number keeps its plain interval where each of its questions stands for itself. Where all are of one cluster, nothing
says how clusters differ: where the gold set names that cluster itself, the number has no interval.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import compress
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.fold import of_nothing
from ragworthy.stats import Interval, wilson_mean
from ragworthy.suites.clusters import NAMED
from ragworthy.suites.evidence import Evidence, Summary

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite

FOLDED = ("rate", "mean", "share")
"""Kinds of metrics whose interval is that of a share."""
SAME = 1e-9
"""How far the words of a metric may be from its value: where they are further, it was worked out in another way."""
DOCUMENTED = "doc="
"""How a cluster begins that is a document."""
ONE_CLUSTER = "all questions are in one cluster"
Part = tuple[Any, Any] | None
"""What a question adds to a number, and how much it weighs; None where it is not a case."""


def clustered(suite: "Suite", evidence: Evidence, summary: Summary) -> Summary:
    """The numbers with intervals that take clusters into account; the profile reference knows no clusters."""
    rows, runs = summary.rows, evidence.runs
    if rows is None:
        return summary if runs == 1 else _by_question(summary, runs)
    if evidence.profile == "reference" or (runs == 1 and len({*rows.clusters}) == len(rows.clusters)):
        return summary
    values = dict(summary.values)
    names = [name for name in summary.names if name.id in rows.words and name.metric.kind in FOLDED]
    parts = {name.id: _Column.of(suite.parts(name, evidence, summary)) for name in names}
    sizes = Counter(rows.clusters[nth] for nth in suite.members(rows, None))
    apart = {name for name, size in sizes.items() if size == 1}
    numbered = _Clusters.of(rows.clusters, parts.values())
    for group in sorted({group for group, _ in values}, key=lambda one: one or ""):
        members = suite.members(rows, group)
        clusters = [numbered.begins[nth] for nth in members]
        for name in names if runs > 1 or len({*clusters}) < len(clusters) else ():
            value = values.get((group, name.id))
            if value is None or value.interval is None or not value.rate or value.undefined is not None:
                continue
            column = parts[name.id]
            counts = Counter(map(add, clusters, map(column.numbers.__getitem__, members)))
            if runs > 1:
                cases = (count for key, count in counts.items() if column.parts[key % numbered.width] is not None)
                value = _once(value, sum(cases))
            alone = group is None or values[None, name.id].boundless == ONE_CLUSTER
            values[group, name.id] = _widened(value, _totals(counts, column, numbered), apart, alone=alone)
    return _doubted(suite, summary._replace(values=values), parts, numbered)


def _doubted(suite: "Suite", summary: Summary, parts: "Mapping[str, _Column]", numbered: "_Clusters") -> Summary:
    """Numbers of which many cases have no known document while others have one: nobody knows which of these go
    together, so they also get the interval that the largest design effect of questions with documents would give.
    """
    rows, values = summary.rows, dict(summary.values)
    known = {one for one in (() if rows is None else rows.clusters) if one.startswith((DOCUMENTED, NAMED))}
    documented = [cluster in known for cluster in (() if rows is None else rows.clusters)]
    if rows is None or len(known) < 2 or all(documented):
        return summary
    from ragworthy.paired.clusters import design_effect, wilson_worth

    deff = 1.0
    for column in parts.values():
        counts = Counter(compress(map(add, numbered.begins, column.numbers), documented))
        found = _totals(counts, column, numbered)
        deff = max(deff, design_effect(found.by, unit=found.unit)) if found.by else deff
    groups = {group: suite.members(rows, group) for group in {group for group, _ in values}}
    for (group, name), value in summary.values.items():
        if name not in parts or value.interval is None or not value.rate or value.exact is None:
            continue
        column, members = parts[name], groups[group]
        mine = [rows.clusters[nth] for nth in members if column.parts[column.numbers[nth]] is not None]
        homeless = sum(cluster not in known for cluster in mine)
        if homeless * 10 >= len(mine) > 0 < homeless and deff > 1:
            cases = value.independent or len(mine)
            ends = wilson_worth(value.exact / value.top, cases / deff, len(known) - 1)
            low, high = value.interval
            wide = min(low, value.top * ends.low), max(high, value.top * ends.high)
            values[group, name] = value._replace(homeless=homeless, doubtful=wide)
    return summary._replace(values=values)


def _by_question(summary: Summary, runs: int) -> Summary:
    """Numbers over several runs where no rows are kept: as if all runs of a question said the same."""
    kinds = {name.id: name.metric.kind for name in summary.names}
    return summary._replace(
        values={
            (group, name): _once(value, (value.n or value.den or 0) // runs)
            if kinds[name] in FOLDED and value.interval is not None and value.rate
            else value
            for (group, name), value in summary.values.items()
        }
    )


def _once(value: g.Value, questions: int) -> g.Value:
    """A number over several runs that rests on so many questions: asking one again is no further question."""
    if value.exact is None or not questions:
        return value
    interval = wilson_mean(value.exact / value.top, questions)
    ends = None if interval is None else Interval(value.top * interval.low, value.top * interval.high)
    return value._replace(interval=ends, independent=questions)


def _widened(value: g.Value, found: "_Totals", apart: set[str], *, alone: bool) -> g.Value:
    """A value with the interval that clusters give it; as it is where they say nothing.

    Questions that stand for themselves are set `apart` from those of documents: somebody chose how many there are.
    `alone` says that there are no cases besides these; those of a slice may well be all of one cluster.
    """
    if alone and found.named and (value.independent or found.cases) > 1:
        return value._replace(interval=None, boundless=ONE_CLUSTER, clusters=1)
    if not found.several or len(found.by) < 2 or not _folds_to(found, value):
        return value
    if value.independent is not None and len(found.by) >= value.independent:
        return value  # the clusters are copies of a question and nothing else: it counts different questions already
    from ragworthy.paired.clusters import clustered as over_clusters

    # Copies of a question add nothing: however many there are, it rests on the different ones.
    rests_on, unit = min(found.cases, value.independent or found.cases), value.top * found.unit
    interval, deff = over_clusters(found.by, unit=unit, cases=rests_on, apart=apart)
    if interval is None:
        return value
    return value._replace(
        interval=Interval(value.top * interval.low, value.top * interval.high),
        deff=deff * found.cases / rests_on,
        clusters=len(found.by),
    )


class _Totals(NamedTuple):
    """Sums and weights of questions by their cluster, in whole numbers."""

    by: dict[str, tuple[int, int]]
    unit: int
    """What a sum of 1 is here."""
    cases: int
    several: bool
    """Whether a cluster has more than one question."""

    @property
    def named(self) -> bool:
        """Whether all are of one cluster that the gold set names."""
        return self.several and len(self.by) == 1 and next(iter(self.by)).startswith(NAMED)


class _Column(NamedTuple):
    """What every question adds to a number, by the number of the part: equal ones have one. Whole numbers are counted
    many times faster than fractions, whose hash is a modular power.
    """

    numbers: list[int]
    parts: list[Part]

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "_Column":
        """Parts with equal ones as one."""
        known: dict[Any, int] = {}
        different: list[Part] = []
        again: dict[tuple[int, int], int] = {}  # most words are the same objects again
        numbers = []
        for part in parts:
            same = (0, 0) if part is None else (id(part[0]), id(part[1]))
            number = again.get(same, -1)
            if number < 0:
                key = None if part is None else (part[0].as_integer_ratio(), part[1])
                number = again[same] = known.setdefault(key, len(different))
                if number == len(different):
                    different.append(part)
            numbers.append(number)
        return cls(numbers, different)


class _Clusters(NamedTuple):
    """The clusters of all questions by number. A cluster and a part of it are one whole number: where the numbers of
    its cluster begin, and the number of the part.
    """

    names: list[str]
    begins: list[int]
    width: int
    """How many numbers each cluster has."""

    @classmethod
    def of(cls, clusters: Sequence[str], columns: Iterable[_Column]) -> "_Clusters":
        """The clusters of questions whose parts are these."""
        width = max((len(column.parts) for column in columns), default=1)
        place = {name: width * nth for nth, name in enumerate(dict.fromkeys(clusters))}
        return cls(list(place), [place[name] for name in clusters], width)


def _totals(counts: Mapping[int, int], column: _Column, numbered: _Clusters) -> _Totals:
    """Equal parts of a cluster at once, over a common denominator: fractions would take a hundred times as long."""
    width = numbered.width
    there = {key % width for key in counts}
    known = {at: part for at in there if (part := column.parts[at]) is not None and not of_nothing(part)}
    unit = math.lcm(*(Fraction(part[0]).denominator for part in known.values()))
    whole = {at: (int(Fraction(part[0]) * unit), int(part[1])) for at, part in known.items()}
    by: dict[int, tuple[int, int]] = {}
    cases = 0
    for key, count in counts.items():
        worth = whole.get(key % width)
        if worth is not None:
            cluster, cases = key // width, cases + count
            total, weight = by.get(cluster, (0, 0))
            by[cluster] = total + count * worth[0], weight + count * worth[1]
    return _Totals({numbered.names[one]: sums for one, sums in by.items()}, unit, cases, cases > len(by))


def _folds_to(found: _Totals, value: g.Value) -> bool:
    """Whether the words are what the value was made of: blocks that are counted one by one are something else."""
    total, weight = (sum(one) for one in zip(*found.by.values(), strict=True))
    if not weight or value.exact is None:
        return False
    return abs(float(Fraction(total, weight * found.unit) - value.exact)) <= SAME * max(1, value.top)


def plain(words: Iterable[Any]) -> list[Part]:
    """Words as parts: a pair is one already, a number weighs 1.

    >>> plain([True, None, (3, 4)])
    [(True, 1), None, (3, 4)]
    """
    return [word if word is None or isinstance(word, tuple) else (word, 1) for word in words]
