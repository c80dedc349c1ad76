"""What decided, in a few words beside the verdict."""

from collections import Counter
from typing import Any

from ragworthy.report.show import gate_name, plural


def decided(report: dict[str, Any]) -> str:
    """The words behind the verdict: which gates hold, fail or are undecided."""
    verdict, gates = report["verdict"], report["gates"]
    if verdict == "SHIP":
        return partly(report) or f": all {_held(gates)}"
    names = gate_names(gates)
    open_ones = [(gate, name) for gate, name in zip(gates, names, strict=True) if "waiver" not in gate]
    failing = dict.fromkeys(name for gate, name in open_ones if gate["outcome"] == "fail")
    undecided = dict.fromkeys(name for gate, name in open_ones if gate["outcome"] == "undecided")
    if verdict == "NO-SHIP":
        return f": {', '.join(failing)} {'fails' if len(failing) == 1 else 'fail'}"
    if verdict == "INCONCLUSIVE" and not undecided:
        return ": scored, and nothing was judged: there is no gate"
    if verdict == "INCONCLUSIVE":
        return f": {', '.join(undecided)} {'is' if len(undecided) == 1 else 'are'} undecided"
    return ": the evidence cannot carry a verdict"


def partly(report: dict[str, Any]) -> str:
    """What is shipped on, where not every gate holds: some are waived or were not measured; else nothing."""
    gates = report["gates"]
    if report["verdict"] != "SHIP":
        return ""
    became = Counter(map(_became, gates))
    unmeasured = became["not measured"]
    told = [f"{became[what]} {what}" for what in ("waived", "not judged") if became[what]]
    told += [f"{unmeasured} {'was' if unmeasured == 1 else 'were'} not measured"] if unmeasured else []
    return f": {', '.join([_held(gates), *told])}" if told else ""


def _held(gates: list[dict[str, Any]]) -> str:
    return plural(sum(_became(gate) == "" for gate in gates), "gate holds", "gates hold")


def _became(gate: dict[str, Any]) -> str:
    """What became of a gate of a run that ships; nothing where it holds."""
    if "waiver" in gate:
        return "waived"
    if not gate.get("judged", True):
        return "not judged"
    return "not measured" if gate["outcome"] == "not_measured" else ""


def gate_names(gates: list[dict[str, Any]]) -> list[str]:
    """Every gate's name; with its rule where several have the same one.

    >>> gate = {"metric": "answers.chr", "slice": None, "shown": {"rule": "≥ 0.6"}}
    >>> gate_names([gate]), gate_names([gate, gate | {"shown": {"rule": "drop ≤ 0.02"}}])
    (['answers.chr'], ['answers.chr (≥ 0.6)', 'answers.chr (drop ≤ 0.02)'])
    """
    names = list(map(gate_name, gates))
    many = Counter(names)
    return [
        f"{name} ({gate['shown']['rule']})" if many[name] > 1 else name for name, gate in zip(names, gates, strict=True)
    ]
