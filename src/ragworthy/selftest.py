"""Proof that each gate can fail: the traces are damaged in memory in a way aimed at it, and it is judged again."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from ragworthy import flow
from ragworthy.gates import name_of
from ragworthy.names import REFUSAL, Outcome
from ragworthy.records import NO_ANSWER, Answer, Gold, Trace

_NOWHERE = "ragworthy:nowhere"
_WRONG = "ragworthy: damaged on purpose"


def _answer(trace: Trace, **changes: object) -> Trace:
    answer: Answer = msgspec.structs.replace(trace.answer_json or NO_ANSWER, **changes)
    return msgspec.structs.replace(trace, answer_json=answer)


def _wrong_answer(gold: Gold, trace: Trace) -> Trace:
    return _answer(trace, claim=_WRONG, citations=[_NOWHERE])


def _refused(text: str) -> Callable[[Gold, Trace], Trace]:
    return lambda gold, trace: _answer(trace, claim=text, citations=[])


def _nothing_retrieved(gold: Gold, trace: Trace) -> Trace:
    return _answer(msgspec.structs.replace(trace, retrieved_ids=[]), claim=_WRONG)


def _no_echo(gold: Gold, trace: Trace) -> Trace:
    return _answer(trace, claim=_WRONG, constraints_echo=None)


def _misshapen(gold: Gold, trace: Trace) -> Trace:
    return _answer(trace, claim=None, citations=_NOWHERE)


def _dropped(gold: Gold, trace: Trace) -> None:
    return None


DAMAGE: dict[str, tuple[str, Callable[[Gold, Trace], Trace | None]]] = {
    "answers.precision": ("every claim and citation made wrong", _wrong_answer),
    "answers.chr": ("every citation moved", _wrong_answer),
    "answers.under_refusal": ("every question answered", _wrong_answer),
    "answers.over_refusal": ("every question refused", _refused(REFUSAL)),
    "answers.recall": ("everything retrieved thrown away", _nothing_retrieved),
    "answers.hit": ("everything retrieved thrown away", _nothing_retrieved),
    "answers.chr_ceiling": ("everything retrieved thrown away", _nothing_retrieved),
    "answers.scu": ("every echo dropped", _no_echo),
    "answers.scu_violations": ("every echo dropped", _no_echo),
    "answers.compliance": ("every answer misshapen", _misshapen),
    "answers.containment": ("every claim made wrong", _wrong_answer),
    "answers.support": ("every citation moved", _wrong_answer),
    "answers.missing": ("every trace dropped", _dropped),
}


class Tried(NamedTuple):
    """Whether a gate failed when it should."""

    gate: str
    rule: str
    damage: str
    fails: bool
    said: str


def selftest(request: flow.Request) -> list[Tried]:
    """Damage the traces once for each gate and see whether it fails."""
    sound = flow.score(request)
    return [_try(request, sound, nth) for nth in range(len(sound.judged))]


def _try(request: flow.Request, sound: flow.Run, nth: int) -> Tried:
    """Try the damage aimed at the gate's metric, or every kind where none is aimed at it."""
    gate = sound.judged[nth].gate
    metric = gate.metric.partition("@")[0]
    damages = [DAMAGE[metric]] if metric in DAMAGE else list(DAMAGE.values())
    if metric == "answers.over_refusal":
        damages = [("every question refused", _refused(request.settings.refusals[0]))]
    tried = Tried(name_of(gate), sound.report["gates"][nth]["shown"]["rule"], "", False, "")
    for what, damage in damages:
        after = flow.score(request._replace(damage=damage, jobs=1)).judged[nth]
        said = "waived" if after.waiver is not None else after.outcome.value
        if after.outcome is Outcome.FAIL and after.waiver is None:
            return tried._replace(damage=what, fails=True, said=said)
        tried = tried._replace(damage=what, said=f"{said} ({after.reason})" if after.reason else said)
    return tried
