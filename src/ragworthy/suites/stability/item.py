"""Single questions of the stability suite: every run beside the others."""

from typing import TYPE_CHECKING, Any

from ragworthy.metrics.facts.errored import said_error
from ragworthy.metrics.facts.jitters import run_id
from ragworthy.records import NO_ANSWER, Run
from ragworthy.report.sheet import Viewed
from ragworthy.suites.evidence import Case, Found
from ragworthy.suites.looking import answered_of, expected_of, sheet_of
from ragworthy.suites.stability.blame import run_label
from ragworthy.suites.stability.read import Asked, telling

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite


def look(suite: "Suite", case: Case, found: Found) -> Viewed:
    """One question with all its runs; the answer and the texts are those of the run that shows best what is wrong."""
    one: Asked = case.own
    found.own.again.fetch((*one.runs, *one.noops))
    row, says = telling(one, case.label) or (None, None)
    run = None if row is None else found.own.again.run(row)
    answer = (run.answer_json or NO_ANSWER) if run is not None else NO_ANSWER
    error = said_error(run) if run is not None and says is not None and says.errored else None
    said = answered_of(one.gold, answer.claim, answer.citations, error=error, short_words=found.own.rules.short_words)
    sheet = sheet_of(
        case,
        suite.said(case, found),
        suite.offender(case, found),
        found,
        expected=expected_of(one.gold),
        answer=None if run is None else said,
        runs=[
            *(
                _run(found.own.again.run(each), run_label(one.question, said))
                for each, said in zip(one.runs, one.question.runs, strict=True)
            ),
            *(_run(found.own.again.run(each), "not counted: the same question again") for each in one.noops),
        ],
        own={"run": None if run is None else run_id(run), **suite.more(case, found)},
    )
    return Viewed(sheet)


def _run(run: Run, label: str) -> dict[str, Any]:
    answer = run.answer_json or NO_ANSWER
    return {
        "run": run_id(run),
        "seed": run.seed,
        "jitter": run.jitter,
        "wording": run.paraphrase,
        "label": label,
        "claim": answer.claim if run.error is None else said_error(run),
        "cites": answer.citations if isinstance(answer.citations, list) else None,
    }
