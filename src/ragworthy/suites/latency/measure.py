"""Every configuration under every load with its values; the one that is judged, its cases, and the report's keys."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import nsmallest
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.cost import Prices, over_budget, projected
from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.registry import MetricName, all_metrics, find
from ragworthy.names import DEFAULT_K
from ragworthy.report import model
from ragworthy.stats import percentile
from ragworthy.suites.answers.bound import Bindings
from ragworthy.suites.answers.rules import SCU_GATE
from ragworthy.suites.evidence import Case
from ragworthy.suites.latency.again import Again
from ragworthy.suites.latency.choice import Choice, choose
from ragworthy.suites.latency.columns import FileRuns
from ragworthy.suites.latency.job import Job
from ragworthy.suites.latency.loads import Spot
from ragworthy.suites.latency.sweep import (
    Cell,
    Group,
    Runs,
    Sweep,
    load_order,
)
from ragworthy.suites.latency.uneven import uneven
from ragworthy.suites.request import Request

ACCURACY = ("precision", "chr", "under_refusal", "over_refusal", "containment")
"""What is always told about the answers."""
SLOWEST = 5
"""So many of the slowest runs are named."""


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
    seen: frozenset[str]
    """The gold ids that were retrieved for any question."""
    again: Again
    """Where runs are read again, to be shown."""
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


def swept(
    request: Request,
    gates: tuple[g.Gate, ...],
    names: Sequence[MetricName],
    job: Job,
    found: Sweep,
    read: FileRuns,
    again: Again,
) -> Swept:
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
        seen=read.seen,
        again=again,
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
    kinds = read.runs.kinds
    return {
        "gold": len(job.questions),
        "answerable": answerable,
        "unanswerable": len(job.questions) - answerable,
        "runs": read.records,
        "measured": sum(len(group.samples) for group in groups),
        "warmup": sum(kinds.values[place].warmup for place in kinds.at),
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


def slowest_key(own: Swept, questions: Sequence[Case]) -> list[dict[str, Any]]:
    """The slowest runs, with the stage that took most of their time."""
    samples, again = own.at.runs.samples, own.again
    keys = nsmallest(SLOWEST, ((-one.timed.e2e, one.question) for one in samples))
    slowest = [one for one in samples if (-one.timed.e2e, one.question) <= keys[-1]]
    failed = [one for one in slowest if one.timed.kind.failed]
    again.fetch(failed)
    errors = {one.row: again.run(one).error for one in failed}
    slowest.sort(
        key=lambda one: (-one.timed.e2e, one.question, str(errors.get(one.row)), sorted(one.timed.stages.items()))
    )
    found = []
    for one in slowest[:SLOWEST]:
        stage, time = max(one.timed.stages.items(), key=lambda pair: (pair[1], pair[0]), default=(None, None))
        error = errors.get(one.row)
        entry = {"qid": questions[one.question].qid, "e2e_ms": float(one.timed.e2e), "stage": stage}
        found.append(entry | {"stage_ms": _float(time), "error": None if error is None else str(error)})
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
