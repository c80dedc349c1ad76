"""A rollout and a check in words and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import msgspec

from ragworthy.errors import Problem
from ragworthy.report.show import number, plural
from ragworthy.rollout.entries import Entry
from ragworthy.rollout.ledger import Ledger
from ragworthy.rollout.reads import Held, Read
from ragworthy.rollout.rules import Check, Decision
from ragworthy.rollout.stages import Move, State, after

CHECK, STATUS = "ragworthy.rollout-check/1", "ragworthy.rollout-status/1"


def clock(minute: int) -> str:
    """A minute since the epoch as people and programs read it.

    >>> clock(0), clock(29_400_000)
    ('1970-01-01T00:00:00Z', '2025-11-24T16:00:00Z')
    """
    return datetime.fromtimestamp(minute * 60, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# a check


def check_json(found: Check, ledger: Ledger) -> dict[str, Any]:
    """A check for programs: no clock and no path, so that the same logs give the same bytes."""
    first = ledger.current[0]
    return {
        "schema": CHECK,
        "decision": found.decision.value,
        "exit_code": exit_of(found.decision),
        "rollout": first.rollout,
        "state": found.stage.state.value,
        "share": found.stage.share,
        "head": ledger.head,
        "since": clock(found.since),
        "until": clock(found.until),
        "minutes": found.until - found.since,
        "records": {"live": found.records[0], "canary": found.records[1]},
        "problems": dict(found.problems),
        "rollback": [_read(one) for one in found.back],
        "promotion": [_read(one) for one in found.on],
        "too_early": found.early or None,
        "waits_for": list(found.waits),
    }


def bare_json(ledger: Ledger, decision: Decision, why: Sequence[str]) -> dict[str, Any]:
    """A check where there is no traffic to look at."""
    last = ledger.entries[-1]
    return {
        "schema": CHECK,
        "decision": decision.value,
        "exit_code": exit_of(decision),
        "rollout": last.rollout,
        "state": last.state.value,
        "share": last.share,
        "head": ledger.head,
        "why": list(why),
    }


def exit_of(decision: Decision) -> int:
    """The exit code of a check, for any deployment tool."""
    return {Decision.GO_ON: 0, Decision.ROLL_BACK: 1, Decision.WAIT: 3}[decision]


def _read(one: Read) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "outcome": one.held.value.replace(" ", "_"),
        "value": _float(one.value),
        "exact": None if one.value is None else str(one.value),
        "sign": one.sign or None,
        "limit": _float(one.limit),
        "samples": one.samples,
        "source": one.source,
        "at": None if one.at is None else clock(one.at),
        "why": one.why.strip() or None,
    }


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def check_lines(found: Check) -> Iterator[str]:
    """A check for people: what decides first."""
    live, canary = found.records
    yield (
        f"{found.stage} since {clock(found.since)}, looked at until {clock(found.until)}: "
        f"{plural(canary, 'record')} of the canary, {live} live"
    )
    if found.problems:
        yield f"records with problems: {', '.join(f'{count} {name}' for name, count in found.problems.items())}"
    for heading, reads in (("takes it back", found.back), ("lets it go on", found.on)):
        if reads:
            yield f"{heading}:"
            yield from (f"  {_line(one)}" for one in reads)
    if found.early:
        yield f"too early: {found.early}"
    yield from (f"waits: {one}" for one in found.waits)


def _line(one: Read) -> str:
    limits = () if one.limit is None or one.limit == one.value else (one.limit,)
    value = "–" if one.value is None else number(one.value, *limits)
    rule = f"{one.sign} {number(one.limit)}" if one.limit is not None else ""
    said = [one.why.strip()] if one.why.strip() else []
    said += [plural(one.samples, "sample")] if one.samples and one.value is not None else []
    said += [f"from {one.source}"] if one.samples is None and one.source != "live traffic" else []
    said += [f"at {clock(one.at)}"] if one.at is not None else []
    joined = ", ".join(said)
    state = one.held.value if one.sign not in (">",) and one.rule != "alert_windows" else _back(one)
    return f"{one.rule:<18} {value:>8} {rule:<12} {state}{f' ({joined})' if said else ''}".rstrip()


def _back(one: Read) -> str:
    """Of a rule that takes back, in which failing means that its condition was true."""
    return {Held.FAILS: "ROLL BACK", Held.HOLDS: "no"}.get(one.held, one.held.value)


def ending(found: Check) -> str:
    """The last line of a check."""
    why = next((one.rule for one in found.back if one.held is Held.FAILS), "")
    if not why and found.decision is Decision.WAIT:
        rules = ", ".join(one.rule for one in (*found.back, *found.on) if one.held is not Held.HOLDS)
        why = "; ".join(one for one in (*found.waits, found.early, "" if found.early else rules) if one)
    return f"{found.decision}{f': {why}' if why else ''} (exit {exit_of(found.decision)})"


# a rollout


def status_json(ledger: Ledger, problems: Sequence[Problem], gone: Iterable[str], *, verified: bool) -> dict[str, Any]:
    """A rollout for programs."""
    last, moves = ledger.last, ledger.current
    after_it = after(ledger.plan, last.stage, Move.ADVANCE) if last is not None and moves else None
    return {
        "schema": STATUS,
        "rollout": moves[0].rollout if moves else None,
        "state": last.state.value if last is not None else None,
        "share": last.share if last is not None else None,
        "since": last.at if last is not None else None,
        "next": None if after_it is None else {"state": after_it.state.value, "share": after_it.share},
        "head": ledger.head or None,
        "verified": not problems if verified else None,
        "problems": [str(one) for one in problems],
        "not_here": list(gone),
        "torn": ledger.torn,
        "moves": [msgspec.to_builtins(one) for one in moves],
    }


def status_lines(ledger: Ledger) -> Iterator[str]:
    """A rollout for people: where it stands, and who moved it."""
    moves = ledger.current
    plan = ledger.plan
    yield f"rollout {moves[0].rollout}: {plan.shadow} takes the place of {plan.live}"
    yield from (f"  {move_line(one)}" for one in moves)
    shares = ", ".join(f"{float(Fraction(share) * 100):g} %" for share in plan.shares)
    yield f"plan: {shares}, each for {plan.hold} minutes at least; p95 up to {plan.p95_ms} ms"
    if moves[-1].state not in (State.PROMOTED, State.ROLLED_BACK):
        yield f"next: {after(plan, moves[-1].stage, Move.ADVANCE)}"
    yield f"head: {ledger.head}"


def move_line(one: Entry) -> str:
    """One move."""
    proof = ""
    if one.evidence is not None:
        how = "verified" if one.evidence.verified else "not verified"
        proof = f" [{one.evidence.kind} {one.evidence.sha256[:8]} {one.evidence.verdict}, {how}]"
    return f"{one.at}  {one.stage}  by {one.by}: {one.reason}{proof}"
