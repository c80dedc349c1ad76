"""What to do next, from causes: what the whole run shows, then the stages to blame, those with most questions first.

A gate says that something is wrong, never what. What is wrong is in the labels and stages of the questions, and
that is what is told here: the report's own counts, each with what to do about it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.answers import OF_PIECES, by_reference_only, is_right
from ragworthy.metrics.facts import answers as f
from ragworthy.names import Label, Outcome, Stage
from ragworthy.report.show import plural
from ragworthy.suites.answers.read import Kept
from ragworthy.suites.answers.remedies import ONE_FORM, WRITTEN, Known, Step, by_stage, step_of
from ragworthy.suites.answers.reruns import asked_in, runs_in
from ragworthy.suites.evidence import Case, Found
from ragworthy.suites.unfound import Absence, unfound
from ragworthy.text import clip

_SHOWN = 3
_NEAR = "near-refusals"


def steps(found: Found) -> list[Step]:
    """What to do: what is in the way of a verdict, what the whole run shows, then stage by stage."""
    blocking = _blocking(found)
    failed = {one.gate.metric.partition("@")[0] for one in found.outcomes(Outcome.FAIL) if one.gate.op != g.EACH}
    if not failed and not blocking:
        return [*_of_references(found), *_unmeasured(found), *_of_gates(found, failed, [])]
    symptoms = [*blocking, *_symptoms(found)]
    explained = {stage for symptom in symptoms for stage in symptom.explains}
    stages = _of_stages(found, explained)
    told = [*(symptom.step for symptom in symptoms), *stages, *_of_references(found), *_unmeasured(found)]
    return [*told, *_of_gates(found, failed, stages)]


def _unmeasured(found: Found) -> list[Step]:
    """What to do about gates that were not measured: where evidence waits for chunks, to give these."""
    steps = found.unmeasured_step()
    waiting = sum(case.weight for case in found.cases if case.facts.unbound and not case.facts.evidence)
    if not steps or found.own.bindings is not None or not waiting:
        return steps
    named = plural(waiting, "question names", "questions name")
    do = f"{named} evidence or sources and no ids: add --corpus CHUNKS.jsonl (or the index)"
    return [("evidence is bound to no chunk", do)]


class _Symptom(NamedTuple):
    """Something that holds for a whole run, and the stages that need no word of their own then."""

    step: Step
    explains: tuple[Stage, ...] = ()


def _blocking(found: Found) -> list[_Symptom]:
    """What has to be put right before the numbers mean anything."""
    fit, told = found.own.fit, list[_Symptom]()
    if fit.elsewhere:
        do = "score the traces against the gold set that they were made for, or run the pipeline again"
        told.append(_Symptom(("the traces answer other questions", do)))
    elif fit.others:
        many = plural(len(fit.others), "trace answers", "traces answer")
        told.append(_Symptom(("other questions under the same ids", f"{many} another question than the gold set asks "
                              "under its id: run the pipeline over this gold set again")))  # fmt: skip
    if found.evidence.counts["errored"] * 2 > asked_in(found.evidence.counts) or _taken(found):
        told.append(_Symptom(_errors(found)))
    if found.value("answers.missing").num:
        do = "run the pipeline over the whole gold set and score again"
        counts = found.evidence.counts
        if counts["missing"] == asked_in(counts) and counts["orphan_traces"]:
            do = "no trace has an id of the gold set: are these traces of another one, or are ids made in another way?"
        told.append(_Symptom(("questions without a trace", do)))
    if fit.unseen is not None and fit.unseen.all:
        told.append(_Symptom(("gold ids are in no trace", _of_ids(found)), (Stage.RETRIEVAL,)))
    if found.frozen.state == "broken":
        do = "restore the gold set, or freeze the change with a signature and a reason"
        told.append(_Symptom(("gold set changed", do)))
    return told


def _taken(found: Found) -> bool:
    """Whether errors took away the cases of a gate."""
    return any(one.by_errors for one in found.judged)


def _errors(found: Found) -> Step:
    own: Kept = found.own
    counts = found.evidence.counts
    reasons = "; ".join(dict.fromkeys(place.said for place in own.places.get(f.ERRORED, ())))
    asked = plural(asked_in(counts), "question" if runs_in(counts) == 1 else "answer")
    ended = f"{counts['errored']:,} of {asked} ended in an error"
    return "errors instead of answers", f"{ended} ({reasons}): fix the pipeline and run it again"


def _of_ids(found: Found) -> str:
    lost = found.own.fit.unseen
    if lost is not None and lost.alike is not None:
        return f"ids differ in form ({lost.alike}): write them alike in the gold set and in the traces"
    return "the corpus was chunked again, or the gold set is another corpus': 'ragworthy gold bind' or 'gold rebind'"


# the whole run


def _symptoms(found: Found) -> Iterator[_Symptom]:
    """What every answer of a run shows."""
    shipped = [case for case in found.cases if case.facts.shipped]
    answers = sum(case.weight for case in shipped)
    yield from _of_near(found)
    told = [case for case in found.cases if case.facts.present and not case.facts.errored]
    if answers and not any(case.facts.claim for case in shipped):
        yield _Symptom(("all answers are empty", f"none of {plural(answers, 'answer')} has a claim: write the text of "
                        "the answer to answer_json.claim"), (Stage.GENERATION, Stage.REFUSAL))  # fmt: skip
    elif not any(case.facts.evidence for case in found.cases):
        pass  # only texts are judged: nothing about citations matters
    elif told and all(case.own.flags & f.NO_RETRIEVED for case in told):
        step = (
            "no trace has retrieved_ids",
            ("write the ranked ids that the pipeline saw: without them retrieval is not known and no citation counts"),
        )
        yield _Symptom(step, (Stage.CITATION, Stage.RETRIEVAL))
    else:
        yield from _of_citations(found, answers)
    yield from _of_refusals(found)


def _of_near(found: Found) -> Iterator[_Symptom]:
    """Refusals in the pipeline's own words, where they are what most of the failures are."""
    blamed = [case for case in found.cases if case.stage is not None]
    near = sum(case.weight for case in blamed if case.own.flags & f.NEAR_REFUSAL)
    if 2 * near > sum(case.weight for case in blamed):
        yield _Symptom((_NEAR, near_refusals(near, found)))


def _of_citations(found: Found, answers: int) -> Iterator[_Symptom]:
    """Whether anything is cited, and whether it is what was retrieved."""
    fit = found.own.fit
    if not fit.looked or not answers:
        return
    if not fit.cited:
        k = found.own.ks[0]
        many, like = fit.unread
        holds = plural(many, "claim holds", "claims hold")
        read = f"{holds} something like a marker, e.g. \"{like}\": run or import with --marker '{_marker(like)}'; else "
        yield _Symptom(("no answer cites anything", f"none of {plural(answers, 'answer')} has a citation: "
                        f"{read if many else ''}make the "
                        f"pipeline cite, or gate on answers.containment and answers.hit@{k} instead of precision "
                        "and CHR"), (Stage.CITATION,))  # fmt: skip
    elif 2 * fit.twisted > fit.cited:
        unused = any(case.stage is Stage.CITATION and case.label is Label.ANS_NO_HIT for case in found.cases)
        step = "ids differ in form", f"{fit.told}: {ONE_FORM}"
        yield _Symptom(step, () if unused or fit.twisted < fit.outside else (Stage.CITATION,))
    elif fit.outside == fit.cited:
        yield _Symptom(("every citation is an id that was never retrieved", f"all of {plural(fit.cited, 'citation')}: "
                        "let answers cite the ids of the results that they were given"), (Stage.CITATION,))  # fmt: skip


def _marker(like: str) -> str:
    r"""A pattern for markers like this one.

    >>> _marker("(Quelle 3)")
    '\\(Quelle (\\d+)\\)'
    """
    return re.sub(r"\d+", r"(\\d+)", re.escape(like).replace("\\ ", " "))


def _of_refusals(found: Found) -> Iterator[_Symptom]:
    asked = [case for case in found.cases if case.facts.answerable and case.fate not in ("missing", "errored")]
    total = sum(case.weight for case in asked)
    if total and all(case.facts.refused for case in asked):
        blind = sum(case.weight for case in asked if case.facts.evidence and not case.facts.retrieved)
        do = "the guard refuses whatever it is given" if 2 * blind <= total else "no gold evidence reaches the model"
        explains = (Stage.REFUSAL,) if 2 * blind <= total else (Stage.RETRIEVAL,)
        step = ("every answerable question was refused", f"{total:,} of {total:,}: {do}")
        hallucinating = any(case.label is Label.HALLUCINATION for case in found.cases)
        yield _Symptom(step, () if hallucinating else explains)


# stage by stage


def _of_stages(found: Found, explained: set[Stage]) -> list[Step]:
    """The stages to blame, those with most questions first, as the report counts them."""
    fit, told = found.own.fit, list[Step]()
    known = Known(unfound(_absence(found)), twisted=fit.told if fit.twisted else None)
    for stage, cases in by_stage(found.cases):
        if stage is Stage.PIPELINE:
            told += _of_pipeline(found)
        elif stage not in explained:
            counts = found.evidence.counts
            pattern, do = step_of(stage, cases, asked_in(counts), known)
            if runs_in(counts) > 1:
                pattern = f"{pattern.removesuffix('questions')}answers in {runs_in(counts)} runs"
            told.append((pattern, do))
        elif stage is Stage.CITATION:
            told += _wrong_too(cases)
    return told


def _wrong_too(cases: Sequence[Case]) -> list[Step]:
    """Answers whose citations are told of already: that their claims are wrong is another matter."""
    count = sum(case.weight for case in cases if case.facts.claim and not is_right(case.facts))
    without = plural(count, "answer without gold citations lacks", "answers without gold citations lack")
    do = f"{without} the gold text too, with the evidence at hand: {WRITTEN}"
    return [("claims are wrong too", do)] if count else []


def _absence(found: Found) -> Absence:
    """What is known of gold evidence that was not retrieved: whether the index has it at all."""
    own: Kept = found.own
    bound, fit = own.bindings, own.fit
    if bound is not None:
        return bound.absence
    if fit.unseen is not None:
        return fit.unseen.absence
    known = fit.looked and any(case.facts.retrieved for case in found.cases)
    return Absence.RANKED if known else Absence.OPEN


def _of_pipeline(found: Found) -> list[Step]:
    """Errors that are too few to stop a verdict; questions without a trace always do."""
    counts = found.evidence.counts
    return [_errors(found)] if 0 < counts["errored"] * 2 <= asked_in(counts) and not _taken(found) else []


# single gates


def _of_gates(found: Found, failed: set[str], stages: Sequence[Step]) -> Iterator[Step]:
    """Ranks, the shape of answers, refusals in disguise, single questions, gates that say neither yes nor no."""
    own: Kept = found.own
    if failed & {"answers.recall", "answers.hit"} and not any(one.startswith("retrieval") for one, _ in stages):
        yield (f"recall@{own.ks[0]} low", "gold evidence comes too late in the results: look at ranking, or at k")
    if "answers.compliance" in failed:
        yield "answers of the wrong shape", "emit a non-empty claim and a list of citation ids"
    near = sum(case.weight for case in found.cases if case.own.flags & f.NEAR_REFUSAL)
    if near and failed & {"answers.under_refusal", "answers.precision"} and not any(_of_near(found)):
        yield _NEAR, near_refusals(near, found)
    if any(one.gate.op == g.EACH for one in found.outcomes(Outcome.FAIL)):
        yield "questions that must pass do not", "look at each of them: ragworthy show QID"
    if any(one.tested is None for one in found.outcomes(Outcome.UNDECIDED)):
        yield "a gate is undecided", "add questions until the interval is clear of the threshold, or decide by hand"


def _of_references(found: Found) -> list[Step]:
    """Gates that look for pieces of text, where the gold set has only references: what to gate instead."""
    unmeasured = {one.gate.metric for one in found.outcomes(Outcome.NOT_MEASURED) if not one.gate.optional}
    if not unmeasured & OF_PIECES or not by_reference_only(case.facts for case in found.cases):
        return []
    names = [name for name in ("reference_f1", "reference_details") if f"answers.{name}" in found.summary.words]
    known = [(name, found.value(f"answers.{name}")) for name in names]
    measured = [(name, float(value.exact)) for name, value in known if value.exact is not None]
    kept = [
        one.gate for one in found.judged if one.outcome is not Outcome.NOT_MEASURED and one.gate.op in (g.MIN, g.MAX)
    ]
    rest = [f"{gate.metric.partition('.')[2]}={gate.threshold}" for gate in kept if gate.metric != "answers.missing"]
    gates = ",".join([*(f"{name}={_below(value)}" for name, value in measured), *rest])
    now = ", ".join(f"{name} is {value:.3f} now" for name, value in measured)
    return [("references only: no gold_claim_substr to look for", f"gate on the references: --gates {gates} ({now})")]


def _below(value: float) -> str:
    """A threshold that a value passes: cut to two places, never below 0."""
    return f"{int(100 * value) / 100:.2f}"


def near_refusals(count: int, found: Found) -> str:
    """What to do about claims that read like a refusal and count as answers; some of them are shown."""
    from ragworthy.suites.answers.near import paste

    own: Kept = found.own
    claims = list(dict.fromkeys(one.said for one in own.places.get(f.NEAR_REFUSAL, ())))
    alike = plural(count, "claim that counts as an answer reads", "claims that count as answers read")
    shown = "; ".join(f'"{clip(claim, 80)}"' for claim in claims[:_SHOWN])
    line = paste(claims)
    if line is not None:
        flags = " ".join(f"--refusal-pack {name}" for name in line.packs)
        add = f"if that is what they are, {flags} or {line.text} under [answers]"
    elif len(claims) == 1:
        add = f'if that is what it is, --refusal "{claims[0]}", or add it to refusals under [answers]'
    else:
        add = "see docs/refusals.md"
    return f"{alike} like a refusal: {shown}; {add} ('ragworthy doctor' shows more)"
