"""`rollout`: a canary as a state machine."""

import argparse
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

from ragworthy.cli.flags import number_of
from ragworthy.cli.say import print, show
from ragworthy.errors import DataError, Problem, data_error, usage_error
from ragworthy.files import write_whole
from ragworthy.live.rules import RULES
from ragworthy.names import Exit
from ragworthy.report.show import plural
from ragworthy.rollout import ledger, moves, told
from ragworthy.rollout.entries import Entry, Evidence
from ragworthy.rollout.lawful import why_not
from ragworthy.rollout.ledger import Ledger
from ragworthy.rollout.logs import Logs
from ragworthy.rollout.rules import Decision
from ragworthy.rollout.stages import ALERTS, Move, Plan, State, after
from ragworthy.safe import json_text

TORN = "the last line was cut off while it was written: it is not a move"


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
    return _done(moves.begin(known, _signed(given), given.name, plan))


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
    done = moves.advance(known, _signed(given), _proof(given), _asked(given), given.to)
    if isinstance(done, moves.Refused):
        for why in done.why:
            print(str(Problem("RW-Z03", why, given.receipt or given.report)))
        print(f"not moved: the {done.kind} does not allow {done.to} (exit {int(Exit.NO_SHIP)})")
        return int(Exit.NO_SHIP)
    if isinstance(done, moves.Held):
        for line in told.check_lines(done.check):
            print(line)
        print(f"not moved: {told.ending(done.check)}")
        return told.exit_of(done.check.decision)
    return _done(done)


def rollback(given: argparse.Namespace) -> int:
    """Take it back: open from every state, with or without evidence, and whoever else moves it meanwhile."""
    ledger.check_signed(given.by, given.reason)
    return _guarded(given, _rollback)


def _rollback(given: argparse.Namespace, known: Ledger) -> int:
    try:
        return _done(moves.rollback(known, _signed(given), _proof(given)))
    except DataError as error:
        if error.problems[0].code == "RW-Z02":  # somebody changed the file meanwhile
            return _invalid(error.problems)
        raise


def _proof(given: argparse.Namespace) -> moves.Proof:
    return moves.Proof(given.receipt, given.report, given.jobs)


def _asked(given: argparse.Namespace) -> moves.Asked:
    return moves.Asked(Logs(tuple(given.log), tuple(given.live_log), tuple(given.canary_log)), given.until)


def _signed(given: argparse.Namespace) -> moves.Signed:
    return moves.Signed(given.by, given.reason, given.at)


def _done(made: Entry) -> int:
    print(told.move_line(made))
    print(f"head: {made.hash}")
    print(f"rollout {made.rollout}: {made.stage} (exit {int(Exit.SHIP)})")
    return int(Exit.SHIP)


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
    here = moves.here(known)
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
    here = moves.here(known)
    one = moves.evidence_of(known, _proof(given))
    if here.state not in (State.CANARY, State.PROMOTED):
        return _without_traffic(given, known, here, one)
    to = after(known.plan, here.stage, Move.ADVANCE) or here.stage
    refused = tuple(why_not(one, to, moves.earlier(known))) if one is not None else ()
    allowed = [one] if one is not None and not refused else []
    found = moves.looked_at(known, _asked(given), [*moves.earlier(known), *allowed])
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
        why = list(why_not(one, to, moves.earlier(known))) if to is not None else []
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
