"""What the latency suite warns of, and what to do next."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.cost import Prices, over_budget, projected
from ragworthy.names import Outcome
from ragworthy.report.part import Note, noted, plain, size_note
from ragworthy.report.show import plural
from ragworthy.stats import percentile
from ragworthy.suites.evidence import Found
from ragworthy.suites.latency.lines import money, ms
from ragworthy.suites.latency.swept import Measurement, Swept
from ragworthy.suites.latency.values import percentiles

HELD = Fraction(9, 10)
"""A load that was held to less than this share was not the load."""


def warnings(found: Found) -> list[dict[str, Any]]:
    """What should be looked at."""
    own, counts = found.own, found.evidence.counts
    silent = sum(any(one.facts is None for one in cell.runs.samples) for cell in own.measured)
    errored, again, headers = counts["errored"], counts["duplicate_runs"], counts["repeated_headers"]
    told = noted(
        [
            Note("RW-W60", len(own.uneven), _uneven(own.uneven)),
            Note("RW-W61", silent,
                 f"{plural(silent, 'configuration and load', 'configurations and loads')} without answers"),
            Note("RW-W24", errored, f"{plural(errored, 'run')} with an error instead of an answer; their times count"),
            Note("RW-W65", counts["without_load"], f"{plural(counts['without_load'], 'run')} without load_rps"),
            _slack(own.measured),
            Note("RW-W66", again, f"{plural(again, 'run stands', 'runs stand')} in the file again and did not count "
                 "twice"),
            Note("RW-W62", headers, f"the header stands in the table {plural(headers, 'more time')}"),
            *(_of_prices(own, own.prices) if own.prices is not None else ()),
            size_note(counts["gold"], "question"),
        ]
    )  # fmt: skip
    if not counts["unanswerable"]:
        told.append(plain("RW-W12", "the gold set has no unanswerable question", 0))
    return told


def _uneven(found: Sequence[str]) -> str:
    many = plural(len(found), "question did", "questions did")
    return f"{many} not meet every configuration and load equally often" + (f", e.g. {found[0]}" if found else "")


def _slack(measured: Sequence[Measurement]) -> Note:
    """Loads that were not held, with the one that was held least."""
    slack = {}
    for one in measured:
        held, load = one.group.held, one.cell.load
        if held and load and held < HELD * load:
            slack[one.cell] = held / load, f"was to get {float(load):g} requests/s and got {held:g}"
    if not slack:
        return Note("RW-W67", 0, "")
    worst = min(slack, key=lambda cell: slack[cell][0])
    return Note("RW-W67", len(slack), f"{worst.config} {slack[worst][1]}")


def _of_prices(own: Swept, prices: Prices) -> list[Note]:
    unknown = sum(isinstance(one.spend, str) for cell in own.measured for one in cell.runs.samples)
    notes = [Note("RW-W63", unknown, f"the cost of {plural(unknown, 'run')} is not known")]
    budget, unit = prices.budget, prices.currency
    if budget is not None and over_budget(budget):
        ahead = f"{money(projected(budget))} {unit} are projected for the month"
        notes.append(Note("RW-W64", 1, f"{ahead}, the cap is {money(budget.cap)} {unit}"))
    return notes


_TO_DO = {
    ("latency.tail",): (
        "a long tail",
        "look at the slowest runs: retries, cold caches, long answers, queues under load",
    ),
    ("answers.precision", "answers.chr"): (
        "not accurate enough",
        "raise retrieval depth or rerank; the frontier shows what that costs",
    ),
    ("answers.under_refusal",): (
        "under-refusal high",
        "unanswerable questions were answered: strengthen refusal",
    ),
    ("answers.over_refusal",): (
        "over-refusal high",
        "the guard is too strict, or a shallow retrieval misses the evidence",
    ),
    ("cost.per_correct", "cost.total"): (
        "too dear",
        "fewer or shorter chunks in the context, a smaller model, or fewer tokens out",
    ),
}
"""What it means that one of some metrics fails, and what to do."""


def steps(found: Found) -> list[tuple[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric for one in found.outcomes(Outcome.FAIL)}
    told: list[tuple[str, str]] = []
    if found.evidence.counts["missing"]:
        told.append(("questions without a run", "ask every question of the gold set under every configuration"))
    told += found.unmeasured_step()
    if failed & {one.id for one in percentiles().values()}:
        told.append(("too slow", _slow(found.own.at)))
    told += [step for metrics, step in _TO_DO.items() if failed & set(metrics)]
    if any(one.gate.op in g.AGAINST for one in found.outcomes(Outcome.FAIL)):
        told.append(("worse than the last release", "roll back, or find the knob that changed"))
    return told


def _slow(at: Measurement) -> str:
    """Where the time goes: the stage with the largest P95."""
    stages = at.group.stages()
    if not stages:
        return "record the time of each stage (stage_ms): then this line says where it goes"
    tops = {name: percentile(times, 95) for name, times in stages.items()}
    name = max(tops, key=lambda one: (tops[one], one))
    return f"start with {name}: its P95 is {ms(float(tops[name]))} ms"
