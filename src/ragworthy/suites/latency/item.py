"""Single questions of the latency suite: every run by configuration and load, with the time of each stage."""

from typing import TYPE_CHECKING, Any

from ragworthy.metrics.facts.errored import said_error
from ragworthy.metrics.latency import Sample, load_name
from ragworthy.records import NO_ANSWER, Run
from ragworthy.report.sheet import Viewed
from ragworthy.suites.evidence import Case, Found, Offender
from ragworthy.suites.latency.cases import Asked, label_of
from ragworthy.suites.latency.measure import Swept
from ragworthy.suites.looking import answered_of, expected_of, sheet_of

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite


def look(suite: "Suite", case: Case, found: Found) -> Viewed:
    """One question under every configuration; the answer and the texts are those of the worst run that is judged."""
    asked: Asked = case.own
    own: Swept = found.own
    nth = next(nth for nth, one in enumerate(found.cases) if one.qid == case.qid)
    there = [(one.cell, sample) for one in own.measured for sample in one.runs.samples if sample.question == nth]
    own.again.fetch(sample for _, sample in there)
    runs = [_run(sample, own.again.run(sample), cell.config, load_name(cell.load)) for cell, sample in there]
    worst = asked.worst
    shown = None if worst is None else own.again.run(worst)
    answer = NO_ANSWER if shown is None else shown.answer_json or NO_ANSWER
    error = said_error(shown) if worst is not None and shown is not None and worst.errored else None
    return Viewed(
        sheet_of(
            case,
            suite.said(case, found),
            _offender(suite, case, found),
            found,
            expected=expected_of(asked.gold),
            answer=None if worst is None else answered_of(asked.gold, answer.claim, answer.citations, error=error),
            runs=runs,
            own={"judged": own.at.cell.config, "load": load_name(own.at.cell.load), **suite.established(case, found)},
        )
    )


def _offender(suite: "Suite", case: Case, found: Found) -> Offender:
    """As a report has it; a question without a run has no run to show."""
    gold = case.own.gold
    if case.own.worst is not None:
        return suite.offender(case, found)
    why = "no run of the judged configuration was measured for this question"
    return Offender(case.qid, case.label, case.stage, why, gold.question, None, [], [], gold.gold_citations or [], {})


def _run(one: Sample, run: Run, configuration: str, load: str) -> dict[str, Any]:
    what = label_of(one)
    return {
        "configuration": configuration,
        "load": load,
        "seed": run.seed,
        "label": None if what is None else what.value,
        "e2e_ms": float(one.timed.e2e),
        "stages_ms": {name: float(time) for name, time in one.timed.stages.items()},
        "claim": said_error(run) if one.errored else (run.answer_json or NO_ANSWER).claim,
    }
