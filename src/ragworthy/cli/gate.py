"""`gate`: every suite of a policy. `verify`: a verdict re-derived."""

import argparse
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragworthy import flow
from ragworthy.cli.keep import baseline_file, eval_outputs, home_of_policy, keep_run
from ragworthy.cli.outputs import finish, options
from ragworthy.cli.say import print
from ragworthy.errors import usage_error
from ragworthy.files import check_inside, check_ours
from ragworthy.gates import EACH, Judged, name_of
from ragworthy.names import Exit, Verdict
from ragworthy.policy.read import find_policy, load_policy
from ragworthy.report.show import plural
from ragworthy.suites import SUITES

if TYPE_CHECKING:
    from ragworthy import receipts


def gate(given: argparse.Namespace) -> int:
    """Run every suite of the policy."""
    path = find_policy(given.config)
    policy = load_policy(path, SUITES, today=date.today())
    home = home_of_policy(policy)
    if not given.baseline and policy.baseline:
        baseline_file(policy.baseline, home, given.store)
    requests = flow.from_policy(policy, **options(given))
    flow.check_stale(requests)
    if given.baseline:
        baseline = baseline_file(given.baseline, home, given.store)
        requests = [request.with_baseline(baseline) for request in requests]
    if given.selftest:
        if given.output or given.rows or given.receipt:
            raise usage_error("--selftest judges damaged traces: it writes no reports, rows or receipts")
        return _selftest(requests)
    receipt = Path(given.receipt) if given.receipt else _own_receipt(path)
    return finish(given, requests, receipt, partial(keep_run, given, policy), eval_outputs(policy, given))


def _own_receipt(policy: Path) -> Path:
    """Where the receipt goes when nobody says: beside the policy, never through a link and never over another file."""
    path = policy.parent / ".ragworthy/receipt.json"
    check_inside(path, policy.parent, "the receipt")
    check_ours(path, lambda data: b"ragworthy" in data and data.startswith(b"{"))
    return path


def _selftest(requests: Sequence[flow.Request]) -> int:
    from ragworthy.selftest import selftest

    tried = selftest(requests)
    for one in tried:
        word = "can fail   " if one.fails else "CANNOT FAIL"
        print(f"{word}  {one.gate} {one.rule}: {one.damage} → {one.said}")
    idle = [one for one in tried if not one.fails]
    print(f"selftest: {len(tried) - len(idle)} of {len(tried)} gates can fail (exit {int(bool(idle))})")
    return int(Exit.NO_SHIP if idle else Exit.SHIP)


# a verdict re-derived, and what it rests on


def verify(given: argparse.Namespace) -> int:
    """Exit 0 only when every byte agrees (and the verdict is the one expected), 1 when not, 2 without the inputs."""
    from ragworthy import receipts

    today = date.today()
    checked = receipts.check(Path(given.receipt), today=today, jobs=given.jobs)
    lines, code, ending = _found(checked) if checked.agrees else _not_found(checked)
    expired = [one for one in _waived(checked) if one.waiver is not None and one.waiver.expires < today.isoformat()]
    if checked.agrees and checked.run is not None:
        lines += [_waiver(one, today) for one in _waived(checked)]
        if given.expect and checked.verdict != given.expect:
            code, ending = Exit.NO_SHIP, f"verified, but the verdict is {checked.verdict}, not {given.expect}"
        elif given.expect == Verdict.SHIP and expired:
            code = Exit.NO_SHIP
            ending = f"verified, but the verdict rests on {plural(len(expired), 'waiver')} that expired since"
    for line in lines:
        print(line)
    print(f"{ending} (exit {int(code)})")
    return int(code)


def _not_found(checked: "receipts.Checked") -> tuple[list[str], Exit, str]:
    if checked.gone:
        return checked.differences, Exit.USAGE, "not verified: inputs are not here"
    ending = f"not verified: the receipt says {checked.verdict}, but it does not re-derive"
    return checked.differences, Exit.NO_SHIP, ending


def _found(checked: "receipts.Checked") -> tuple[list[str], Exit, str]:
    """What was verified: every gate, and what was left out of account."""
    assert checked.run is not None and checked.request is not None  # noqa: S101 - it agrees
    shown = [one["shown"]["value"] for one in checked.run.report["gates"]]
    lines = [_gate(one, value) for one, value in zip(checked.run.judged, shown, strict=True)]
    lines += [f"not valid: {reason}" for reason in checked.run.report["invalid"]]
    for one in checked.run.report["provenance"].get("plugins", []):
        lines.append(f"ran the code of the plugin {' '.join(one.values())}")
    if checked.request.unfrozen:
        lines.append("--unfrozen: the gold set did not have to be the frozen one")
    if checked.request.allow_gold_errors:
        lines.append("--allow-gold-errors: errors in the gold set were let pass")
    inputs = plural(checked.inputs, "input")
    return lines, Exit.SHIP, f"verified: {checked.verdict} re-derives byte for byte from {inputs}"


def _waived(checked: "receipts.Checked") -> list[Judged]:
    return [one for one in checked.run.judged if one.waiver is not None] if checked.run is not None else []


def _gate(one: Judged, value: str) -> str:
    gate = one.gate
    rule = "each must pass" if gate.op == EACH else f"{gate.op} {gate.threshold}"
    said = (("optional", gate.optional), ("by default", gate.kept), ("waived", one.waiver is not None))
    marks = [mark for mark, there in said if there]
    return f"gate: {name_of(gate)} {rule}: {one.outcome} ({value}){''.join(f', {mark}' for mark in marks)}"


def _waiver(one: Judged, today: date) -> str:
    waiver = one.waiver
    assert waiver is not None  # noqa: S101 - only waived gates are shown
    state = "expired" if waiver.expires < today.isoformat() else "still holds"
    return f"waived: {name_of(one.gate)} until {waiver.expires} ({state} today), by {waiver.owner}: {waiver.reason}"
