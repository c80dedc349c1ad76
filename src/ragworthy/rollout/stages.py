"""The stages of a rollout, and which move leads from one to another. Nothing here reads a file or a clock."""

from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import msgspec

from ragworthy.live.rules import RULES

SHARES = ("0.05", "0.10")
"""The shares of traffic that a canary gets, one after the other."""
HOLD = 60
"""Minutes that a share is held at least: the sources compare once an hour."""
P95 = "2000"
"""Milliseconds that the slowest twentieth may take."""
ALERTS = tuple(rule.name for rule in RULES if rule.source == "Chunking/live_monitoring_rag.md")
"""The alerts of the page that says "two consecutive alert windows". Others may be named."""


class State(StrEnum):
    """Where a rollout stands."""

    SHADOW = "shadow"
    ELIGIBLE = "eligible"
    CANARY = "canary"
    PROMOTED = "promoted"
    ROLLED_BACK = "rolled_back"


class Move(StrEnum):
    """What somebody does with a rollout."""

    START = "start"
    ADVANCE = "advance"
    ROLLBACK = "rollback"


class Stage(NamedTuple):
    """A state, with the share of the traffic that the new build gets in it."""

    state: State
    share: str

    def __str__(self) -> str:
        """As people read it.

        >>> str(Stage(State.CANARY, "0.05")), str(Stage(State.SHADOW, "0"))
        ('canary 5 %', 'shadow')
        """
        if self.state is not State.CANARY:
            return self.state.value
        try:
            percent = Fraction(self.share) * 100
        except (ValueError, ZeroDivisionError):
            return f"canary {self.share}"  # of a line that somebody else wrote
        return f"canary {percent if percent.denominator == 1 else float(percent)} %"


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is fixed when a rollout starts, so that nobody loosens a rule half way. Numbers are kept as written."""

    live: str
    """The build in use, as live records name it (context.build)."""
    shadow: str
    """The build that wants its place."""
    shares: tuple[str, ...] = SHARES
    hold: int = HOLD
    """Minutes."""
    p95_ms: str = P95
    error_rate: str | None = None
    """What errors are compared with; None is the rate of the live side."""
    alerts: tuple[str, ...] = ALERTS
    """Which alerts, in two windows in a row, take it back."""


FIRST = Stage(State.SHADOW, "0")
BACK = Stage(State.ROLLED_BACK, "0")


def stages(plan: Plan) -> tuple[Stage, ...]:
    """Every stage on the way up."""
    canaries = (Stage(State.CANARY, share) for share in plan.shares)
    return (FIRST, Stage(State.ELIGIBLE, "0"), *canaries, Stage(State.PROMOTED, "1"))


def after(plan: Plan, here: Stage | None, move: Move) -> Stage | None:
    """Where a move leads; None where it is not allowed. A new rollout starts where there is none, or one has ended.

    >>> plan = Plan(live="v1", shadow="v2")
    >>> [str(one) for one in stages(plan)]
    ['shadow', 'eligible', 'canary 5 %', 'canary 10 %', 'promoted']
    >>> after(plan, Stage(State.PROMOTED, "1"), Move.ADVANCE) is None
    True
    """
    if move is Move.START:
        return FIRST if here is None or here.state in (State.PROMOTED, State.ROLLED_BACK) else None
    if here is None or here.state is State.ROLLED_BACK:
        return None
    if move is Move.ROLLBACK:
        return BACK
    way = stages(plan)
    nth = way.index(here) if here in way else len(way)
    return way[nth + 1] if nth + 1 < len(way) else None
