"""A receipt beside the store of earlier runs: attempts that are counted, a baseline that was blessed, a ledger."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.errors import Problem
from ragworthy.files import read_bytes
from ragworthy.history import Attempt, Blessing, Run
from ragworthy.history.entries import LEAST
from ragworthy.report import receipt
from ragworthy.safe import json_text
from ragworthy.suites.request import Attempts

if TYPE_CHECKING:
    from ragworthy.history.store import Store


ADDED = ("attempts", "flips", "accepted")
"""Keys of a report that a store knows nothing of."""


class Compared(NamedTuple):
    """The baseline that a receipt was compared with."""

    path: Path
    name: str
    """Under which it is blessed, where the policy says so."""


class _Own(NamedTuple):
    """A receipt, and the run of it in the store."""

    data: bytes
    run: Run | None


def counted(store: "Store", made: Attempt) -> Attempts | None:
    """The attempts up to one that was just made, as a receipt keeps them; None where nobody knows on what it was."""
    if not made.gold_sha256 or not made.commit:
        return None
    chain = tuple(one.hash for one in store.attempts(made.gold_sha256, made.commit)[: made.number])
    return Attempts(len(chain), chain, made.commit)


def problems(
    store: "Store", report: Mapping[str, Any], given: receipt.Receipt, data: bytes, compared: Compared | None
) -> list[Problem]:
    """In what a receipt and a store do not agree. `report` is what was derived again, `data` the receipt itself."""
    where = str(store.place)
    broken = [Problem("RW-R07", one, where) for one in store.check()]
    if broken:
        return broken
    run = _kept(store, data)
    return [*_attempts(store, report, given, _Own(data, run), where), *_blessed(store, compared, run, where)]


def _kept(store: "Store", data: bytes) -> Run | None:
    """The run of this very receipt: the store has it with this receipt, and its report is the one that it seals."""
    body = json.loads(data)
    told = body["request"].get("attempts")
    for one in store.runs():
        if _alike(store.receipt(one.id), body):
            report = store.report(one.id) | ({"attempts": told} if told else {})
            if receipt.report_hash(report) == body["report_sha256"]:
                return one
    return None


def _attempts(
    store: "Store", report: Mapping[str, Any], given: receipt.Receipt, own: _Own, where: str
) -> Iterator[Problem]:
    told, run = given.request.attempts, own.run
    commit = given.request.commit or (run.commit if run is not None else "")
    groups = store.tried(report, commit) if commit else []
    if told is None:
        if run is None:
            yield Problem("RW-R14", "expected a receipt of this store, got one that it does not hold", where, "receipt")
        if any(group[0].run != (run.id if run is not None else "") for group in groups):
            had = f"{max(map(len, groups))} on this gold set and commit"
            message = f"expected the attempts of the store ({had}), got a receipt that counts none"
            yield Problem("RW-R14", message, where, "attempts")
        return
    mine = next((group[: told.count] for group in groups if _chain(group[: told.count]) == told.chain), [])
    if not mine:
        had = f"{max(map(len, groups), default=0)} on this gold set and commit"
        message = f"expected the attempts of the store ({had}), got {told.count} with another chain"
        yield Problem("RW-R14", message, where, "attempts")
        return
    last = mine[-1]
    if last.verdict != given.verdict:
        message = f"expected the verdict {last.verdict} of attempt {last.number}, got {given.verdict}"
        yield Problem("RW-R14", message, where, "attempts")
    elif run is None or run.report_sha256 != last.report_sha256:
        if run is None and hashlib.sha256(own.data).hexdigest() in store.sealed_receipts(last.run):
            return  # the run was pruned; that this was its receipt the ledger knows
        yield Problem("RW-R14", _unlike(store, last), where, "receipt")


def _chain(group: Sequence[Attempt]) -> list[str]:
    return [one.hash for one in group]


def _unlike(store: "Store", last: Attempt) -> str:
    what = f"expected the receipt of attempt {last.number} (run {last.run})"
    if all(one.id != last.run for one in store.runs()):
        return f"{what}, got a store from which that run was pruned"
    return f"{what}, got {'another one' if store.receipt(last.run) else 'a store that has none of it'}"


def _alike(kept: bytes | None, given: Mapping[str, Any]) -> bool:
    """Whether two receipts say the same, apart from the paths of inputs: those hang on where the receipt stands."""
    return kept is not None and _pathless(json.loads(kept)) == _pathless(given)


def _pathless(body: Mapping[str, Any]) -> dict[str, Any]:
    return {**body, "inputs": [{**one, "path": ""} for one in body["inputs"]]}


# baselines


def _blessed(store: "Store", compared: Compared | None, run: Run | None, where: str) -> Iterator[Problem]:
    """A baseline that nobody blessed, where somebody blesses at all; under the name that the policy has, where it has
    one: what is blessed so now, or was when the run was kept.
    """
    blessed = store.blessings()
    if compared is None or not (blessed or compared.name):
        return
    reports = {one.id: one for one in store.runs()}
    named = [one for one in blessed if one.name == compared.name]
    meant = _in_force(named, run) if named else [one for one in blessed if _by_id(one, compared.name)]
    report = _read(compared.path)
    if not any(one.run in reports and _is(report, reports[one.run], one, bool(named)) for one in meant):
        what = (
            f"the run that is blessed as {compared.name}" if compared.name else "the report of a run that was blessed"
        )
        message = f"expected {what} ({_names(reports, meant) or 'none'}), got another one"
        yield Problem("RW-R15", message, where, "baseline")


def _by_id(one: Blessing, name: str) -> bool:
    """Whether a blessing is one of the run that is meant; without a name every one is."""
    return not name or (len(name) >= LEAST and one.run.startswith(name))


def _in_force(named: Sequence[Blessing], run: Run | None) -> list[Blessing]:
    """What a name stands for now, and what it stood for when a run was kept, by the order of the ledger."""
    then = [one for one in named if run is not None and one.number < run.number]
    return [*then[-1:], *(one for one in named[-1:] if one not in then[-1:])]


def _is(report: Mapping[str, Any] | None, run: Run, one: Blessing, named: bool) -> bool:
    """Whether a baseline is the report of a blessed run, and says of its noise what the blessing does. Attempts are no
    part of it: the store counts them itself.
    """
    if report is None:
        return False
    flips = report.get("flips")
    known = (dict(one.flips) or None,) if named else (None, dict(one.flips))
    body = {key: value for key, value in report.items() if key not in ADDED}
    return flips in known and hashlib.sha256(json_text(body).encode()).hexdigest() == run.report_sha256


def _names(reports: Mapping[str, Run], blessed: Sequence[Blessing]) -> str:
    return ", ".join(dict.fromkeys(f"{one.name}: {one.run}" for one in blessed if one.run in reports))


def _read(path: Path) -> dict[str, Any] | None:
    report = json.loads(read_bytes(path))
    return report if isinstance(report, dict) else None
