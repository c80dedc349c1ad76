"""The report for a pull request: at most 60 KB, with a count of what was cut."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ragworthy.report import blamed as blame
from ragworthy.report import compared, panel
from ragworthy.report.changes import lead
from ragworthy.report.headline import gate_names, partly
from ragworthy.report.made import TITLE as MADE_TITLE
from ragworthy.report.made import lines as made_lines
from ragworthy.report.part import Voice, Voices, blamed, partial_notes, steps, to_look
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
    plural,
    shown_metrics,
    sliced,
)
from ragworthy.safe import Markdown, code, fill, row
from ragworthy.text import clip

LIMIT = 60_000
_MARK = {"SHIP": "✅", "NO-SHIP": "❌", "INCONCLUSIVE": "❔", "INVALID": "⚠️"}
_OUTCOME = {
    "pass": "✅ pass",
    "fail": "❌ fail",
    "undecided": "❔ undecided",
    "not_measured": "⚠️ not measured",
}


def render(report: dict[str, Any], voices: Voices, *, limit: int = LIMIT) -> str:
    """The report as Markdown. The decision and the gates always fit; rows at the end are cut first."""
    head = _head(report, voices)
    tool = code(f"ragworthy {report['tool']['version']}")
    tail = ["", fill("{} · verdict **{}** (exit {})", tool, report["verdict"], str(report["exit_code"])), ""]
    optional: list[list[str]] = []
    for suite, body in report["suites"].items():
        gated = limits(report)
        head += _metrics(suite, body, gated, voices(suite))
        limits_of = _limits(suite, body)
        optional += [_offenders(report, suite, voices), _warnings(body), limits_of, _slices(body, gated), _inputs(body)]
    return _fit(head, optional, tail, limit)


def brief(report: dict[str, Any], voices: Voices, *, most: int = 5) -> str:
    """The decision, the gates and the first offenders: what fits into a cell of a notebook."""
    lines = _head(report, voices)
    offenders = blamed(report, voices)
    for columns in (_CLAIMED, _ANSWERED):
        some = [one for one in offenders[:most] if ("score" in one) is (columns is _ANSWERED)]
        if some:
            lines += [f"**Worst offenders**{f' ({most} of {len(offenders)})' if len(offenders) > most else ''}", ""]
            lines += [*_table(columns[0], map(columns[1], some)), ""]
    return "\n".join(lines)


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
    if _bytes([*head, *kept, *tail]) <= limit:
        return "\n".join([*head, *kept, *tail])
    return "\n".join([*_fitting([*head, *kept], limit - 100), "", f"_cut at {limit // 1000} KB_", ""])


def _fitting(lines: list[str], left: int) -> list[str]:
    """The lines that fit, whole: half a line may end inside of the code that keeps its text from being linked."""
    fitting = []
    for line in lines:
        size = len(line.encode()) + 1
        if size <= left:
            fitting.append(line)
            left -= size
    return fitting


def _bytes(lines: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _head(report: dict[str, Any], voices: Voices) -> list[str]:
    lines: list[str] = [fill("## {} Ragworthy: {}", _MARK[report["verdict"]], report["verdict"] + partly(report)), ""]
    suites = report["suites"].items()
    notes = [fill("- {}", line) for suite, body in suites for line in (*voices(suite).lead(body), *lead(body))]
    notes += [fill("- {}", note) for note in partial_notes(report, voices)]
    notes += [fill("- not valid: {}", reason) for reason in report["invalid"]]
    lines += [*notes, ""] if notes else []
    rows = []
    for gate in report["gates"]:
        shown = gate["shown"]
        name = gate_name(gate).replace("[", " [")
        outcome = _OUTCOME[gate["outcome"]] if gate.get("judged", True) else "not judged"
        outcome = "⏸ waived" if "waiver" in gate else outcome
        rows.append((name, outcome, *(shown[key] for key in ("value", "cases", "interval", "rule", "margin"))))
    lines += [*_table(("gate", "outcome", "value", "cases", "95 % interval", "threshold", "margin"), rows), ""]
    of_pairs, pairs, alike = compared.table(report["gates"])
    lines += [*_table(of_pairs, pairs), ""] if pairs else []
    lines += [fill("- {}", line) for line in alike]
    for gate, name in zip(report["gates"], gate_names(report["gates"]), strict=True):
        rule = name.removeprefix(gate_name(gate)).strip()
        head = fill("{} {}", _named(gate), rule) if rule else _named(gate)
        lines += [fill("- {}: {}", head, note) for note in gate_notes(gate)]
    lines += [fill("- {}", note) for note in default_notes(report["gates"])]
    if todo := steps(report, voices):
        lines += ["", "**What to do next**", ""]
        lines += [fill("- **{}**: {}", step["pattern"], step["do"]) for step in todo]
    return [*lines, ""]


def _metrics(suite: str, body: dict[str, Any], gated: dict[str, list[Fraction]], voice: Voice) -> list[str]:
    lines: list[str] = [fill("### {}", suite), "", fill("{}.", voice.counts_line(body["counts"])), ""]
    header, ranked = grid(body, gated)
    if ranked:
        lines += [*_table(header, ranked), ""]
    rows: list[tuple[str, ...]] = []
    for name, metric in shown_metrics(body):
        if (ranked and "@" in name) or (not voice.shows_undefined and metric["undefined"]):
            continue
        rests_on = cases(metric["num"], metric["den"], metric.get("n"))
        value = number_of(metric, gated.get(name, []))
        rows.append((name, value, rests_on, metric["undefined"] or interval(metric)))
    lines += [*_table(("metric", "value", "cases", "95 % interval"), rows), ""]
    if body["labels"]:
        lines += [fill("Labels: {}", counted(body["labels"])), ""]
    if body["stages"]:
        lines += [fill("Stages to blame: {}", counted(body["stages"])), ""]
    lines += [fill("- {}", line) for line in blame.lines(body)]
    lines += [fill("- {}", line) for line in voice.lines(body)]
    for table in voice.tables(body):
        lines += ["", *_table(table.header, table.rows), ""]
        lines += [fill("- {}", line) for line in table.lines]
    return lines if not lines[-1] else [*lines, ""]


def _named(gate: dict[str, Any]) -> Markdown:
    """A gate in a sentence: its id as code, its slice as text."""
    name = code(gate_name(gate | {"slice": None}))
    return fill("{} {}", name, gate["slice"]) if gate["slice"] else name


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [row(header), "|---" * len(header) + "|", *map(row, rows)]


def _offenders(report: dict[str, Any], suite: str, voices: Voices) -> list[str]:
    body = report["suites"][suite]
    if not body["offenders"]:
        return []
    known = any("expected" in one for one in body["offenders"])
    header, cells = _ANSWERED if "score" in body["offenders"][0] else _EXPECTED if known else _CLAIMED
    look = to_look(report, suite, voices, body["offenders"][0]["qid"])
    last = [fill("Everything about one of them: {}", code(look)), ""] if look else []
    return [f"### Worst offenders{of_all(body)}", "", *_table(header, map(cells, body["offenders"])), "", *last]


def _claimed(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["qid"],
        one["label"],
        f"{blame.named(one)}: {one['why']}",
        clip(one["claim"] or "", 200),
        _ids(one["citations"]),
        _ids(one["gold_citations"]),
        _ids(one["retrieved_ids"]),
    )


def _expected(one: dict[str, Any]) -> tuple[str, ...]:
    qid, label, stage, claim, *rest = _claimed(one)
    return qid, label, stage, claim, clip(one.get("expected") or "", 200), *rest


def _answered(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["qid"],
        one["label"],
        f"{one['score']:g}",
        f"{blame.named(one)}: {one['why']}",
        clip(one["question"] or "", 120),
        _ids(one["citations"]),
        _ids(one["gold_citations"]),
        _ids(one["retrieved_ids"]),
    )


_CLAIMED = ("qid", "label", "stage", "claim", "cites", "gold", "retrieved"), _claimed
_EXPECTED = ("qid", "label", "stage", "claim", "expected", "cites", "gold", "retrieved"), _expected
_ANSWERED = ("qid", "label", "score", "stage", "question", "cites", "gold", "retrieved"), _answered


def _ids(given: Any) -> str:
    return ", ".join(str(one) for one in given[:10]) if isinstance(given, list) else str(given)


def _warnings(body: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for warning in body["warnings"]:
        said = fill("{} ({})", warning["message"], warning["code"])
        lines.append(fill("- {}: {}", code(warning["where"]), said) if warning["where"] else fill("- {}", said))
    return ["### Warnings", "", *lines, ""] if lines else []


def _limits(suite: str, body: dict[str, Any]) -> list[str]:
    return [f"### {panel.TITLE}", "", *(fill("- {}", line) for line in panel.lines(suite, body)), ""]


def _slices(body: dict[str, Any], gated: dict[str, list[Fraction]]) -> list[str]:
    if not body["slices"]:
        return []
    names = [name for name, metric in body["metrics"].items() if is_rate(metric) and not metric["undefined"]]
    rows = [
        (group, *(sliced(metrics[name], gated.get(name, [])) for name in names))
        for group, metrics in body["slices"].items()
    ]
    return ["### Slices", "", *_table(("slice", *(name.partition(".")[2] for name in names)), rows), ""]


def _inputs(body: dict[str, Any]) -> list[str]:
    lines: list[str] = ["### Inputs", ""]
    for one in body["inputs"]:
        records = plural(one["records"], "record")
        lines.append(fill("- {} {}: {}, sha256 {}", one["role"], code(one["path"]), records, code(one["sha256"])))
    lines.append(fill("- gold set: {}", body["frozen"]))
    made = [fill("- {}", line) for line in made_lines(body)] if made_lines(body, known=True) else []
    return [*lines, "", *([f"### {MADE_TITLE}", "", *made, ""] if made else [])]
