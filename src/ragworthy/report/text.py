"""The report for people at a terminal: verdict first, then gates, offenders, what to do next."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from ragworthy.report import blamed as blame
from ragworthy.report import compared, panel
from ragworthy.report.changes import lead
from ragworthy.report.headline import decided, gate_names
from ragworthy.report.last import not_valid, verdict_line
from ragworthy.report.made import TITLE as MADE_TITLE
from ragworthy.report.made import lines as made_lines
from ragworthy.report.part import Table, Voice, Voices, partial_notes, steps, to_look
from ragworthy.report.screen import FILE, Piece, Screen, Span
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
    shown_metrics,
    sliced,
)
from ragworthy.text import clip

MOST_COLUMNS = 5
"""So many rates are side by side in a table of slices."""

TODO = "What to do next"


def render(report: dict[str, Any], voices: Voices, screen: Screen = FILE) -> str:
    """The whole report as text, with what it cannot show; the last line is the verdict with what decided."""
    head = Span(report["verdict"], report["verdict"])
    lines = [*screen.hung([head], _headline(report, voices), indent=4), ""]
    lines += _prose(screen, _leads(report, voices))
    lines += _prose(screen, [f"  not valid: {reason}" for reason in not_valid(report)])
    if report["invalid"]:
        lines.append("")
    lines += _gates(report["gates"], screen)
    for suite, body in report["suites"].items():
        first_one = body["offenders"][0]["qid"] if body["offenders"] else None
        look = to_look(report, suite, voices, first_one) if first_one is not None else ""
        lines += _suite(suite, body, limits(report), voices(suite), look, screen)
    made = [f"  {line}" for body in report["suites"].values() for line in made_lines(body)]
    lines += [*_titled(screen, MADE_TITLE, made), ""] if made else []
    limited = [f"  {line}" for suite, body in report["suites"].items() for line in panel.lines(suite, body)]
    lines += [*_titled(screen, panel.TITLE, limited), ""]
    if todo := steps(report, voices):
        lines += [*_titled(screen, TODO, [f"  {step['pattern']}: {step['do']}" for step in todo]), ""]
    lines.append(verdict_line(report, screen))
    return "\n".join(lines) + "\n"


def _leads(report: dict[str, Any], voices: Voices) -> list[str]:
    """What the suites say before anything else."""
    suites = report["suites"].items()
    lines = [f"  {line}" for suite, body in suites for line in (*voices(suite).lead(body), *lead(body))]
    return [*lines, ""] if lines else []


def _headline(report: dict[str, Any], voices: Voices) -> str:
    return decided(report) + "".join(f" ({note})" for note in partial_notes(report, voices))


def _prose(screen: Screen, lines: Iterable[str]) -> list[str]:
    """Lines as they fit."""
    return [shown for line in lines for shown in screen.prose(line)]


def _titled(screen: Screen, title: str, lines: Iterable[str]) -> list[str]:
    return [screen.line(Span(title, "head")), *_prose(screen, lines)]


def _outcome(gate: dict[str, Any]) -> str:
    if "waiver" in gate:
        return "waived"
    return str(gate["outcome"]) if gate.get("judged", True) else "not judged"


def _gates(gates: list[dict[str, Any]], screen: Screen) -> list[str]:
    header = ("gate", "outcome", "value", "cases", "95 % interval", "threshold", "margin")
    if not gates:
        return []
    rows: list[tuple[Piece, ...]] = []
    for gate in gates:
        shown, outcome = gate["shown"], _outcome(gate)
        numbers = (shown[key] for key in ("value", "cases", "interval", "rule", "margin"))
        rows.append((gate_name(gate), Span(outcome, outcome.replace(" ", "_")), *numbers))
    lines = [*screen.table(header, rows, drop=("margin",)), ""]
    of_pairs, pairs, alike = compared.table(gates)
    lines += [*screen.table(of_pairs, pairs), ""] if pairs else []
    notes = [f"  {line}" for line in alike]
    named = zip(gates, gate_names(gates), strict=True)
    notes += [f"  {name}: {note}" for gate, name in named for note in gate_notes(gate)]
    notes += [f"  {note}" for note in default_notes(gates)]
    return [*lines, *_prose(screen, notes), ""] if notes else lines


def _suite(
    suite: str, body: dict[str, Any], gated: dict[str, list[Fraction]], voice: Voice, look: str, screen: Screen
) -> list[str]:
    lines = [*screen.hung([Span(f"{suite}: ", "head")], voice.counts_line(body["counts"]), indent=4), ""]
    header, ranked = grid(body, gated)
    if ranked:
        lines += [*screen.table(header, ranked), ""]
    plain = [(name, one) for name, one in shown_metrics(body) if not ranked or "@" not in name]
    measured = [(name, one) for name, one in plain if voice.shows_undefined or one["undefined"] is None]
    lines += screen.table(
        ("metric", "value", "cases", "95 % interval"),
        [_metric(name, one, gated.get(name, [])) for name, one in measured],
    )
    lines.append("")
    told = [f"  {counted(body['labels'])}"] if body["labels"] else []
    told += [f"  stages to blame: {counted(body['stages'])}"] if body["stages"] else []
    told += [f"  {line}" for line in (*blame.lines(body), *voice.lines(body))]
    lines += [*_prose(screen, told), ""] if told else []
    tables = voice.tables(body)
    lines += [line for table in tables if not table.last for line in _own(table, screen)]
    lines += _slices(body, gated, screen)
    lines += [line for table in tables if table.last for line in _own(table, screen)]
    return lines + _worst(body, look, screen) + _warnings(body, screen)


def _own(table: Table, screen: Screen) -> list[str]:
    """A table that only one suite has."""
    lines = [*screen.table(table.header, table.rows), ""]
    return [*lines, *_prose(screen, (f"  {line}" for line in table.lines)), ""] if table.lines else lines


def _worst(body: dict[str, Any], look: str, screen: Screen) -> list[str]:
    """The offenders, and the command that shows one of them with everything known of it."""
    if not body["offenders"]:
        return []
    lines = [screen.line(Span("Worst offenders", "head"), of_all(body))]
    for one in body["offenders"]:
        lines += _offender(one, screen)
    return [*lines, *screen.prose(f"  everything about one of them: {look}"), ""] if look else [*lines, ""]


def _warnings(body: dict[str, Any], screen: Screen) -> list[str]:
    if not body["warnings"]:
        return []
    lines = []
    for warning in body["warnings"]:
        where = f"{warning['where']}: " if warning["where"] else ""
        lines.append(f"  {where}{warning['message']} [{warning['code']}]")
    return [*_titled(screen, "Warnings", lines), ""]


def _metric(name: str, metric: dict[str, Any], thresholds: list[Fraction]) -> tuple[str, str, str, str]:
    if metric["undefined"] is not None:
        return name, "–", "", metric["undefined"]
    return name, number_of(metric, thresholds), cases(metric["num"], metric["den"], metric.get("n")), interval(metric)


def _slices(body: dict[str, Any], gated: dict[str, list[Fraction]], screen: Screen) -> list[str]:
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
    return [*screen.table(("slice", *(name.partition(".")[2] for name in names)), rows), ""]


def _offender(one: dict[str, Any], screen: Screen) -> list[str]:
    score = f"  {one['score']:g} of 100" if one.get("score") is not None else ""
    head: list[Piece] = [f"  {one['qid']}  ", Span(one["label"], "label"), f"{score}  "]
    lines = screen.hung(head, f"({blame.named(one)}: {one['why']})", indent=6)
    for name, text in _answered(one) if "score" in one else _told(one):
        lines += screen.hung([f"      {name:<9}  "], text, indent=17)
    return lines


def _told(one: dict[str, Any]) -> list[tuple[str, str]]:
    """What there is to say of an answer in words, as (name, text)."""
    told = []
    if one["question"]:
        told.append(("question", clip(one["question"], 100)))
    if one["claim"] is not None:
        told.append(("claim", clip(one["claim"], 100)))
    if one["claim"] is not None or one["citations"]:
        told.append(("cites", ids(one["citations"])))
    if one["claim"] is None and not one["retrieved_ids"] and not one["gold_citations"]:
        return told  # votes alone: there is no answer to look at
    if one.get("expected"):
        told.append(("expected", clip(one["expected"], 100)))
    if locks := one.get("constraints"):
        told += [("locked", clip("; ".join(locks["locked"]), 100)), ("echoed", ids(locks["echo"] or []))]
        told += [("against", f"{clip(each['lock'], 60)} ({each['rule']})") for each in locks["against"]]
    return [*told, ("gold", ids(one["gold_citations"])), ("retrieved", ids(one["retrieved_ids"]))]


def _answered(one: dict[str, Any]) -> list[tuple[str, str]]:
    """What there is to say of a structured answer."""
    texts = (("question", one["question"]), ("answer", one["claim"]))
    lists = (("cites", "citations"), ("gold", "gold_citations"), ("retrieved", "retrieved_ids"))
    told = [(name, clip(text, 100)) for name, text in texts if text]
    return [*told, *((name, ids(one[key])) for name, key in lists if one[key])]


def ids(given: Any, most: int = 8) -> str:
    """A list of ids on one line."""
    if not isinstance(given, list):
        return clip(str(given), 80)
    shown = [clip(str(one), 40) for one in given[:most]]
    more = f" … {len(given) - most} more" if len(given) > most else ""
    return (", ".join(shown) or "none") + more
