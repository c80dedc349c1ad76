"""Whether the numbers of a report follow from its rows: whoever changed one of them is found out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from ragworthy.metrics.registry import find
from ragworthy.rows import Rows

FOLDED = ("rate", "mean", "share", "count")
"""Kinds of metrics whose number is a plain fold of the words of the questions."""
BY_RUN = ("latency",)
"""Suites whose rows are questions under a load, of which each run counts for itself."""
POOLED = ("answers",)
"""Suites that count every answer where there are several runs of a question; rows have the mean of its runs."""
OF_BLOCKS = "type="
"""The slices of retrieval that count blocks one by one, and not questions."""
NEAR = Fraction(1, 10**9)
"""How far a mean may be from that of its words: those of a float are rounded."""


class Number(Protocol):
    """A number as a report has it."""

    @property
    def num(self) -> int | None:
        """What was counted."""

    @property
    def den(self) -> int | None:
        """Of how many."""

    @property
    def exact(self) -> Fraction | None:
        """The number itself; None where it is undefined."""


class Astray(NamedTuple):
    """A number that does not follow from the rows."""

    field: str
    got: str
    """What stands there."""
    rows: str
    """What the rows say."""


class Told(NamedTuple):
    """What a report says of one suite."""

    metrics: Mapping[str, Number]
    slices: Mapping[str, Mapping[str, Number]]
    labels: Mapping[str, int]


def astray(suite: str, told: Told, rows: Rows) -> Astray | None:
    """The first number that the rows contradict; None where all of them follow, as far as that is simple to say."""
    if suite in BY_RUN or (suite in POOLED and max(rows.runs, default=0) > 1):
        return None
    found = _miscounted(told.labels, rows)
    kinds = {name: one.metric.kind for name in rows.words if (one := find(name, default_k=1, suite=suite))}
    for field, numbers, places in _groups(suite, told, rows) if found is None else ():
        for name, number in numbers.items():
            if kinds.get(name) in FOLDED and number.exact is not None:
                column = rows.words[name]
                fold = _folded(kinds[name], (column[nth] for nth in places))
                if not fold.agrees(number):
                    return Astray(f"{field}.{name}", _text(number), str(fold))
    return found


def _miscounted(labels: Mapping[str, int], rows: Rows) -> Astray | None:
    """The first label that the rows have another number of; a report of judgements counts none."""
    counts = Counter(label for label in rows.labels if label is not None)
    for label in dict.fromkeys((*labels, *counts)) if labels else ():
        if labels.get(label, 0) != counts[label]:
            return Astray(f"labels.{label}", str(labels.get(label, 0)), str(counts[label]))
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
    cases: int | None
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


def _folded(kind: str, words: Iterable[Any]) -> _Fold:
    """Equal words at once: there are few different ones."""
    counts: Counter[Any] = Counter(word for word in words if word is not None)
    if kind == "share":
        parts = sum((Fraction(part) * many for (part, _), many in counts.items()), Fraction(0))
        return _Fold(parts, int(sum(whole * many for (_, whole), many in counts.items())))
    total = sum((Fraction(word) * many for word, many in counts.items()), Fraction(0))
    return _Fold(total, None if kind == "count" else counts.total())


def _text(number: Number) -> str:
    """A number as somebody finds it in the file."""
    if number.num is None:
        return f"{float(number.exact or 0):.6g}"
    return str(number.num) if number.den is None else f"{number.num}/{number.den}"
