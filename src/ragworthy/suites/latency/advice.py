"""What the latency suite says besides numbers: warnings, what to do next, and lines for people."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.cost import Prices, Prompt, from_cache, over_budget, projected, shared_start
from ragworthy.names import Outcome, Stage
from ragworthy.report.part import Note, Table, noted, plain, size_note
from ragworthy.report.show import plural
from ragworthy.stats import percentile
from ragworthy.suites.answers.remedies import Known, Step, by_stage, step_of
from ragworthy.suites.evidence import Found
from ragworthy.suites.latency.measure import Measurement, Swept
from ragworthy.suites.latency.sweep import percentiles
from ragworthy.suites.locked import lock_notes, locks_of
from ragworthy.suites.unfound import Absence, absence_of, unfound
from ragworthy.text import clip

HELD = Fraction(9, 10)
"""A load that was held to less than this share was not the load."""
SHOWN = 24
"""So many configurations are listed for people; the JSON report has all."""


def warnings(found: Found) -> list[dict[str, Any]]:
    """What should be looked at."""
    own, counts = found.own, found.evidence.counts
    silent = sum(None in cell.runs.samples.facts() for cell in own.measured)
    errored, again, headers = counts["errored"], counts["duplicate_runs"], counts["repeated_headers"]
    told = noted(
        [
            Note("RW-W60", len(own.uneven), _uneven(own.uneven)),
            Note("RW-W61", silent,
                 f"{plural(silent, 'configuration and load', 'configurations and loads')} without answers"),
            Note("RW-W24", errored, f"{plural(errored, 'run')} with an error instead of an answer; their times count"),
            Note("RW-W65", counts["without_load"], f"{plural(counts['without_load'], 'run')} without load_rps"),
            _slack(own.measured),
            Note("RW-W66", again, f"{plural(again, 'run is', 'runs are')} in the file again and did not count "
                 "twice"),
            Note("RW-W62", headers, f"the header is in the table {plural(headers, 'more time')}"),
            _cached(own),
            *(_of_prices(own, own.prices) if own.prices is not None else ()),
            *lock_notes((case.own.gold.constraints for case in found.cases), locks_of(found.request)),
            size_note(counts["gold"], "question", "latency", regression=found.request.regression),
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


def _cached(own: Swept) -> Note:
    """Whether so many prompts came out of the server's cache that the times are those of the cache."""
    told = (one.prompt for cell in own.measured for one in cell.runs.samples)
    known = [Prompt(*one) for one in told if one is not None]
    shared = shared_start(known)
    warm = sum(from_cache(one, shared) for one in known)
    if 10 * warm < len(known):
        return Note("RW-W96", 0, "")
    many = f"{warm:,} of {plural(len(known), 'run')}"
    apart = f", apart from {plural(shared, 'token')} that all prompts share" if shared else ""
    return Note("RW-W96", warm, f"the server's cache held at least half of the prompt in {many} that tell{apart}")


def _of_prices(own: Swept, prices: Prices) -> list[Note]:
    unknown = sum(isinstance(one.spend, str) for cell in own.measured for one in cell.runs.samples)
    notes = [Note("RW-W63", unknown, f"the cost of {plural(unknown, 'run')} is not known")]
    lost = sum(kind.unpriced for cell in own.measured for kind in cell.runs.samples.kinds())
    used = f"the costs leave out what {'it' if lost == 1 else 'they'} used"
    notes.append(Note("RW-W97", lost, f"{plural(lost, 'run')} with an error and no token counts: {used}"))
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
    ("cost.per_correct", "cost.total"): (
        "too expensive",
        "fewer or shorter chunks in the context, a smaller model, or fewer tokens out",
    ),
}
"""What it means that one of some metrics fails, and what to do; of wrong answers the stages tell it."""


def steps(found: Found) -> list[tuple[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric for one in found.outcomes(Outcome.FAIL)}
    told: list[tuple[str, str]] = []
    if found.evidence.counts["missing"]:
        told.append(("questions without a run", "ask every question of the gold set under every configuration"))
    told += found.unmeasured_step()
    if failed & {one.id for one in percentiles().values()}:
        told.append(("too slow", _slow(found.own.at)))
    if any(metric == "latency.errors" or metric.startswith("answers.") for metric in failed):
        told += _of_stages(found)
    told += [step for metrics, step in _TO_DO.items() if failed & set(metrics)]
    if any(one.gate.op in g.AGAINST for one in found.outcomes(Outcome.FAIL)):
        told.append(("worse than the last release", "roll back, or find the knob that changed"))
    return told


def _of_stages(found: Found) -> list[Step]:
    """The stages to blame for wrong answers, as the answers suite tells them."""
    told, known = list[Step](), Known(unfound(_absence(found)))
    for stage, cases in by_stage(found.cases):
        if stage is not Stage.PIPELINE:
            told.append(step_of(stage, cases, found.evidence.counts["gold"], known))
        elif any(case.facts.samples for case in cases):
            told.append(("errors instead of answers", "look at the error field of these runs, and run them again"))
    return told


def _absence(found: Found) -> Absence:
    """Whether the index has evidence that was not retrieved."""
    own: Swept = found.own
    if own.bound is not None:
        return own.bound.absence
    return absence_of((name for case in found.cases for name in case.own.gold.gold_citations or ()), own.seen)


def _slow(at: Measurement) -> str:
    """Where the time goes: the stage with the largest P95."""
    stages = at.group.stages()
    if not stages:
        return "record the time of each stage (stage_ms): then this line says where it goes"
    tops = {name: percentile(times, 95) for name, times in stages.items()}
    name = max(tops, key=lambda one: (tops[one], one))
    return f"start with {name}: its P95 is {ms(float(tops[name]))} ms"


# for people


def ms(number: float | None) -> str:
    """Milliseconds to three places, without zeros at the end.

    >>> ms(1234.5), ms(2000.0), ms(0.12345), ms(None)
    ('1,234.5', '2,000', '0.123', '–')
    """
    if number is None:
        return "–"
    text = f"{number:,.3f}"
    return text.rstrip("0").rstrip(".")


def money(amount: Fraction) -> str:
    """An amount with as many places as it needs, at most six figures of them.

    >>> money(Fraction("0.0005655")), money(Fraction(120)), money(Fraction(1, 3))
    ('0.0005655', '120', '0.333333')
    """
    text = f"{float(amount):.6f}" if amount >= 1 else f"{float(amount):.12f}"
    if amount < 1:
        lead = len(text) - len(text[2:].lstrip("0"))
        text = f"{float(amount):.{min(12, lead - 2 + 6)}f}"
    return text.rstrip("0").rstrip(".")


def lines(body: dict[str, Any]) -> list[str]:
    """The suite's own lines: what was judged, every configuration, stages, costs."""
    judged = body["judged"]
    several = len(body["configurations"]) > 1
    knobs = f" ({_knobs(judged['knobs'])})" if judged["knobs"] else ""
    told = [f"judged: {judged['configuration']}{knobs}{_at(judged['load_rps'])}, {judged['why']}"]
    if several:
        uses = [f"{use}: {config or 'none'}" for use, config in body["chosen"].items()]
        load = "" if judged["compared_at"] == "none recorded" else f" at {judged['compared_at']} requests/s"
        told.append(f"best{load} for {', '.join(uses)}")
    hidden = len(body["configurations"]) - SHOWN
    if hidden > 0:
        told.append(f"… and {plural(hidden, 'configuration')} more in the JSON report")
    here = (judged["configuration"], judged["load_rps"])
    at = next(one for one in body["configurations"] if (one["config_id"], one["load_rps"]) == here)
    if at["stages"]:
        times = [f"{name} {ms(one['p50'])} / {ms(one['p95'])}" for name, one in at["stages"].items()]
        told.append(f"stages, P50 / P95 in ms: {', '.join(times)}")
    if body["slowest"]:
        told.append(f"slowest: {', '.join(map(_slowest, body['slowest'][:3]))}")
    warmup = body["counts"]["warmup"]
    if warmup:
        told.append(f"{plural(warmup, 'warm-up run is', 'warm-up runs are')} not measured")
    return told + _costs(body)


def _at(load: float | None) -> str:
    return "" if load is None else f" at {load:g} requests/s"


def _knobs(knobs: dict[str, Any]) -> str:
    return clip(", ".join(f"{name} {knobs[name]}" for name in sorted(knobs)), 100)


def table(body: dict[str, Any]) -> Table:
    """Every configuration under every load."""
    shown = body["configurations"][:SHOWN]
    there = {f"P{percent}": one.id for percent, one in percentiles().items() if one.id in body["metrics"]}
    first, *others = there
    header = (
        "configuration", "load", f"{first} ms", *others, "tail", "precision", "CHR", "runs", "errors", "frontier",
        "gates", "knobs",
    )  # fmt: skip
    return Table(header, [_configuration(one, list(there.values())) for one in shown])


def _configuration(one: dict[str, Any], times: list[str]) -> tuple[str, ...]:
    metrics = one["metrics"]
    tail = metrics["latency.tail"]["value"]
    right = [metrics[name]["value"] for name in ("answers.precision", "answers.chr")]
    return (
        one["config_id"],
        "–" if one["load_rps"] is None else f"{one['load_rps']:g}/s",
        *(ms(metrics[name]["value"]) for name in times),
        "–" if tail is None else f"{tail:.3g}",
        *("–" if value is None else f"{value:.4g}" for value in right),
        f"{one['n']:,}",
        f"{one['errors']:,}",
        "yes" if one["frontier"] else "",
        "kept" if one["meets_gates"] else f"misses {', '.join(one['failing'])}",
        _knobs(one["knobs"]) if one["knobs"] else "",
    )


def _slowest(one: dict[str, Any]) -> str:
    where = f" ({one['stage']} {ms(one['stage_ms'])})" if one["stage"] else ""
    return f"{one['qid']} {ms(one['e2e_ms'])} ms{where}"


def _costs(body: dict[str, Any]) -> list[str]:
    cost = body["cost"]
    if cost is None:
        return []
    lines, unit = [], cost["currency"]
    total, each = body["metrics"]["cost.total"], body["metrics"]["cost.per_correct"]
    if total["value"] is not None:
        spent = f"cost: {money(Fraction(total['exact']))} {unit} for {plural(total['n'], 'run')}"
        right = f"{money(Fraction(each['exact']))} {unit} for each correct one" if each["value"] is not None else ""
        lines.append(f"{spent}, {right or each['undefined']}")
    else:
        lines.append(f"cost: not known, {total['undefined']}")
    month = cost["budget"]
    if month is not None:
        ahead = money(Fraction(str(month["projected"])))
        lines.append(
            f"budget: {month['spent']:g} of {month['cap']:g} {unit} spent on day {month['day']} of {month['days']}, "
            f"{ahead} projected{': more than 110 % of the cap' if month['alert'] else ''}"
        )
    return lines
