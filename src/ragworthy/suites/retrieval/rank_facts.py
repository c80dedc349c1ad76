"""The facts of a run as far as ids and ranks show them, so that metrics of TREC files have no second definition.

The conventions of trec_eval are facts here, not formulas: a list of results goes on for ever with documents that are
not relevant, and a judged query without relevant documents has one that nobody can find.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

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
    relevant: tuple[int, ...]
    gains: tuple[int, ...]
    ideal: tuple[int, ...]
    answerable: bool = True
    present: bool = True
    errored: bool = False

    def __getattr__(self, name: str) -> Any:
        if name in Facts._fields:
            raise BeyondRanksError(name)
        raise AttributeError(name)


def facts_of(ranked: Ranked) -> Iterator[RankFacts]:
    """The facts of every judged query, in order."""
    queries = np.arange(len(ranked.qids) + 1)
    found_at = np.searchsorted(ranked.reached.query, queries).tolist()
    wanted_at = np.searchsorted(ranked.ideal.query, queries).tolist()
    ranks, grades, ideal = ranked.reached.rank.tolist(), ranked.reached.grade.tolist(), ranked.ideal.grade.tolist()
    endless = int(max((*ranked.ks, *ranked.returned.tolist())))
    for nth in range(len(ranked.qids)):
        found, wanted = slice(*found_at[nth : nth + 2]), slice(*wanted_at[nth : nth + 2])
        relevant, best = tuple(ranks[found]), tuple(ideal[wanted])
        lacking = max(1, len(best)) - len(relevant)
        yield RankFacts(endless, relevant + (0,) * lacking, relevant, tuple(grades[found]), best)


def word_of(name: MetricName, facts: RankFacts) -> Word:
    """What a metric says of one query; raises BeyondRanksError where it needs more than ids and ranks."""
    run: Any = facts
    given = run if name.metric.over == "run" else Question({(0, 0): run}, (run,))
    word: Word = name.metric.of(given) if name.k is None else name.metric.of(given, k=name.k)
    return word
