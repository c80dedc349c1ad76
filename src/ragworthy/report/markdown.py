"""The report that somebody signs: for the comment of a pull request, a job summary, or a file beside the release."""

from collections.abc import Iterable, Sequence
from typing import Any

from ragworthy.report import changes, compared, panel, tested
from ragworthy.report.headline import gate_names, heading, why_of
from ragworthy.report.last import not_valid
from ragworthy.report.markdown_details import Section, folded, metrics, table
from ragworthy.report.markdown_offenders import brief_offenders, offenders
from ragworthy.report.part import Voices, blamed, partial_notes, steps
from ragworthy.report.show import default_notes, gate_name, gate_notes, limits, plural
from ragworthy.safe import Markdown, code, fill

COMMENT = 65_000
"""So many bytes fit into a comment, with its marker: GitHub takes 65,536 characters, and none is less than a byte."""
SUMMARY = 1_000_000
"""So many bytes fit into the job summary of a step: GitHub takes 1 MiB."""
_MARK = {"SHIP": "✅", "NO-SHIP": "❌", "INCONCLUSIVE": "❔", "INVALID": "⚠️"}
_WAIVED = "⏸️"
_OUTCOME = {
    "pass": "✅ pass",
    "fail": "❌ fail",
    "undecided": "❔ undecided",
    "not_measured": "⚠️ not measured",
}
_CUT_LINE = 400
"""So many bytes are kept for the line that says what was left out."""


def render(report: dict[str, Any], voices: Voices, *, limit: int = COMMENT) -> str:
    """The report as Markdown. The decision, the waivers and the gates are always there; of the sections behind them
    each is there as a whole or not at all.
    """
    suites = report["suites"]
    gated = limits(report)
    sections = [
        _tested(report),
        *(_changed(suite, body, named=len(suites) > 1) for suite, body in suites.items()),
        _next(report, voices),
        *(offenders(report, suite, voices, named=len(suites) > 1) for suite in suites),
        _cannot_show(report),
    ]
    for suite, body in suites.items():
        name = f" ({suite})" if len(suites) > 1 else ""
        sections.append(metrics(suite, body, gated, voices(suite), name))
        sections += folded(body, gated, name)
    tool = code(f"ragworthy {report['tool']['version']}")
    last = [fill("{} · verdict **{}** (exit {})", tool, report["verdict"], str(report["exit_code"])), ""]
    return _fit(_head(report, voices), [one for one in sections if one.lines], last, limit)


def brief(report: dict[str, Any], voices: Voices, *, most: int = 5) -> str:
    """The decision, the gates and the first offenders: what fits into a cell of a notebook."""
    return "\n".join([*_head(report, voices, titled=False), *brief_offenders(blamed(report, voices, most), most)])


def _fit(head: list[str], sections: Sequence[Section], last: list[str], limit: int) -> str:
    """Head and last line, and between them, in their order, the sections that fit as a whole."""
    left = limit - _bytes([*head, *last]) - _CUT_LINE
    kept: list[str] = []
    out: list[str] = []
    for section in sections:
        size = _bytes(section.lines)
        if size <= left:
            kept += section.lines
            left -= size
        else:
            out.append(section.title)
    told = [_left_out(out, limit), ""] if out else []
    whole = [*head, *kept, *told, *last]
    if _bytes(whole) <= limit:
        return "\n".join(whole)
    return "\n".join([*_fitting(head, limit - 200), "", f"_cut at {limit // 1000} KB: {_REST}_", ""])


_REST = "the JSON report (`-o FILE.json`) has all of it"


def _left_out(titles: Sequence[str], limit: int) -> Markdown:
    """Which sections are not here, and where they are."""
    named = ", ".join(titles[:6]) + (f" and {len(titles) - 6} more" if len(titles) > 6 else "")
    told = f"_{plural(len(titles), 'section')} left out to stay under {limit // 1000} KB"
    return fill("{}: {}; {}_", Markdown(told), named, Markdown(_REST))


def _fitting(lines: list[str], left: int) -> list[str]:
    """The lines that fit, whole: half a line may end inside the code that keeps its text from being linked."""
    fitting = []
    for line in lines:
        size = len(line.encode()) + 1
        if size <= left:
            fitting.append(line)
            left -= size
    return fitting


def _bytes(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


# the decision


def _head(report: dict[str, Any], voices: Voices, *, titled: bool = True) -> list[str]:
    """The decision: the verdict, what it rests on, what was waived, and every gate."""
    mark = _WAIVED if report["verdict"] == "SHIP" and _waived(report) else _MARK[report["verdict"]]
    lines: list[str] = [fill("## {} Ragworthy: {}", mark, heading(report)), "", *_sentence(report)]
    suites = report["suites"].items()
    leads = [line for suite, body in suites for line in (*voices(suite).lead(body), *changes.lead(body)[:1])]
    notes = [fill("- {}", line) for line in leads]
    notes += [fill("- {}", note) for note in partial_notes(report, voices)]
    notes += [fill("- not valid: {}", reason) for reason in not_valid(report)]
    lines += [*notes, ""] if notes else []
    title = ["### Gates", ""] if titled else []
    return [*lines, *_waivers(report), *title, *_gates(report)]


def _sentence(report: dict[str, Any]) -> list[str]:
    """What failed or is undecided, in numbers; of a run that ships, what holds."""
    told = []
    ships = (("Holds", "pass"),) if report["verdict"] == "SHIP" else ()
    for word, outcome in (("Fails", "fail"), ("Undecided", "undecided"), *ships):
        there = [gate for gate in report["gates"] if gate["outcome"] == outcome and _is_open(gate)]
        if there:
            several = "; ".join(_in_numbers(gate) for gate in there[:4])
            more = f"; {len(there) - 4} more" if len(there) > 4 else ""
            told += [f"**{word}:** {several}{more}.", ""]
    return told


def _is_open(gate: dict[str, Any]) -> bool:
    return "waiver" not in gate and gate.get("judged", True)


def _in_numbers(gate: dict[str, Any]) -> Markdown:
    """A gate with its value and its rule."""
    shown = gate["shown"]
    value = f"{shown['value']} ({shown['cases']})" if shown["cases"] else shown["value"]
    return fill("{} {}, needs {}", _named(gate), value, shown["rule"])


def _waived(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [gate for gate in report["gates"] if "waiver" in gate]


def _waivers(report: dict[str, Any]) -> list[str]:
    """Every waiver, as loud as a failure: what does not hold, who lets it through, why and until when."""
    waived = _waived(report)
    if not waived:
        return []
    rows = []
    for gate in waived:
        waiver = gate["waiver"]
        rows.append((f"⏸️ {gate_name(gate)}", _measured(gate), waiver["reason"], waiver["owner"], waiver["expires"]))
    are = "is" if len(waived) == 1 else "are"
    title = f"### ⏸️ {plural(len(waived), 'gate does', 'gates do')} not hold and {are} waived"
    return [title, "", *table(("gate", "measured", "reason", "owner", "until"), rows), ""]


def _measured(gate: dict[str, Any]) -> str:
    return f"{gate['shown']['value']}, needs {gate['shown']['rule']}"


def _gates(report: dict[str, Any]) -> list[str]:
    gates = report["gates"]
    rows = []
    for gate in gates:
        shown = gate["shown"]
        outcome = _OUTCOME[gate["outcome"]] if gate.get("judged", True) else "not judged"
        outcome = "⏸️ waived" if "waiver" in gate else outcome
        cells = (shown[key] for key in ("value", "cases", "interval", "rule"))
        rows.append((gate_name(gate).replace("[", " ["), outcome, *cells, why_of(gate)))
    header = ("gate", "outcome", "value", "cases", "95 % interval", "threshold", "why")
    lines = [*table(header, rows), ""]
    of_pairs, pairs, alike = compared.table(gates)
    lines += [*table(of_pairs, pairs), ""] if pairs else []
    below = [fill("- {}", line) for line in alike]
    for gate, name in zip(gates, gate_names(gates), strict=True):
        rule = name.removeprefix(gate_name(gate)).strip()
        head = fill("{} {}", _named(gate), rule) if rule else _named(gate)
        below += [fill("- {}: {}", head, note) for note in gate_notes(gate)]
    below += [fill("- {}", note) for note in default_notes(gates)]
    return [*lines, *below, ""] if below else lines


def _named(gate: dict[str, Any]) -> Markdown:
    """A gate in a sentence: its id as code, its slice as text."""
    name = code(gate_name(gate | {"slice": None}))
    return fill("{} {}", name, gate["slice"]) if gate["slice"] else name


# the sections behind it


def _tested(report: dict[str, Any]) -> Section:
    return Section(tested.TITLE, [f"### {tested.TITLE}", "", *table(("", ""), tested.facts(report)), ""])


def _changed(suite: str, body: dict[str, Any], *, named: bool) -> Section:
    """What changed against the baseline, with the questions that flipped, both ways."""
    title = f"What changed ({suite})" if named else "What changed"
    lines = changes.block(body)
    return Section(title, [fill("### {}", title), "", *lines, *([""] if lines[-1] else [])] if lines else [])


def _next(report: dict[str, Any], voices: Voices) -> Section:
    todo = [fill("- **{}**: {}", step["pattern"], step["do"]) for step in steps(report, voices)]
    title = "What to do next"
    return Section(title, [f"### {title}", "", *todo, ""] if todo else [])


def _cannot_show(report: dict[str, Any]) -> Section:
    told = [line for suite, body in report["suites"].items() for line in panel.lines(suite, body)]
    return Section(panel.TITLE, [f"### {panel.TITLE}", "", *(fill("- {}", line) for line in told), ""])
