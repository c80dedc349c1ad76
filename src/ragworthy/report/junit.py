"""JUnit XML: one test case a gate. Failure = quality, error = could not be scored, skipped = waived."""

from collections import Counter
from typing import Any

from ragworthy.metrics.registry import suite_of
from ragworthy.report.blamed import named
from ragworthy.report.headline import partly
from ragworthy.report.made import WIDEST
from ragworthy.report.part import Voices
from ragworthy.report.show import gate_name
from ragworthy.safe import xml
from ragworthy.text import clip, in_words


def render(report: dict[str, Any], voices: Voices) -> str:
    """The gates as a test suite; what makes the evidence invalid beside them is an error case."""
    judged = [_judged(gate, report, voices) for gate in report["gates"]]
    cases = [
        f'    <testcase classname="ragworthy.gates" name="{xml(_title(gate))}">{body}</testcase>'
        for gate, (_, body) in zip(report["gates"], judged, strict=True)
    ]
    kinds = Counter(kind for kind, _ in judged)
    for reason in report["invalid"]:
        if "was not measured" not in reason and "no trace" not in reason:
            kinds["error"] += 1
            error = f'<error type="invalid" message="{xml(reason)}"/>'
            cases.append(f'    <testcase classname="ragworthy.evidence" name="evidence">{error}</testcase>')
    failed, broken, skipped = kinds["failure"], kinds["error"], kinds["skipped"]
    counts = f'tests="{len(cases)}" failures="{failed}" errors="{broken}" skipped="{skipped}"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="ragworthy" {counts}>',
            f'  <testsuite name="ragworthy {report["verdict"]}{partly(report)}" {counts}>',
            *_properties(report),
            *cases,
            "  </testsuite>",
            "</testsuites>",
            "",
        ]
    )


def _properties(report: dict[str, Any]) -> list[str]:
    """How what was scored was made, suite by suite, as far as anything says it."""
    told = [
        f'      <property name="{xml(f"{suite}.{key}")}" value="{xml(in_words(value, WIDEST))}"/>'
        for suite, body in report["suites"].items()
        for key, value in (body.get("provenance") or {}).items()
        if value is not None and value != {}
    ]
    return ["    <properties>", *told, "    </properties>"] if told else []


def _title(gate: dict[str, Any]) -> str:
    name = gate_name(gate)
    return f"{name} {gate['shown']['rule']}"


def _judged(gate: dict[str, Any], report: dict[str, Any], voices: Voices) -> tuple[str, str]:
    """What became of a gate, and the element that says so."""
    detail = f"{gate['metric']}: {gate['shown']['value']}, expected {gate['shown']['rule']}"
    if gate["reason"]:
        detail += f" ({gate['reason']})"
    if gate.get("paired") and gate["note"]:
        detail += f"; {gate['note']}"
    outcome = gate["outcome"]
    if "waiver" in gate:
        waived = f"waived until {gate['waiver']['expires']}: {gate['waiver']['reason']}"
        return "skipped", f'<skipped message="{xml(waived)}"/>'
    if outcome == "fail" and not gate["metric"].endswith(".missing"):
        return (
            "failure",
            f'<failure type="gate" message="{xml(detail)}">{_offenders(report, gate, voices)}</failure>',
        )
    if outcome == "not_measured" and (gate["optional"] or not gate.get("judged", True)):
        return "skipped", f'<skipped message="{xml(detail)}"/>'
    if outcome != "pass":
        return "error", f'<error type="{"missing" if outcome == "fail" else outcome}" message="{xml(detail)}"/>'
    return "pass", ""


def _offenders(report: dict[str, Any], gate: dict[str, Any], voices: Voices) -> str:
    """The worst of the gate's own suite, of those that its metric is about."""
    suite = gate.get("suite") or suite_of(gate["metric"]) or ""
    voice, lines = voices(suite), []
    for one in report["suites"][suite]["offenders"]:
        if voice.pulls_down(one, gate["metric"]):
            shown = one["claim"] is not None or voice.claims_always
            claim = f"; claim: {clip(one['claim'] or '', 300)}" if shown else ""
            wanted = f"; expected: {clip(one['expected'], 300)}" if one.get("expected") else ""
            asked = f"; question: {clip(one['question'], 300)}" if one.get("question") else ""
            lines.append(xml(f"{one['qid']} {one['label']} {named(one)}: {one['why']}{asked}{claim}{wanted}"))
    return "\n".join(lines)
