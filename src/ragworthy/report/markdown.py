"""The report for a pull request: at most 60 KB, with a count of what was cut."""

from fractions import Fraction
from typing import Any

from ragworthy.report.own import details, table
from ragworthy.report.retrieved import DELTA_HEADER, delta_rows, live_lines
from ragworthy.report.show import (
    cases,
    counts_line,
    gate_name,
    gate_notes,
    grid,
    is_rate,
    limits,
    number_of,
    of_all,
    partial_notes,
    plural,
    shown_metrics,
    sliced,
)
from ragworthy.text import clip, visible

LIMIT = 60_000
_MARK = {"SHIP": "✅", "NO-SHIP": "❌", "INCONCLUSIVE": "❔", "INVALID": "⚠️"}
_OUTCOME = {
    "pass": "✅ pass",
    "fail": "❌ fail",
    "undecided": "❔ undecided",
    "not_measured": "⚠️ not measured",
}


def render(report: dict[str, Any], *, limit: int = LIMIT) -> str:
    """The report as Markdown. The decision and the gates always fit; rows at the end are cut first."""
    head = _head(report)
    tail = [
        "",
        f"`ragworthy {report['tool']['version']}` · verdict **{report['verdict']}** (exit {report['exit_code']})",
        "",
    ]
    optional: list[list[str]] = []
    for suite, body in report["suites"].items():
        gated = limits(report)
        head += _metrics(suite, body, gated)
        optional += [_offenders(body), _warnings(body), _slices(body, gated), _inputs(body)]
    return _fit(head, optional, tail, limit)


def _fit(head: list[str], optional: list[list[str]], tail: list[str], limit: int) -> str:
    """Head and tail whole; of the sections in between, as many lines as fit."""
    left = limit - _bytes([*head, *tail]) - 200
    kept: list[str] = []
    cut = 0
    for section in optional:
        for line in section:
            size = len(line.encode()) + 1
            if cut == 0 and size <= left:
                kept.append(line)
                left -= size
            else:
                cut += 1
    if cut:
        kept += [
            "",
            f"_{plural(cut, 'more line')} cut to stay under {limit // 1000} KB; the JSON report has them all._",
        ]
    text = "\n".join([*head, *kept, *tail])
    if len(text.encode()) > limit:
        text = text.encode()[: limit - 100].decode("utf-8", "ignore") + f"\n\n_cut at {limit // 1000} KB_\n"
    return text


def _bytes(lines: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _head(report: dict[str, Any]) -> list[str]:
    lines = [f"## {_MARK[report['verdict']]} Ragworthy: {report['verdict']}", ""]
    notes = [f"- {note}" for note in partial_notes(report)]
    notes += [f"- not valid: {cell(reason)}" for reason in report["invalid"]]
    lines += [*notes, ""] if notes else []
    lines += [
        "| gate | outcome | value | cases | 95 % interval | threshold | margin |",
        "|---|---|---|---|---|---|---|",
    ]
    for gate in report["gates"]:
        shown = gate["shown"]
        name = gate_name(gate).replace("[", " [")
        outcome = "⏸ waived" if "waiver" in gate else _OUTCOME[gate["outcome"]]
        cells = (
            name,
            outcome,
            shown["value"],
            shown["cases"],
            shown["interval"],
            shown["rule"],
            shown["margin"],
        )
        lines.append("| " + " | ".join(cell(one) for one in cells) + " |")
    lines.append("")
    for gate in report["gates"]:
        lines += [f"- {_named(gate)}: {cell(note)}" for note in gate_notes(gate)]
    if report["next"]:
        lines += ["", "**What to do next**", ""]
        lines += [f"- **{cell(step['pattern'])}**: {cell(step['do'])}" for step in report["next"]]
    return [*lines, ""]


def _metrics(suite: str, body: dict[str, Any], gated: dict[str, list[Fraction]]) -> list[str]:
    lines = [f"### {suite}", "", f"{counts_line(suite, body['counts'])}.", ""]
    header, ranked = grid(body, gated)
    if ranked:
        lines += [*_table(header, ranked), ""]
    rows: list[tuple[str, ...]] = []
    for name, metric in shown_metrics(body):
        if (ranked and "@" in name) or (suite != "answers" and metric["undefined"]):
            continue
        rests_on = cases(metric["num"], metric["den"], metric.get("n"))
        interval = f"{metric['low']:.3f} … {metric['high']:.3f}" if metric["low"] is not None else ""
        value = number_of(metric, gated.get(name, []))
        rows.append((name, value, rests_on, metric["undefined"] or interval))
    lines += [*_table(("metric", "value", "cases", "95 % interval"), rows), ""]
    if body["labels"]:
        labels = ", ".join(f"{label} {count:,}" for label, count in body["labels"].items())
        lines += [f"Labels: {labels}", ""]
    if body["stages"]:
        stages = ", ".join(f"{stage} {count:,}" for stage, count in body["stages"].items())
        lines += [f"Stages to blame: {stages}", ""]
    lines += [f"- {cell(line)}" for line in details(suite, body)]
    header, own = table(suite, body)
    if own:
        lines += ["", *_table(header, own), ""]
    if body.get("live"):
        lines += ["", *_table(DELTA_HEADER, delta_rows(body["live"])), ""]
        lines += [f"- {cell(line)}" for line in live_lines(body["live"])]
    return lines if not lines[-1] else [*lines, ""]


def _named(gate: dict[str, Any]) -> str:
    """A gate in a sentence: its id as code, its slice as text, which may hold anything."""
    slice_ = f" {cell(gate['slice'])}" if gate["slice"] else ""
    return f"`{gate_name(gate | {'slice': None})}`{slice_}"


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return lines + ["| " + " | ".join((row[0], *map(cell, row[1:]))) + " |" for row in rows]


def _offenders(body: dict[str, Any]) -> list[str]:
    if not body["offenders"]:
        return []
    header, row = _ANSWERED if "score" in body["offenders"][0] else _CLAIMED
    cells = [[cell(text) for text in row(one)] for one in body["offenders"]]
    lines = [f"### Worst offenders{of_all(body)}", "", "| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return [*lines, *("| " + " | ".join(one) + " |" for one in cells), ""]


def _claimed(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["qid"],
        one["label"],
        f"{one['stage']}: {one['why']}",
        clip(one["claim"] or "", 200),
        _ids(one["citations"]),
        _ids(one["gold_citations"]),
        _ids(one["retrieved_ids"]),
    )


def _answered(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["qid"],
        one["label"],
        f"{one['score']:g}",
        f"{one['stage']}: {one['why']}",
        clip(one["question"] or "", 120),
        _ids(one["citations"]),
        _ids(one["gold_citations"]),
        _ids(one["retrieved_ids"]),
    )


_CLAIMED = ("qid", "label", "stage", "claim", "cites", "gold", "retrieved"), _claimed
_ANSWERED = ("qid", "label", "score", "stage", "question", "cites", "gold", "retrieved"), _answered


def _ids(given: Any) -> str:
    return ", ".join(str(one) for one in given[:10]) if isinstance(given, list) else str(given)


def _warnings(body: dict[str, Any]) -> list[str]:
    if not body["warnings"]:
        return []
    lines = ["### Warnings", ""]
    for warning in body["warnings"]:
        where = f"`{cell(warning['where'])}`: " if warning["where"] else ""
        lines.append(f"- {where}{cell(warning['message'])} ({warning['code']})")
    return [*lines, ""]


def _slices(body: dict[str, Any], gated: dict[str, list[Fraction]]) -> list[str]:
    if not body["slices"]:
        return []
    names = [name for name, metric in body["metrics"].items() if is_rate(metric) and not metric["undefined"]]
    lines = ["### Slices", "", "| slice | " + " | ".join(name.partition(".")[2] for name in names) + " |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for group, metrics in body["slices"].items():
        values = [sliced(metrics[name], gated.get(name, [])) for name in names]
        lines.append(f"| {cell(group)} | " + " | ".join(values) + " |")
    return [*lines, ""]


def _inputs(body: dict[str, Any]) -> list[str]:
    lines = ["### Inputs", ""]
    for one in body["inputs"]:
        lines.append(
            f"- {one['role']} `{cell(one['path'])}`: {plural(one['records'], 'record')}, sha256 `{one['sha256']}`"
        )
    return [*lines, f"- gold set: {body['frozen']}", ""]


def cell(text: str) -> str:
    """Text that stays inside its table cell and is never read as Markdown or HTML.

    >>> cell("a|b <script> *x*")
    'a\\\\|b &lt;script&gt; \\\\*x\\\\*'
    """
    line = visible(" ".join(str(text).split()))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for sign in "\\`*_[]|~#@!":
        line = line.replace(sign, f"\\{sign}")
    return line
