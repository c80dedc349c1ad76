"""What metrics say of runs, each different run asked once.

Metrics of a run count ranks, and look at no id of what was returned or cited. Seen so, thousands of runs are a few
hundred different ones, and seeds that change nothing give a question the same runs again.
"""

from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any

from ragworthy.metrics.facts.convergence import Question
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.fold import joined
from ragworthy.metrics.registry import MetricName, Word

UNSEEN = ("names", "key", "cited", "types")
"""The facts of a run that no metric of this package looks at; of what is cited only how much it is."""
HOME = "ragworthy.metrics.retrieval"
_seen = itemgetter(*(nth for nth, field in enumerate(Facts._fields) if field not in UNSEEN))


class EqualRuns:
    """The runs of questions by number, equal ones with one number; and the same of questions with equal runs."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._runs: list[Facts] = []
        self._groups: list[tuple[int, ...]] = []
        runs: dict[Hashable, int] = {}
        groups: dict[tuple[int, ...], int] = {}
        self._group_of: list[int] = []
        for question in questions:
            numbers = []
            for facts in question.facts:
                number = runs.setdefault((_seen(facts), len(facts.cited)), len(runs))
                if number == len(self._runs):
                    self._runs.append(facts)
                numbers.append(number)
            key = tuple(numbers)
            group = groups.setdefault(key, len(groups))
            if group == len(self._groups):
                self._groups.append(key)
            self._group_of.append(group)

    def words(self, name: MetricName) -> list[Word]:
        """What a metric of single runs says of each question."""
        metric, depth = name.metric, name.depth
        said: list[Any] = [metric.of(facts, **depth) for facts in self._runs]
        words: list[Word] = []
        for group in self._groups:
            some = [word for number in group if (word := said[number]) is not None]
            words.append(joined(metric, some) if some else None)
        return [words[group] for group in self._group_of]


def knows(name: MetricName) -> bool:
    """Whether a metric looks at what is compared here: those of plugins may look at anything."""
    return name.metric.over == "run" and name.metric.of.__module__ == HOME
