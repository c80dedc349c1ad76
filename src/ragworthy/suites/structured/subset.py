"""A dev subset first: a few of the questions are judged by the gates of the whole set before the others are.

A subset is a file that `gold subset` drew, or a plain question file with some of the rows of the whole set.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragworthy import gates as g
from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.load.questions import is_drawn, open_questions, read_questions, read_subset
from ragworthy.load.sources import Source
from ragworthy.names import Verdict
from ragworthy.report.part import Part
from ragworthy.suites.evidence import Step
from ragworthy.suites.opened import Opened, lock_of
from ragworthy.suites.request import Request
from ragworthy.suites.structured import WHOLE
from ragworthy.suites.structured.rules import STRUCTURED_GATES


def in_two_steps(request: Request, score: Callable[[Request], Part]) -> Step | Part:
    """Score the subset by the gates of the whole; where it ships, the whole set, and else the subset is the result.

    Both steps read the very files that were opened before the first one, so that none can change in between.
    """
    questions, subset = request.get("questions"), request.get("subset")
    opened = Opened(request, questions)
    whole = opened.enter(open_questions("gold", questions))
    outputs = opened.enter(open_questions("trace", request.get("outputs")))
    opened.read_rules()
    check_subset(subset, whole)
    held = request._replace(given={**request.given, "questions": whole, "outputs": outputs}, lock=opened.lock_path)
    of_subset = {**held.given, "questions": subset, WHOLE: whole}
    first = score(held._replace(given=of_subset, gates=_of_whole(request.gates), baseline=None))
    verdict = g.verdict(first.judged, first.invalid)
    if verdict is Verdict.SHIP:
        return Step(held, lambda part: _with_step(part, first, verdict, scored="whole"))
    todo = {"pattern": "the dev subset does not pass", "do": "fix that first: the whole set was not scored"}
    stopped = _with_step(first, first, verdict, scored="subset")
    return stopped._replace(steps=[todo, *first.steps])


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


def first_step(request: Request, whole: Source) -> Request:
    """The subset of a request alone, judged as the first of two steps: for whoever has outputs of nothing else yet."""
    given = {key: one for key, one in request.given.items() if key != "subset"}
    return request._replace(
        given={**given, "questions": request.get("subset"), WHOLE: whole},
        gates=_of_whole(request.gates) or STRUCTURED_GATES,
        baseline=None,
        lock=lock_of(request, request.get("questions")),
    )


def check_subset(path: Path, whole: Source) -> frozenset[str]:
    """The ids of a subset; its questions must be in the whole set as they are in it."""
    source = open_questions("gold", path)
    if is_drawn(source):
        return _check_drawn(path, whole)
    items, problems = read_questions(source)
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    if not items:
        raise data_error("RW-Q10", "expected questions, got none", where=source.given)
    known = {_id(row): row for row in _rows(whole)}
    seen: set[str] = set()
    for line, row, _ in items:
        wrong = _unlike(row, known.get(_id(row)), whole.given)
        wrong = wrong or (f'expected every id once, got "{_id(row)}" twice' if _id(row) in seen else "")
        seen.add(_id(row))
        if wrong:
            problems.append(Problem("RW-Q10", wrong, source.at(line)))
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    return frozenset(seen)


def _unlike(row: dict[str, Any], known: dict[str, Any] | None, whole: str) -> str:
    """In what a question of a subset is not the one of the whole set."""
    if known is None:
        return f'expected questions of {whole}, got "{_id(row)}", which it does not have'
    for key in ("question", "expected"):
        if row.get(key) != known.get(key):
            return f'expected {key} of "{_id(row)}" as {whole} has it, got another'
    return ""


def _check_drawn(path: Path, whole: Source) -> frozenset[str]:
    """A subset that was drawn must come from the very file that is scored after it."""
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
    names = frozenset(drawn)
    for row in _rows(whole):
        if drawn.get(_id(row)) == row:
            del drawn[_id(row)]
    if drawn:
        message = f'expected the questions as {whole.given} has them, got another "{next(iter(drawn))}"'
        raise data_error("RW-Q04", message, where=str(path), field="questions")
    return names


def _rows(whole: Source) -> Iterator[dict[str, Any]]:
    """Every question of a set as it is written."""
    for number, line in whole.numbered():
        try:
            row = msgspec.json.decode(line) if line.strip() else {}
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            message = "expected the JSON of a question, got what cannot be read"
            raise data_error("RW-F07", message, where=whole.at(number)) from None
        if isinstance(row, dict):
            yield row


def _id(row: dict[str, Any]) -> str:
    return str(row.get("id") or row.get("qid") or "")
