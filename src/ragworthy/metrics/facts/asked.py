"""One trace file over one gold set: every question with all its runs."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from ragworthy.metrics.facts.convergence import Question, RunKey, mark
from ragworthy.metrics.facts.distance import BLOCK
from ragworthy.metrics.facts.runs import Facts, Reading
from ragworthy.metrics.facts.wanted import Wanted


class Asked(NamedTuple):
    """One gold question and everything that was done about it."""

    wanted: Wanted
    runs: dict[RunKey, Reading]
    question: Question

    @property
    def marked(self) -> str | None:
        """The convergence mark; None where it cannot be told."""
        return mark(self.question.seen) if self.question.counted else None


class Arm(NamedTuple):
    """One trace file over one gold set."""

    asked: list[Asked]
    traces: int
    replaced: int
    orphans: int
    orphan_ids: list[str]
    answers: bool
    hashes: dict[str, int]
    """Every index the traces came from, with the byte offset of its first trace."""
    normalisers: list[str]
    rerankers: list[str]
    models: list[tuple[str, str]]
    cited_by_rank: int
    declared_otherwise: int
    type_mismatches: list[str]
    unknown_ids: list[str]
    """Ids that the corpus does not have, where there is a corpus."""
    errored: int

    @property
    def runs(self) -> int:
        """How many runs were scored."""
        return sum(len(one.runs) for one in self.asked)


def _with(facts: Facts, distance: Fraction | None, scaled: bool) -> Facts:
    return facts._replace(delta_s=distance, far=scaled and distance is not None and distance >= BLOCK)


def with_distances(arm: Arm, of: Callable[[str, RunKey, Reading], Fraction | None], *, scaled: bool) -> Arm:
    """The same arm with the distance of every first citation; `scaled` when bands mean something on its scale."""
    asked = []
    for one in arm.asked:
        facts = {
            key: _with(fact, of(one.wanted.qid, key, one.runs[key]), scaled) for key, fact in one.question.runs.items()
        }
        asked.append(one._replace(question=Question.of(facts, one.question.facts[0])))
    return arm._replace(asked=asked)
