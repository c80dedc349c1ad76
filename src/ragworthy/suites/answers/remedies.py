"""The stages to blame and what to do about each: from the reasons that offenders show, in every suite of answers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ragworthy.names import HARMLESS, Cause, Stage
from ragworthy.report.show import plural
from ragworthy.suites.evidence import Case

Step = tuple[str, str]
"""What was seen, and what to do."""
ONE_FORM = "write ids in one form, in answers and in results"


class _Remedy(NamedTuple):
    """What a reason means for many questions, and what to do about it."""

    seen: str
    do: str


_UNFOUND = "none was retrieved"
"""What to do about it depends on whether the index has it."""
_LOOK = "look at the offenders"
_TEXT = "tighten the claim's schema, or check the gold pieces"
WRITTEN = "look at what the model is given and told: it has the evidence and does not use it"
_PART = "a part of the evidence was not retrieved: raise k, or look at the ranking"
_STRICT = "the guard is too strict, or facts are split by chunking"
_AGAINST = "lock the constraints in the prompt; where the claims are right after all, --rule-pack none stops looking"
_UNHELD = "'ragworthy gold bind' lists it with the nearest chunks: fix the corpus, or the evidence"
_REMEDIES = {
    "no gold evidence was retrieved": _Remedy("answered without gold evidence", _UNFOUND),
    "refused, and no gold evidence was retrieved": _Remedy("refused without gold evidence", _UNFOUND),
    "no chunk of the corpus holds the gold evidence": _Remedy("with evidence that no chunk holds", _UNHELD),
    "refused, and no chunk of the corpus holds the gold evidence": _Remedy(
        "refused, with evidence that no chunk holds", _UNHELD
    ),
    "cites an id that was not retrieved": _Remedy(
        "citing an id that was not retrieved", "let answers cite only ids of the results that they were given"
    ),
    "gold evidence was retrieved but not cited": _Remedy(
        "not citing the gold evidence that was retrieved", "look at how citations are chosen"
    ),
    "gold evidence was retrieved but not cited, and the claim lacks the gold text": _Remedy(
        "neither citing the gold evidence that was retrieved nor saying what it says", WRITTEN
    ),
    "gold evidence was retrieved but not cited, and the claim is not what the reference says": _Remedy(
        "neither citing the gold evidence that was retrieved nor saying what the reference says", WRITTEN
    ),
    "gold evidence was retrieved but not cited, and the claim is empty": _Remedy(
        "with an empty claim that cites no gold evidence", "look at what the pipeline writes to answer_json"
    ),
    "the gold text is in no chunk that was retrieved": _Remedy("answered without the chunk that has the text", _PART),
    "refused, and the gold text is in no chunk that was retrieved": _Remedy(
        "refused without the chunk that has the text", _PART
    ),
    "cites gold evidence, but the gold text is in no chunk that was retrieved": _Remedy(
        "citing gold evidence, without the chunk that has the text", _PART
    ),
    "states nothing of what the reference says": _Remedy("with a claim that shares nothing with the reference", _LOOK),
    "the claim is empty": _Remedy("with an empty claim", "look at what the pipeline writes to answer_json.claim"),
    "cites the right evidence, but the claim lacks the gold text": _Remedy(
        "citing the right evidence in a claim without the gold text", _TEXT
    ),
    "the claim lacks the gold text": _Remedy("with a claim that lacks the gold text", _TEXT),
    "answered although the gold set says that the corpus has no answer": _Remedy(
        "answering what the corpus has no answer to", "strengthen refusals or retrieval constraints"
    ),
    "refused although gold evidence was retrieved": _Remedy("refused although gold evidence was retrieved", _STRICT),
    "refused although the gold set has an answer": _Remedy(
        "refused although the gold set has an answer", "the guard is too strict, or nothing useful is retrieved"
    ),
    "right, but the locked constraints were not echoed": _Remedy(
        "right, without an echo of the locked constraints",
        "lock the constraints in the prompt and write them to answer_json.constraints_echo; the claims are not the "
        "reason",
    ),
    "right, but more was echoed than the locked constraints": _Remedy(
        "right, with more in the echo than the locked constraints",
        "write exactly the locked constraints to answer_json.constraints_echo; the claims are not the reason",
    ),
    "the claim contradicts a locked constraint": _Remedy("contradicting a locked constraint", _AGAINST),
    "the claim contradicts a locked constraint, and these were not echoed": _Remedy(
        "contradicting a locked constraint, without an echo", _AGAINST
    ),
    "the claim contradicts a locked constraint, and more than these was echoed": _Remedy(
        "contradicting a locked constraint, with more in the echo", _AGAINST
    ),
}
"""By the reason that offenders show."""
_LOW = "look at the reranker, or give the answer more than the first k"
_BY_CAUSE: dict[tuple[Cause | None, bool], _Remedy] = {
    (Cause.BELOW_K, False): _Remedy("answered with gold evidence only after the first k", _LOW),
    (Cause.BELOW_K, True): _Remedy("refused with gold evidence only after the first k", _LOW),
}
"""By the cause and whether the question was refused, where the reason names a number."""


class Known(NamedTuple):
    """What a run shows besides its reasons."""

    unfound: str
    """What to do about evidence that was not retrieved."""
    twisted: str | None = None
    """How many citations differ from retrieved ids only in form, in words; None where none does."""


def by_stage(cases: Iterable[Case]) -> Iterator[tuple[Stage, list[Case]]]:
    """The cases that are not as they should be by the stage to blame, that with most questions first."""
    found: dict[Stage, list[Case]] = {stage: [] for stage in Stage}
    for case in cases:
        if case.stage is not None and case.label not in HARMLESS:
            found[case.stage].append(case)
    order = sorted(found.items(), key=lambda item: -_size(item[1]))
    return ((stage, own) for stage, own in order if own)


def _size(cases: Iterable[Case]) -> int:
    return sum(case.weight for case in cases)


def step_of(stage: Stage, cases: Sequence[Case], questions: int, known: Known) -> Step:
    """A stage with how many questions show what, and what to do about it; the most frequent first."""
    counts: Counter[tuple[str, Cause | None]] = Counter()
    for case in cases:
        counts[case.why, case.cause] += case.weight
    told: dict[str, list[str]] = {}
    for (why, cause), count in counts.most_common():
        remedy = _REMEDIES.get(why) or _BY_CAUSE.get((cause, why.startswith("refused")))
        remedy = remedy or _Remedy(f"where {why}", _LOOK)
        do = f"{_UNFOUND}: {known.unfound}" if remedy.do == _UNFOUND else remedy.do
        if why.startswith("cites an id") and known.twisted is not None:
            do = f"{ONE_FORM} ({known.twisted})"
        told.setdefault(do, []).append(f"{count:,} {remedy.seen}")
    do = "; ".join(f"{', '.join(seen)}: {do}" for do, seen in told.items())
    return f"{stage.value}, {_size(cases):,} of {plural(questions, 'question')}", do
