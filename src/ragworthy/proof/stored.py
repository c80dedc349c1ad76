"""A receipt beside the store of earlier runs: attempts that are counted, a baseline that was blessed, a ledger."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy.errors import Problem
from ragworthy.files import read_bytes
from ragworthy.history import Attempt, Run, gold_of
from ragworthy.report import receipt
from ragworthy.safe import json_text
from ragworthy.suites.request import Attempts

if TYPE_CHECKING:
    from ragworthy.history.store import Store


ADDED = ("attempts", "flips", "accepted")
"""Keys of a report that a store knows nothing of."""


def counted(store: "Store", made: Attempt) -> Attempts | None:
    """The attempts up to one that was just made, as a receipt keeps them; None where nobody knows on what it was."""
    if not made.gold_sha256 or not made.commit:
        return None
    chain = tuple(one.hash for one in store.attempts(made.gold_sha256, made.commit)[: made.number])
    return Attempts(len(chain), chain, made.commit)


def problems(
    store: "Store", report: Mapping[str, Any], given: receipt.Receipt, data: bytes, baseline: Path | None
) -> list[Problem]:
    """In what a receipt and a store do not agree. `report` is what was derived again, `data` the receipt itself."""
    where = str(store.place)
    broken = [Problem("RW-R07", one, where) for one in store.check()]
    return broken or [*_attempts(store, report, given, data, where), *_blessed(store, baseline, where)]


def _attempts(
    store: "Store", report: Mapping[str, Any], given: receipt.Receipt, data: bytes, where: str
) -> Iterator[Problem]:
    told = given.request.attempts
    if told is None:
        if not any(_alike(store.receipt(one.id), data) for one in store.runs()):
            yield Problem("RW-R14", "expected a receipt of this store, got one that it does not hold", where, "receipt")
        return
    there = store.attempts(gold_of(report), told.commit)
    mine = there[: told.count]
    if not mine or [one.hash for one in mine] != told.chain:
        had = f"{len(there)} on this gold set and commit"
        message = f"expected the attempts of the store ({had}), got {told.count} with another chain"
        yield Problem("RW-R14", message, where, "attempts")
        return
    last = mine[-1]
    if last.verdict != given.verdict:
        message = f"expected the verdict {last.verdict} of attempt {last.number}, got {given.verdict}"
        yield Problem("RW-R14", message, where, "attempts")
    kept = store.receipt(last.run)
    if kept is not None and not _alike(kept, data):
        message = f"expected the receipt of attempt {last.number} (run {last.run}), got another one"
        yield Problem("RW-R14", message, where, "receipt")


def _alike(kept: bytes | None, data: bytes) -> bool:
    """Whether two receipts say the same, apart from the paths of inputs: those hang on where the receipt stands."""
    if kept is None:
        return False
    bodies = [json.loads(one) for one in (kept, data)]
    for body in bodies:
        body["inputs"] = [{**one, "path": ""} for one in body["inputs"]]
    return bool(bodies[0] == bodies[1])


def _blessed(store: "Store", baseline: Path | None, where: str) -> Iterator[Problem]:
    """A baseline that nobody blessed, where somebody blesses at all."""
    blessed = store.blessings()
    if baseline is None or not blessed:
        return
    reports = {one.id: one for one in store.runs()}
    if _report_hash(baseline) not in {reports[one.run].report_sha256 for one in blessed if one.run in reports}:
        message = f"expected the report of a run that was blessed ({_names(reports, blessed)}), got another one"
        yield Problem("RW-R15", message, where, "baseline")


def _names(reports: Mapping[str, Run], blessed: Any) -> str:
    return ", ".join(dict.fromkeys(f"{one.name}: {one.run}" for one in blessed if one.run in reports))


def _report_hash(path: Path) -> str:
    """The hash by which a store knows a report: without its attempts, which the store counts itself, and without what
    a blessing adds to it.
    """
    report = json.loads(read_bytes(path))
    return hashlib.sha256(json_text({key: one for key, one in report.items() if key not in ADDED}).encode()).hexdigest()
