"""Locked constraints mean the same in every suite that sees them: they count where somebody asks for it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.metrics.facts.constraints import Contradictions, unruled
from ragworthy.report.part import Note
from ragworthy.report.show import plural
from ragworthy.suites.request import Request

if TYPE_CHECKING:
    from ragworthy.load.packs import Pack

METRICS = frozenset({"answers.scu", "answers.scu_violations", "stability.scu_consistency"})
"""A gate on one of these asks for constraints to be checked."""
USUAL_PACKS = ("opposites-en",)
"""The rules that hold where constraints are checked and nobody names others."""


class Locks(NamedTuple):
    """Whether constraints are checked, and what contradicts them."""

    scu: bool
    packs: "tuple[Pack, ...]" = ()

    @property
    def contradictions(self) -> Contradictions:
        """The rules of all packs."""
        return tuple(rule for pack in self.packs for rule in pack.rules)

    @property
    def told(self) -> list[dict[str, str]]:
        """The packs as reports name them."""
        return [{"id": pack.id, "sha256": pack.sha256} for pack in self.packs]

    @property
    def settings(self) -> dict[str, Any]:
        """What a report says of them; nothing where they are not checked, as reports did before they could be."""
        return {"scu": True, "rule_packs": self.told} if self.scu else {}


def locks_of(request: Request) -> Locks:
    """Whether a run checks constraints: a setting says so, or a gate needs it; and by which rules."""
    scu = request.settings.scu or any(gate.metric in METRICS for gate in request.gates)
    named = request.settings.rule_packs or (USUAL_PACKS if scu else ())
    if not named:
        return Locks(scu)
    from ragworthy.load.packs import NO_PACK, load_pack

    return Locks(scu, tuple(load_pack(name, pack_path(request, name)) for name in named if name != NO_PACK))


def pack_path(request: Request, name: str) -> Path:
    """Where a rule pack stands: beside the policy, unless the request says otherwise."""
    return request.packs.get(name) or (request.policy.parent if request.policy else Path()) / name


def asked_by(settings: Mapping[str, Any]) -> list[str] | None:
    """The names that ask for the packs of a report; None where nobody has to name one.

    >>> asked_by({"scu": True, "rule_packs": []}), asked_by({"scu": True, "rule_packs": [{"id": "opposites-en"}]})
    (['none'], None)
    """
    told = settings.get("rule_packs")
    if told is None:
        return None
    from ragworthy.load.packs import NO_PACK

    names = [each if isinstance(each, str) else str(each.get("id", "")) for each in told]
    if not settings.get("scu"):
        return names or None
    return None if tuple(names) == USUAL_PACKS else names or [NO_PACK]


def lock_notes(items: Iterable[Sequence[str] | None], locks: Locks) -> list[Note]:
    """What nobody looked at of the constraints of gold items: all of it, or whether a claim says the opposite."""
    given = [one for one in items if one]
    if not locks.scu:
        return [unchecked(len(given))]
    return [unruled_note(sum(unruled(one, locks.contradictions) for one in given))]


def unruled_note(items: int) -> Note:
    """That gold items carry constraints which no rule knows: kept means no more than echoed there."""
    many = plural(items, "gold item carries", "gold items carry")
    return Note("RW-W157", items, f"{many} constraints that no rule knows: only the echo of these was checked")


def unchecked(items: int) -> Note:
    """That gold items carry constraints which nobody looked at."""
    return Note(
        "RW-W14", items, f"{plural(items, 'gold item carries', 'gold items carry')} constraints that were not checked"
    )
