"""What decided, in a few words beside the verdict."""

from collections import Counter
from typing import Any

from ragworthy.metrics.registry import all_metrics
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
    return ": there is not enough valid evidence for a verdict"


def heading(report: dict[str, Any]) -> str:
    """The verdict with what decided it in numbers, for a heading. Waived gates come right behind the verdict, so that
    nobody takes them for gates that hold.

    >>> held, failing = ({"outcome": one, "metric": "m", "slice": None} for one in ("pass", "fail"))
    >>> heading({"verdict": "SHIP", "gates": [held, held, failing | {"waiver": {}}], "invalid": []})
    'SHIP with 1 waived gate: 2 gates hold'
    >>> heading({"verdict": "NO-SHIP", "gates": [held, failing], "invalid": []})
    'NO-SHIP: 1 of 2 gates fails'
    """
    verdict, gates = report["verdict"], report["gates"]
    waived = sum("waiver" in gate for gate in gates)
    behind = f" with {plural(waived, 'waived gate')}" if waived else ""
    open_ones = [gate["outcome"] for gate in gates if "waiver" not in gate and gate.get("judged", True)]
    if verdict == "SHIP":
        rest = Counter(became for gate in gates if (became := _became(gate)) not in ("", "waived"))
        told = [_held(gates) if waived or rest else f"all {_held(gates)}"]
        return f"SHIP{behind}: {', '.join([*told, *(f'{count} {what}' for what, count in rest.items())])}"
    if verdict == "INVALID":
        return f"INVALID{behind}: there is not enough valid evidence for a verdict"
    outcome, one, many = ("fail", "fails", "fail") if verdict == "NO-SHIP" else ("undecided", "is", "are")
    count = open_ones.count(outcome)
    word = one if count == 1 else many
    if outcome == "undecided" and not count:
        return f"{verdict}{behind}: there is no gate, so nothing was judged"
    undecided = "" if outcome == "fail" else " undecided"
    return f"{verdict}{behind}: {count} of {plural(len(open_ones), 'gate')} {word}{undecided}"


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


def why_of(gate: dict[str, Any]) -> str:
    """Why there is the gate; where nobody wrote it, what its metric is."""
    if gate["why"]:
        return str(gate["why"])
    metric = all_metrics().get(gate["metric"].partition("@")[0])
    return metric.definition if metric is not None else ""
