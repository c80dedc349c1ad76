"""`verify`: a verdict re-derived, from a receipt or a bundle. `sign`: either of them signed. `receipt diff`: two of
them side by side.
"""

import argparse
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy import flow, receipts
from ragworthy.cli.say import print
from ragworthy.errors import Problem, usage_error
from ragworthy.files import read_bytes, write_whole
from ragworthy.gates import AGAINST, EACH, Judged, name_of
from ragworthy.history.commit import same_commit
from ragworthy.history.taken import gold_of, label_of
from ragworthy.names import Exit, Verdict
from ragworthy.policy.kept import BLESSED
from ragworthy.proof import bundle, signing, zipped
from ragworthy.report import receipt
from ragworthy.report.able import rule_of
from ragworthy.report.part import attempted
from ragworthy.report.show import plural

if TYPE_CHECKING:
    from ragworthy.proof.signing import Signed
    from ragworthy.proof.stored import Compared


def verify(given: argparse.Namespace) -> int:
    """Exit 0 only when every byte agrees (and the verdict is the one expected), 1 when not, 2 without the inputs."""
    path = Path(given.receipt)
    if given.signer and not given.signers:
        raise usage_error("--signer: expected --signers besides it, got none")
    if given.inputs and not Path(given.inputs).is_dir():
        raise usage_error(f"--inputs: expected a folder, got {given.inputs}")
    how = receipts.How(date.today(), given.jobs, Path(given.inputs) if given.inputs else None)
    if not zipped.is_zip(path):
        said = _signed(given, path, read_bytes(path), path.with_name(path.name + signing.SUFFIX))
        if said.problem is not None:
            return _unsigned(said.problem)
        return _shown(given, path, receipts.check(path, how), said, "the receipt")
    if how.inputs is not None:
        raise usage_error("--inputs: expected a receipt besides it, got a bundle, which holds its inputs")
    with bundle.opened(path) as there:
        said = _signed(given, path, there.manifest, there.folder / bundle.SIGNATURE)
        if said.problem is not None:
            return _unsigned(said.problem)
        checked = bundle.check(path, there, how._replace(run_plugins=given.run_plugins))
        return _shown(given, there.folder / bundle.RECEIPT, checked, said, "the bundle")


def _signed(given: argparse.Namespace, path: Path, data: bytes, signature: Path) -> "Signed":
    """Who signed; without --signers nobody is asked for."""
    if given.signers:
        return signing.signed(data, signature, Path(given.signers), given.signer, what=str(path))
    return signing.Signed("unasked" if signature.is_file() else "")


def _unsigned(problem: Problem) -> int:
    print(str(problem))
    print(f"not verified: the signature does not hold (exit {int(Exit.NO_SHIP)})")
    return int(Exit.NO_SHIP)


def _shown(given: argparse.Namespace, path: Path, checked: receipts.Checked, said: "Signed", what: str) -> int:
    today = date.today()
    if checked.agrees and given.store:
        checked = _stored(given.store, path, checked)
    lines, code, ending = _found(checked) if checked.agrees else _not_found(checked, what)
    expired = [one for one in _waived(checked) if one.waiver is not None and one.waiver.expires < today.isoformat()]
    if checked.agrees and checked.run is not None:
        lines += [_waiver(one, today) for one in _waived(checked)]
        lines += [_signer(said)] if said.by else []
        named = checked.request.commit if checked.request is not None else ""
        if given.commit and not (named and same_commit(named, given.commit)):
            code = Exit.NO_SHIP
            ending = f"verified, but the commit is {named or 'not known'}, not {given.commit}"
        elif given.expect and checked.verdict != given.expect:
            code, ending = Exit.NO_SHIP, f"verified, but the verdict is {checked.verdict}, not {given.expect}"
        elif given.expect == Verdict.SHIP and expired:
            code = Exit.NO_SHIP
            ending = f"verified, but the verdict rests on {plural(len(expired), 'waiver')} that expired since"
    for line in (*checked.notes, *lines):
        print(line)
    print(f"{ending} (exit {int(code)})")
    return int(code)


def _signer(said: "Signed") -> str:
    if said.by == "unasked":
        return "a signature is beside it and was not checked (--signers FILE)"
    return f"signed by {said.by}"


def _stored(where: str, path: Path, checked: receipts.Checked) -> receipts.Checked:
    """What the store of earlier runs says of a receipt that re-derives."""
    from ragworthy.history import open_store
    from ragworthy.proof import stored

    given, _, _ = receipt.read(path)
    if given is None or checked.run is None or checked.request is None:
        return checked
    store = open_store(where, reads=True)
    found = stored.problems(store, checked.run.report, given, read_bytes(path), _compared(checked))
    if found:
        return checked._replace(differences=list(map(str, found)), disputed=True)
    return checked._replace(notes=(*checked.notes, f"store: {store.place} is whole, and has this run"))


def _compared(checked: receipts.Checked) -> "Compared | None":
    """The baseline, with the name under which the policy wants it blessed."""
    from ragworthy.proof.stored import Compared

    found = checked.baseline
    if found is None or found.path is None:
        return None
    named = found.said is not None and found.said.startswith(BLESSED) and found.own
    return Compared(found.path, (found.said or "").removeprefix(BLESSED) if named else "")


def _not_found(checked: receipts.Checked, what: str) -> tuple[list[str], Exit, str]:
    if checked.gone:
        return checked.differences, Exit.USAGE, "cannot be verified: inputs are not here"
    but = "and re-derives, but the history disagrees" if checked.disputed else "but it does not re-derive"
    ending = f"not verified: {what} says {checked.verdict}{'' if checked.disputed else ','} {but}"
    if checked.verdict == "":
        ending = f"not verified: {what} has no receipt"
    return checked.differences, Exit.NO_SHIP, ending


def _found(checked: receipts.Checked) -> tuple[list[str], Exit, str]:
    """What was verified: every gate, and what was left out of account."""
    assert checked.run is not None and checked.request is not None  # noqa: S101 - it agrees
    report, request = checked.run.report, checked.request
    shown = [one["shown"]["value"] for one in report["gates"]]
    lines = [_gate(one, value) for one, value in zip(checked.run.judged, shown, strict=True)]
    lines += [f"not valid: {reason}" for reason in report["invalid"]]
    for one in report["provenance"].get("plugins", []):
        lines.append(f"ran the code of the plugin {' '.join(one.values())}")
    if packs := report["provenance"].get("packs"):
        lines.append(f"gate packs: {', '.join(one['name'] for one in packs)}")
    if checked.baseline is not None and checked.baseline.from_command_line:
        lines.append(_overridden(checked.baseline))
    lines += [f"baseline: {why}" for why in _by_numbers(report)]
    if request.unfrozen:
        lines.append("--unfrozen: the gold set did not have to be the frozen one")
    if request.allow_gold_errors:
        lines.append("--allow-gold-errors: errors in the gold set were let pass")
    told = "attempts: not counted" if request.attempts is None else attempted(request.attempts.told())
    inputs = plural(checked.inputs, "input")
    ending = f"verified: {checked.verdict} re-derives byte for byte from {inputs}"
    return [*lines, *_about(report, request), told], Exit.SHIP, ending


def _overridden(baseline: receipts.Compared) -> str:
    instead = f"the policy's {baseline.said}" if baseline.said else "none, which is what the policy has"
    return f"--baseline: compared with {baseline.written} in place of {instead}"


def _by_numbers(report: Mapping[str, Any]) -> list[str]:
    """Why gates that compare were judged by their numbers alone, which proves no loss; each reason once."""
    notes = (one["note"] for one in report["gates"] if (one.get("paired") or {}).get("without"))
    return list(dict.fromkeys(note for note in notes if note))


def _about(report: Mapping[str, Any], request: flow.Request) -> list[str]:
    """What was judged: an old bundle is known by its commit, gold set or policy."""
    label = label_of(report)
    gold, policy = gold_of(report), report["provenance"].get("policy", {}).get("sha256")
    lines = [f"commit: {request.commit or 'not known'}"]
    lines += [f"gold set: sha256 {gold}{f' ({label})' if label else ''}"] if gold else []
    return [*lines, f"policy: sha256 {policy}"] if policy else lines


def _waived(checked: receipts.Checked) -> list[Judged]:
    return [one for one in checked.run.judged if one.waiver is not None] if checked.run is not None else []


def _gate(one: Judged, value: str) -> str:
    gate = one.gate
    rule = f"{name_of(gate)} {'each must pass' if gate.op == EACH else f'{gate.op} {gate.threshold}'}"
    if gate.op in AGAINST:
        rule = rule_of(gate, one.value.better if one.value is not None else "higher")
    said = (
        ("optional (it may be unmeasured)", gate.optional),
        ("by default", gate.kept),
        ("waived", one.waiver is not None),
    )
    marks = [mark for mark, there in said if there]
    return f"gate: {rule}: {one.outcome} ({value}){''.join(f', {mark}' for mark in marks)}"


def _waiver(one: Judged, today: date) -> str:
    waiver = one.waiver
    assert waiver is not None  # noqa: S101 - only waived gates are shown
    state = "expired" if waiver.expires < today.isoformat() else "still holds"
    return f"waived: {name_of(one.gate)} until {waiver.expires} ({state} today), by {waiver.owner}: {waiver.reason}"


# signing, and two receipts side by side


def sign(given: argparse.Namespace) -> int:
    """Sign a receipt or a bundle with an SSH key. It is not verified: that is another command."""
    path, key = Path(given.receipt), Path(given.key).expanduser()
    if zipped.is_zip(path):
        bundle.sign(path, key)
        print(f"signed: {path} holds {bundle.SIGNATURE}, the signature of {bundle.MANIFEST}")
        return int(Exit.SHIP)
    receipt.read(path)
    target = path.with_name(path.name + signing.SUFFIX)
    write_whole(target, signing.sign(read_bytes(path), key))
    print(f"signed: {target} is the signature of {path}")
    return int(Exit.SHIP)


def diff(given: argparse.Namespace) -> int:
    """Exit 0 where two receipts say the same, 1 where they differ."""
    from ragworthy.proof import differing

    found = differing.differences(*(differing.read(Path(name)) for name in (given.old, given.new)))
    for one in found:
        print(f"{one.kind}: {one.line}")
    counts = {kind: sum(one.kind == kind for one in found) for kind in dict.fromkeys(one.kind for one in found)}
    said = ", ".join(plural(count, kind) for kind, count in counts.items())
    print(f"different: {said} (exit 1)" if found else "the same (exit 0)")
    return int(Exit.NO_SHIP if found else Exit.SHIP)
