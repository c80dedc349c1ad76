"""`verify`: re-derive a verdict, and show what it rests on."""

import argparse
from datetime import date
from pathlib import Path

from ragworthy import receipts
from ragworthy.cli.say import print
from ragworthy.gates import EACH, Judged, name_of
from ragworthy.names import Exit, Verdict
from ragworthy.report.show import plural


def verify(given: argparse.Namespace) -> int:
    """Exit 0 only when every byte agrees (and the verdict is the one expected), 1 when not, 2 without the inputs."""
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


def _not_found(checked: receipts.Checked) -> tuple[list[str], Exit, str]:
    if checked.gone:
        return checked.differences, Exit.USAGE, "not verified: inputs are not here"
    ending = f"not verified: the receipt says {checked.verdict}, but it does not re-derive"
    return checked.differences, Exit.NO_SHIP, ending


def _found(checked: receipts.Checked) -> tuple[list[str], Exit, str]:
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


def _waived(checked: receipts.Checked) -> list[Judged]:
    return [one for one in checked.run.judged if one.waiver is not None] if checked.run is not None else []


def _gate(one: Judged, value: str) -> str:
    gate = one.gate
    rule = "each must pass" if gate.op == EACH else f"{gate.op} {gate.threshold}"
    marks = [mark for mark, there in (("optional", gate.optional), ("waived", one.waiver is not None)) if there]
    return f"gate: {name_of(gate)} {rule}: {one.outcome} ({value}){''.join(f', {mark}' for mark in marks)}"


def _waiver(one: Judged, today: date) -> str:
    waiver = one.waiver
    assert waiver is not None  # noqa: S101 - only waived gates are shown
    state = "expired" if waiver.expires < today.isoformat() else "still holds"
    return f"waived: {name_of(one.gate)} until {waiver.expires} ({state} today), by {waiver.owner}: {waiver.reason}"
