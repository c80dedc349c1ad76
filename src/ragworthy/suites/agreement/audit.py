"""The second look at operator records: what is drawn for it, and what a report says of it."""

from collections.abc import Sequence
from typing import Any

from ragworthy.load.memory import as_lines
from ragworthy.metrics.facts import audits as a
from ragworthy.metrics.facts import raters as r
from ragworthy.records import Mark
from ragworthy.report.part import Note
from ragworthy.report.show import plural
from ragworthy.suites.agreement.read import Votes
from ragworthy.suites.evidence import Found


def spot_check(found: Found) -> bytes:
    """The lines of a file to fill in: a tenth of the records of each operator."""
    rows = a.sheet(found.own.marks, found.request.proving.seed, found.opened["operators"].sha256())
    return as_lines(rows, "spot_check")


def told(votes: Votes) -> dict[str, Any]:
    """What a report says of the second look: how many records it is about, what differs, and what moved."""
    return {
        "audit": {
            "records": len(votes.marks),
            "again": len(votes.audits),
            "auditors": sorted({one.auditor or "" for one in votes.audits}),
            "differing": [_differing(one) for one in _others(votes)],
            "moved": [
                {"qid": one.qid, "who": one.who, "first": float(one.first), "again": float(one.again)}
                for one in _far(votes)
            ],
        }
    }


def _differing(one: Mark) -> dict[str, Any]:
    return {"qid": one.name, "operator": one.operator, "auditor": one.auditor, "again": one.correct}


def _others(votes: Votes) -> list[Mark]:
    """The second looks that come to another mark."""
    given = {(one.name, one.rater): one.label for one in votes.ratings}
    return [one for one in votes.audits if given.get((one.name, one.operator)) != r.rating_of(one).label]


def _far(votes: Votes) -> Sequence[a.Moved]:
    """The distances that moved too far."""
    return [one for one in a.moves(votes.marks, votes.audits) if one.by > a.STEADY]


def notes(votes: Votes) -> list[Note]:
    """What should be looked at."""
    few = a.lacking(votes.marks, votes.audits) if votes.audits else {}
    own = [one.name for one in votes.audits if _same(one.auditor or "", one.operator)]
    far = list(dict.fromkeys(one.qid for one in _far(votes)))
    who = ", ".join(f"{operator} ({lacks:,} more)" for operator, lacks in few.items())
    again = plural(len(votes.audits), "second look")
    return [
        Note("RW-W135", sum(few.values()), f"{again} at {plural(len(votes.marks), 'record')}: fewer than a tenth of "
             f"those of {who}"),
        Note("RW-W136", len(own), f"{plural(len(own), 'second look')} by the operator who made the record", own),
        Note("RW-W165", len(votes.stale), f"{plural(len(votes.stale), 'second look was', 'second looks were')} drawn "
             "from other records than these", list(votes.stale)),
        Note("RW-W137", len(far), f"{plural(len(far), 'item has', 'items have')} a ΔS that moved by more than "
             f"{float(a.STEADY):g} when it was recorded again", far),
    ]  # fmt: skip


def _same(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def line(audit: dict[str, Any]) -> str:
    """How many records were looked at again, and how many came to the same."""
    same = audit["again"] - len(audit["differing"])
    return f"looked at again: {audit['again']:,} of {plural(audit['records'], 'record')}, {same:,} marked the same"
