"""Every configuration under every load with its values; the one that is judged, its cases, and the report's keys."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.index.blocks import load_corpus
from ragworthy.load.gold import name_of, read_gold
from ragworthy.metrics.answers import blame, label, steps_of
from ragworthy.metrics.causes import Blame, Steps, depth_of
from ragworthy.metrics.cost import Prices, over_budget, projected
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.latency import Sample
from ragworthy.metrics.registry import MetricName, all_metrics, find
from ragworthy.names import DEFAULT_K, HARMLESS, SEVERITY, Cause, Label, Stage
from ragworthy.records import Gold
from ragworthy.report import model
from ragworthy.stats import percentile
from ragworthy.suites.answers.bound import Bindings, bound_to, is_whole
from ragworthy.suites.answers.rules import SCU_GATE
from ragworthy.suites.answers.wording import missing_pieces
from ragworthy.suites.evidence import Case, Fate
from ragworthy.suites.latency.choice import Choice, choose
from ragworthy.suites.latency.distances import distances_of
from ragworthy.suites.latency.loads import Spot
from ragworthy.suites.latency.prices import load_prices
from ragworthy.suites.latency.read import FileRuns
from ragworthy.suites.latency.sweep import (
    Cell,
    Group,
    Job,
    Question,
    Runs,
    Sweep,
    by_question,
    length_slice,
    load_order,
    word_of,
)
from ragworthy.suites.latency.uneven import uneven
from ragworthy.suites.locked import Locks
from ragworthy.suites.opened import Opened
from ragworthy.suites.refusing import by_rule_of
from ragworthy.suites.request import Request
from ragworthy.suites.slices import slices_of
from ragworthy.text import fold

ACCURACY = ("precision", "chr", "under_refusal", "over_refusal", "containment")
"""What is always told about the answers."""
SLOWEST = 5
"""So many of the slowest runs are named."""


class Asked(NamedTuple):
    """One question under the judged configuration."""

    gold: Gold
    worst: Sample | None
    """The worst of its runs at the highest load."""
    everywhere: Sequence[Sample]
    """Its runs at every load."""
    missing: tuple[str, ...] = ()
    """What the claim of the worst one lacks of all that it needs."""


class Measurement(NamedTuple):
    """One configuration under one load."""

    group: Group
    runs: Runs
    values: Mapping[str, g.Value]
    frontier: bool
    failing: list[str]

    @property
    def cell(self) -> Cell:
        """Which configuration, under which load."""
        return self.group.cell


class Swept(NamedTuple):
    """Every configuration under every load, and the one that is judged."""

    measured: list[Measurement]
    """By load, then from the fastest."""
    judged: list[Measurement]
    """The judged configuration, from its lowest load to its highest."""
    choice: Choice
    uneven: list[str]
    """Questions that did not meet every configuration and load equally often, in words."""
    prices: Prices | None
    known: Sequence[Facts] = ()
    """What the gold set alone says of each question: whether it has evidence to hold citations against."""
    bound: Bindings | None = None
    """How evidence was bound, where a corpus is given."""

    @property
    def at(self) -> Measurement:
        """The judged configuration at its highest load."""
        return self.judged[-1]


def names_of(request: Request) -> list[MetricName]:
    """Every metric of this suite; of other suites, those of ACCURACY and those that gates name; that of broken
    constraints where these are checked.
    """
    locked = (SCU_GATE.metric,) if request.settings.scu else ()
    names = {metric.id: MetricName(metric, None) for metric in all_metrics("latency").values()}
    for written in (*(f"answers.{name}" for name in ACCURACY), *(gate.metric for gate in request.gates), *locked):
        name = find(written, default_k=DEFAULT_K)
        if name is not None:
            names.setdefault(name.id, name)
    return list(names.values())


def job_of(opened: Opened, request: Request, locks: Locks, ks: tuple[int, ...], fields: Iterable[str]) -> Job:
    """The gold set, with the corpus and the prices where they are given."""
    settings, given, priced = request.settings, request.get("corpus"), request.get("prices")
    corpus = None if given is None else opened.enter_corpus(load_corpus(given))
    prices = None if priced is None else load_prices(opened.enter_file("prices", Path(priced)))
    rules = f.Rules(
        ks=ks,
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=locks.scu,
        contradictions=locks.contradictions,
        by_rule=by_rule_of(settings),
        chunks=None if corpus is None else {name: fold(text) for name, text in corpus.texts.items()},
    )
    flags_of = f.gold_flags(rules)
    bound = None if given is None else bound_to(opened["gold"], given)
    bind = None if bound is None else bound.bind
    records = {} if corpus is None else {"corpus": len(corpus.texts)}
    return Job(
        questions=[
            Question(name_of(one.record), one.record, flags_of(one.record), slices_of(one.value, fields))
            for one in read_gold(opened["gold"], rules, allow_errors=request.allow_gold_errors, bind=bind)
        ],
        rules=rules,
        prices=prices,
        tokens=None if corpus is None else {name: place.tokens or 0 for name, place in corpus.places.items()},
        records=records | ({} if prices is None else {"prices": len(prices.prices)}),
        bound=bound,
        distances=distances_of(opened, corpus),
    )


def swept(request: Request, gates: tuple[g.Gate, ...], names: Sequence[MetricName], job: Job, found: Sweep) -> Swept:
    """Every configuration under every load with its values, and the one that is judged by them."""
    cut = request.settings.profile == "reference"
    runs = {cell: Runs(group.samples, len(job.questions), cut) for cell, group in found.groups.items()}
    values = {cell: {name.id: some.value(name) for name in names} for cell, some in runs.items()}
    partly = {cell.config for cell, group in found.groups.items() if lacking(job, group)}
    choice = choose(request, gates, values, partly)
    measured = [
        Measurement(group, runs[cell], values[cell], cell in choice.frontier, choice.failing[cell])
        for cell, group in found.groups.items()
    ]
    return Swept(
        measured=sorted(measured, key=_slowest_last),
        judged=[one for one in measured if one.cell.config == choice.config],
        choice=choice,
        uneven=_uneven(job, found),
        prices=job.prices,
        known=job.known,
        bound=job.bound,
    )


def _slowest_last(one: Measurement) -> tuple[tuple[bool, Fraction], Fraction]:
    return load_order(one.cell.load), one.values["latency.p95"].exact or Fraction(0)


def lacking(job: Job, group: Group) -> set[int]:
    """The places of questions that a configuration was never asked under a load."""
    return set(range(len(job.questions))) - group.questions


def _uneven(job: Job, found: Sweep) -> list[str]:
    """Questions that did not meet every configuration and load equally often, in words."""
    return [
        f"{job.questions[one.question].qid} met {one.most} {_often(one.often)} and {one.least} {_often(one.seldom)}"
        for one in uneven(found.groups)
    ]


def _often(count: int) -> str:
    return ("never", "once")[count] if count < 2 else f"{count} times"


def counts_of(job: Job, read: FileRuns, own: Swept) -> dict[str, int]:
    """How many there are of everything, over all configurations and loads; then of what is judged."""
    groups = [one.group for one in own.measured]
    answerable = sum(question.gold.answerable for question in job.questions)
    facts = [one.facts for one in own.at.runs.samples if one.facts is not None]
    return {
        "gold": len(job.questions),
        "answerable": answerable,
        "unanswerable": len(job.questions) - answerable,
        "runs": read.records,
        "measured": sum(len(group.samples) for group in groups),
        "warmup": sum(timed.run.warmup for timed in read.timed),
        "errored": sum(group.errors for group in groups),
        "duplicate_runs": read.repeated,
        "repeated_headers": read.headers,
        "configurations": len({group.cell.config for group in groups}),
        "loads": len({group.cell.load for group in groups}),
        "without_load": sum(len(group.samples) for group in groups if group.cell.load is None),
        "judged_runs": len(own.at.runs.samples),
        "answered": sum(one.shipped for one in facts),
        "refused": sum(one.refused for one in facts),
        "missing": len(set[int]().union(*(lacking(job, one.group) for one in own.judged))),
    }


# cases


def cases_of(job: Job, own: Swept) -> list[Case]:
    """Every gold question with its runs under the judged configuration at its highest load."""
    here = by_question(len(job.questions), own.at.runs.samples)
    everywhere = by_question(len(job.questions), (one for part in own.judged for one in part.runs.samples))
    return [
        _case(question, Runs(samples, 1, own.at.runs.cut), at_all_loads, job.rules, whole=is_whole(own.bound))
        for question, samples, at_all_loads in zip(job.questions, here, everywhere, strict=True)
    ]


def _case(question: Question, runs: Runs, everywhere: Sequence[Sample], rules: f.Rules, *, whole: bool) -> Case:
    worst = worst_of(runs.samples)
    what = Label.MISSING if worst is None else label_of(worst)
    k = depth_of(rules.ks)
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
        own=Asked(question.gold, worst, everywhere, _lacks(question.gold, worst, rules)),
        cause=cause,
        steps=steps,
    )


def _lacks(gold: Gold, worst: Sample | None, rules: f.Rules) -> tuple[str, ...]:
    """What a claim lacks of all that it needs; nothing where any piece will do, or there is no claim."""
    facts = None if worst is None else worst.facts
    if worst is None or facts is None or not gold.gold_claim_all or not facts.claim or facts.contains:
        return ()
    return missing_pieces(gold, worst.timed.run, rules)


def worst_of(samples: Sequence[Sample]) -> Sample | None:
    """The run that went worst; None where there is none."""
    return min(samples, key=_badness, default=None)


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


def _badness(one: Sample) -> tuple[int, Fraction, str]:
    """The worst answer first, of equal ones the slowest."""
    claim = one.timed.run.answer_json.claim if one.timed.run.answer_json is not None else None
    what = label_of(one)
    return len(SEVERITY) if what is None else SEVERITY[what], -one.timed.e2e, claim or ""


def fate_of(name: MetricName, one: Sample) -> Fate:
    """Where a run is in the ledger of a metric: every run has a time, not every one an answer that counts."""
    if name.metric.over != "question":
        return Fate.SCORED
    if one.facts is None:
        return Fate.NOT_APPLICABLE
    if one.facts.errored:
        return Fate.ERRORED
    if word_of(name, one) is not None:
        return Fate.SCORED
    refused = one.facts.refused and name.metric.cases.startswith("shipped")
    return Fate.REFUSED if refused else Fate.NOT_APPLICABLE


def split(one: Measurement, cases: Sequence[Case]) -> dict[str, Runs]:
    """The runs of a cell by the length of their questions and by the fields of the gold set."""
    found: dict[str, list[Sample]] = {}
    for sample in one.runs.samples:
        case = cases[sample.question]
        for name in (length_slice(case.own.gold, sample), *case.slices):
            found.setdefault(name, []).append(sample)
    return {name: Runs(samples, _size(name, samples, cases), one.runs.cut) for name, samples in found.items()}


def _size(name: str, samples: Sequence[Sample], cases: Sequence[Case]) -> int:
    """How many questions a slice has: by a gold field all of them, by length those asked, as only a run may tell it."""
    return sum(name in case.slices for case in cases) or len({one.question for one in samples})


# keys of the report


def judged_key(own: Swept) -> dict[str, Any]:
    """What was judged, and why that."""
    at = own.at
    return {
        "configuration": at.cell.config,
        "load_rps": _float(at.cell.load),
        "knobs": at.group.knobs,
        "why": own.choice.why,
        "compared_at": own.choice.load,
    }


def configuration_key(one: Measurement) -> dict[str, Any]:
    """A configuration under a load, with all its numbers."""
    return {
        "config_id": one.cell.config,
        "knobs": one.group.knobs,
        "load_rps": _float(one.cell.load),
        "rate_held": one.group.held,
        "n": len(one.runs.samples),
        "questions": one.runs.asked,
        "errors": one.group.errors,
        "warmup": one.group.warmups,
        "metrics": {name: model.number(value) for name, value in one.values.items()},
        "stages": {
            name: {"n": len(times), "p50": float(percentile(times, 50)), "p95": float(percentile(times, 95))}
            for name, times in one.group.stages().items()
        },
        "frontier": one.frontier,
        "meets_gates": not one.failing,
        "failing": one.failing,
    }


def limits_key(judged: Sequence[g.Judged]) -> dict[str, str]:
    """The thresholds that hold for every configuration, by metric: the gates on all questions, alike at every load."""
    found: dict[str, set[str]] = {}
    for one in judged:
        gate = one.gate
        if gate.op in (g.MIN, g.MAX) and Spot.of(gate.slice).questions is None:
            found.setdefault(gate.metric, set()).add(gate.threshold)
    return {name: next(iter(limits)) for name, limits in found.items() if len(limits) == 1}


def slowest_key(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """The slowest runs, with the stage that took most of their time."""
    order = sorted(
        samples,
        key=lambda one: (-one.timed.e2e, one.question, str(one.timed.run.error), sorted(one.timed.stages.items())),
    )
    found = []
    for one in order[:SLOWEST]:
        stage, time = max(one.timed.stages.items(), key=lambda pair: (pair[1], pair[0]), default=(None, None))
        error = None if one.timed.run.error is None else str(one.timed.run.error)
        entry = {"qid": one.timed.run.name, "e2e_ms": float(one.timed.e2e), "stage": stage}
        found.append(entry | {"stage_ms": _float(time), "error": error})
    return found


def cost_key(prices: Prices | None) -> dict[str, Any] | None:
    """The unit of costs, and how the month goes on; None without a price list."""
    if prices is None:
        return None
    budget = prices.budget
    if budget is None:
        return {"currency": prices.currency, "budget": None}
    month = {"cap": float(budget.cap), "spent": float(budget.spent), "day": budget.day, "days": budget.days}
    month |= {"projected": float(projected(budget)), "alert": over_budget(budget)}
    return {"currency": prices.currency, "budget": month}


def _float(number: Fraction | None) -> float | None:
    return None if number is None else float(number)
