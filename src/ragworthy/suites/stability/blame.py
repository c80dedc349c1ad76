"""What a question of the stability suite is called, and where to look first: what is wrong with most of its runs."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from ragworthy.metrics.causes import Steps, cause_of, stage_of
from ragworthy.metrics.stability import Question, Said, judged
from ragworthy.names import HARMLESS, Cause, Label, Stage

_EVERY_RUN = "scu_consistency"
"""What is not a limit of its own: it holds of every run, or it does not."""


class Seen(StrEnum):
    """What the runs of a question that fails have in common. A stage is where to look, this is what for."""

    ERRORS = "runs end in errors"
    COME_AND_GO = "refusals come and go"
    ALWAYS_ANSWERED = "no run refuses what the corpus has no answer to"
    ALWAYS_REFUSED = "every run without an error refuses"
    OTHER_EVIDENCE = "other evidence from run to run"
    NEVER_FOUND = "no run retrieves gold evidence"
    OTHER_CITATIONS = "other citations for the same evidence"
    NEVER_CITED = "no run cites the gold evidence that it retrieved"
    CLAIMS_CHANGE = "claims change"
    NEVER_SAID = "no claim has the gold text"
    OUT_OF_SCOPE = "citations that were not retrieved"
    CONSTRAINTS = "constraints are not echoed"
    MORE = "more is echoed than the locked constraints"
    CONTRADICTED = "claims contradict locked constraints"


class Fault(NamedTuple):
    """What pulls a question down."""

    label: Label
    stage: Stage
    why: str
    seen: Seen | None = None
    """None where there is nothing to see: no run, or nothing wrong."""
    cause: Cause | None = None
    """What is wrong with most of the runs that it is about; None where each of them is right, and they differ."""


def fault(question: Question) -> Fault:
    """What became of the question. One refusal or error among many wrong answers does not name it.

    The stage follows from what is wrong with most of the runs that the label is about. Where every one of them is
    right, it is where they begin to differ.
    """
    found = _fault(question)
    cause = usual_cause(question.runs, found.label) if found.label not in HARMLESS else None
    return found._replace(cause=cause, stage=stage_of(cause) or found.stage)


def run_label(question: Question, said: Said) -> Label:
    """What became of one run, what is wrong with the answer before what is wrong with its echo."""
    if said.errored:
        return Label.ERROR
    if said.refused:
        return Label.OVER_REFUSAL if question.answerable else Label.REFUSAL_OK
    if not question.answerable:
        return Label.HALLUCINATION
    if question.evidence and not said.hit:
        return Label.ANS_NO_HIT
    if said.astray:
        return Label.OUT_OF_SCOPE
    if not said.contains:
        return Label.ANS_NO_CONTAIN
    return Label.SCU_VIOLATION if question.constrained and not said.kept else Label.OK


def usual_cause(runs: Iterable[Said], label: Label) -> Cause | None:
    """What is wrong with most of the runs that a label is about; of two as frequent, what comes first on the way."""
    if label is Label.MISSING:
        return Cause.MISSING
    causes = Counter(cause for run in runs if _is_about(run, label) and (cause := cause_of(run.steps)) is not None)
    return max(Cause, key=causes.__getitem__) if causes else None


def _is_about(run: Said, label: Label) -> bool:
    if label is Label.ERROR:
        return run.errored
    return not run.errored and run.refused is (label is Label.OVER_REFUSAL)


def steps_of(question: Question, cause: Cause | None) -> Steps:
    """The steps of a run that went as the question did."""
    if question.missing:
        return Steps(question.answerable, present=False)
    return next((run.steps for run in question.runs if cause_of(run.steps) is cause), question.runs[0].steps)


def _fault(question: Question) -> Fault:
    if question.missing:
        return Fault(Label.MISSING, Stage.PIPELINE, "no run was written for this question")
    if not question.broken:
        return Fault(Label.OK if question.answerable else Label.REFUSAL_OK, Stage.PIPELINE, "nothing to blame")
    runs, total = question.runs, len(question.runs)
    errored, refused = sum(run.errored for run in runs), sum(run.refused for run in runs)
    said = f"the pipeline reported an error in {errored} of {total} runs"
    error = Fault(Label.ERROR, Stage.PIPELINE, said, Seen.ERRORS)
    if not question.answerable:
        answered = total - refused - errored
        if errored > answered:
            return error
        why = f"answered in {answered} of {total} runs although the corpus has no answer"
        seen = Seen.COME_AND_GO if refused else Seen.ALWAYS_ANSWERED
        return Fault(Label.HALLUCINATION, Stage.REFUSAL, why, seen)
    answers = question._replace(runs=tuple(run for run in runs if not run.refused and not run.errored))
    names = _broken(question, answers)
    wrong = sum(_is_wrong(run, question.evidence) for run in answers.runs) if names else 0
    if wrong < max(errored, refused):
        if errored >= refused:
            return error
        seen = Seen.COME_AND_GO if answers.runs else Seen.ALWAYS_REFUSED
        return Fault(Label.OVER_REFUSAL, Stage.REFUSAL, f"refused in {refused} of {total} runs", seen)
    return _of_answers(answers, names)


def _broken(question: Question, answers: Question) -> frozenset[str]:
    """The limits that the answers alone do not keep, errors and refusals apart."""
    limits = {one.name: one.limit for one in question.broken if one.name != _EVERY_RUN}
    return frozenset(one.name for one in judged(answers, limits).broken)


def _is_wrong(run: Said, evidence: bool) -> bool:
    return not run.contains or run.astray or (evidence and not run.hit)


def _of_answers(answers: Question, names: frozenset[str]) -> Fault:
    runs = answers.runs
    if names == {_EVERY_RUN} or not names:
        return Fault(Label.SCU_VIOLATION, Stage.CONSTRAINTS, *_lost(runs))
    stray = sum(run.astray for run in runs)
    if "acr" in names and stray > sum(not run.contains for run in runs):
        why = f"cites an id that was not retrieved in {stray} of {len(runs)} runs"
        return Fault(Label.OUT_OF_SCOPE, Stage.CITATION, why, Seen.OUT_OF_SCOPE)
    label = Label.ANS_NO_HIT if "cghc" in names else Label.ANS_NO_CONTAIN if "acr" in names else Label.UNSTABLE
    if names & {"cghc", "css"}:
        return Fault(label, *_cited_badly(runs, answers.evidence))
    varies = len({run.claim for run in runs}) > 1
    what = "the claim changes between runs" if varies else "every claim lacks the gold text"
    return Fault(label, Stage.GENERATION, what, _claimed(runs))


def _lost(runs: tuple[Said, ...]) -> tuple[str, Seen]:
    """How constraints are broken: a claim that says the opposite is worse than an echo that lacks them."""
    against = sum(run.contradicted for run in runs)
    if against:
        return f"the claim contradicts a locked constraint in {against} of {len(runs)} runs", Seen.CONTRADICTED
    broken = [run for run in runs if not run.echoed]
    if broken and all(run.over_echoed for run in broken):
        return f"more was echoed than the locked constraints in {len(broken)} of {len(runs)} runs", Seen.MORE
    return "the locked constraints were not echoed in every run", Seen.CONSTRAINTS


def _claimed(runs: tuple[Said, ...]) -> Seen:
    """Claims of which some are right change; that none is right has nothing to do with change."""
    return Seen.CLAIMS_CHANGE if any(run.contains for run in runs) else Seen.NEVER_SAID


def _cited_badly(runs: tuple[Said, ...], evidence: bool) -> tuple[Stage, str, Seen]:
    moves = len({run.cited for run in runs}) > 1
    wrong = [run for run in runs if not run.hit]
    what = "citations change between runs" if moves else f"no gold evidence cited in {len(wrong)} of {len(runs)} runs"
    if len({run.retrieved for run in runs}) > 1:
        return Stage.RETRIEVAL, f"{what}; what is retrieved changes too", Seen.OTHER_EVIDENCE
    if evidence and not any(run.found for run in runs):
        return Stage.RETRIEVAL, f"{what}; no gold evidence was retrieved", Seen.NEVER_FOUND
    lacking = sum(not run.contains for run in runs)
    if evidence and 2 * sum(not run.contains for run in wrong) > len(wrong):
        return Stage.GENERATION, f"{what}, and {lacking} of {len(runs)} claims lack the gold text", _claimed(runs)
    seen = Seen.NEVER_CITED if evidence and not any(run.hit for run in runs) else Seen.OTHER_CITATIONS
    return Stage.CITATION, f"{what}; every run retrieved the same", seen
