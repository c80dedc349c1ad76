"""Proof that each gate can fail: the traces are damaged in memory in a way aimed at it, and it is judged again.

How records are damaged, each suite says itself (`Suite.damages`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from ragworthy import flow
from ragworthy.errors import RagworthyError
from ragworthy.gates import Gate, Judged, name_of
from ragworthy.names import Outcome
from ragworthy.suites import SUITES
from ragworthy.suites.damage import aimed_at


class Tried(NamedTuple):
    """Whether a gate failed when it should."""

    gate: str
    rule: str
    damage: str
    fails: bool
    said: str

    def after(self, damage: str, judged: Judged) -> "Tried":
        """What came of one damage."""
        said = "waived" if judged.waiver is not None else judged.outcome.value
        if _stops(judged) and judged.waiver is None:
            return self._replace(damage=damage, fails=True, said=said)
        return self._replace(damage=damage, said=f"{said} ({judged.reason})" if judged.reason else said)


def _stops(judged: Judged) -> bool:
    """Whether a gate fails; one that compares may find too few questions for a proof, and is undecided then."""
    unproven = judged.tested is not None and judged.outcome is Outcome.UNDECIDED
    return judged.outcome is Outcome.FAIL or unproven


def selftest(requests: Sequence[flow.Request]) -> list[Tried]:
    """Damage the traces once for each gate and see whether it fails."""
    tried = []
    for given in requests:
        request = SUITES[given.suite].load().in_full(given)
        sound = flow.score(request)
        tried += [_try(request, sound, nth) for nth in range(len(sound.judged)) if not sound.judged[nth].excused]
    return tried


def _try(request: flow.Request, sound: flow.Run, nth: int) -> Tried:
    """Try the damage aimed at the gate's metric, or every kind where none is aimed at it."""
    gate = sound.judged[nth].gate
    tried = Tried(name_of(gate), sound.report["gates"][nth]["shown"]["rule"], "", False, "")
    damages = SUITES[request.suite].load().damages(request)
    if not damages:
        return _without_records(request, gate, tried)
    for one in aimed_at(gate.metric.partition("@")[0], damages):
        judged = _again(request._replace(damage=one.do, jobs=1), gate)
        if judged is None:
            continue  # the damage made the suite judge something else
        tried = tried.after(one.what, judged)
        if tried.fails:
            break
    return tried


def _again(request: flow.Request, gate: Gate) -> Judged | None:
    """What becomes of a gate now."""
    return next((one for one in flow.score(request).judged if one.gate == gate), None)


def _without_records(request: flow.Request, gate: Gate, tried: Tried) -> Tried:
    """The one damage that a suite need not know of: nothing was recorded. Where it says nothing, that is said."""
    unknown = f"the suite {request.suite} names no damage"
    keys = [
        one.key
        for one in SUITES[request.suite].inputs
        if one.receipt_role == "trace" and one.form == "records" and request.get(one.key) is not None
    ]
    if not keys:
        return tried._replace(damage=unknown, said="it cannot be damaged")
    what = f"{unknown}, so every record dropped"
    try:
        judged = _again(request.with_given(**{key: [] for key in keys})._replace(jobs=1), gate)
    except RagworthyError as error:
        return tried._replace(damage=what, said=f"it cannot be damaged ({error.lines()[0]})")
    return tried._replace(damage=what, said="not judged") if judged is None else tried.after(what, judged)
