"""Gold ids of one chunking, compared with another: where a block was cut up, any part of it counts as the block."""

from collections.abc import Sequence
from typing import Any

from ragworthy import gates as g
from ragworthy.ids import stable
from ragworthy.metrics.facts.convergence import Arm
from ragworthy.metrics.facts.wanted import Moves
from ragworthy.names import Outcome
from ragworthy.suites.retrieval.rules import ALWAYS

CUT = "RW-G25"
"""Gold ids of one chunking that cannot be compared with another."""
INSTEAD = "say what answers each question as gold_evidence and check it with 'ragworthy gold bind'"


def cut_otherwise(arm: Arm, moves: Moves | None) -> tuple[list[str], int]:
    """Gold ids whose block is another on the side that redirects lead to, and how many gold ids there are."""
    names = [name for one in arm.asked for name, number in one.wanted.names.items() if number not in one.wanted.named]
    if moves is None or moves.gold_hash == moves.redirects.versions[-1]:
        return [], len(names)
    return [name for name in names if stable(name) in moves.recut], len(names)


def cannot_compare(found: tuple[list[str], int], own: str, other: str) -> list[str]:
    """Why ids of one index (`own`) cannot compare it with the other one; nothing where they can."""
    names, total = found
    if not names:
        return []
    return [
        f"{len(names):,} of {total:,} gold ids are blocks of {own} that {other} cuts differently, e.g. {names[0]}: "
        f"any part of them would count there, and only there; {INSTEAD} [{CUT}]"
    ]


def moot(judged: Sequence[g.Judged], reason: str) -> list[g.Judged]:
    """The gates of evidence that cannot be checked against the gold set: none of them was measured."""
    rules = {gate.metric for gate in ALWAYS}
    return [
        one
        if one.gate.metric in rules
        else one._replace(outcome=Outcome.NOT_MEASURED, reason=reason, value=None, baseline=None, excused=True)
        for one in judged
    ]


def moot_live(live: dict[str, Any], reason: str) -> dict[str, Any]:
    """The comparison of such evidence: nothing of it may go to a canary, and its numbers are not shown first."""
    return live | {"moot": reason, "canary": live["canary"] | {"eligible": False}}
