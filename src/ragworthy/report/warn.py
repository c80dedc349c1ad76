"""Warnings that every suite gives alike."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.errors import CATALOGUE
from ragworthy.report.part import Frozen
from ragworthy.report.show import plural

SMOKE, RELEASE = 10, 30
"""Gold sets below these sizes are fit for a smoke test, or not even that."""


def release_warnings(frozen: Frozen, baseline_verdict: str | None, judged: Sequence[g.Judged]) -> list[dict[str, Any]]:
    """Warnings about the lock, the baseline and gates that were loosened, the same for every suite."""
    entries = []
    if frozen.state == "unlocked" and not frozen.reason:
        entries.append(plain("RW-W13", "the gold set has no lock file", 0))
    if frozen.state == "unfrozen":
        entries.append(plain("RW-W16", f"scored although {frozen.reason}", 0))
    if baseline_verdict not in (None, "SHIP"):
        entries.append(plain("RW-W22", f"the baseline's verdict is {baseline_verdict}", 0))
    for one in judged:
        if one.previous is not None and _looser(one):
            message = f"{g.name_of(one.gate)}: the threshold was {one.previous}, now it is {one.gate.threshold}"
            entries.append(plain("RW-W23", message, 0))
    return entries


def _looser(one: g.Judged) -> bool:
    before, now = Fraction(one.previous or 0), Fraction(one.gate.threshold)
    return now < before if one.gate.op == g.MIN else now > before


def plain(code: str, message: str, count: int, qids: list[str] | None = None) -> dict[str, Any]:
    """A warning without a place."""
    return {
        "code": code,
        "name": CATALOGUE[code].name,
        "message": message,
        "where": None,
        "count": count,
        "qids": qids or [],
    }


class Note(NamedTuple):
    """Something that may be noticed: it is said when it happened at least once."""

    code: str
    times: int
    message: str
    qids: Sequence[str] = ()


def noted(notes: Sequence[Note]) -> list[dict[str, Any]]:
    """The warnings of what happened, each with the first few ids."""
    return [plain(one.code, one.message, one.times, list(one.qids[:3])) for one in notes if one.times]


def size_note(cases: int, noun: str) -> Note:
    """What a gold set of this size is too small for.

    >>> size_note(12, "question").message, size_note(30, "question").times
    ('12 questions: a release needs at least 30', 0)
    """
    least = f"a smoke test needs at least {SMOKE}" if cases < SMOKE else f"a release needs at least {RELEASE}"
    return Note("RW-W15", cases if cases < RELEASE else 0, f"{plural(cases, noun)}: {least}")
