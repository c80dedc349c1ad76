"""What metrics say of runs, each different run asked once.

A metric of a run looks at its ranks or at its citations, and at no id of what was returned or cited. Seen so, thousands
of runs are a few hundred different ones, and seeds that change nothing give a question the same runs again.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from ragworthy.metrics.facts.convergence import Question
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.fold import joined
from ragworthy.metrics.registry import MetricName, Word

HOME = "ragworthy.metrics.retrieval"
RANKS = (
    "answerable", "errored", "returned", "blocks", "relevant", "gains", "ideal",
    "anchor", "anchored", "negative", "negatives",
)  # fmt: skip
"""What metrics of ranks look at."""
CITATIONS = (
    "answerable", "errored", "answered", "covered", "accurate", "exact", "distance", "right", "claims", "by_rank",
    "contract",
)  # fmt: skip
"""What metrics of citations look at; of what is relevant and what is cited only how much it is."""
_ranks: Callable[[Facts], Hashable] = attrgetter(*RANKS)
_citations: Callable[[Facts], Hashable] = attrgetter(*CITATIONS)


def _cited(facts: Facts) -> Hashable:
    return _citations(facts), len(facts.blocks), len(facts.cited)


SEEN: dict[str, Callable[[Facts], Hashable]] = {
    "": _ranks,
    "answers": _cited,
    "claims": _cited,
    "payload": _cited,
}
"""What a metric of a run sees, by what it needs; distances are hardly ever the same twice, and not asked for here."""
APART = ("retrieval.anchor_coverage",)
"""Metrics that look at bytes, which hardly ever are the same twice either."""


class _Runs(NamedTuple):
    """The different runs, and of each question the numbers of its own; equal questions have one number too."""

    different: list[Facts]
    groups: list[tuple[int, ...]]
    group_of: list[int]


class EqualRuns:
    """The runs of questions by number, equal ones with one number; and the same of questions with equal runs."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions
        self._runs: dict[Callable[[Facts], Hashable], _Runs] = {}

    def words(self, name: MetricName) -> list[Word]:
        """What a metric of single runs says of each question."""
        sees = SEEN[name.metric.needs]
        if sees not in self._runs:
            self._runs[sees] = _runs_of(self._questions, sees)
        runs = self._runs[sees]
        metric, depth = name.metric, name.depth
        said: list[Any] = [metric.of(facts, **depth) for facts in runs.different]
        numbers, different = _numbered(said)
        known: dict[tuple[int, ...], Word] = {}  # the same words in any order are joined to the same
        words: list[Word] = []
        for group in runs.groups:
            key = (numbers[group[0]],) if len(group) == 1 else tuple(sorted([numbers[run] for run in group]))
            if key not in known:
                some = [word for number in key if (word := different[number]) is not None]
                known[key] = joined(metric, some) if some else None
            words.append(known[key])
        return [words[group] for group in runs.group_of]


def _runs_of(questions: Iterable[Question], sees: Callable[[Facts], Hashable]) -> _Runs:
    found = _Runs([], [], [])
    runs: dict[Hashable, int] = {}
    groups: dict[tuple[int, ...], int] = {}
    again: dict[int, int] = {}  # runs that were read to the same facts share them
    for question in questions:
        numbers = []
        for facts in question.facts:
            number = again.get(id(facts), -1)
            if number < 0:
                number = again[id(facts)] = runs.setdefault(sees(facts), len(runs))
                if number == len(found.different):
                    found.different.append(facts)
            numbers.append(number)
        key = tuple(numbers)
        group = groups.setdefault(key, len(groups))
        if group == len(found.groups):
            found.groups.append(key)
        found.group_of.append(group)
    return found


def _numbered(words: Iterable[Any]) -> tuple[list[int], list[Any]]:
    """Words by number, and each different one; a pair of whole numbers is hashed many times faster than a fraction."""
    known: dict[Any, int] = {}
    numbers: list[int] = []
    different: list[Any] = []
    for word in words:
        key = word if word is None or isinstance(word, tuple) else (type(word), word.as_integer_ratio())
        number = known.setdefault(key, len(known))
        if number == len(different):
            different.append(word)
        numbers.append(number)
    return numbers, different


def knows(name: MetricName) -> bool:
    """Whether a metric looks at what is compared here: those of plugins may look at anything."""
    metric = name.metric
    return metric.over == "run" and metric.of.__module__ == HOME and metric.needs in SEEN and metric.id not in APART
