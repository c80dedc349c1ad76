"""What a selftest does to the traces of the answers suite; each damage gets the question and its trace."""

from collections.abc import Callable

import msgspec

from ragworthy.records import NO_ANSWER, Answer, Gold, Trace
from ragworthy.suites.damage import NOWHERE, WRONG, Damage, dropped


def damages(refusal: str) -> tuple[Damage, ...]:
    """Every damage; `refusal` is a text that counts as one."""
    return (
        Damage("every claim and citation made wrong", ("answers.precision",), _wrong),
        Damage("every citation moved", ("answers.chr", "answers.support"), _wrong),
        Damage("every question answered", ("answers.under_refusal",), _wrong),
        Damage("every question refused", ("answers.over_refusal",), _refused(refusal)),
        Damage(
            "everything retrieved thrown away",
            ("answers.recall", "answers.hit", "answers.chr_ceiling"),
            _nothing_retrieved,
        ),
        Damage("every echo dropped", ("answers.scu", "answers.scu_violations"), _no_echo),
        Damage("every answer misshapen", ("answers.compliance",), _misshapen),
        Damage(
            "every claim made wrong",
            ("answers.containment", "answers.reference_f1", "answers.reference_details"),
            _wrong,
        ),
        Damage("every trace dropped", ("answers.missing",), dropped),
    )


def _answer(trace: Trace, **changes: object) -> Trace:
    answer: Answer = msgspec.structs.replace(trace.answer_json or NO_ANSWER, **changes)
    return msgspec.structs.replace(trace, answer_json=answer)


def _wrong(gold: Gold, trace: Trace) -> Trace:
    return _answer(trace, claim=WRONG, citations=[NOWHERE])


def _refused(text: str) -> Callable[[Gold, Trace], Trace]:
    return lambda gold, trace: _answer(trace, claim=text, citations=[])


def _nothing_retrieved(gold: Gold, trace: Trace) -> Trace:
    return _answer(msgspec.structs.replace(trace, retrieved_ids=[]), claim=WRONG)


def _no_echo(gold: Gold, trace: Trace) -> Trace:
    return _answer(trace, claim=WRONG, constraints_echo=None)


def _misshapen(gold: Gold, trace: Trace) -> Trace:
    return _answer(trace, claim=None, citations=NOWHERE)
