"""Proof that each gate can fail: the traces are damaged in memory in a way aimed at it, and it is judged again."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow
from ragworthy.gates import name_of
from ragworthy.load.policy import Answers
from ragworthy.metrics.registry import all_metrics
from ragworthy.metrics.wanted import Wanted
from ragworthy.names import REFUSAL, Outcome
from ragworthy.records import NO_ANSWER, Answer, Gold, Result, RetrievalTrace, StructuredOutput, Trace

_NOWHERE = "ragworthy:nowhere"
_FAR = 999_999
"""A section that no document has."""
_WRONG = "ragworthy: damaged on purpose"
_DISTANCES = tuple(
    name for name in RetrievalTrace.__struct_fields__ if name.startswith("delta_s") and "model" not in name
)


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


def _gone(wanted: Wanted, trace: RetrievalTrace) -> None:
    return None


def _emptied(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    return msgspec.structs.replace(trace, topk=[], **dict.fromkeys(_DISTANCES))


def _cites(trace: RetrievalTrace, name: str) -> RetrievalTrace:
    return msgspec.structs.replace(trace, answer_citations=[name], answer=None, answer_json=None)


def _moved(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    return _cites(trace, f"S.{_FAR}.p.Bk001")


def _scattered(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    place = f"{(trace.paraphrase or 0) + 1}.{(trace.seed or 0) + 1}"
    return _cites(trace, f"S.{_FAR}.{place}.p.Bk001")


def _negatives_first(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    first = [Result(name) for name in sorted(wanted.negatives)]
    kept = [one for one in trace.topk or [] if one.id not in wanted.negatives]
    return msgspec.structs.replace(trace, topk=first + kept, **dict.fromkeys(_DISTANCES))


def _silenced(output: StructuredOutput) -> StructuredOutput:
    return msgspec.structs.replace(output, raw="")


def _lost(output: StructuredOutput) -> None:
    return None


DAMAGE: dict[str, tuple[str, Callable[..., Any]]] = {
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
    "retrieval.missing": ("every trace dropped", _gone),
    "retrieval.coverage": ("every citation moved", _moved),
    "retrieval.citation_accuracy": ("every citation moved", _moved),
    "retrieval.citation_exact": ("every citation moved", _moved),
    "retrieval.anchor_distance": ("every citation moved", _moved),
    "retrieval.delta_s_median": ("every citation moved", _moved),
    "retrieval.delta_s_p90": ("every citation moved", _moved),
    "retrieval.delta_s_mean": ("every citation moved", _moved),
    "retrieval.triplet_rate": ("every run made to cite a section of its own", _scattered),
    "retrieval.convergence": ("every run made to cite a section of its own", _scattered),
    "retrieval.collapsed": ("every run made to cite a section of its own", _scattered),
    "retrieval.negatives": ("every hard negative put first", _negatives_first),
    "retrieval.negative_first": ("every hard negative put first", _negatives_first),
}
for _name in ("precision", "recall", "hit", "ndcg", "mrr", "anchor_hit", "token_coverage"):
    DAMAGE[f"retrieval.{_name}"] = ("everything retrieved thrown away", _emptied)


for _name in all_metrics("structured"):
    DAMAGE[_name] = ("every answer emptied", _silenced)
DAMAGE["structured.missing"] = ("every output dropped", _lost)


class Tried(NamedTuple):
    """Whether a gate failed when it should."""

    gate: str
    rule: str
    damage: str
    fails: bool
    said: str


def selftest(requests: Sequence[flow.Request]) -> list[Tried]:
    """Damage the traces once for each gate and see whether it fails."""
    tried = []
    for given in requests:
        request = given._replace(subset=None)  # the gates on the whole set, whatever the subset says
        sound = flow.score(request)
        tried += [_try(request, sound, nth) for nth in range(len(sound.judged))]
    return tried


def _try(request: flow.Request, sound: flow.Run, nth: int) -> Tried:
    """Try the damage aimed at the gate's metric, or every kind where none is aimed at it."""
    gate = sound.judged[nth].gate
    metric = gate.metric.partition("@")[0]
    same_suite = [what for name, what in DAMAGE.items() if name.startswith(f"{request.suite}.")]
    damages = [DAMAGE[metric]] if metric in DAMAGE else same_suite
    if metric == "answers.over_refusal" and isinstance(request.settings, Answers):
        damages = [("every question refused", _refused(request.settings.refusals[0]))]
    tried = Tried(name_of(gate), sound.report["gates"][nth]["shown"]["rule"], "", False, "")
    for what, damage in damages:
        after = flow.score(request._replace(damage=damage, jobs=1)).judged[nth]
        said = "waived" if after.waiver is not None else after.outcome.value
        if after.outcome is Outcome.FAIL and after.waiver is None:
            return tried._replace(damage=what, fails=True, said=said)
        tried = tried._replace(damage=what, said=f"{said} ({after.reason})" if after.reason else said)
    return tried
