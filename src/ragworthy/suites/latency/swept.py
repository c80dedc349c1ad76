"""What only the latency suite knows of its evidence, and the keys that only its report has."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.cost import Prices, over_budget, projected
from ragworthy.metrics.latency import Sample
from ragworthy.records import Gold
from ragworthy.report import model
from ragworthy.stats import percentile
from ragworthy.suites.latency.choice import Choice
from ragworthy.suites.latency.loads import Spot
from ragworthy.suites.latency.sweep import Cell, Group
from ragworthy.suites.latency.values import Runs

SLOWEST = 5
"""So many of the slowest runs are named."""


class Asked(NamedTuple):
    """One question under the judged configuration."""

    gold: Gold
    worst: Sample | None
    """The worst of its runs at the highest load."""
    everywhere: Sequence[Sample]
    """Its runs at every load."""


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
    """What is not crossed, in words."""
    prices: Prices | None

    @property
    def at(self) -> Measurement:
        """The judged configuration at its highest load."""
        return self.judged[-1]


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
