"""The last line of a report for people: the verdict, the exit code, and the gates that decided with their numbers."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.report.screen import Screen, Span
from ragworthy.report.show import gate_name, number

Json = dict[str, Any]
_NOT_MEASURED = " was not measured: "


def verdict_line(report: Json, screen: Screen) -> str:
    """The verdict with what decided it; as many gates as fit, and how many more there are.

    >>> gate = {"metric": "answers.chr", "slice": None, "op": ">=", "threshold": "0.75", "outcome": "fail",
    ...         "shown": {"value": "0.625", "rule": "≥ 0.75"}, "value": 0.625}
    >>> report = {"verdict": "NO-SHIP", "exit_code": 1, "gates": [gate], "invalid": [], "suites": {"answers": {}}}
    >>> verdict_line(report, Screen())
    'verdict: NO-SHIP (exit 1): chr 0.625 < 0.75'
    """
    verdict = str(report["verdict"])
    said = f" (exit {report['exit_code']})"
    told = _told(report)
    tail = _fitting(told, screen, len(f"verdict: {verdict}{said}: ")) if told else ""
    return screen.line("verdict: ", Span(verdict, verdict), said + (f": {tail}" if tail else ""))


def _told(report: Json) -> list[str]:
    """What decided, one text for each gate or reason."""
    verdict = report["verdict"]
    if verdict == "INVALID":
        return not_valid(report)
    if verdict == "SHIP":
        return [f"waived: {decision(report, gate)}" for gate in report["gates"] if "waiver" in gate]
    wanted = "fail" if verdict == "NO-SHIP" else "undecided"
    return [decision(report, gate) for gate in report["gates"] if gate["outcome"] == wanted and "waiver" not in gate]


def not_valid(report: Json) -> list[str]:
    """Why the evidence is not valid; gates that were not measured for the same reason are named together.

    >>> not_valid({"invalid": ["a was not measured: no baseline", "nothing scored", "b was not measured: no baseline"]})
    ['a, b were not measured: no baseline', 'nothing scored']
    """
    told: dict[str, list[str]] = {}
    for reason in map(str, report["invalid"]):
        gate, unmeasured, why = reason.partition(_NOT_MEASURED)
        told.setdefault(why if unmeasured else reason, []).extend([gate] if unmeasured else [])
    one, several = _NOT_MEASURED, _NOT_MEASURED.replace("was", "were")
    return [f"{', '.join(gates)}{several if gates[1:] else one}{why}" if gates else why for why, gates in told.items()]


def decision(report: Json, gate: Json) -> str:
    """A gate that does not hold, with the number that was judged as it is shown, and what it was compared with."""
    name, shown = short_name(report, gate), gate["shown"]
    if gate["outcome"] == "not_measured":
        return f"{name} not measured"
    if gate["op"] in g.AGAINST:
        return f"{name} {now(gate)} ({shown['rule']})"
    if gate["op"] == g.EACH:
        return f"{name} {shown['value']}"
    if gate["outcome"] == "undecided":
        return f"{name} {shown['value']} undecided ({shown['rule']})"
    return f"{name} {shown['value']} {'<' if gate['op'] == g.MIN else '>'} {gate['threshold']}"


def now(gate: Json) -> str:
    """The value of a gate; of one that compares, what it was before and what it is now.

    >>> now({"op": "drop<=", "value": 0.7083333333333334, "baseline": 0.75, "shown": {"value": "0.7083 (was 0.75)"}})
    '0.75 → 0.7083'
    """
    if gate["op"] not in g.AGAINST or gate.get("baseline") is None or gate["value"] is None:
        return str(gate["shown"]["value"])
    whole = isinstance(gate["value"], int)
    # the shortest text of a float is the number that was rounded to it, wherever that has few digits: no tie is lost
    return " → ".join(number(Fraction(str(one)), whole=whole) for one in (gate["baseline"], gate["value"]))


def short_name(report: Json, gate: Json) -> str:
    """The name of a gate, without the suite where the report has one only."""
    name = gate_name(gate)
    suites = list(report["suites"])
    return name.removeprefix(f"{suites[0]}.") if len(suites) == 1 else name


def _fitting(told: Sequence[str], screen: Screen, before: int) -> str:
    """The texts that fit on one line."""
    whole = ", ".join(told)
    if screen.width is None:
        return whole
    room = screen.width - before
    for count in range(len(told), 0, -1):
        more = f" and {len(told) - count} more" if count < len(told) else ""
        shown = screen.cut(", ".join(told[:count]), None) + more
        if len(shown) <= room or count == 1:
            return screen.cut(", ".join(told[:count]), room - len(more)) + more
    return whole
