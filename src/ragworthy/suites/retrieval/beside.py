"""Every run beside the same run of the index in use: how alike their orders are, and whether they cite the same."""

from collections.abc import Callable

from ragworthy.metrics.facts.convergence import Arm, Asked, RunKey, with_facts
from ragworthy.metrics.facts.orders import alike, six, spearman
from ragworthy.metrics.facts.returned import Found
from ragworthy.metrics.facts.runs import Facts

Renamed = Callable[[str], str]
"""An id as the newest version has it."""


def beside_live(arm: Arm, live: Arm, renamed: tuple[Renamed, Renamed]) -> Arm:
    """The same arm with what only the index in use can tell; ids of both are made comparable first."""
    before = {one.wanted.qid: one.question.runs for one in live.asked}

    def of(one: Asked, key: RunKey, facts: Facts) -> Found:
        old = before[one.wanted.qid].get(key)
        if old is None:
            return {}
        was, now = tuple(map(renamed[0], old.names)), tuple(map(renamed[1], facts.names))
        same = tuple(map(renamed[0], old.cited)) == tuple(map(renamed[1], facts.cited))
        depth = max(len(was), len(now))
        return {
            "rho": six(alike(spearman, was, now, depth)) if depth else None,
            "as_live": same if facts.answers and old.answers else None,
        }

    return with_facts(arm, of)
