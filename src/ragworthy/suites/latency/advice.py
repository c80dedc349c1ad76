"""What the report of the latency suite says besides numbers: warnings, what to do next, and lines for people."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.cost import over_budget, projected
from ragworthy.names import Outcome
from ragworthy.report.show import plural
from ragworthy.report.warn import RELEASE, SMOKE, plain, release_warnings
from ragworthy.stats import percentile
from ragworthy.suites.latency.swept import Measurement, Swept
from ragworthy.text import clip

HELD = Fraction(9, 10)
"""A load that was held to less than this share was not the load."""
SHOWN = 24
"""So many configurations are listed for people; the JSON report has all."""


def warnings(found: Swept) -> list[dict[str, Any]]:
    """What should be looked at, one entry a kind."""
    counts = found.counts
    total = len(found.gold)
    least = f"a smoke test needs at least {SMOKE}" if total < SMOKE else f"a release needs at least {RELEASE}"
    silent = sum(any(one.facts is None for one in cell.samples) for cell in found.measured)
    unpriced = sum(isinstance(one.spend, str) for cell in found.measured for one in cell.samples)
    errored, again, headers = counts["errored"], counts["duplicate_runs"], counts["repeated_headers"]
    slack = [cell for cell in found.measured if cell.held and cell.load and cell.held < HELD * cell.load]
    worst = min(slack, key=lambda cell: (cell.held or 0) / (cell.load or 1), default=None)
    noted = [
        ("RW-W60", len(found.uneven), _uneven(found.uneven)),
        ("RW-W61", silent, f"{plural(silent, 'configuration and load', 'configurations and loads')} without answers"),
        ("RW-W24", errored, f"{plural(errored, 'run')} with an error instead of an answer; their times count"),
        ("RW-W65", counts["without_load"], f"{plural(counts['without_load'], 'run')} without load_rps"),
        ("RW-W67", len(slack), _slack(worst)),
        ("RW-W66", again, f"{plural(again, 'run stands', 'runs stand')} in the file again and did not count twice"),
        ("RW-W62", headers, f"the header stands in the table {plural(headers, 'more time')}"),
        ("RW-W63", unpriced if found.prices is not None else 0, f"the cost of {plural(unpriced, 'run')} is not known"),
        ("RW-W64", _alert(found), _month(found)),
        ("RW-W15", total if total < RELEASE else 0, f"{plural(total, 'question')}: {least}"),
    ]
    entries = [plain(code, message, count) for code, count, message in noted if count]
    if not counts["unanswerable"]:
        entries.append(plain("RW-W12", "the gold set has no unanswerable question", 0))
    return entries + release_warnings(found.frozen, found.baseline_verdict, found.judged)


def _slack(cell: Measurement | None) -> str:
    if cell is None or cell.load is None:
        return ""
    return f"{cell.config} was to get {float(cell.load):g} requests/s and got {cell.held:g}"


def _uneven(found: Sequence[str]) -> str:
    many = plural(len(found), "question did", "questions did")
    return f"{many} not meet every configuration and load equally often" + (f", e.g. {found[0]}" if found else "")


def _alert(found: Swept) -> int:
    budget = found.prices.budget if found.prices is not None else None
    return int(budget is not None and over_budget(budget))


def _month(found: Swept) -> str:
    budget = found.prices.budget if found.prices is not None else None
    if found.prices is None or budget is None:
        return ""
    unit = found.prices.currency
    ahead = f"{money(projected(budget))} {unit} are projected for the month"
    return f"{ahead}, the cap is {money(budget.cap)} {unit}"


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


def next_steps(found: Swept) -> list[dict[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric for one in found.judged if one.outcome is Outcome.FAIL}
    against = {one.gate.metric for one in found.judged if one.outcome is Outcome.FAIL and one.gate.op in g.AGAINST}
    steps: list[tuple[str, str]] = []
    if found.missing:
        steps.append(("questions without a run", "ask every question of the gold set under every configuration"))
    if any(one.outcome is Outcome.NOT_MEASURED and not one.gate.optional for one in found.judged):
        steps.append(("a gate was not measured", "give it cases (see the reason beside it), or mark the gate optional"))
    if failed & {"latency.p50", "latency.p90", "latency.p95", "latency.p99"}:
        steps.append(("too slow", _slow(found)))
    if "latency.tail" in failed:
        steps.append(("a long tail", "look at the slowest runs: retries, cold caches, long answers, queues under load"))
    if failed & {"answers.precision", "answers.chr"}:
        steps.append(("not accurate enough", "raise retrieval depth or rerank; the frontier shows what that costs"))
    if "answers.under_refusal" in failed:
        steps.append(("under-refusal high", "unanswerable questions were answered: strengthen refusal"))
    if "answers.over_refusal" in failed:
        steps.append(("over-refusal high", "the guard is too strict, or a shallow retrieval misses the evidence"))
    if failed & {"cost.per_correct", "cost.total"}:
        steps.append(("too dear", "fewer or shorter chunks in the context, a smaller model, or fewer tokens out"))
    if against:
        steps.append(("worse than the last release", "roll back, or find the knob that changed"))
    return [{"pattern": pattern, "do": do} for pattern, do in steps]


def _slow(found: Swept) -> str:
    """Where the time goes: the stage with the largest P95."""
    at = found.judged_at
    if not at.stages:
        return "record the time of each stage (stage_ms): then this line says where it goes"
    tops = {name: percentile(times, 95) for name, times in at.stages.items()}
    name = max(tops, key=lambda one: (tops[one], one))
    return f"start with {name}: its P95 is {ms(float(tops[name]))} ms"


# lines for people


def ms(number: float | None) -> str:
    """Milliseconds to three places, without zeros at the end.

    >>> ms(1234.5), ms(2000.0), ms(0.12345), ms(None)
    ('1,234.5', '2,000', '0.123', '–')
    """
    if number is None:
        return "–"
    text = f"{number:,.3f}"
    return text.rstrip("0").rstrip(".")


def details(body: dict[str, Any]) -> list[str]:
    """The suite's own lines: what was judged, every configuration, stages, costs."""
    judged = body["judged"]
    several = len(body["configurations"]) > 1
    knobs = f" ({_knobs(judged['knobs'])})" if judged["knobs"] else ""
    lines = [f"judged: {judged['configuration']}{knobs}{_at(judged['load_rps'])}, {judged['why']}"]
    if several:
        uses = [f"{use}: {config or 'none'}" for use, config in body["chosen"].items()]
        load = "" if judged["compared_at"] == "none recorded" else f" at {judged['compared_at']} requests/s"
        lines.append(f"best{load} for {', '.join(uses)}")
    hidden = len(body["configurations"]) - SHOWN
    if hidden > 0:
        lines.append(f"… and {plural(hidden, 'configuration')} more in the JSON report")
    here = (judged["configuration"], judged["load_rps"])
    at = next(one for one in body["configurations"] if (one["config_id"], one["load_rps"]) == here)
    if at["stages"]:
        times = [f"{name} {ms(one['p50'])} / {ms(one['p95'])}" for name, one in at["stages"].items()]
        lines.append(f"stages, P50 / P95 in ms: {', '.join(times)}")
    if body["slowest"]:
        lines.append(f"slowest: {', '.join(map(_slowest, body['slowest'][:3]))}")
    warmup = body["counts"]["warmup"]
    if warmup:
        lines.append(f"{plural(warmup, 'warm-up run is', 'warm-up runs are')} not measured")
    return lines + _costs(body)


def _at(load: float | None) -> str:
    return "" if load is None else f" at {load:g} requests/s"


def _knobs(knobs: dict[str, Any]) -> str:
    return clip(", ".join(f"{name} {knobs[name]}" for name in sorted(knobs)), 100)


CONFIGURATIONS = (
    "configuration", "load", "P50 ms", "P90", "P95", "P99", "tail", "precision", "CHR", "runs", "errors", "frontier",
    "gates", "knobs",
)  # fmt: skip


def table(body: dict[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Every configuration under every load: the header, and a row for each."""
    return CONFIGURATIONS, [_configuration(one) for one in body["configurations"][:SHOWN]]


def _configuration(one: dict[str, Any]) -> tuple[str, ...]:
    metrics = one["metrics"]
    tail = metrics["latency.tail"]["value"]
    right = [metrics[name]["value"] for name in ("answers.precision", "answers.chr")]
    return (
        one["config_id"],
        "–" if one["load_rps"] is None else f"{one['load_rps']:g}/s",
        *(ms(metrics[f"latency.{name}"]["value"]) for name in ("p50", "p90", "p95", "p99")),
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
