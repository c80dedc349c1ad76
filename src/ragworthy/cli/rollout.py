"""`rollout`: a canary as a state machine."""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from ragworthy.cli.flags import number_of
from ragworthy.cli.say import print, show
from ragworthy.errors import DataError, Problem, data_error, usage_error
from ragworthy.files import write_whole
from ragworthy.history.entries import sha256
from ragworthy.live.minutes import minute_of
from ragworthy.live.rules import RULES
from ragworthy.names import Exit
from ragworthy.report.show import plural
from ragworthy.rollout import evidence, ledger, told
from ragworthy.rollout.entries import Entry, Evidence, Looked
from ragworthy.rollout.lawful import why_not
from ragworthy.rollout.ledger import Ledger
from ragworthy.rollout.logs import Logs, Sides, sides
from ragworthy.rollout.rules import STALE, Check, Decision
from ragworthy.rollout.rules import check as looked
from ragworthy.rollout.stages import ALERTS, Move, Plan, Stage, State, after
from ragworthy.safe import json_text

AT = "%Y-%m-%dT%H:%M:%SZ"
TRIES = 20
TORN = "the last line was cut off while it was written: it is no move"


def _guarded(given: argparse.Namespace, run: Callable[[argparse.Namespace, Ledger], int]) -> int:
    """Run a verb on a file whose every line is as it was written; exit 4 where one is not."""
    known = ledger.read(Path(given.ledger))
    if known.torn:
        print(f"{given.ledger}:{len(known.entries) + 1}: {TORN}", file=sys.stderr)
    return _invalid(known.problems) if known.problems else run(given, known)


def _invalid(problems: Sequence[Problem]) -> int:
    for one in problems:
        print(str(one))
    print(f"INVALID: the file of the rollout is not as it was written (exit {int(Exit.INVALID)})")
    return int(Exit.INVALID)


# moves


def start(given: argparse.Namespace) -> int:
    """Begin a rollout."""
    ledger.check_signed(given.by, given.reason)
    return _guarded(given, _start)


def _start(given: argparse.Namespace, known: Ledger) -> int:
    if not given.name.strip() or given.live == given.shadow:
        raise usage_error(f"expected a name and two builds, got {given.name!r}, {given.live!r} and {given.shadow!r}")
    plan = _plan(given)
    here = known.last.stage if known.last is not None else None
    if after(plan, here, Move.START) is None:
        first = known.current[0]
        message = f"expected no rollout, or one that has ended, got {first.rollout} at {here}"
        raise data_error("RW-Z04", message, where=given.ledger)
    made = _moved(given, known, Move.START, Stage(State.SHADOW, "0"), rollout=given.name, plan=plan)
    return _done(made)


def _plan(given: argparse.Namespace) -> Plan:
    shares = tuple(number_of("--shares", text.strip(), "share") for text in given.shares.split(","))
    if any(not 0 < Fraction(one) < 1 for one in shares) or sorted(shares, key=Fraction) != list(dict.fromkeys(shares)):
        raise usage_error(f"--shares: expected rising shares between 0 and 1, got {given.shares}")
    known = [rule.name for rule in RULES]
    alerts = ALERTS if given.alerts is None else tuple(known if given.alerts == "all" else given.alerts.split(","))
    if odd := [one for one in alerts if one not in known]:
        raise usage_error(f"--alerts: expected all, or names out of {', '.join(known)}, got {odd[0]}")
    return Plan(
        live=given.live,
        shadow=given.shadow,
        shares=shares,
        hold=given.hold,
        p95_ms=number_of("--p95-ms", given.p95_ms, "positive"),
        error_rate=None if given.error_rate is None else number_of("--error-rate", given.error_rate, "share"),
        alerts=alerts,
    )


def advance(given: argparse.Namespace) -> int:
    """To the next stage. From a canary on, live traffic must allow it too."""
    ledger.check_signed(given.by, given.reason)
    return _guarded(given, _advance)


def _advance(given: argparse.Namespace, known: Ledger) -> int:
    here = _here(known)
    to = after(known.plan, here.stage, Move.ADVANCE)
    if to is None:
        raise data_error("RW-Z04", f"expected a rollout on its way, got one at {here.stage}", where=given.ledger)
    if given.to and given.to != str(to):
        raise data_error("RW-Z04", f"expected {given.to} to be next, got {to}", where=given.ledger)
    one = _evidence(given, known)
    if one is None:
        raise usage_error("expected --receipt or --report with the verdict that allows the move, got neither")
    if refused := list(why_not(one, to, _earlier(known))):
        for why in refused:
            print(str(Problem("RW-Z03", why, given.receipt or given.report)))
        print(f"not moved: the {one.kind} does not allow {to} (exit {int(Exit.NO_SHIP)})")
        return int(Exit.NO_SHIP)
    check = None
    when = _when(given, known)
    if here.state is State.CANARY:
        found = _check(given, known, [*_earlier(known), one], when)
        if found.decision is not Decision.GO_ON:
            for line in told.check_lines(found):
                print(line)
            print(f"not moved: {told.ending(found)}")
            return told.exit_of(found.decision)
        body = json_text(told.check_json(found, known)).encode()
        check = Looked(sha256=sha256(body), decision=found.decision.value, until=told.clock(found.until))
    return _done(_moved(given, known, Move.ADVANCE, to, evidence=one, check=check))


def rollback(given: argparse.Namespace) -> int:
    """Take it back: open from every state, with or without evidence, and whoever else moves it meanwhile."""
    ledger.check_signed(given.by, given.reason)
    for _ in range(TRIES):
        try:
            return _guarded(given, _rollback)
        except DataError as error:
            if error.problems[0].code != "RW-Z05":
                raise
    return _guarded(given, _rollback)


def _rollback(given: argparse.Namespace, known: Ledger) -> int:
    here = _here(known)
    to = after(known.plan, here.stage, Move.ROLLBACK)
    if to is None:
        raise data_error("RW-Z04", f"expected a rollout on its way, got one at {here.stage}", where=given.ledger)
    return _done(_moved(given, known, Move.ROLLBACK, to, evidence=_evidence(given, known)))


def _here(known: Ledger) -> Entry:
    if known.last is None:
        raise ledger.no_rollout(known.path)
    return known.last


def _earlier(known: Ledger) -> list[Evidence]:
    return [one.evidence for one in known.current if one.evidence is not None]


def _evidence(given: argparse.Namespace, known: Ledger) -> Evidence | None:
    if given.receipt and given.report:
        raise usage_error("expected --receipt or --report, got both")
    folder = known.path.parent
    if given.receipt:
        return evidence.of_receipt(Path(given.receipt), folder, date.today(), given.jobs)
    return evidence.of_report(Path(given.report), folder) if given.report else None


def _when(given: argparse.Namespace, known: Ledger) -> str:
    """When a move is made: now, or what --at says."""
    now, last = datetime.now(UTC), known.last.at if known.last is not None else ""
    written = (_time("--at", given.at) if given.at else now).strftime(AT)
    if given.at and not last <= written <= now.strftime(AT):
        raise usage_error(f"--at: expected a time from {last or 'the past'} until now, got {written}")
    return max(written, last)  # clocks of two machines differ, and the way back must not wait for that


def _moved(given: argparse.Namespace, known: Ledger, move: Move, to: Stage, **more: Any) -> Entry:
    more = {"rollout": known.current[0].rollout if known.current else ""} | more
    entry = Entry(
        number=0, move=move, state=to.state, share=to.share, by=given.by, reason=given.reason,
        at=_when(given, known), previous="", **more,
    )  # fmt: skip
    return ledger.append(known, entry)


def _done(made: Entry) -> int:
    print(told.move_line(made))
    print(f"head: {made.hash}")
    print(f"rollout {made.rollout}: {made.stage} (exit {int(Exit.SHIP)})")
    return int(Exit.SHIP)


def _time(flag: str, text: str) -> datetime:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise usage_error(f"{flag}: expected a time like 2026-03-01T12:00:00Z, got {text}") from None
    return when.replace(tzinfo=when.tzinfo or UTC).astimezone(UTC)


# looking


def status(given: argparse.Namespace) -> int:
    """Where it stands; with --verify whether the file, and the reports that it names, are as they were."""
    if given.head is not None and not given.head.strip():
        raise usage_error("--head: expected the hash of a line, got nothing")
    known = ledger.read(Path(given.ledger))
    problems = list(known.problems)
    if given.head and given.head not in {one.hash for one in known.entries}:
        message = f"expected a line with the hash {given.head[:12]}…, got none: lines were cut off the end"
        problems.append(Problem("RW-Z02", message, given.ledger))
    gone: list[str] = []
    if given.verify and not problems:
        problems, gone = ledger.swapped(known)
    if given.format == "json":
        whole = known if not known.problems else known._replace(entries=())
        show(json_text(told.status_json(whole, problems, gone, verified=given.verify)))
        return int(Exit.INVALID if problems else Exit.SHIP)
    if problems:
        return _invalid(problems)
    here = _here(known)
    for line in (*told.status_lines(known), *gone):
        print(line)
    if known.torn:
        print(TORN)
    missing = f", {plural(len(gone), 'piece')} of evidence not here" if gone else ""
    verified = f"verified, {plural(len(known.entries), 'move')}{missing}: " if given.verify else ""
    print(f"{verified}{here.stage} (exit {int(Exit.SHIP)})")
    return int(Exit.SHIP)


def check(given: argparse.Namespace) -> int:
    """Go on, roll back or wait, for any deployment tool."""
    return _guarded(given, _checked)


def _checked(given: argparse.Namespace, known: Ledger) -> int:
    here = _here(known)
    one = _evidence(given, known)
    if here.state not in (State.CANARY, State.PROMOTED):
        return _without_traffic(given, known, here, one)
    to = after(known.plan, here.stage, Move.ADVANCE) or here.stage
    refused = tuple(why_not(one, to, _earlier(known))) if one is not None else ()
    found = _check(given, known, [*_earlier(known), *([one] if one is not None and not refused else [])])
    found = found._replace(waits=(*refused, *found.waits))
    body = json_text(told.check_json(found, known))
    if given.output:
        write_whole(Path(given.output), body.encode())
    if given.format == "json":
        show(body)
        return told.exit_of(found.decision)
    for line in () if given.quiet else told.check_lines(found):
        print(line)
    print(told.ending(found))
    return told.exit_of(found.decision)


def _without_traffic(given: argparse.Namespace, known: Ledger, here: Entry, one: Evidence | None) -> int:
    """Before the canary the evidence decides, and what was taken back stays so."""
    decision, why = Decision.WAIT, ["no report or receipt was given"]
    if here.state is State.ROLLED_BACK:
        decision, why = Decision.ROLL_BACK, [f"it was rolled back by {here.by}: {here.reason}"]
    elif one is not None:
        to = after(known.plan, here.stage, Move.ADVANCE)
        why = list(why_not(one, to, _earlier(known))) if to is not None else []
        decision = Decision.WAIT if why else Decision.GO_ON
    code = told.exit_of(decision)
    if given.format == "json" or given.output:
        body = json_text(told.bare_json(known, decision, why))
        if given.output:
            write_whole(Path(given.output), body.encode())
        if given.format == "json":
            show(body)
            return code
    print(f"{decision}{f': {why[0]}' if why else ''} (exit {code})")
    return code


def _check(given: argparse.Namespace, known: Ledger, evidence: Sequence[Evidence], when: str = "") -> Check:
    """What live traffic says; for a move, `when` is its time, and it looks at all of a log that reaches so far."""
    here, plan = _here(known), known.plan
    logs = Logs(tuple(given.log), tuple(given.live_log), tuple(given.canary_log))
    if not (logs.both or logs.canary):
        raise usage_error("expected --log, or --live-log and --canary-log, got no log of live traffic")
    until = None
    if given.until:
        asked = datetime.now(UTC) if given.until == "now" else _time("--until", given.until)
        until = int(asked.timestamp()) // 60
    read = sides(logs, plan)
    waits: tuple[str, ...] = (read.doubt,) if read.doubt else ()
    if when:
        until, late = _whole(given, read, until, when)
        waits += late
    found = looked(plan, here.stage, _minute(here.at), (read.live, read.canary), evidence, until)
    return found._replace(problems=read.problems, waits=(*waits, *found.waits))


def _whole(given: argparse.Namespace, read: Sides, until: int | None, when: str) -> tuple[int | None, tuple[str, ...]]:
    """Until when a move looks: nothing of the log is left out, and nothing of it is later than the move."""
    at, end = _minute(when), read.end
    if end is None:
        return until, ()
    if until is not None and until < end and given.until != "now":
        raise usage_error(f"--until: expected a time from {told.clock(end)} on, where the log ends, got {given.until}")
    if given.at and at < max(end, until or 0):
        last = told.clock(max(end, until or 0))
        raise usage_error(f"--at: expected a time from {last} on, the end of what is looked at, got {when}")
    late = (f"the log ended {at - end} minutes before the move",) if at - end > STALE else ()
    return (min(at, end) if until is None else min(at, until)), late


def _minute(text: str) -> int:
    return minute_of(Fraction(int(_time("at", text).timestamp())))
