"""What a move needs, by the state that it leads to: asked when it is made, and again of every line that is read."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise

from ragworthy.live.minutes import minute_of
from ragworthy.rollout.entries import Entry, Evidence
from ragworthy.rollout.stages import Move, Plan, Stage, State, after

GO_ON = "go on"
"""What a check must have said."""


def why_not(one: Evidence, to: Stage, earlier: Sequence[Evidence]) -> Iterator[str]:
    """Why a piece of evidence does not allow a move; nothing where it does."""
    if one.verdict != "SHIP":
        yield f"expected the verdict SHIP, got {one.verdict}"
    if one.eligible is None:
        yield "expected a comparison with the index in use (score retrieval --live, index diff --canary), got none"
    elif not one.eligible:
        yield "expected an index that is eligible for a canary, got one that is not"
    if to.state is State.PROMOTED and not one.verified:
        yield "expected a receipt or a bundle to promote, got a report, which nothing vouches for"
    golds = [old.basis.gold for old in (*earlier, one) if old.basis and old.basis.gold is not None]
    if one.basis and one.basis.gold is not None and golds[0] != one.basis.gold:
        yield f"expected the gold set of the first move ({golds[0][:12]}), got another ({one.basis.gold[:12]})"
    judged = next((old.shadow_index for old in reversed(earlier) if old.shadow_index is not None), None)
    if one.shadow_index is not None and judged is not None and one.shadow_index != judged:
        yield f"expected the index that was found eligible ({judged[:12]}), got another ({one.shadow_index[:12]})"


def time_of(text: str) -> int | None:
    """The full minute at which a time is counted; None where it is not a time.

    >>> time_of("1970-01-01T00:01:01Z"), time_of("noon")
    (2, None)
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return minute_of(Fraction(int(when.replace(tzinfo=when.tzinfo or UTC).timestamp())))


def unlawful(before: Sequence[Entry], entry: Entry) -> Iterator[str]:
    """Why a move is none that its state allows, or lacks what such a move needs; whatever its hash."""
    starts = [one for one in before if one.move is Move.START]
    start = entry if entry.move is Move.START else starts[-1] if starts else None
    here = before[-1].stage if before else None
    if start is None or start.plan is None:
        yield "expected a start with its plan, got a move without"
        return
    if not _sound(start.plan):
        yield "expected a plan with rising shares between 0 and 1 and a hold of a minute at least, got another"
        return
    if after(start.plan, here, entry.move) != entry.stage:
        yield f"expected a move that {here or 'nothing'} allows, got {entry.move} to {entry.stage}"
        return
    if not entry.by.strip() or not entry.reason.strip():
        yield "expected a name and a reason, got a move that nobody stands behind"
    if entry.rollout != start.rollout:
        yield f"expected a move of {start.rollout}, got one of {entry.rollout}"
    if entry.plan is not None and entry is not start:
        yield "expected the plan of the start, got another half way"
    if entry.move is Move.ADVANCE:
        yield from _unfounded(before, entry)
        yield from _hasty(start.plan, before[-1], entry)


def _sound(plan: Plan) -> bool:
    """Whether a plan is one that a start takes."""
    try:
        shares = [Fraction(one) for one in plan.shares]
        numbers = [Fraction(one) for one in (plan.p95_ms, plan.error_rate or "0")]
    except (ValueError, ZeroDivisionError):
        return False
    rising = all(one < other for one, other in pairwise([Fraction(0), *shares, Fraction(1)]))
    return bool(shares) and rising and plan.hold >= 1 and all(one >= 0 for one in numbers)


def _unfounded(before: Sequence[Entry], entry: Entry) -> Iterator[str]:
    """Why the evidence of a move does not allow it."""
    if entry.evidence is None:
        yield f"expected a report or a receipt that allows {entry.stage}, got a move without evidence"
        return
    first = max(nth for nth, one in enumerate(before) if one.move is Move.START)
    earlier = [one.evidence for one in before[first:] if one.evidence is not None]
    yield from why_not(entry.evidence, entry.stage, earlier)


def _hasty(plan: Plan, last: Entry, entry: Entry) -> Iterator[str]:
    """Why a move out of a share of the traffic came without its check, or too early."""
    if last.state is not State.CANARY:
        return
    if entry.check is None or entry.check.decision != GO_ON:
        yield f"expected a check that said {GO_ON}, got {entry.check.decision if entry.check is not None else 'none'}"
        return
    since, until, at = time_of(last.at), time_of(entry.check.until), time_of(entry.at)
    if since is None or until is None or at is None:
        yield "expected times like 2026-03-01T12:00:00Z, got something else"
        return
    if until - since < plan.hold:
        yield f"expected {last.stage} to be held for {plan.hold} minutes, got {max(until - since, 0)}"
    if at < until:
        yield f"expected a move after what was checked, which ends {entry.check.until}, got one at {entry.at}"
