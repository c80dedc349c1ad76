"""What live traffic says of a canary: go on, take it back, or wait. Exact, and the same on every replay.

Each stage is on its own records: those of the full minutes after it was entered. Rules that take back are looked
at for every minute of the stage, so that none is missed between two checks; rules that let it go on for the last hour.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from ragworthy.live.minutes import Minute
from ragworthy.live.rules import ENOUGH
from ragworthy.rollout.back import WINDOW, Seen, taken_back
from ragworthy.rollout.entries import Evidence, Numbers
from ragworthy.rollout.reads import Held, Read, mean, middle
from ragworthy.rollout.reads import count as counted
from ragworthy.rollout.stages import Plan, Stage, State

HOUR = 60
"""Minutes that both sides are compared over."""
STALE = 10
"""Minutes that a log may end before what is looked at."""
ACCURACY, NEAR, DROP, REFUSED = "0.95", "0.40", "0.02", "0.02"


class Decision(StrEnum):
    """What a deployment tool is told."""

    GO_ON = "go on"
    ROLL_BACK = "roll back"
    WAIT = "wait"


class Check(NamedTuple):
    """What a check found."""

    stage: Stage
    since: int
    """The minute in which the stage was entered; the next one is the first that counts."""
    until: int
    records: tuple[int, int]
    """Of the live side and of the canary, in the stage."""
    back: tuple[Read, ...]
    """Rules that take it back."""
    on: tuple[Read, ...]
    """Rules that let it go on."""
    early: str = ""
    """Why it is too early."""
    waits: tuple[str, ...] = ()
    """Why it waits besides, in words."""
    problems: Mapping[str, int] = {}
    """Records of the logs that were not counted, or not wholly, by what is wrong with them."""

    @property
    def decision(self) -> Decision:
        """Take back before all else; go on only where everything holds."""
        if any(one.held is Held.FAILS for one in self.back):
            return Decision.ROLL_BACK
        if self.early or self.waits or any(one.held is not Held.HOLDS for one in (*self.back, *self.on)):
            return Decision.WAIT
        return Decision.GO_ON


def check(
    plan: Plan,
    stage: Stage,
    since: int,
    sides: tuple[Sequence[Minute], Sequence[Minute]],
    known: Sequence[Evidence],
    until: int | None = None,
) -> Check:
    """The minutes of the live side and of the canary, compared with every rule. `known` is the evidence so far."""
    last = max((one.at for side in sides for one in side), default=since) if until is None else until
    live, canary = ([one for one in side if since < one.at <= last] for side in sides)
    last = max(last, since)
    promoted = stage.state is State.PROMOTED
    # what was promoted has all of the traffic: it is compared with the live side of the hour before
    before = [one for one in sides[0] if since - HOUR < one.at <= last] if promoted else live
    passed = last - since
    return Check(
        stage=stage,
        since=since,
        until=last,
        records=(sum(one.records for one in live), sum(one.records for one in canary)),
        back=tuple(taken_back(plan, Seen(before, canary, since, last), known)),
        on=() if promoted else tuple(_promotion(live, canary, last, known)),
        early="" if promoted or passed >= plan.hold else f"{passed} of {plan.hold} minutes passed",
        waits=tuple(_silent(live, canary, last)),
    )


def _silent(live: Sequence[Minute], canary: Sequence[Minute], last: int) -> Iterator[str]:
    """Whether the log stopped, or the canary did while the live side went on."""
    ends = [max(one.at for one in side) if side else None for side in (live, canary)]
    known = [one for one in ends if one is not None]
    if known and last - max(known) > STALE:
        yield f"the log ended {last - max(known)} minutes before the end"
    elif ends[0] is not None and ends[1] is not None and ends[0] - ends[1] >= WINDOW:
        yield f"no record of the canary in the last {ends[0] - ends[1]} minutes, and the live side goes on"


# going on


def _promotion(
    live: Sequence[Minute], canary: Sequence[Minute], last: int, known: Sequence[Evidence]
) -> Iterator[Read]:
    before, after = ([one for one in side if last - HOUR < one.at] for side in (live, canary))
    yield _compared("coverage", "coverage", ">=", before, after)
    accuracy = mean(after, "accurate")
    yield _one("citation_accuracy", "accurate", accuracy, ">=", Fraction(ACCURACY), after)
    yield _one("delta_s_median", "delta_s", middle(after, "delta_s", 50), "<=", Fraction(NEAR), after)
    yield from _refusals(before, after)
    yield _recall(next((one.recall for one in reversed(known) if one.recall is not None), None))
    flips = next((one.flip for one in reversed(known) if one.flip is not None), None)
    seen = _compared("lambda_flip", "diverged", "<=", before, after)
    if seen.held in (Held.HOLDS, Held.FAILS) or flips is None:
        yield seen
    else:
        yield _said("lambda_flip", Fraction(flips.shadow), "<=", Fraction(flips.live))


def _refusals(before: Sequence[Minute], after: Sequence[Minute]) -> Iterator[Read]:
    """A canary may refuse as often as the live side, and a little more; left out where no record says it."""
    there, here = counted(before, "refused"), counted(after, "refused")
    if there >= ENOUGH:
        limit = (mean(before, "refused") or Fraction(0)) + Fraction(REFUSED)
        yield _one("refusals", "refused", mean(after, "refused"), "<=", limit, after)
    elif there or here:
        yield _compared("refusals", "refused", "<=", before, after)


def _compared(rule: str, field: str, sign: str, before: Sequence[Minute], after: Sequence[Minute]) -> Read:
    """A mean of the canary against that of the live side."""
    here, there = counted(after, field), counted(before, field)
    if there < ENOUGH:
        why = f"the live side has {there} samples of {ENOUGH}"
        return Read(rule, Held.TOO_FEW if there else Held.NOT_MEASURED, None, sign, None, here, why=why)
    return _one(rule, field, mean(after, field), sign, mean(before, field) or Fraction(0), after)


def _one(rule: str, field: str, value: Fraction | None, sign: str, limit: Fraction, minutes: Sequence[Minute]) -> Read:
    count = counted(minutes, field)
    if value is None or count < ENOUGH:
        held = Held.TOO_FEW if count else Held.NOT_MEASURED
        why = f"the canary has {count} samples of {ENOUGH}" if count else "no record of the canary says it"
        return Read(rule, held, None, sign, limit, count, why=why)
    return Read(rule, _held(value, sign, limit), value, sign, limit, count)


def _held(value: Fraction, sign: str, limit: Fraction) -> Held:
    return Held.HOLDS if (value >= limit if sign == ">=" else value <= limit) else Held.FAILS


def _recall(numbers: Numbers | None) -> Read:
    """Recall cannot be seen in live traffic: it is that of the last run over the gold set."""
    if numbers is None:
        why = "no report so far compares recall with the index in use"
        return Read("recall_drop", Held.NOT_MEASURED, None, "<=", Fraction(DROP), source="the gold set", why=why)
    return _said("recall_drop", Fraction(numbers.live) - Fraction(numbers.shadow), "<=", Fraction(DROP))


def _said(rule: str, value: Fraction, sign: str, limit: Fraction) -> Read:
    return Read(rule, _held(value, sign, limit), value, sign, limit, source="the gold set")
