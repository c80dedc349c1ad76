"""The top of the page: the verdict in a sentence, every gate with its picture, and what was waived."""

from typing import Any, NamedTuple

from markupsafe import Markup

from ragworthy import gates as g
from ragworthy.glossary import Kind
from ragworthy.report import compared
from ragworthy.report.headline import gate_names, heading, why_of
from ragworthy.report.html.charts.gate import of_report, picture
from ragworthy.report.html.env import fragment
from ragworthy.report.html.material import Material
from ragworthy.report.html.terms import Terms, spelled
from ragworthy.report.last import not_valid
from ragworthy.report.part import partial_notes
from ragworthy.report.show import default_notes, gate_name, gate_notes

TOLD = 3
"""So many gates are in the sentence."""
KINDS = {"SHIP": "pass", "NO-SHIP": "fail", "INCONCLUSIVE": "warn", "INVALID": "invalid"}
"""The colour and the sign of each verdict."""
OUTCOMES = {
    "pass": ("pass", "pass"),
    "fail": ("fail", "fail"),
    "undecided": ("warn", "undecided"),
    "not_measured": ("invalid", "not measured"),
    "waived": ("fail", "waived"),
    "not judged": ("muted", "not judged"),
}


class GateRow(NamedTuple):
    """A gate as the page shows it."""

    name: Markup
    spelled: str
    """What the name stands for, where it is an abbreviation."""
    slice: str
    kind: str
    outcome: str
    value: str
    cases: str
    interval: Markup
    rule: str
    margin: str
    why: str
    """Why there is the gate; where nobody wrote it, what its metric is."""
    notes: list[str]
    limit: str
    """What this many cases cannot show."""
    picture: Markup


class Waived(NamedTuple):
    """A gate that does not hold and does not count."""

    name: Markup
    value: str
    rule: str
    outcome: str
    owner: str
    expires: str
    reason: str


def banner(material: Material, terms: Terms) -> Markup:
    """The verdict in one sentence with its numbers, and what nobody should overlook."""
    report = material.report
    suites = report["suites"].items()
    return fragment(
        "verdict.html",
        kind="warn" if "waived" in _head(report)[0] and report["verdict"] == "SHIP" else KINDS[report["verdict"]],
        verdict=_verdict(report, terms),
        sentence=sentence(report, terms),
        counts=[(suite, material.voices(suite).counts_line(body["counts"])) for suite, body in suites],
        notes=partial_notes(report, material.voices),
        invalid=not_valid(report),
        waived=_waived(report, terms),
        exit_code=report["exit_code"],
        several=len(report["suites"]) > 1,
    )


def sentence(report: dict[str, Any], terms: Terms) -> Markup:
    """What decided, with the numbers of the gates that did."""
    told = _head(report)[1]
    outcome = {"SHIP": "pass", "NO-SHIP": "fail", "INCONCLUSIVE": "undecided"}.get(report["verdict"])
    counting = [gate for gate in report["gates"] if "waiver" not in gate and gate.get("judged", True)]
    telling = [gate for gate in counting if gate["outcome"] == outcome]
    numbers = Markup(", ").join(_with_number(gate, terms) for gate in telling[:TOLD])
    more = f" and {len(telling) - TOLD} more" if len(telling) > TOLD else ""
    return Markup("{}{}{}{}").format(told, ": " if numbers else "", numbers, more)


def _head(report: dict[str, Any]) -> tuple[str, str]:
    """The verdict, with the number of waived gates; and what decided it."""
    head, _, told = heading(report).partition(": ")
    return head, told


def _verdict(report: dict[str, Any], terms: Terms) -> Markup:
    verdict = report["verdict"]
    head = _head(report)[0]
    return Markup("{}{}").format(terms.word(verdict, Kind.VERDICT), head.removeprefix(verdict))


def _with_number(gate: dict[str, Any], terms: Terms) -> Markup:
    shown = gate["shown"]
    return Markup("{} <b>{}</b> (needs {})").format(_named(gate, terms), shown["value"], shown["rule"])


def _named(gate: dict[str, Any], terms: Terms) -> Markup:
    name = gate_name(gate)
    short = terms.name(name)
    return terms.link(gate["metric"], short)


def _waived(report: dict[str, Any], terms: Terms) -> list[Waived]:
    found = []
    for gate in report["gates"]:
        waiver = gate.get("waiver")
        if waiver:
            shown = gate["shown"]
            outcome = gate["outcome"].replace("_", " ")
            found.append(
                Waived(
                    _named(gate, terms),
                    shown["value"],
                    shown["rule"],
                    outcome,
                    str(waiver["owner"]),
                    str(waiver["expires"]),
                    str(waiver["reason"]),
                )
            )
    return found


def gates(material: Material, terms: Terms) -> Markup:
    """Every gate with its value, the interval, the threshold and the margin."""
    listed = material.report["gates"]
    if not listed:
        return Markup()
    header, pairs, alike = compared.table(listed)
    names = gate_names(listed)
    rows = [_row(gate, name, terms) for gate, name in zip(listed, names, strict=True)]
    return fragment("gates.html", rows=rows, header=header, pairs=pairs, notes=[*alike, *default_notes(listed)])


def _open(gate: dict[str, Any]) -> str:
    """What the picture leaves open, in words: of a gate that compares the loss that is not excluded."""
    if gate["op"] in g.AGAINST:
        upper = ((gate.get("paired") or {}).get("shown") or {}).get("upper")
        return (
            upper
            if upper and upper.startswith(compared.BETTER)
            else f"a loss up to {upper} is not excluded"
            if upper
            else ""
        )
    return f"95 %: {gate['shown']['interval']}" if gate["shown"]["interval"] else ""


def _row(gate: dict[str, Any], name: str, terms: Terms) -> GateRow:
    outcome = "waived" if "waiver" in gate else gate["outcome"] if gate.get("judged", True) else "not judged"
    kind, word = OUTCOMES[outcome]
    shown = gate["shown"]
    return GateRow(
        terms.link(gate["metric"], terms.name(gate_name(gate | {"slice": None}))),
        spelled(gate["metric"]),
        gate["slice"] or "",
        kind,
        word,
        shown["value"],
        shown["cases"],
        terms.interval(_open(gate)),
        shown["rule"],
        shown["margin"],
        why_of(gate),
        [note for note in gate_notes(gate) if note != gate["note"]],
        gate["note"] if gate["note"] and gate.get("paired") is None else "",
        picture(of_report(gate)),
    )
