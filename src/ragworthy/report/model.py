"""The report model: what `ragworthy.report/1` holds. Every renderer only formats this."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.names import REPORT_SCHEMA, VERSION, Verdict, exit_code
from ragworthy.report import able, compared, show
from ragworthy.report.part import Part
from ragworthy.report.rules import rule_text

NO_GATE = "no gate was measured, so whatever was answered would ship"
"""Why a suite of which no gate was measured has no verdict."""


def assemble(parts: Sequence[Part]) -> dict[str, Any]:
    """The report of all suites as the JSON object it is written as: one verdict."""
    judged = [one for part in parts for one in part.judged]
    invalid = [reason for part in parts for reason in part.invalid]
    verdict = g.verdict(judged, invalid)
    provenance: dict[str, Any] = {}
    for part in parts:
        found = dict(part.provenance)
        if len(parts) > 1 and "lock" in found:
            found[f"lock.{part.suite}"] = found.pop("lock")
        provenance |= found
    return {
        "schema": REPORT_SCHEMA,
        "tool": {"name": "ragworthy", "version": VERSION},
        "verdict": verdict.value,
        "exit_code": int(exit_code(verdict)),
        "pass": verdict is Verdict.SHIP,
        "invalid": invalid,
        "suites": {part.suite: part.body for part in parts},
        "gates": [_gate(one) for one in judged],
        "next": [step for part in parts for step in part.steps],
        "provenance": provenance,
    }


def mostly_errors(errored: int, total: int, what: str) -> list[str]:
    """Why nothing can be said of a pipeline that ended in errors most of the time; nothing where it did not.

    >>> mostly_errors(7, 12, "questions"), mostly_errors(6, 12, "questions")
    (['7 of 12 questions ended in an error: this is an outage, not a measurement'], [])
    """
    if 2 * errored <= total:
        return []
    return [f"{errored:,} of {total:,} {what} ended in an error: this is an outage, not a measurement"]


def unmeasured(judged: Sequence[g.Judged]) -> list[str]:
    """The gates that were not measured, in words, and that none was where that is so."""
    reasons = [f"{g.name_of(one.gate)} was not measured: {one.reason}" for one in judged if one.unmeasured]
    if not reasons and not any(map(g.decides, judged)):
        reasons.append(NO_GATE)
    return reasons


def number(value: g.Value) -> dict[str, Any]:
    """A value as the report has it: a ratio with its counts, a count, or a mean with the number of its cases."""
    exact = value.exact
    if value.den is None:
        shown: dict[str, Any] = {"value": value.num, "num": value.num, "den": None}
    elif value.counts:
        shown = {"value": None if exact is None else float(exact), "num": value.num, "den": value.den}
    else:
        shown = {"value": None if exact is None else float(exact), "num": None, "den": None}
    if value.n is not None:
        shown["n"] = value.n
    if value.independent is not None:
        shown["distinct"] = value.independent
    if not value.counts and value.undefined is None:
        shown["exact"] = f"{value.num}/{value.den}"
    if value.pooled is not None:
        shown["micro"] = {"num": value.pooled[0], "den": value.pooled[1]}
    if value.deff is not None:
        shown |= {"deff": value.deff, "clusters": value.clusters}
    low, high = value.interval or (None, None)
    return shown | {"low": low, "high": high, "undefined": value.undefined}


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
        "num": value.num if value is not None and number is not None and value.counts else None,
        "den": value.den if value is not None and number is not None and value.counts else None,
        "low": interval[0] if interval else None,
        "high": interval[1] if interval else None,
        "margin": None if one.margin is None else float(one.margin),
        "shown": _shown(one),
        "slice": gate.slice,
        "evidence": gate.evidence,
        "min_n": gate.min_n,
        "optional": gate.optional,
        "note": compared.note(one) or able.note(one),
    }
    if gate.op in g.AGAINST:
        entry["baseline"] = None if one.baseline is None else float(one.baseline)
        entry["paired"] = compared.entry(one)
    if gate.op == g.EACH:
        entry["must_pass"] = list(gate.must_pass)
        entry["failing"] = list(one.failing)
    said = (("suite", gate.suite), ("pack", gate.pack), ("instead", gate.instead), ("over", gate.over))
    entry |= {key: told for key, told in said if told is not None}
    if gate.kept:
        entry |= {"kept": True, "judged": not one.excused}
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
        text = f"{passing} of {len(gate.must_pass)} pass"
    elif gate.op in g.AGAINST:
        text = "–" if number is None else show.number(number, whole=whole)
        if one.baseline is not None:
            text = f"{text} (was {show.number(one.baseline, whole=whole)})"
    else:
        text = "–" if number is None else show.number(number, limit, *map(Fraction, gate.review or ()), whole=whole)
    return {
        "value": text,
        "cases": "" if value is None else show.cases(value.num if value.counts else None, value.den, value.n),
        "interval": _interval(value, limit) if value is not None and value.interval else "",
        "rule": rule_text(gate, value.better if value is not None else None),
        "margin": "" if one.margin is None else show.signed(one.margin, whole=whole),
    }


def _interval(value: g.Value, limit: Fraction) -> str:
    """Both ends, and what clusters make of them."""
    ends = " … ".join(show.bound(end, limit) for end in value.interval or ())
    return f"{ends}{show.design_effect(value.deff)}"
