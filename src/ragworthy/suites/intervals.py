"""Intervals of rates and means whose questions come in clusters: those about one document are worth less than others.

A number keeps its plain interval where each of its questions stands for itself. Where all are of one cluster, nothing
says how clusters differ: where the gold set names that cluster itself, the number has no interval.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ragworthy import gates as g
from ragworthy.metrics.fold import of_nothing
from ragworthy.stats import Interval, wilson_mean
from ragworthy.suites.clusters import NAMED
from ragworthy.suites.evidence import Evidence, Summary

if TYPE_CHECKING:
    from ragworthy.metrics.registry import MetricName
    from ragworthy.paired.clusters import Alike
    from ragworthy.rows import Rows
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
    sums = _Sums(suite, rows, _Parts.of(suite, names, evidence, summary))
    for group in sorted({group for group, _ in values}, key=lambda one: one or ""):
        together = sums.together(group)
        for name in names if runs > 1 or together else ():
            value = values.get((group, name.id))
            if value is None or value.interval is None or not value.rate or value.undefined is not None:
                continue
            found = sums.of(group, name.id)
            if runs > 1:
                value = _once(value, found.there)
            alone = group is None or values[None, name.id].boundless == ONE_CLUSTER
            values[group, name.id] = _widened(value, found, alone=alone)
    return _doubted(summary._replace(values=values), sums, [name.id for name in names])


def _doubted(summary: Summary, sums: "_Sums", names: Sequence[str]) -> Summary:
    """Numbers of which many cases have no known document while others have one: nobody knows which of these go
    together, so they also get the interval that the largest design effect of questions with documents would give.
    """
    if not 2 <= sums.documents < sums.clusters:
        return summary
    from ragworthy.paired.clusters import design_effect, wilson_worth

    deff = 1.0
    for name in names:
        found = sums.of_all(name)
        documented = found.alike(known=True, apart=False)
        deff = max(deff, design_effect(documented, unit=found.unit)) if documented else deff
    values = dict(summary.values)
    for (group, name), value in summary.values.items():
        if name not in names or value.interval is None or not value.rate or value.exact is None:
            continue
        mine = sums.of(group, name)
        if mine.homeless * 10 >= mine.there > 0 < mine.homeless and deff > 1:
            cases = value.independent or mine.there
            ends = wilson_worth(value.exact / value.top, cases / deff, sums.documents - 1)
            low, high = value.interval
            wide = min(low, value.top * ends.low), max(high, value.top * ends.high)
            values[group, name] = value._replace(homeless=mine.homeless, doubtful=wide)
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


def _widened(value: g.Value, found: "_Totals", *, alone: bool) -> g.Value:
    """A value with the interval that clusters give it; as it is where they say nothing.

    `alone` says that there are no cases besides these; those of a slice may well be all of one cluster.
    """
    if alone and found.named and (value.independent or found.cases) > 1:
        return value._replace(interval=None, boundless=ONE_CLUSTER, clusters=1)
    if not found.several or found.clusters < 2 or not _folds_to(found, value):
        return value
    if value.independent is not None and found.clusters >= value.independent:
        return value  # the clusters are copies of a question and nothing else: it counts different questions already
    from ragworthy.paired.clusters import clustered as over_clusters

    # Copies of a question add nothing: however many there are, it rests on the different ones.
    rests_on, unit = min(found.cases, value.independent or found.cases), value.top * found.unit
    interval, deff = over_clusters(found.alike(apart=True), unit=unit, cases=rests_on)
    if interval is None:
        return value
    return value._replace(
        interval=Interval(value.top * interval.low, value.top * interval.high),
        deff=deff * found.cases / rests_on,
        clusters=found.clusters,
    )


_APART, _KNOWN, _NAMED = 1, 2, 4
"""What is known of a cluster: it is one question, which somebody chose to ask; it is a document, or the gold set names
it; the gold set does.
"""


class _Sum(NamedTuple):
    """What the questions of a cluster add up to, in whole numbers."""

    total: int
    weight: int
    cases: int
    """How many of them count."""
    there: int
    """How many the metric has a word of."""
    marks: int


class _Totals(NamedTuple):
    """The clusters of a number: those that add up to the same are counted."""

    sums: Mapping[_Sum, int]
    unit: int
    """What a sum of 1 is here."""

    @property
    def clusters(self) -> int:
        """How many clusters have a case."""
        return sum(count for one, count in self.sums.items() if one.cases)

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return sum(one.cases * count for one, count in self.sums.items())

    @property
    def there(self) -> int:
        """How many questions the metric has a word of."""
        return sum(one.there * count for one, count in self.sums.items())

    @property
    def homeless(self) -> int:
        """How many of them are of no known document."""
        return sum(one.there * count for one, count in self.sums.items() if not one.marks & _KNOWN)

    @property
    def several(self) -> bool:
        """Whether a cluster has more than one question."""
        return self.cases > self.clusters

    @property
    def named(self) -> bool:
        """Whether all are of one cluster that the gold set names."""
        return self.several and self.clusters == 1 and any(one.cases and one.marks & _NAMED for one in self.sums)

    def alike(self, *, known: bool = False, apart: bool) -> "Alike":
        """The clusters with a case, or those of them that are known; `apart` sets single questions apart: somebody
        chose how many there are.
        """
        found: dict[tuple[int | Fraction, int, bool], int] = {}
        for one, count in self.sums.items():
            if one.cases and (one.marks & _KNOWN or not known):
                key = one.total, one.weight, apart and bool(one.marks & _APART)
                found[key] = found.get(key, 0) + count
        return found


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


class _Parts(NamedTuple):
    """What every question adds to all numbers. Questions that add the same have the same number."""

    numbers: Sequence[int]
    columns: Mapping[str, Sequence[Part]]
    """By metric, the part of each number."""

    @classmethod
    def of(cls, suite: "Suite", names: Sequence["MetricName"], evidence: Evidence, summary: Summary) -> "_Parts":
        """The parts of all rows; where rows know which of them are alike, only different ones are looked at."""
        rows = summary.rows
        if rows is not None and rows.alike:
            place = dict(zip(rows.alike, range(len(rows.alike)), strict=True))
            some = summary._replace(rows=rows.words_at([place[number] for number in range(len(place))]))
            return cls(rows.alike, {name.id: suite.parts(name, evidence, some) for name in names})
        columns = {name.id: _Column.of(suite.parts(name, evidence, summary)) for name in names}
        every = list(zip(*(column.numbers for column in columns.values()), strict=True))
        number = {one: nth for nth, one in enumerate(dict.fromkeys(every))}
        return cls(
            list(map(number.__getitem__, every)),
            {name: [column.parts[one[nth]] for one in number] for nth, (name, column) in enumerate(columns.items())},
        )


_Inside: TypeAlias = "Counter[tuple[int, tuple[int, ...]]]"
"""How many clusters have the same marks, and questions with the same numbers."""


class _Sums:
    """The sums of all clusters, worked out when they are asked for, and once."""

    def __init__(self, suite: "Suite", rows: "Rows", parts: _Parts) -> None:
        self._suite, self._rows, self._parts = suite, rows, parts
        place = {name: nth for nth, name in enumerate(dict.fromkeys(rows.clusters))}
        self._cluster = list(map(place.__getitem__, rows.clusters))
        self._found: dict[tuple[str | None, str], _Totals] = {}
        self._members: dict[str | None, tuple[list[int], list[int]]] = {}
        self._alike: dict[str | None, _Inside] = {}
        sizes = Counter(self._of(None)[0])
        self._marks = [
            (_APART if sizes[nth] == 1 else 0)
            | (_KNOWN if name.startswith((DOCUMENTED, NAMED)) else 0)
            | (_NAMED if name.startswith(NAMED) else 0)
            for name, nth in place.items()
        ]
        self.documents = sum(bool(marks & _KNOWN) for marks in self._marks)
        """How many clusters are known ones."""
        self.clusters = len(self._marks)

    def _of(self, group: str | None) -> tuple[list[int], list[int]]:
        """The clusters and the numbers of the questions of a slice, or of the whole."""
        if group not in self._members:
            members = self._suite.members(self._rows, group)
            if len(members) == len(self._cluster):
                self._members[group] = self._cluster, list(self._parts.numbers)
            else:
                of = itemgetter(*members, 0, 0)  # of two places or more, it gives all of them
                self._members[group] = list(of(self._cluster))[:-2], list(of(self._parts.numbers))[:-2]
        return self._members[group]

    def together(self, group: str | None) -> bool:
        """Whether a cluster has several questions of a slice."""
        clusters, _ = self._of(group)
        return len({*clusters}) < len(clusters)

    def of(self, group: str | None, name: str) -> _Totals:
        """The sums of a slice, or of the whole."""
        if (group, name) not in self._found:
            if group not in self._alike:
                self._alike[group] = self._inside(*self._of(group))
            self._found[group, name] = self._added(name, self._alike[group])
        return self._found[group, name]

    def of_all(self, name: str) -> _Totals:
        """Those of all rows, also where numbers of the whole are of some."""
        clusters, numbers = self._cluster, self._parts.numbers
        if len(self._of(None)[0]) == len(clusters):
            return self.of(None, name)
        return self._added(name, self._inside(clusters, numbers))

    def _inside(self, clusters: Sequence[int], numbers: Sequence[int]) -> _Inside:
        """How many clusters hold the same: thousands do, and are added up once for each metric."""
        inside: list[list[int]] = [[] for _ in self._marks]
        for cluster, number in zip(clusters, numbers, strict=True):
            inside[cluster].append(number)
        for one in inside:
            one.sort()
        return Counter(zip(self._marks, map(tuple, inside), strict=True))

    def _added(self, name: str, inside: _Inside) -> _Totals:
        """Each cluster's sums as one whole number, in which they stand side by side: to add it adds them all."""
        column = self._parts.columns[name]
        different = {id(part): part for part in column}  # equal parts are one object, and a few of them are all
        parts = [part for part in different.values() if part is not None and not of_nothing(part)]
        unit = math.lcm(*(Fraction(part[0]).denominator for part in parts))
        worths = {key: _worth(part, unit) for key, part in different.items()}
        lowest = min((one.total for one in worths.values()), default=0)
        up = -min(lowest, 0)  # so that no total is below 0
        worths = {key: one._replace(total=one.total + up * one.cases) for key, one in worths.items()}
        wide = (max((max(one) for one in worths.values()), default=0) * len(self._cluster)).bit_length() + 3
        each = {key: _packed(one, wide) for key, one in worths.items()}
        packed = [each[id(part)] for part in column]
        sums: Counter[int] = Counter()
        for (marks, numbers), count in inside.items():
            sums[sum(map(packed.__getitem__, numbers), marks)] += count
        found = {_unpacked(one, wide): count for one, count in sums.items()}
        moved = ((one._replace(total=one.total - up * one.cases), count) for one, count in found.items())
        return _Totals({one: count for one, count in moved if one.there}, unit)


def _worth(part: Part, unit: int) -> _Sum:
    """What a part adds."""
    if part is None or of_nothing(part):
        return _Sum(0, 0, 0, int(part is not None), 0)
    return _Sum(int(Fraction(part[0]) * unit), int(part[1]), 1, 1, 0)


def _packed(one: _Sum, wide: int) -> int:
    """Whole numbers below 2**wide side by side, the last one lowest."""
    packed = 0
    for number in one:
        packed = packed << wide | number
    return packed


def _unpacked(packed: int, wide: int) -> _Sum:
    """What was packed.

    >>> _unpacked(_packed(_Sum(7, 9, 3, 3, 1), 5) + _packed(_Sum(1, 2, 1, 1, 0), 5), 5)
    _Sum(total=8, weight=11, cases=4, there=4, marks=1)
    """
    mask = (1 << wide) - 1
    return _Sum._make(packed >> wide * nth & mask for nth in (4, 3, 2, 1, 0))


def _folds_to(found: _Totals, value: g.Value) -> bool:
    """Whether the words are what the value was made of: blocks that are counted one by one are something else."""
    total = sum(one.total * count for one, count in found.sums.items())
    weight = sum(one.weight * count for one, count in found.sums.items())
    if not weight or value.exact is None:
        return False
    return abs(float(Fraction(total, weight * found.unit) - value.exact)) <= SAME * max(1, value.top)


def plain(words: Iterable[Any]) -> list[Part]:
    """Words as parts: a pair is one already, a number weighs 1.

    >>> plain([True, None, (3, 4)])
    [(True, 1), None, (3, 4)]
    """
    return [word if word is None or isinstance(word, tuple) else (word, 1) for word in words]
