"""Whether the outcomes of gates follow from the numbers and thresholds of the same report, where these say it all."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from ragworthy.errors import data_error
from ragworthy.gates import AGAINST, MAX, MIN, Gate, Value, judge
from ragworthy.names import Outcome
from ragworthy.proof.lost import contradicted
from ragworthy.stats import exact, ratio

COPIED = ("value", "num", "den")
"""What a gate repeats of the number that it is on."""
SETTLED = (Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED)
"""Outcomes that a number and a threshold lead to; what was not measured has reasons of its own."""


def check_outcomes(report: Mapping[str, Any], where: str) -> None:
    """Refuse a report with a gate on another number than the one that it shows, or whose outcome does not follow."""
    for nth, gate in enumerate(report["gates"]):
        if gate.get("op") in AGAINST and gate["outcome"] in SETTLED and (wrong := contradicted(gate)) is not None:
            raise data_error("RW-H16", wrong[1], where=where, field=f"gates[{nth}].{wrong[0]}")
        number = _number(report, gate)
        if number is None:
            continue
        for key in COPIED:
            if gate["value"] is not None and gate.get(key) != number.get(key):
                message = f"expected {number.get(key)}, the number of the suite, got {gate.get(key)}"
                raise data_error("RW-H16", message, where=where, field=f"gates[{nth}].{key}")
        follows = _outcome(gate, number)
        careful = follows is Outcome.PASS and gate["outcome"] == Outcome.UNDECIDED  # one run proves no stability
        if follows is not None and follows != gate["outcome"] and not careful:
            shown = f"{gate['metric']} {gate['value']} {gate['op']} {gate['threshold']}"
            message = f"expected {follows}, which follows from {shown}, got {gate['outcome']}"
            raise data_error("RW-H16", message, where=where, field=f"gates[{nth}].outcome")


def _number(report: Mapping[str, Any], gate: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The number that a gate is on, as its suite has it; None where no suite, or more than one, has it."""
    found = list(_numbers(report.get("suites", {}), gate))
    return found[0] if len(found) == 1 else None


def _numbers(suites: Mapping[str, Any], gate: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    own = gate.get("suite") or gate["metric"].partition(".")[0]
    for name, body in suites.items():
        if own not in suites or name == own:
            group = body["metrics"] if gate.get("slice") is None else body["slices"].get(gate["slice"], {})
            if gate["metric"] in group:
                yield group[gate["metric"]]


def _outcome(gate: Mapping[str, Any], number: Mapping[str, Any]) -> Outcome | None:
    """What a gate on a number alone comes to, by the rule that judges; None where the report does not say it all."""
    value = _value(number)
    counted_least = value is not None and value.den is None and gate.get("min_n")
    if value is None or counted_least or gate["op"] not in (MIN, MAX) or gate["outcome"] not in SETTLED:
        return None
    if exact(str(gate["threshold"])) is None:
        return None
    review = tuple(gate["review"]) if gate.get("review") else None
    rule = Gate(
        gate["metric"], gate["op"], gate["threshold"], gate.get("slice"), gate.get("min_n") or 0,
        gate.get("evidence", "point"), review=review,
    )  # fmt: skip
    return judge((rule,), {(rule.slice, rule.metric): value})[0].outcome


def _value(number: Mapping[str, Any]) -> Value | None:
    """A number as gates judge it."""
    if number["value"] is None:
        return None
    num, den, low, high = (number.get(key) for key in ("num", "den", "low", "high"))
    counts = num is not None
    if num is None:
        written = ratio(str(number["exact"])) if number.get("exact") is not None else Fraction(number["value"])
        if written is None:
            return None
        num, den = written.numerator, written.denominator
    interval = None if low is None or high is None else (low, high)
    return Value(num, den, None, interval, n=number.get("n"), counts=counts, independent=number.get("distinct"))
