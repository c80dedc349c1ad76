"""Single questions of the answers suite, with everything that is known of them. Only their records are kept."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragworthy.load.decode import Decoder, Record
from ragworthy.load.gold import name_of, resolved
from ragworthy.load.sources import Source
from ragworthy.metrics.facts import answers as f
from ragworthy.records import NO_ANSWER, Gold, Trace
from ragworthy.report.sheet import Viewed
from ragworthy.suites.answers.offenders import offender_of, remarks_of
from ragworthy.suites.answers.parallel.job import Offender as Worst
from ragworthy.suites.answers.read import Kept
from ragworthy.suites.answers.wording import READS_LIKE, expected_text, missing_pieces
from ragworthy.suites.evidence import Case, Found
from ragworthy.suites.looking import answered_of, expected_of, sheet_of

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite


def known(gold: Source) -> Iterator[str]:
    """The id of every question, in gold order."""
    return (name_of(one) for one in _all(gold, Gold))


def look(suite: "Suite", found: Found, ids: Sequence[str]) -> list[Viewed]:
    """Some questions by their ids, in the order asked for; of several traces the last one counts."""
    own: Kept = found.own
    wanted = frozenset(ids)
    golds = {name_of(one): one for one in _all(found.opened["gold"], Gold) if name_of(one) in wanted}
    traces = {name_of(one): one for one in _all(found.opened["trace"], Trace) if name_of(one) in wanted}
    found.opened.check_unchanged()
    bind = own.bindings.bind if own.bindings is not None else None
    shown = []
    for name in ids:
        case = suite.case_of(found.evidence, name)
        if case is not None:
            shown.append(_shown(suite, case, found, resolved(golds[name], bind), traces.get(name)))
    return shown


def _all(source: Source, kind: type[Record]) -> Iterator[Record]:
    decoder = Decoder(kind)
    for block in source.blocks():
        yield from decoder.records(block)


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
    )
    remarks = [*([READS_LIKE] if flags & f.NEAR_REFUSAL else ()), *remarks_of(own).get(case.qid, ())]
    short = own.how.short_words
    said = answered_of(gold, answer.claim, answer.citations, error=error, short_words=short)
    sheet = sheet_of(
        case,
        suite.said(case, found),
        offender_of(worst, own),
        found,
        expected=expected_of(gold),
        answer=None if case.facts.missing else said,
        remarks=remarks,
        own={"facts": suite.established(case, found)},
    )
    return Viewed(sheet)
