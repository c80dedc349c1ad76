"""What the numbers of a gate that compares lead to, as far as its report has them: loss, tolerance, and how sure it is.

A gate may be more careful than these (too few cases, a review band, errors of the baseline), and never less.
"""

from collections.abc import Mapping
from typing import Any

from ragworthy.gates import WORSE
from ragworthy.metrics.registry import all_metrics
from ragworthy.names import Outcome
from ragworthy.paired.exact import mcnemar
from ragworthy.proving import ANYTIME, INTERVAL, POINT

ROUNDED = 1e-9
"""By so much two numbers of a report that are the same may differ."""
EXACT = "McNemar, exact"


def contradicted(gate: Mapping[str, Any]) -> tuple[str, str] | None:
    """A field of a gate that compares which does not follow from the others, and what was expected; None if all do."""
    if gate["value"] is None:
        return None
    if gate.get("baseline") is None:
        passed = gate["outcome"] == Outcome.PASS
        return ("outcome", f"expected not_measured without a baseline, got {Outcome.PASS}") if passed else None
    paired = gate.get("paired") or {}
    lost = _lost(gate, gate["baseline"], gate["value"], paired)
    if "loss" in paired and not _alike(paired["loss"], lost):
        told = f"{gate['baseline']} and {gate['value']}"
        return "paired.loss", f"expected {_short(lost)}, which follows from {told}, got {paired['loss']}"
    if wrong := _unsure(paired):
        return wrong
    follows = _outcome(gate, lost, paired)
    if (rest := paired.get("unerrored")) is not None:
        follows = max(
            follows, _outcome(gate, _lost(gate, rest["baseline"], rest["value"], {}), paired | rest), key=_bad
        )
    said = gate["outcome"]
    careful = said == Outcome.UNDECIDED and (follows is Outcome.PASS or gate.get("min_n"))
    if said == follows or careful:
        return None
    sure = f", {paired['worse']} worse and {paired['better']} better" if "worse" in paired else ""
    shown = f"a loss of {_short(lost)} against a tolerance of {gate['threshold']}{sure}"
    return "outcome", f"expected {follows}, which follows from {shown}, got {said}"


def _short(lost: float | None) -> str:
    return "more than any share" if lost is None else f"{lost:.6g}"


def _bad(outcome: Outcome) -> int:
    return (Outcome.PASS, Outcome.UNDECIDED, Outcome.FAIL).index(outcome)


def _lost(gate: Mapping[str, Any], before: float, after: float, paired: Mapping[str, Any]) -> float | None:
    """How much was lost; None for a share of nothing. Which way is worse the metric says, else the gate itself."""
    drop = before - after
    known = all_metrics().get(gate["metric"].partition("@")[0])
    if known is None:
        drop = drop if (paired.get("loss") or 0) * drop >= 0 else -drop
    elif known.better != "higher":
        drop = -drop
    if gate["op"] != WORSE or not drop:
        return drop
    return drop / abs(before) if before else None if drop > 0 else 0.0


def _alike(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= ROUNDED * max(1.0, abs(one))


def _unsure(paired: Mapping[str, Any]) -> tuple[str, str] | None:
    """A p-value that is not that of the questions that changed, or smaller for all gates than for one."""
    if "p" not in paired:
        return None
    if str(paired.get("method", "")).startswith(EXACT):
        p = mcnemar(paired["worse"], paired["better"])
        if not _alike(p, paired["p"]):
            counts = f"{paired['worse']} worse and {paired['better']} better"
            return "paired.p", f"expected {p}, which follows from {counts}, got {paired['p']}"
    if paired.get("evalue") is None and paired["adjusted"] < paired["p"] - ROUNDED:
        return "paired.adjusted", f"expected no less than p, {paired['p']}, got {paired['adjusted']}"
    return None


def _outcome(gate: Mapping[str, Any], lost: float | None, paired: Mapping[str, Any]) -> Outcome:
    """By the rule of `proving.decide`, on what a report keeps."""
    evidence = gate.get("evidence", POINT)
    beyond = _beyond(lost, gate["threshold"])
    if evidence == POINT or "adjusted" not in paired:
        if evidence in (INTERVAL, ANYTIME):
            return Outcome.UNDECIDED
        return Outcome.FAIL if beyond else Outcome.PASS
    weighed = "evalue" in paired
    if weighed and paired["evalue"] is None:
        return Outcome.UNDECIDED
    alpha = paired["alpha"]
    proven = paired["evalue"] * alpha >= 1 if weighed else paired["adjusted"] <= alpha
    if proven and _beyond(lost, paired["min_effect"]):
        return Outcome.FAIL
    if beyond:
        return Outcome.UNDECIDED
    if evidence == INTERVAL and paired["worse"] + paired["better"] and "questions" not in paired:
        upper = paired.get("upper")
        return Outcome.PASS if upper is not None and not _beyond(upper, gate["threshold"]) else Outcome.UNDECIDED
    return Outcome.PASS


def _beyond(lost: float | None, limit: str) -> bool:
    return lost is None or lost > float(limit) + ROUNDED
