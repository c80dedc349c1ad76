"""A dev subset first: the whole set is scored only when the subset passes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragworthy import gates as g
from ragworthy.errors import data_error
from ragworthy.load.questions import open_questions, question_lines, read_subset
from ragworthy.load.sources import Source
from ragworthy.names import Verdict
from ragworthy.report.part import Part
from ragworthy.suites.opened import Opened
from ragworthy.suites.request import Request

WHOLE = "whole"
"""Under this key a request for the questions of a subset has the set that they were drawn from."""


def in_two_steps(request: Request, score: Callable[[Request], Part]) -> Part:
    """Score the subset by the gates of the whole; where it ships, the whole set, and else the subset is the result.

    Both steps read the very files that were opened before the first one, so that none can change in between.
    """
    questions, subset = request.get("questions"), request.get("subset")
    opened = Opened(request, questions)
    whole = opened.enter(open_questions("gold", questions))
    outputs = opened.enter(open_questions("trace", request.get("outputs")))
    opened.read_rules()
    _check_drawn(subset, whole)
    held = request._replace(given={**request.given, "questions": whole, "outputs": outputs}, lock=opened.lock_path)
    of_subset = {**held.given, "questions": subset, WHOLE: whole}
    first = score(held._replace(given=of_subset, gates=_of_whole(request.gates), baseline=None))
    verdict = g.verdict(first.judged, first.invalid)
    if verdict is Verdict.SHIP:
        return _with_step(score(held), first, verdict, scored="whole")
    todo = {"pattern": "the dev subset does not pass", "do": "mend that first: the whole set was not scored"}
    return _with_step(first, first, verdict, scored="subset")._replace(steps=[todo, *first.steps])


def _of_whole(gates: Sequence[g.Gate]) -> tuple[g.Gate, ...]:
    """The gates that a subset is judged by: those that need neither a baseline nor one slice or question."""
    return tuple(gate for gate in gates if gate.op in (g.MIN, g.MAX) and gate.slice is None)


def _with_step(part: Part, first: Part, verdict: Verdict, *, scored: str) -> Part:
    """A part that says what the first step came to."""
    step = {
        "verdict": verdict.value,
        "questions": first.body["counts"]["gold"],
        "gates": {one.gate.metric: one.outcome.value for one in first.judged},
        "scored": scored,
    }
    return part._replace(body=part.body | {"subset": step})


def _check_drawn(path: Path, whole: Source) -> None:
    """A subset must have been drawn from the very file that is scored after it."""
    subset = read_subset(path)
    now = whole.sha256()
    if subset.parent.sha256 != now:
        message = f"expected a subset of {whole.given} (sha256 {now}), got one of {subset.parent.sha256}"
        raise data_error("RW-Q04", message, where=str(path), field="parent.sha256")
    size = min(subset.size, subset.parent.distinct)
    if len(subset.questions) != size:
        message = f"expected {size} questions, as were drawn, got {len(subset.questions)}"
        raise data_error("RW-Q04", message, where=str(path), field="questions")
    drawn = {_id(row): row for row in subset.questions}
    for number, line in question_lines(whole):
        try:
            row = msgspec.json.decode(line) if line.strip() else {}
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            message = "expected the JSON of a question, got what cannot be read"
            raise data_error("RW-F07", message, where=f"{whole.given}:{number}") from None
        if isinstance(row, dict) and drawn.get(_id(row)) == row:
            del drawn[_id(row)]
    if drawn:
        message = f'expected the questions as {whole.given} has them, got another "{next(iter(drawn))}"'
        raise data_error("RW-Q04", message, where=str(path), field="questions")


def _id(row: dict[str, Any]) -> str:
    return str(row.get("id") or row.get("qid") or "")
