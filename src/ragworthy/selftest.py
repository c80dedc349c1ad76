"""Proof that each gate can fail: the traces are damaged in memory in a way aimed at it, and it is judged again."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow
from ragworthy.gates import name_of
from ragworthy.metrics.facts.wanted import Wanted
from ragworthy.metrics.fold import percent_of
from ragworthy.metrics.registry import all_metrics
from ragworthy.names import REFUSAL, Outcome
from ragworthy.records import (
    NO_ANSWER,
    Answer,
    Gold,
    Pair,
    Rating,
    Result,
    RetrievalTrace,
    Run,
    StructuredOutput,
    Trace,
    Vote,
)

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


def _replied(run: Run, answer: Answer) -> Run:
    return msgspec.structs.replace(run, answer_json=answer, noop=False)


def _other_answer(run: Run) -> Run:
    """Another wrong answer in every run."""
    place = f"{run.seed}{run.jitter}{run.paraphrase}"
    return _replied(run, Answer(f"{_WRONG}: {place * 9}", [f"{_NOWHERE}:{place}"], None))


def _wrong_run(run: Run) -> Run:
    return _replied(run, Answer(_WRONG, [_NOWHERE], None))


def _refused_run(run: Run) -> Run:
    return _replied(run, Answer(REFUSAL, [], None))


def _every_other_refused(run: Run) -> Run:
    """Refused for every other seed and jitter."""
    odd = ((run.seed or 0) + len(run.jitter or "") + (run.paraphrase or 0)) % 2
    return _refused_run(run) if odd else _wrong_run(run)


def _slow(run: Run) -> Run:
    return msgspec.structs.replace(run, e2e_ms=1e6 + 1000 * (run.e2e_ms or 0))


def _some_slow(run: Run) -> Run:
    """Slow for one question in twenty or so."""
    return _slow(run) if sum(map(ord, run.name)) % 20 == 0 else run


def _dear(run: Run) -> Run:
    return msgspec.structs.replace(run, usage=_multiplied(run.usage))


def _multiplied(usage: Any) -> Any:
    if isinstance(usage, dict):
        return {key: _multiplied(value) for key, value in usage.items()}
    return usage * 1_000_000 if isinstance(usage, (int, float)) and not isinstance(usage, bool) else usage


def _errored(run: Run) -> Run:
    return msgspec.structs.replace(run, error=_WRONG, answer_json=None)


def _gone_run(run: Run) -> None:
    return None


def _disputed(voted: Pair | Rating) -> Pair | Rating:
    """The auditor, or every rater, says something of its own."""
    if isinstance(voted, Pair):
        label = "REJECT" if voted.scholar is None or voted.scholar.label != "REJECT" else "VALID"
        return msgspec.structs.replace(voted, auditor=Vote(label))
    return msgspec.structs.replace(voted, label=f"{voted.label} {voted.rater}")


def _abstained(voted: Pair | Rating) -> Pair | Rating:
    return msgspec.structs.replace(voted, scholar=Vote("ABSTAIN")) if isinstance(voted, Pair) else voted


def _one_voice(voted: Pair | Rating) -> Pair | Rating:
    return voted if isinstance(voted, Pair) else msgspec.structs.replace(voted, rater="one")


def _partisan(bit: int) -> Callable[[Pair | Rating], Pair | Rating]:
    """Some raters, by a bit of the hash of their names, never say that anything is correct."""

    def damage(voted: Pair | Rating) -> Pair | Rating:
        if isinstance(voted, Pair) or not hashlib.sha256(voted.rater.encode()).digest()[0] >> bit & 1:
            return voted
        return msgspec.structs.replace(voted, label="wrong")

    return damage


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
for _name in ("failing_questions", "acr", "cghc", "css", "ned50", "iaa", "refusal_rate", "scu_consistency"):
    DAMAGE[f"stability.{_name}"] = ("another wrong answer in every run", _other_answer)
DAMAGE["stability.rcr"] = ("every other run refused", _every_other_refused)
DAMAGE["stability.missing"] = ("every run dropped", _gone_run)
for _metric in all_metrics("latency").values():
    if percent_of(_metric.kind) is not None:
        DAMAGE[_metric.id] = ("every run made slow", _slow)
DAMAGE["latency.errors"] = ("every run made an error", _errored)
DAMAGE["latency.tail"] = ("some runs made slow", _some_slow)
for _name in ("precision", "chr", "under_refusal", "containment"):
    DAMAGE[f"latency:answers.{_name}"] = ("every claim and citation made wrong", _wrong_run)
DAMAGE["latency:answers.over_refusal"] = ("every question refused", _refused_run)
for _name in ("per_correct", "total"):
    DAMAGE[f"cost.{_name}"] = ("every run made dear", _dear)
for _name in ("percent", "kappa", "pairwise", "fleiss"):
    DAMAGE[f"agreement.{_name}"] = ("every second vote made another", _disputed)
DAMAGE["agreement.abstain"] = ("every vote an abstention", _abstained)
DAMAGE["agreement.raters"] = ("every rater made the same one", _one_voice)
for _bit in range(8):  # which raters there are is not known: several ways to split them
    DAMAGE[f"agreement.split {_bit}"] = ("some raters made to find everything wrong", _partisan(_bit))


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
        request = given.with_given(subset=None)  # the gates on the whole set, whatever the subset says
        sound = flow.score(request)
        tried += [_try(request, sound, nth) for nth in range(len(sound.judged))]
    return tried


def _try(request: flow.Request, sound: flow.Run, nth: int) -> Tried:
    """Try the damage aimed at the gate's metric, or every kind where none is aimed at it."""
    gate = sound.judged[nth].gate
    metric = gate.metric.partition("@")[0]
    metric = f"{gate.suite}:{metric}" if gate.suite else metric
    same_suite = [what for name, what in DAMAGE.items() if name.startswith((f"{request.suite}.", f"{request.suite}:"))]
    damages = [DAMAGE[metric]] if metric in DAMAGE else same_suite
    if metric == "answers.over_refusal" and request.suite == "answers":
        damages = [("every question refused", _refused(request.settings.refusals[0]))]
    tried = Tried(name_of(gate), sound.report["gates"][nth]["shown"]["rule"], "", False, "")
    for what, damage in damages:
        judged = flow.score(request._replace(damage=damage, jobs=1)).judged
        after = next((one for one in judged if one.gate == gate), None)
        if after is None:
            continue  # the damage made the suite judge something else
        said = "waived" if after.waiver is not None else after.outcome.value
        if after.outcome is Outcome.FAIL and after.waiver is None:
            return tried._replace(damage=what, fails=True, said=said)
        tried = tried._replace(damage=what, said=f"{said} ({after.reason})" if after.reason else said)
    return tried
