"""Where a rollout stands, and the forms that move it: the same moves that `ragworthy rollout` makes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy.errors import DataError, RagworthyError, usage_error
from ragworthy.files import Read, remembering
from ragworthy.rollout import ledger, moves, told
from ragworthy.rollout.stages import Move, State, after, stages
from ragworthy.viewer import pages
from ragworthy.viewer.door import Visit

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ragworthy.viewer.site import Files


def page(request: "Request", **more: Any) -> "Response":
    """The stages, the moves and, for a rollout that is on its way, the forms."""
    files: Files = request.app.state.site.files
    known = ledger.read(files.ledger)
    values: dict[str, Any] = {"ledger": files.ledger, "known": known, "form": {}, "lines": [], "done": ""}
    if known.entries and not known.problems:
        last, plan = moves.here(known), known.plan
        way = stages(plan)
        with remembering(Read()):
            problems, gone = ledger.swapped(known)
        values |= {
            "last": last, "plan": plan, "way": way, "next": after(plan, last.stage, Move.ADVANCE), "gone": gone,
            "swapped": problems, "back": last.state is State.ROLLED_BACK,
            "open": after(plan, last.stage, Move.ROLLBACK) is not None,
            "stands": way.index(last.stage) if last.stage in way else -1,
            "reached": max((way.index(one.stage) for one in known.current if one.stage in way), default=0),
            "proofs": list(_proofs(files)), "canary": last.state is State.CANARY,
            "has_log": bool(files.logs.both or files.logs.canary),
        }  # fmt: skip
    return pages.shown(request, "rollout.html", more.pop("code", 200), **values | more)


def _proofs(files: "Files") -> dict[str, Path]:
    """The files that a move may rest on, by how the form names them. A form can name no other file."""
    named = [*(("receipt", path) for path in files.receipts), *(("report", path) for path in files.reports)]
    return {f"{kind}:{path}": path for kind, path in named if path.is_file()}


def advance(request: "Request") -> "Response":
    """To the next stage."""
    files: Files = request.app.state.site.files
    given = request.scope["visit"].fields
    try:
        with remembering(Read()):
            known = _sound(files)
            chosen = given.get("proof", "")
            if chosen not in _proofs(files):
                raise usage_error("expected one of the receipts or reports of the list, got none of them")
            kind, _, path = chosen.partition(":")
            proof = moves.Proof(**{kind: path}, jobs=1)  # a process that has threads must not be forked
            made = moves.advance(known, _signed(request), proof, moves.Asked(files.logs), given.get("to") or None)
    except RagworthyError as error:
        return page(request, lines=pages.error_lines(error), form=given, code=409)
    if isinstance(made, moves.Refused):
        lines = [f"not moved: the {made.kind} does not allow {made.to}", *made.why]
        return page(request, lines=lines, form=given, code=409)
    if isinstance(made, moves.Held):
        lines = [f"not moved: {told.ending(made.check)}", *told.check_lines(made.check)]
        return page(request, lines=lines, form=given, code=409)
    return page(request, done=told.move_line(made))


def rollback(request: "Request") -> "Response":
    """Take it back."""
    files: Files = request.app.state.site.files
    try:
        with remembering(Read()):
            made = moves.rollback(_sound(files), _signed(request), moves.Proof())
    except RagworthyError as error:
        return page(request, lines=pages.error_lines(error), form=request.scope["visit"].fields, code=409)
    return page(request, done=told.move_line(made))


def _sound(files: "Files") -> ledger.Ledger:
    """The moves so far; raises where the file is not as it was written."""
    known = ledger.read(files.ledger)
    if known.problems:
        raise DataError(known.problems)
    return known


def _signed(request: "Request") -> moves.Signed:
    visit: Visit = request.scope["visit"]
    return moves.Signed(visit.fields.get("by", "").strip(), visit.fields.get("reason", "").strip())
