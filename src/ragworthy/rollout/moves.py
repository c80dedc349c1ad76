"""Moves of a rollout: what is asked before one is made, and the line that is added.

`rollout start`, `advance` and `rollback` and the viewer come here, so that a move needs the same wherever it is made.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import DataError, data_error, usage_error
from ragworthy.history.entries import sha256
from ragworthy.live.minutes import minute_of
from ragworthy.rollout import evidence, ledger, told
from ragworthy.rollout.entries import Entry, Evidence, Looked
from ragworthy.rollout.lawful import why_not
from ragworthy.rollout.ledger import Ledger
from ragworthy.rollout.logs import Logs, Sides, sides
from ragworthy.rollout.rules import STALE, Check, Decision
from ragworthy.rollout.rules import check as looked
from ragworthy.rollout.stages import Move, Plan, Stage, State, after
from ragworthy.safe import json_text

AT = "%Y-%m-%dT%H:%M:%SZ"
TRIES = 20


class Signed(NamedTuple):
    """Who makes a move, and why."""

    by: str
    reason: str
    at: str | None = None
    """When it was done, where it is told afterwards."""


class Proof(NamedTuple):
    """The file that a move rests on."""

    receipt: str | None = None
    report: str | None = None
    jobs: int | None = None
    """How many processes derive a receipt again."""


class Asked(NamedTuple):
    """Which live traffic is looked at."""

    logs: Logs = Logs()
    until: str | None = None


class Refused(NamedTuple):
    """A move that its evidence does not allow."""

    kind: str
    to: Stage
    why: tuple[str, ...]


class Held(NamedTuple):
    """A move that live traffic does not allow."""

    check: Check


def begin(known: Ledger, signed: Signed, name: str, plan: Plan) -> Entry:
    """Start a rollout."""
    return _moved(known, signed, Move.START, Stage(State.SHADOW, "0"), rollout=name, plan=plan)


def advance(known: Ledger, signed: Signed, proof: Proof, asked: Asked, to_be: str | None) -> Entry | Refused | Held:
    """To the next stage, where the evidence and, from a canary on, live traffic allow it."""
    ledger.check_signed(signed.by, signed.reason)
    before = here(known)
    to = after(known.plan, before.stage, Move.ADVANCE)
    where = str(known.path)
    if to is None:
        raise data_error("RW-Z04", f"expected a rollout on its way, got one at {before.stage}", where=where)
    if to_be and to_be != str(to):
        raise data_error("RW-Z04", f"expected {to_be} to be next, got {to}", where=where)
    one = evidence_of(known, proof)
    if one is None:
        raise usage_error("expected --receipt or --report with the verdict that allows the move, got neither")
    if refused := tuple(why_not(one, to, earlier(known))):
        return Refused(one.kind, to, refused)
    check = None
    when = _when(known, signed.at)
    if before.state is State.CANARY:
        found = looked_at(known, asked, [*earlier(known), one], when, told_afterwards=bool(signed.at))
        if found.decision is not Decision.GO_ON:
            return Held(found)
        body = json_text(told.check_json(found, known)).encode()
        check = Looked(sha256=sha256(body), decision=found.decision.value, until=told.clock(found.until))
    return _moved(known, signed, Move.ADVANCE, to, evidence=one, check=check)


def rollback(known: Ledger, signed: Signed, proof: Proof) -> Entry:
    """Take it back: open from every state, and whoever else moves it meanwhile: then the file is read again."""
    ledger.check_signed(signed.by, signed.reason)
    for _ in range(TRIES):
        try:
            return _rollback(known, signed, proof)
        except DataError as error:
            if error.problems[0].code != "RW-Z05":
                raise
        known = ledger.read(known.path)
        if known.problems:
            raise DataError(known.problems)
    return _rollback(known, signed, proof)


def _rollback(known: Ledger, signed: Signed, proof: Proof) -> Entry:
    before = here(known)
    to = after(known.plan, before.stage, Move.ROLLBACK)
    if to is None:
        message = f"expected a rollout on its way, got one at {before.stage}"
        raise data_error("RW-Z04", message, where=str(known.path))
    return _moved(known, signed, Move.ROLLBACK, to, evidence=evidence_of(known, proof))


def here(known: Ledger) -> Entry:
    """The last move; raises where there is none."""
    if known.last is None:
        raise ledger.no_rollout(known.path)
    return known.last


def earlier(known: Ledger) -> list[Evidence]:
    """What the moves so far rest on."""
    return [one.evidence for one in known.current if one.evidence is not None]


def evidence_of(known: Ledger, proof: Proof) -> Evidence | None:
    """What a file says, compared with itself or derived again; None where none was given."""
    if proof.receipt and proof.report:
        raise usage_error("expected --receipt or --report, got both")
    folder = known.path.parent
    if proof.receipt:
        return evidence.of_receipt(Path(proof.receipt), folder, date.today(), proof.jobs)
    return evidence.of_report(Path(proof.report), folder) if proof.report else None


def _when(known: Ledger, at: str | None) -> str:
    """When a move is made: now, or what --at says."""
    now, last = datetime.now(UTC), known.last.at if known.last is not None else ""
    written = (time_of("--at", at) if at else now).strftime(AT)
    if at and not last <= written <= now.strftime(AT):
        raise usage_error(f"--at: expected a time from {last or 'the past'} until now, got {written}")
    return max(written, last)  # clocks of two machines differ, and the way back must not wait for that


def _moved(known: Ledger, signed: Signed, move: Move, to: Stage, **more: Any) -> Entry:
    more = {"rollout": known.current[0].rollout if known.current else ""} | more
    entry = Entry(
        number=0, move=move, state=to.state, share=to.share, by=signed.by, reason=signed.reason,
        at=_when(known, signed.at), previous="", **more,
    )  # fmt: skip
    return ledger.append(known, entry)


def time_of(flag: str, text: str) -> datetime:
    """A time that somebody wrote."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise usage_error(f"{flag}: expected a time like 2026-03-01T12:00:00Z, got {text}") from None
    return when.replace(tzinfo=when.tzinfo or UTC).astimezone(UTC)


# live traffic


def looked_at(
    known: Ledger, asked: Asked, evidence: Sequence[Evidence], when: str = "", *, told_afterwards: bool = False
) -> Check:
    """What live traffic says; for a move, `when` is its time, and it looks at all of a log that reaches so far."""
    last, plan, logs = here(known), known.plan, asked.logs
    if not (logs.both or logs.canary):
        raise usage_error("expected --log, or --live-log and --canary-log, got no log of live traffic")
    until = None
    if asked.until:
        wanted = datetime.now(UTC) if asked.until == "now" else time_of("--until", asked.until)
        until = int(wanted.timestamp()) // 60
    read = sides(logs, plan)
    waits: tuple[str, ...] = (read.doubt,) if read.doubt else ()
    if when:
        until, late = _whole(read, asked.until, until, when, told_afterwards=told_afterwards)
        waits += late
    found = looked(plan, last.stage, _minute(last.at), (read.live, read.canary), evidence, until)
    return found._replace(problems=read.problems, waits=(*waits, *found.waits))


def _whole(
    read: Sides, asked: str | None, until: int | None, when: str, *, told_afterwards: bool
) -> tuple[int | None, tuple[str, ...]]:
    """Until when a move looks: nothing of the log is left out, and nothing of it is later than the move."""
    at, end = _minute(when), read.end
    if end is None:
        return until, ()
    if until is not None and until < end and asked != "now":
        raise usage_error(f"--until: expected a time from {told.clock(end)} on, where the log ends, got {asked}")
    if told_afterwards and at < max(end, until or 0):
        last = told.clock(max(end, until or 0))
        raise usage_error(f"--at: expected a time from {last} on, the end of what is looked at, got {when}")
    late = (f"the log ended {at - end} minutes before the move",) if at - end > STALE else ()
    return (min(at, end) if until is None else min(at, until)), late


def _minute(text: str) -> int:
    return minute_of(Fraction(int(time_of("at", text).timestamp())))
