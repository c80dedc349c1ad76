"""What the latency suite says to people, from the body of its report alone."""

from fractions import Fraction
from typing import Any

from ragworthy.report.part import Table
from ragworthy.report.show import plural
from ragworthy.suites.latency.values import percentiles
from ragworthy.text import clip

SHOWN = 24
"""So many configurations are listed for people; the JSON report has all."""


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
