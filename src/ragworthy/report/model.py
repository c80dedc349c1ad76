"""The report model: what `ragworthy.report/1` holds. Every renderer only formats this."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics import facts as f
from ragworthy.metrics.answers import blame, label
from ragworthy.metrics.registry import MetricName
from ragworthy.names import HARMLESS, VERSION, Label, Outcome, Stage, exit_code
from ragworthy.records import Offender
from ragworthy.report import show
from ragworthy.report.advice import next_steps, warnings
from ragworthy.report.findings import Findings
from ragworthy.stats import cases_needed

SCHEMA = "ragworthy.report/1"
"""
1  first version
"""


def build(found: Findings) -> dict[str, Any]:
    """The report as the JSON object it is written as."""
    facts = _facts(found)
    invalid = _invalid(found)
    verdict = g.verdict(found.judged, invalid)
    suite = {
        "profile": "default",
        "inputs": found.inputs,
        "settings": found.settings,
        "frozen": found.frozen.state,
        "counts": _counts(found, facts),
        "metrics": {name.id: _metric(found.values[None, name.id], _ledger(name, facts)) for name in found.names},
        "slices": _slices(found),
        "labels": _labels(facts),
        "stages": _stages(facts),
        "offenders": [] if verdict == "SHIP" else [_offender(one, found.ks) for one in found.measured.offenders],
        "warnings": warnings(found, facts),
    }
    gates = [_gate(one) for one in found.judged]
    return {
        "schema": SCHEMA,
        "tool": {"name": "ragworthy", "version": VERSION},
        "verdict": verdict.value,
        "exit_code": int(exit_code(verdict)),
        "invalid": invalid,
        "suites": {"answers": suite},
        "gates": gates,
        "next": next_steps(found),
        "provenance": found.provenance,
    }


def _facts(found: Findings) -> Counter[f.Facts]:
    facts: Counter[f.Facts] = Counter()
    for (flags, _), count in found.measured.tally.items():
        facts[f.unpack(flags, found.ks)] += count
    return facts


def _invalid(found: Findings) -> list[str]:
    """Why the evidence cannot carry a verdict, apart from gates that were not measured."""
    reasons = []
    missing = found.values[None, "answers.missing"].num
    if missing:
        reasons.append(f"{show.plural(missing, 'question has', 'questions have')} no trace")
    if found.frozen.state == "broken":
        reasons.append(found.frozen.reason)
    for one in found.judged:
        if one.outcome is Outcome.NOT_MEASURED and not one.gate.optional:
            reasons.append(f"{g.name_of(one.gate)} was not measured: {one.reason}")
    return reasons


def _counts(found: Findings, facts: Counter[f.Facts]) -> dict[str, int]:
    def count(holds: Callable[[f.Facts], bool]) -> int:
        return sum(n for one, n in facts.items() if holds(one))

    return {
        "gold": sum(facts.values()),
        "answered": count(lambda one: one.shipped),
        "refused": count(lambda one: one.refused),
        "missing": count(lambda one: one.missing),
        "errored": count(lambda one: one.errored),
        "answerable": count(lambda one: one.answerable),
        "unanswerable": count(lambda one: not one.answerable),
        "duplicate_traces": found.measured.traces_replaced,
        "orphan_traces": found.measured.orphans,
    }


def _ledger(name: MetricName, facts: Counter[f.Facts]) -> dict[str, int]:
    """Where every question went: expected = scored + refused + missing + errored + not_applicable."""
    ledger = dict.fromkeys(("expected", "scored", "refused", "missing", "errored", "not_applicable"), 0)
    for one, count in facts.items():
        word = name.metric.of(one) if name.k is None else name.metric.of(one, k=name.k)
        ledger["expected"] += count
        if one.missing:
            ledger["missing"] += count
        elif one.errored:
            ledger["errored"] += count
        elif word is not None:
            ledger["scored"] += count
        elif one.refused and name.metric.cases.startswith("shipped"):
            ledger["refused"] += count
        else:
            ledger["not_applicable"] += count
    return ledger


def _metric(value: g.Value, ledger: dict[str, int]) -> dict[str, Any]:
    return _number(value) | {"ledger": ledger}


def _number(value: g.Value) -> dict[str, Any]:
    number = value.exact
    if value.den is None:
        shown: dict[str, Any] = {"value": value.num, "num": value.num, "den": None}
    else:
        shown = {"value": None if number is None else float(number), "num": value.num, "den": value.den}
    low, high = value.interval or (None, None)
    return shown | {"low": low, "high": high, "undefined": value.undefined}


def _slices(found: Findings) -> dict[str, Any]:
    names = sorted({group for group, _ in found.values if group is not None})
    return {group: {name.id: _number(found.values[group, name.id]) for name in found.names} for group in names}


def _labels(facts: Counter[f.Facts]) -> dict[str, int]:
    counts = Counter[Label]()
    for one, count in facts.items():
        counts[label(one)] += count
    return {what.value: counts[what] for what in (Label.OK, Label.REFUSAL_OK, *Label) if counts[what]}


def _stages(facts: Counter[f.Facts]) -> dict[str, int]:
    """How many questions each stage is to blame for."""
    counts = Counter[Stage]()
    for one, count in facts.items():
        if label(one) not in HARMLESS:
            counts[blame(one)[0]] += count
    return {stage.value: counts[stage] for stage in Stage if counts[stage]}


def _offender(one: Offender, ks: tuple[int, ...]) -> dict[str, Any]:
    facts = f.unpack(one.flags, ks)
    stage, why = blame(facts)
    return {
        "qid": one.qid,
        "label": label(facts).value,
        "stage": stage.value,
        "why": why,
        "question": one.question,
        "claim": one.claim,
        "citations": one.citations if one.citations is not None else [],
        "retrieved_ids": one.retrieved_ids,
        "gold_citations": one.gold_citations,
    }


def _gate(one: g.Judged) -> dict[str, Any]:
    gate, value = one.gate, one.value
    number = value.exact if value is not None else None
    interval = value.interval if value is not None else None
    entry: dict[str, Any] = {
        "metric": gate.metric,
        "op": gate.op,
        "threshold": gate.threshold,
        "value": None if number is None else (number.numerator if value and value.den is None else float(number)),
        "outcome": one.outcome.value,
        "why": gate.why,
        "reason": one.reason or None,
        "num": value.num if value is not None and number is not None else None,
        "den": value.den if value is not None and number is not None else None,
        "low": interval[0] if interval else None,
        "high": interval[1] if interval else None,
        "margin": None if one.margin is None else float(one.margin),
        "shown": _shown(one),
        "slice": gate.slice,
        "evidence": gate.evidence,
        "min_n": gate.min_n,
        "optional": gate.optional,
        "note": too_small(one),
    }
    if gate.op == g.DROP:
        entry["baseline"] = None if one.baseline is None else float(one.baseline)
    if gate.op == g.EACH:
        entry["must_pass"] = list(gate.must_pass)
        entry["failing"] = list(one.failing)
    if gate.review is not None:
        entry["review"] = list(gate.review)
    if one.previous is not None and one.previous != gate.threshold:
        entry["previous"] = one.previous
    if one.waiver is not None:
        entry["waiver"] = one.waiver._asdict()
    return entry


def _shown(one: g.Judged) -> dict[str, str]:
    """The strings people see; made here once, so that no renderer rounds across a threshold."""
    gate, value = one.gate, one.value
    number = value.exact if value is not None else None
    limit = Fraction(gate.threshold)
    whole = value is not None and value.den is None
    if gate.op == g.EACH:
        passing = len(gate.must_pass) - len(one.failing)
        text, rule = f"{passing} of {len(gate.must_pass)} pass", "each must pass"
    elif gate.op == g.DROP:
        text = "–" if number is None else show.number(number, whole=whole)
        if one.baseline is not None:
            text = f"{text} (was {show.number(one.baseline, whole=whole)})"
        rule = f"drop ≤ {gate.threshold}"
    else:
        text = "–" if number is None else show.number(number, limit, whole=whole)
        rule = f"{'≥' if gate.op == g.MIN else '≤'} {gate.threshold}"
    interval = value.interval if value is not None else None
    return {
        "value": text,
        "cases": f"{value.num}/{value.den}" if value is not None and value.den else "",
        "interval": " … ".join(show.bound(one, limit) for one in interval) if interval else "",
        "rule": rule,
        "margin": "" if one.margin is None else show.signed(one.margin, whole=whole),
    }


def too_small(one: g.Judged) -> str | None:
    """What this many cases cannot show, and how many would be needed; None when there are enough.

    >>> gate = g.Gate("answers.under_refusal", "<=", "0.05")
    >>> value = g.Value(0, 20, None, (0.0, 0.16113), "lower", "unanswerable questions", "answered")
    >>> too_small(g.Judged(gate, Outcome.PASS, "", value))
    '0 of 20 unanswerable questions answered: the true rate may still be 16 %; 73 clean cases are needed to show 5 %'
    """
    gate, value = one.gate, one.value
    if value is None or not value.den or value.interval is None or gate.op not in (g.MIN, g.MAX):
        return None
    needed = cases_needed(gate.op, Fraction(gate.threshold))
    if needed is None or value.den >= max(needed):
        return None
    low, high = value.interval
    seen = f"{value.num} of {value.den} {value.cases} {value.event}"
    limit = show.percent(float(Fraction(gate.threshold)))
    if value.den < needed.to_pass:
        doubt = show.percent(high) if gate.op == g.MAX else f"as low as {show.percent(low)}"
        return f"{seen}: the true rate may still be {doubt}; {needed.to_pass} clean cases are needed to show {limit}"
    return f"{seen}: {needed.to_fail} cases are needed before a failure at {limit} could be shown"
