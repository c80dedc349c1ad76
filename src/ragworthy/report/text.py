"""The report for people at a terminal: verdict first, then gates, offenders, what to do next."""

from typing import Any

from ragworthy.report.show import number_of, plural, shown_metrics
from ragworthy.text import clip, visible

_COLOURS = {"SHIP": "32", "NO-SHIP": "31", "INCONCLUSIVE": "33", "INVALID": "35"}
_OUTCOMES = {"pass": "32", "fail": "31", "undecided": "33", "not_measured": "35"}


def render(report: dict[str, Any], *, colour: bool = False) -> str:
    """The whole report as text; the last line is the verdict and the exit code."""
    lines = [_paint(report["verdict"], _COLOURS[report["verdict"]], colour) + _headline(report), ""]
    for reason in report["invalid"]:
        lines.append(f"  not valid: {reason}")
    if report["invalid"]:
        lines.append("")
    lines += _gates(report["gates"], colour)
    for suite, body in report["suites"].items():
        lines += _suite(suite, body)
    if report["next"]:
        lines += ["What to do next", *[f"  {step['pattern']}: {step['do']}" for step in report["next"]], ""]
    lines.append(f"verdict: {report['verdict']} (exit {report['exit_code']})")
    return "\n".join(lines) + "\n"


def _headline(report: dict[str, Any]) -> str:
    failing = [gate["metric"] for gate in report["gates"] if gate["outcome"] == "fail" and "waiver" not in gate]
    undecided = [gate["metric"] for gate in report["gates"] if gate["outcome"] == "undecided" and "waiver" not in gate]
    if report["verdict"] == "SHIP":
        return f": all {plural(len(report['gates']), 'gate')} hold"
    if report["verdict"] == "NO-SHIP":
        return f": {', '.join(failing)} {'fails' if len(failing) == 1 else 'fail'}"
    if report["verdict"] == "INCONCLUSIVE":
        return f": {', '.join(undecided)} {'is' if len(undecided) == 1 else 'are'} undecided"
    return ": the evidence cannot carry a verdict"


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[1;{code}m{text}\x1b[0m" if colour else text


def _gates(gates: list[dict[str, Any]], colour: bool) -> list[str]:
    header = ("gate", "outcome", "value", "cases", "95 % interval", "threshold", "margin")
    table = []
    for gate in gates:
        shown = gate["shown"]
        name = f"{gate['metric']}[{visible(gate['slice'])}]" if gate["slice"] else gate["metric"]
        outcome = "waived" if "waiver" in gate else gate["outcome"]
        table.append((name, outcome, shown["value"], shown["cases"], shown["interval"], shown["rule"], shown["margin"]))
    widths = [max(len(row[i]) for row in (header, *table)) for i in range(len(header))]
    lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(header, widths, strict=True)).rstrip()]
    for gate, row in zip(gates, table, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        cells[1] = _paint(cells[1], _OUTCOMES[gate["outcome"]], colour) if colour else cells[1]
        lines.append("  " + "  ".join(cells).rstrip())
    lines.append("")
    for gate in gates:
        name = f"{gate['metric']}[{visible(gate['slice'])}]" if gate["slice"] else gate["metric"]
        if "waiver" in gate:
            waiver = gate["waiver"]
            lines.append(
                f"  {name}: waived until {waiver['expires']} by {visible(waiver['owner'])}: {visible(waiver['reason'])}"
            )
        elif gate["outcome"] != "pass" and gate["reason"]:
            lines.append(f"  {name}: {gate['reason']}")
        if "previous" in gate:
            lines.append(f"  {name}: the baseline's threshold was {gate['previous']}")
        if gate["note"]:
            lines.append(f"  {name}: {gate['note']}")
    return [*lines, ""] if lines[-1] else lines


def _suite(suite: str, body: dict[str, Any]) -> list[str]:
    counts = body["counts"]
    lines = [
        f"{suite}: {plural(counts['gold'], 'question')} ({counts['answerable']:,} answerable, "
        f"{counts['unanswerable']:,} not), {counts['answered']:,} answered, {counts['refused']:,} refused, "
        f"{counts['missing']:,} missing"
    ]
    for name, metric in shown_metrics(body):
        if metric["undefined"] is None and metric["den"] is not None:
            low_high = f"{metric['low']:.3f} … {metric['high']:.3f}"
            lines.append(f"  {name:<26} {number_of(metric):<8} {metric['num']}/{metric['den']}  {low_high}")
        elif metric["undefined"] is None:
            lines.append(f"  {name:<26} {metric['value']}")
        else:
            lines.append(f"  {name:<26} –        {metric['undefined']}")
    lines.append("  " + ", ".join(f"{label} {count:,}" for label, count in body["labels"].items()))
    if body["stages"]:
        lines.append("  stages to blame: " + ", ".join(f"{stage} {count:,}" for stage, count in body["stages"].items()))
    lines.append("")
    for name, metrics in body["slices"].items():
        parts = [
            f"{metric.partition('.')[2]} {number_of(value)} ({value['num']}/{value['den']})"
            for metric, value in metrics.items()
            if value["undefined"] is None and value["den"] is not None and not metric.startswith("answers.scu")
        ]
        lines.append(f"  slice {visible(name)}: " + ", ".join(parts))
    if body["slices"]:
        lines.append("")
    if body["offenders"]:
        lines.append("Worst offenders")
        for one in body["offenders"]:
            lines += _offender(one)
        lines.append("")
    if body["warnings"]:
        lines.append("Warnings")
        for warning in body["warnings"]:
            where = f"{visible(warning['where'])}: " if warning["where"] else ""
            lines.append(f"  {where}{visible(warning['message'])} [{warning['code']}]")
        lines.append("")
    return lines


def _offender(one: dict[str, Any]) -> list[str]:
    lines = [f"  {visible(one['qid'])}  {one['label']}  ({one['stage']}: {one['why']})"]
    if one["question"]:
        lines.append(f"      question   {visible(clip(one['question'], 100))}")
    if one["claim"] is not None:
        lines.append(f"      claim      {visible(clip(one['claim'], 100))}")
        lines.append(f"      cites      {ids(one['citations'])}")
    lines.append(f"      gold       {ids(one['gold_citations'])}")
    lines.append(f"      retrieved  {ids(one['retrieved_ids'])}")
    return lines


def ids(given: Any, most: int = 8) -> str:
    """A list of ids on one line."""
    if not isinstance(given, list):
        return visible(clip(str(given), 80))
    shown = [visible(clip(str(one), 40)) for one in given[:most]]
    more = f" … {len(given) - most} more" if len(given) > most else ""
    return (", ".join(shown) or "none") + more
