"""The report for people at a terminal: verdict first, then gates, offenders, what to do next."""

from fractions import Fraction
from typing import Any

from ragworthy.report import blamed as blame
from ragworthy.report import compared, panel
from ragworthy.report.changes import lead
from ragworthy.report.headline import decided, gate_names
from ragworthy.report.made import TITLE as MADE_TITLE
from ragworthy.report.made import lines as made_lines
from ragworthy.report.part import Table, Voice, Voices, blamed, partial_notes, steps, to_look
from ragworthy.report.show import (
    cases,
    counted,
    default_notes,
    gate_name,
    gate_notes,
    grid,
    interval,
    is_rate,
    limits,
    number_of,
    of_all,
    padded,
    shown_metrics,
    sliced,
    width_of,
)
from ragworthy.safe import terminal
from ragworthy.text import clip, visible

MOST_COLUMNS = 5
"""So many rates stand beside each other in a table of slices."""

_COLOURS = {"SHIP": "32", "NO-SHIP": "31", "INCONCLUSIVE": "33", "INVALID": "35"}
_OUTCOMES = {"pass": "32", "fail": "31", "undecided": "33", "not_measured": "35"}


def render(report: dict[str, Any], voices: Voices, *, colour: bool = False, full: bool = False) -> str:
    """The whole report as text; the last line is the verdict and the exit code. `full`: with what it cannot show.

    Whatever a line holds of the data, nothing in it steers a terminal; colours are added when that is done.
    """
    lines = [
        report["verdict"] + _headline(report, voices),
        "",
        *_leads(report, voices),
        *(f"  not valid: {reason}" for reason in report["invalid"]),
    ]
    if report["invalid"]:
        lines.append("")
    first = len(lines) + 1  # after the header of the gates
    lines += _gates(report["gates"])
    for suite, body in report["suites"].items():
        first_one = body["offenders"][0]["qid"] if body["offenders"] else None
        look = to_look(report, suite, voices, first_one) if first_one is not None else ""
        lines += _suite(suite, body, limits(report), voices(suite), look)
    if full:
        made = [f"  {line}" for body in report["suites"].values() for line in made_lines(body)]
        lines += [MADE_TITLE, *made, ""] if made else []
        limited = (f"  {line}" for suite, body in report["suites"].items() for line in panel.lines(suite, body))
        lines += [panel.TITLE, *limited, ""]
    if todo := steps(report, voices):
        lines += ["What to do next", *(f"  {step['pattern']}: {step['do']}" for step in todo), ""]
    lines.append(f"verdict: {report['verdict']} (exit {report['exit_code']})")
    shown = list(map(terminal, lines))
    if colour:
        shown[0] = _painted(shown[0], report["verdict"], _COLOURS[report["verdict"]])
        for nth, gate in enumerate(report["gates"], first):
            shown[nth] = _painted(shown[nth], f" {_outcome(gate)}", _OUTCOMES[gate["outcome"]])
    return "\n".join(shown) + "\n"


def brief(report: dict[str, Any], voices: Voices, *, most: int = 5) -> str:
    """The decision, the gates and the first offenders: what fits into the failure of a test."""
    lines = [report["verdict"] + _headline(report, voices), "", *_leads(report, voices)]
    lines += [f"  not valid: {reason}" for reason in report["invalid"]]
    lines += ["", *_gates(report["gates"])] if report["invalid"] else _gates(report["gates"])
    offenders = blamed(report, voices)
    if offenders:
        more = len(offenders) - most
        lines += ["Worst offenders", *(line for one in offenders[:most] for line in _offender(one))]
        lines += [f"  … and {more} more", ""] if more > 0 else [""]
    if todo := steps(report, voices):
        lines += ["What to do next", *(f"  {step['pattern']}: {step['do']}" for step in todo), ""]
    lines.append(f"verdict: {report['verdict']} (exit {report['exit_code']})")
    return "\n".join(map(terminal, lines)) + "\n"


def _leads(report: dict[str, Any], voices: Voices) -> list[str]:
    """What the suites say before anything else."""
    suites = report["suites"].items()
    lines = [f"  {line}" for suite, body in suites for line in (*voices(suite).lead(body), *lead(body))]
    return [*lines, ""] if lines else []


def _headline(report: dict[str, Any], voices: Voices) -> str:
    return decided(report) + "".join(f" ({note})" for note in partial_notes(report, voices))


def _painted(line: str, word: str, code: str) -> str:
    """The line with a word of it in colour, where it is first."""
    bare = word.lstrip()
    blanks = word.removesuffix(bare)
    return line.replace(word, f"{blanks}\x1b[1;{code}m{bare}\x1b[0m", 1)


def _outcome(gate: dict[str, Any]) -> str:
    if "waiver" in gate:
        return "waived"
    return str(gate["outcome"]) if gate.get("judged", True) else "not judged"


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Rows in columns, two blanks apart."""
    rows = [tuple(map(visible, row)) for row in rows]  # before anything is measured
    widths = [max(width_of(row[i]) for row in (header, *rows)) for i in range(len(header))]
    cells = [[padded(cell, width) for cell, width in zip(row, widths, strict=True)] for row in (header, *rows)]
    return ["  " + "  ".join(row).rstrip() for row in cells]


def _gates(gates: list[dict[str, Any]]) -> list[str]:
    header = ("gate", "outcome", "value", "cases", "95 % interval", "threshold", "margin")
    if not gates:
        return []
    rows = []
    for gate in gates:
        shown = gate["shown"]
        numbers = (shown[key] for key in ("value", "cases", "interval", "rule", "margin"))
        rows.append((gate_name(gate), _outcome(gate), *numbers))
    lines = [*_table(header, rows), ""]
    of_pairs, pairs, alike = compared.table(gates)
    lines += [*_table(of_pairs, pairs), ""] if pairs else []
    notes = [f"  {line}" for line in alike]
    named = zip(gates, gate_names(gates), strict=True)
    notes += [f"  {name}: {note}" for gate, name in named for note in gate_notes(gate)]
    notes += [f"  {note}" for note in default_notes(gates)]
    return [*lines, *notes, ""] if notes else lines


def _suite(suite: str, body: dict[str, Any], gated: dict[str, list[Fraction]], voice: Voice, look: str) -> list[str]:
    lines = [f"{suite}: {voice.counts_line(body['counts'])}", ""]
    header, ranked = grid(body, gated)
    if ranked:
        lines += [*_table(header, ranked), ""]
    plain = [(name, one) for name, one in shown_metrics(body) if not ranked or "@" not in name]
    measured = [(name, one) for name, one in plain if voice.shows_undefined or one["undefined"] is None]
    lines += _table(
        ("metric", "value", "cases", "95 % interval"),
        [_metric(name, one, gated.get(name, [])) for name, one in measured],
    )
    lines.append("")
    if body["labels"]:
        lines.append(f"  {counted(body['labels'])}")
    if body["stages"]:
        lines.append(f"  stages to blame: {counted(body['stages'])}")
    lines += [f"  {line}" for line in blame.lines(body)]
    lines += [f"  {line}" for line in voice.lines(body)]
    if lines[-1]:
        lines.append("")
    tables = voice.tables(body)
    lines += [line for table in tables if not table.last for line in _own(table)]
    lines += _slices(body, gated)
    lines += [line for table in tables if table.last for line in _own(table)]
    return lines + _worst(body, look) + _warnings(body)


def _own(table: Table) -> list[str]:
    """A table that only one suite has."""
    lines = [*_table(table.header, table.rows), ""]
    return [*lines, *(f"  {line}" for line in table.lines), ""] if table.lines else lines


def _worst(body: dict[str, Any], look: str) -> list[str]:
    """The offenders, and the command that shows one of them with everything known of it."""
    if not body["offenders"]:
        return []
    lines = [f"Worst offenders{of_all(body)}"]
    for one in body["offenders"]:
        lines += _offender(one)
    return [*lines, f"  everything about one of them: {look}", ""] if look else [*lines, ""]


def _warnings(body: dict[str, Any]) -> list[str]:
    if not body["warnings"]:
        return []
    lines = ["Warnings"]
    for warning in body["warnings"]:
        where = f"{warning['where']}: " if warning["where"] else ""
        lines.append(f"  {where}{warning['message']} [{warning['code']}]")
    return [*lines, ""]


def _metric(name: str, metric: dict[str, Any], thresholds: list[Fraction]) -> tuple[str, str, str, str]:
    if metric["undefined"] is not None:
        return name, "–", "", metric["undefined"]
    return name, number_of(metric, thresholds), cases(metric["num"], metric["den"], metric.get("n")), interval(metric)


def _slices(body: dict[str, Any], gated: dict[str, list[Fraction]]) -> list[str]:
    """The gated rates of every slice."""
    shown = {*gated, "retrieval.recall@5"}
    names = [name for name, metric in body["metrics"].items() if name in shown and is_rate(metric)]
    names = names or [name for name, metric in body["metrics"].items() if is_rate(metric) and not metric["undefined"]]
    names = names[:MOST_COLUMNS]
    if not body["slices"] or not names:
        return []
    rows = [
        (group, *(sliced(metrics[name], gated.get(name, [])) for name in names))
        for group, metrics in body["slices"].items()
        if any(metrics[name]["undefined"] is None for name in names)
    ]
    if not rows:
        return []
    return [*_table(("slice", *(name.partition(".")[2] for name in names)), rows), ""]


def _offender(one: dict[str, Any]) -> list[str]:
    score = f"  {one['score']:g} of 100" if one.get("score") is not None else ""
    lines = [f"  {one['qid']}  {one['label']}{score}  ({blame.named(one)}: {one['why']})"]
    if "score" in one:
        return lines + _answered(one)
    if one["question"]:
        lines.append(f"      question   {clip(one['question'], 100)}")
    if one["claim"] is not None:
        lines.append(f"      claim      {clip(one['claim'], 100)}")
    if one["claim"] is not None or one["citations"]:
        lines.append(f"      cites      {ids(one['citations'])}")
    if one["claim"] is None and not one["retrieved_ids"] and not one["gold_citations"]:
        return lines  # votes alone: there is no answer to look at
    if one.get("expected"):
        lines.append(f"      expected   {clip(one['expected'], 100)}")
    if locks := one.get("constraints"):
        lines += [
            f"      locked     {clip('; '.join(locks['locked']), 100)}",
            f"      echoed     {ids(locks['echo'] or [])}",
        ]
        lines += [f"      against    {clip(each['lock'], 60)} ({each['rule']})" for each in locks["against"]]
    lines.append(f"      gold       {ids(one['gold_citations'])}")
    lines.append(f"      retrieved  {ids(one['retrieved_ids'])}")
    return lines


def _answered(one: dict[str, Any]) -> list[str]:
    """What there is to say of a structured answer."""
    lines = []
    for name, text in (("question", one["question"]), ("answer", one["claim"])):
        if text:
            lines.append(f"      {name:<9}  {clip(text, 100)}")
    for name, key in (("cites", "citations"), ("gold", "gold_citations"), ("retrieved", "retrieved_ids")):
        if one[key]:
            lines.append(f"      {name:<9}  {ids(one[key])}")
    return lines


def ids(given: Any, most: int = 8) -> str:
    """A list of ids on one line."""
    if not isinstance(given, list):
        return clip(str(given), 80)
    shown = [clip(str(one), 40) for one in given[:most]]
    more = f" … {len(given) - most} more" if len(given) > most else ""
    return (", ".join(shown) or "none") + more
