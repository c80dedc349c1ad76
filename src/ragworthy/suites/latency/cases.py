"""The questions of the judged configuration as cases: their runs, the worst of them, and what it lacks."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ragworthy.metrics.answers import blame, label, steps_of
from ragworthy.metrics.causes import Blame, Steps, depth_of
from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.facts.timed import Samples
from ragworthy.metrics.latency import Sample
from ragworthy.metrics.registry import MetricName
from ragworthy.names import HARMLESS, SEVERITY, Cause, Label, Stage
from ragworthy.records import Gold, Ints
from ragworthy.suites.answers.bound import is_whole
from ragworthy.suites.answers.wording import missing_pieces
from ragworthy.suites.evidence import Case, Fate
from ragworthy.suites.latency.again import Again
from ragworthy.suites.latency.job import Job, Question
from ragworthy.suites.latency.measure import Measurement, Swept
from ragworthy.suites.latency.sweep import Runs, by_question


class Asked(NamedTuple):
    """One question under the judged configuration."""

    gold: Gold
    worst: Sample | None
    """The worst of its runs at the highest load."""
    everywhere: Samples
    """Its runs at every load."""
    missing: tuple[str, ...] = ()
    """What the claim of the worst one lacks of all that it needs."""


def cases_of(job: Job, own: Swept) -> list[Case]:
    """Every gold question with its runs under the judged configuration at its highest load."""
    here = by_question(len(job.questions), [own.at.runs.samples])
    everywhere = by_question(len(job.questions), [part.runs.samples for part in own.judged])
    worst = _worst_of_each(here, own.again)
    lacks = _lacks_of_each(job, worst, own.again)
    return [
        _case(question, Runs(samples, 1, own.at.runs.cut), asked, depth_of(job.rules.ks), whole=is_whole(own.bound))
        for question, samples, asked in zip(
            job.questions,
            here,
            map(Asked, (one.gold for one in job.questions), worst, everywhere, lacks),
            strict=True,
        )
    ]


def _case(question: Question, runs: Runs, asked: Asked, k: int, *, whole: bool) -> Case:
    worst = asked.worst
    what = Label.MISSING if worst is None else label_of(worst)
    cause, stage, why = _blame(worst, k, whole)
    steps = Steps(question.gold.answerable, present=False) if worst is None else None
    if worst is not None and worst.facts is not None:
        steps = steps_of(worst.facts, k, whole=whole)
    return Case(
        qid=question.qid,
        facts=runs,
        fate=Fate.MISSING if worst is None else Fate.ERRORED if worst.errored else Fate.SCORED,
        label=what,
        stage=stage,
        why=why,
        slices=question.slices,
        rank=() if what is None else (SEVERITY[what],),
        own=asked,
        cause=cause,
        steps=steps,
    )


def _lacks_of_each(job: Job, worst: Sequence[Sample | None], again: Again) -> list[tuple[str, ...]]:
    """What the claim of the worst run of each question lacks of all that it needs; nothing where any piece will do, or
    there is no claim.
    """
    found: list[tuple[str, ...]] = [()] * len(worst)
    lacking = [
        one
        for one, question in zip(worst, job.questions, strict=True)
        if one is not None
        and one.facts is not None
        and question.gold.gold_claim_all
        and one.facts.claim
        and not one.facts.contains
    ]
    nth = {one.timed.line: one.question for one in lacking}
    for line, run in again.each(nth):
        found[nth[line]] = missing_pieces(job.questions[nth[line]].gold, run, job.rules)
    return found


def _worst_of_each(asked: Sequence[Samples], again: Again) -> list[Sample | None]:
    """The run of each question that went worst: the worst answer, of equal ones the slowest, then the first by its
    claim. Claims are read again, one after another: only where two runs are equal so far, one is needed.
    """
    last = [_worst(samples) for samples in asked]
    worst: list[Sample | None] = [some[0] if some else None for some in last]
    tied = {one.timed.line: (nth, one) for nth, some in enumerate(last) if len(some) > 1 for one in some}
    best: dict[int, str] = {}
    for line, run in again.each(tied):
        nth, one = tied[line]
        claim = (run.answer_json.claim if run.answer_json is not None else None) or ""
        if nth not in best or claim < best[nth]:
            best[nth], worst[nth] = claim, one
    return worst


def _worst(samples: Sequence[Sample]) -> list[Sample]:
    """The runs that went worst as far as numbers tell."""
    keys = [(_severity(one), -one.timed.e2e) for one in samples]
    worst = min(keys, default=None)
    return [one for one, key in zip(samples, keys, strict=True) if key == worst]


def _severity(one: Sample) -> int:
    what = label_of(one)
    return len(SEVERITY) if what is None else SEVERITY[what]


def worst_label(samples: Samples) -> Label | None:
    """What became of the run that went worst; None where no run holds an answer, or there is none."""
    worst = min(samples, key=_severity, default=None)
    return None if worst is None else label_of(worst)


def label_of(one: Sample) -> Label | None:
    """What became of a run; None where it holds no answer."""
    return None if one.facts is None else label(one.facts)


def _blame(one: Sample | None, k: int, whole: bool) -> Blame:
    """What went wrong, the stage to look at first, and why; nothing where no run is wrong, or holds no answer."""
    if one is None:
        return Blame(Cause.MISSING, Stage.PIPELINE, "")
    if one.facts is None or label_of(one) in HARMLESS:
        return Blame(None, None, "")
    return blame(one.facts, k, whole=whole)


def fates_of(name: MetricName, samples: Samples) -> Counter[Fate]:
    """Where runs are in the ledger of a metric: every run has a time, not every one an answer that counts."""
    if name.metric.over != "question":
        return Counter({Fate.SCORED: len(samples)})
    found: Counter[Fate] = Counter()
    for place, many in Counter(samples.answers()).items():
        found[_fate(name, samples.runs.facts[place])] += many
    return found


def _fate(name: MetricName, facts: Facts | None) -> Fate:
    if facts is None:
        return Fate.NOT_APPLICABLE
    if facts.errored:
        return Fate.ERRORED
    if name.metric.of(facts, **name.depth) is not None:
        return Fate.SCORED
    refused = facts.refused and name.metric.cases.startswith("shipped")
    return Fate.REFUSED if refused else Fate.NOT_APPLICABLE


def split(one: Measurement, cases: Sequence[Case]) -> dict[str, Runs]:
    """The runs of a cell by the length of their questions and by the fields of the gold set."""
    samples = one.runs.samples
    found: dict[str, Ints] = {}
    for row, kind, question in zip(samples.rows, samples.kinds(), samples.questions(), strict=True):
        for name in (kind.length, *cases[question].slices):
            found.setdefault(name, array("I")).append(row)
    groups = {name: Samples(samples.runs, rows) for name, rows in found.items()}
    return {name: Runs(some, _size(name, some, cases), one.runs.cut) for name, some in groups.items()}


def _size(name: str, samples: Samples, cases: Sequence[Case]) -> int:
    """How many questions a slice has: by a gold field all of them, by length those asked, as only a run may tell it."""
    return sum(name in case.slices for case in cases) or len(set(samples.questions()))
