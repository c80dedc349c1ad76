"""What ids and ranks alone show of a query, as the facts that metrics look at; what they do not show is an error."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ragworthy.errors import PolicyError
from ragworthy.metrics.facts.convergence import Question
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.registry import MetricName, Word
from ragworthy.trec.ranking import Ranked


class BeyondRanksError(Exception):
    """A metric looked at something that ids and ranks do not show."""


class RankFacts(NamedTuple):
    """Those of the `Facts` of a query that ids and ranks show; asking for another is an error of its own."""

    returned: int
    blocks: tuple[int, ...]
    """The ranks of relevant documents, 0 for each that was not found; a single 0 where there is none."""
    relevant: tuple[int, ...]
    gains: tuple[int, ...]
    ideal: tuple[int, ...]
    answerable: bool = True
    present: bool = True
    errored: bool = False

    def __getattr__(self, name: str) -> Any:
        if name in Facts._fields:
            raise BeyondRanksError(name)
        raise AttributeError(f"'Facts' object has no attribute '{name}'")


def facts_of(ranked: Ranked) -> Iterator[RankFacts]:
    """The facts of every judged query, in order."""
    queries = np.arange(len(ranked.qids) + 1)
    found_at = np.searchsorted(ranked.reached.query, queries).tolist()
    wanted_at = np.searchsorted(ranked.ideal.query, queries).tolist()
    ranks, grades, ideal = ranked.reached.rank.tolist(), ranked.reached.grade.tolist(), ranked.ideal.grade.tolist()
    returned = ranked.returned.tolist()
    for nth in range(len(ranked.qids)):
        found, wanted = slice(*found_at[nth : nth + 2]), slice(*wanted_at[nth : nth + 2])
        relevant, best = tuple(ranks[found]), tuple(ideal[wanted])
        lacking = max(1, len(best)) - len(relevant)
        yield RankFacts(returned[nth], relevant + (0,) * lacking, relevant, tuple(grades[found]), best)


def asked_of(name: MetricName, given: Any) -> Any:
    """What a metric says; raises BeyondRanksError where it needs more than ids and ranks, wherever it comes from."""
    try:
        return name.metric.of(given, **name.depth)
    except PolicyError as error:  # what a metric of somebody's own raises comes with its name
        if isinstance(error.__cause__, BeyondRanksError):
            raise error.__cause__ from None
        raise


def word_of(name: MetricName, facts: RankFacts) -> Word:
    """What a metric says of one query."""
    word: Word = asked_of(name, facts if name.metric.over == "run" else question_of(facts))
    return word


def question_of(facts: RankFacts) -> Question:
    """A query as a question that was asked once."""
    run: Any = facts
    return Question({(0, 0): run}, (run,))
