"""What reranking was given: which of the lists before it is the better one, and which runs do not have them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

from ragworthy.metrics.facts.convergence import Arm, with_facts
from ragworthy.metrics.facts.runs import Facts


def with_better(arm: Arm, ks: Sequence[int]) -> Arm:
    """The same arm; where runs hold what was found before reranking, with the better list for each k."""
    names = lists_of(arm)
    if not names:
        return arm
    better = tuple((k, max(names, key=partial(_recall, arm, k))) for k in ks)
    return with_facts(arm, lambda one, key, facts: {"better": better})


def lists_of(arm: Arm) -> list[str]:
    """The names of all lists before reranking, in order."""
    return sorted({name for facts in _runs(arm) for name, _ in facts.before})


def without_lists(arm: Arm) -> tuple[int, int]:
    """How many runs lack a list that others have, and how many runs there are; errors have nothing to show."""
    names = lists_of(arm)
    runs = [facts for facts in _runs(arm) if not facts.errored]
    return sum([name for name, _ in facts.before] != names for facts in runs), len(runs)


def _runs(arm: Arm) -> Iterator[Facts]:
    return (facts for one in arm.asked for facts in one.question.runs.values() if facts.answerable)


def _recall(arm: Arm, k: int, name: str) -> Fraction:
    """The recall of a list over all questions: the mean over their runs, as the metric has it."""
    total = Fraction(0)
    for one in arm.asked:
        found = [
            Fraction(sum(0 < rank <= k for rank in ranks), len(ranks))
            for facts in one.question.runs.values()
            for other, ranks in facts.before
            if facts.answerable and other == name and ranks
        ]
        total += sum(found, Fraction(0)) / len(found) if found else 0
    return total
