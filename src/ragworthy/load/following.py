"""Whether the numbers of a report follow from its rows: whoever changed one of them is found out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.load.labelled import Astray, Number, contradicted, mislabelled, text_of
from ragworthy.metrics.registry import MetricName, find
from ragworthy.names import HARMLESS
from ragworthy.rows import Rows, words_of

FOLDED = ("rate", "mean", "share", "count")
"""Kinds of metrics whose number is a plain fold of the words of the questions."""
BY_RUN = ("latency",)
"""Suites whose rows are questions under a load, of which each run counts for itself."""
POOLED = ("answers",)
"""Suites that count every answer where there are several runs of a question; rows have the mean of its runs."""
OF_BLOCKS = "type="
"""The slices of retrieval that count blocks one by one, and not questions."""
COUNTED = ("gold", "pairs", "items")
"""What a report calls the number of what its rows are of; in latency that is under each load."""
GOOD = "answers.good"
"""How many runs of a question were good, in rows of several runs."""
NEAR = Fraction(1, 10**9)
"""How far a mean may be from that of its words: those of a float are rounded."""


class Told(NamedTuple):
    """What a report says of one suite."""

    metrics: Mapping[str, Number]
    slices: Mapping[str, Mapping[str, Number]]
    labels: Mapping[str, int]
    counts: Mapping[str, Any] = {}

    def runs(self, suite: str) -> int:
        """How many runs were pooled: each answer counts, and rows have the mean of a question."""
        many = self.counts.get("runs", 1) if suite in POOLED else 1
        return many if isinstance(many, int) else 1

    def questions(self) -> int:
        """How many rows there would be at most."""
        known = [many for key in COUNTED if isinstance(many := self.counts.get(key), int)]
        loads = self.counts.get("loads", 1)
        return max(known, default=0) * (loads if isinstance(loads, int) else 1)


def astray(suite: str, told: Told, rows: Rows) -> Astray | None:
    """The first number that the rows contradict; None where all of them follow, as far as that is simple to say."""
    if suite in BY_RUN:
        return None
    runs = told.runs(suite)
    if found := _miscounted(suite, told.labels, rows, runs):
        return found
    names = dict.fromkeys((*rows.words, *told.metrics))
    known = {name: (one.metric.kind, words_of(rows, name)) for name in names if (one := _metric(name, suite))}
    for field, numbers, places in _groups(suite, told, rows):
        for name, number in numbers.items():
            kind, column = known.get(name, ("", None))
            if kind in FOLDED and column is not None and number.exact is not None:
                fold = _folded(kind, (column[nth] for nth in places), runs)
                if not fold.agrees(number):
                    return Astray(f"{field}.{name}", text_of(number), str(fold))
    return without_rows(suite, told)


def _metric(name: str, suite: str) -> MetricName | None:
    return find(name, default_k=1, suite=suite)


def without_rows(suite: str, told: Told) -> Astray | None:
    """The first number that the labels contradict, whether there are rows or not."""
    if suite not in POOLED:
        return None
    return contradicted(told.labels, told.metrics, told.questions() * told.runs(suite))


def _miscounted(suite: str, labels: Mapping[str, int], rows: Rows, runs: int) -> Astray | None:
    """The first label that the rows have another number of; a report of judgements counts none."""
    if suite in POOLED and max(rows.runs, default=0) > runs:
        return Astray("counts.runs", str(runs), str(max(rows.runs)))
    counts = Counter(label for label in rows.labels if label is not None)
    if runs > 1:
        return _miscounted_runs(labels, counts, rows, runs)
    for label in dict.fromkeys((*labels, *counts)) if labels else ():
        if labels.get(label, 0) != counts[label]:
            return Astray(f"labels.{label}", str(labels.get(label, 0)), str(counts[label]))
    return mislabelled(rows) if suite in POOLED else None


def _miscounted_runs(labels: Mapping[str, int], usual: Mapping[str, int], rows: Rows, runs: int) -> Astray | None:
    """Labels count every answer of every run. A row has the one that most runs of its question have, so at least one
    has it, and how many runs of it are good.
    """
    for label, least in usual.items():
        if labels.get(label, 0) < least:
            return Astray(f"labels.{label}", str(labels.get(label, 0)), f"{least} at least")
    good = _folded("rate", rows.words.get(GOOD, ()), runs)
    told = sum(many for label, many in labels.items() if label in HARMLESS)
    if GOOD in rows.words and labels and good != (Fraction(told), Fraction(sum(labels.values()))):
        return Astray("labels", f"{told}/{sum(labels.values())} good", str(good))
    return None


def _groups(suite: str, told: Told, rows: Rows) -> Iterator[tuple[str, Mapping[str, Number], Sequence[int]]]:
    """The whole and every slice, with its numbers and the places of its rows."""
    yield "metrics", told.metrics, range(len(rows.qids))
    members: dict[str, list[int]] = {}
    for nth, names in enumerate(rows.slices):
        for name in names:
            members.setdefault(name, []).append(nth)
    for name, numbers in told.slices.items():
        if not (suite == "retrieval" and name.startswith(OF_BLOCKS)):
            yield f"slices.{name}", numbers, members.get(name, [])


class _Fold(NamedTuple):
    """What words come to."""

    total: Fraction
    cases: Fraction | None
    """Of how many; None for a count."""

    def agrees(self, number: Number) -> bool:
        """Whether a number is the one that the words come to."""
        if number.exact is None or (self.cases is None) is not (number.den is None and number.num is not None):
            return False
        if number.num is not None:
            return (Fraction(number.num), number.den) == self
        exact = self.total / self.cases if self.cases else None
        return exact is not None and abs(exact - number.exact) <= NEAR * max(Fraction(1), abs(exact))

    def __str__(self) -> str:
        if self.cases is None:
            return str(self.total)
        whole = self.total.denominator == 1 and self.total <= self.cases
        if whole or not self.cases:
            return f"{self.total}/{self.cases}"
        return f"{float(self.total / self.cases):.6g}"


def _folded(kind: str, words: Iterable[Any], runs: int = 1) -> _Fold:
    """Equal words at once: there are few different ones. The words of several runs are means over these."""
    counts: Counter[Any] = Counter(word for word in words if word is not None)
    total, cases = Fraction(0), Fraction(0)
    for word, many in counts.items():
        part, whole = word if isinstance(word, tuple) else (word, 1)
        total, cases = total + Fraction(part) * many * runs, cases + Fraction(whole) * many * runs
    return _Fold(total, None if kind == "count" else cases)
