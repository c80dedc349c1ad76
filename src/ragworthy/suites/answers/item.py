"""Single questions of the answers suite, with everything that is known of them. Only their records are kept."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragworthy.load.decode import Decoder, Record
from ragworthy.load.gold import name_of, resolved
from ragworthy.load.sources import Source
from ragworthy.metrics.facts import answers as f
from ragworthy.names import SEVERITY
from ragworthy.records import NO_ANSWER, Gold, Trace
from ragworthy.report.sheet import Viewed
from ragworthy.suites.answers.broken import broken_in, lock_remarks, locks_in
from ragworthy.suites.answers.offenders import offender_of, remarks_of
from ragworthy.suites.answers.parallel.job import Offender as Worst
from ragworthy.suites.answers.read import Kept
from ragworthy.suites.answers.wording import READS_LIKE, expected_text, missing_pieces
from ragworthy.suites.evidence import Case, Found, Row
from ragworthy.suites.looking import answered_of, expected_of, is_good, sheet_of, with_texts

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite

UNLOOKED = "constraints were not checked (scu = false)"


def known(gold: Source) -> Iterator[str]:
    """The id of every question, in gold order."""
    return (name_of(one) for one in _all(gold, Gold))


def look(suite: "Suite", found: Found, ids: Sequence[str]) -> list[Viewed]:
    """Some questions by their ids, in the order asked for; of several traces the last one counts."""
    own: Kept = found.own
    wanted = frozenset(ids)
    golds = {name_of(one): one for one in _all(found.opened["gold"], Gold) if name_of(one) in wanted}
    roles = ["trace", *(one.role for one in own.reruns)]
    runs = [{name_of(one): one for one in _all(found.opened[role], Trace) if name_of(one) in wanted} for role in roles]
    found.opened.check_unchanged()
    bind = own.bindings.bind if own.bindings is not None else None
    shown = []
    for name in ids:
        case = suite.case_of(found.evidence, name)
        if case is not None:
            cases = [case, *suite.again(found.evidence, name)]
            nth = min(range(len(cases)), key=lambda one: _severity(cases[one]))
            one = _shown(suite, cases[nth], of_run(found, nth), resolved(golds[name], bind), runs[nth].get(name))
            shown.append(_with_runs(one, found, roles, nth, list(zip(cases, runs, strict=True))) if own.reruns else one)
    return with_texts(found, shown)


def _severity(case: Case) -> int:
    """How bad a run is, the worst first, as offenders are listed; what is right comes last."""
    return len(SEVERITY) if case.label is None or is_good(case) else SEVERITY[case.label]


def of_run(found: Found, nth: int) -> Found:
    """The same with what only one run has; what was looked at in the first one only is not said of others."""
    own: Kept = found.own
    if not nth:
        return found
    only = own._replace(rules={}, parts={}, fit=own.others[nth - 1])
    return found._replace(evidence=found.evidence._replace(own=only))


def _with_runs(
    shown: Viewed, found: Found, roles: Sequence[str], nth: int, runs: Sequence[tuple[Case, dict[str, Trace]]]
) -> Viewed:
    """With a line for every run; the question is good where it is so in all of them."""
    lines = []
    for number, (case, traces) in enumerate(runs, start=1):
        answer = traces.get(case.qid, Trace()).answer_json or NO_ANSWER
        label, cause = (None if one is None else str(one) for one in (case.label, case.cause))
        told = {"label": label, "cause": None if is_good(case) else cause, "claim": answer.claim}
        lines.append({"run": number, "file": found.opened[roles[number - 1]].label, **told})
    good = sum(is_good(case) for case, _ in runs)
    note = f"good in {good} of {len(runs)} runs; above and in the numbers is run {nth + 1}"
    return shown.having(runs=lines, notes=[note, *shown.sheet.notes])


def _all(source: Source, kind: type[Record]) -> Iterator[Record]:
    decoder = Decoder(kind)
    for block in source.blocks():
        yield from decoder.records(block)


def _checked(row: Row, found: Found) -> Row:
    """The row without what it says of constraints, where nobody looked at them."""
    if found.evidence.settings["scu"]:
        return row
    unlooked = {name: UNLOOKED for name in row.metrics if name.startswith("answers.scu")}
    return row._replace(
        metrics={name: value for name, value in row.metrics.items() if name not in unlooked},
        undefined=row.undefined | unlooked,
    )


def _shown(suite: "Suite", case: Case, found: Found, gold: Gold, trace: Trace | None) -> Viewed:
    own: Kept = found.own
    trace = trace or Trace()
    answer = trace.answer_json or NO_ANSWER
    error = f.said_error(trace) if case.facts.errored else None
    flags = case.own.flags
    worst = Worst(
        0,
        case.qid,
        flags,
        answer.claim,
        answer.citations,
        trace.retrieved_ids or [],
        gold.gold_citations or [],
        gold.question,
        error,
        case.own.compared,
        expected_text(gold),
        missing_pieces(gold, trace, own.how) if flags & f.ALL_OF else None,
        broken_in(gold, trace, own.how, flags),
    )
    locks = locks_in(gold, trace, own.how) if own.how.scu and gold.constraints and case.facts.shipped else None
    remarks = [*([READS_LIKE] if flags & f.NEAR_REFUSAL else ()), *remarks_of(own).get(case.qid, ())]
    remarks += lock_remarks(locks) if locks is not None else []
    short = own.how.short_words
    said = answered_of(gold, answer.claim, answer.citations, error=error, short_words=short)
    sheet = sheet_of(
        case,
        _checked(suite.said(case, found), found),
        offender_of(worst, own),
        found,
        expected=expected_of(gold),
        answer=None if case.facts.missing else said,
        remarks=remarks,
        own={"facts": suite.established(case, found)} | ({} if locks is None else {"constraints": locks}),
    )
    return Viewed(sheet)
