"""JUnit XML: one test case a gate. Failure = quality, error = could not be scored, skipped = waived."""

import re
from typing import Any
from xml.sax.saxutils import escape, quoteattr

_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: dict[str, Any]) -> str:
    """The gates as a test suite."""
    failures = errors = skipped = 0
    cases: list[str] = []
    for gate in report["gates"]:
        name = f"{gate['metric']}[{gate['slice']}]" if gate["slice"] else gate["metric"]
        title = f"{name} {gate['shown']['rule']}"
        body = ""
        detail = f"{gate['metric']}: {gate['shown']['value']}, expected {gate['shown']['rule']}"
        if gate["reason"]:
            detail += f" ({gate['reason']})"
        if "waiver" in gate:
            skipped += 1
            waiver = gate["waiver"]
            body = f"<skipped message={_attr('waived until ' + waiver['expires'] + ': ' + waiver['reason'])}/>"
        elif gate["metric"].endswith(".missing") and gate["outcome"] == "fail":
            errors += 1
            body = f'<error type="missing" message={_attr(detail)}/>'
        elif gate["outcome"] == "fail":
            failures += 1
            body = f'<failure type="gate" message={_attr(detail)}>{_text(_offenders(report))}</failure>'
        elif gate["outcome"] == "not_measured" and gate["optional"]:
            skipped += 1
            body = f"<skipped message={_attr(detail)}/>"
        elif gate["outcome"] == "not_measured":
            errors += 1
            body = f'<error type="not_measured" message={_attr(detail)}/>'
        elif gate["outcome"] == "undecided":
            errors += 1
            body = f'<error type="undecided" message={_attr(detail)}/>'
        cases.append(f'    <testcase classname="ragworthy.gates" name={_attr(title)}>{body}</testcase>')
    broken = [reason for reason in report["invalid"] if "was not measured" not in reason and "no trace" not in reason]
    for reason in broken:
        errors += 1
        cases.append(
            '    <testcase classname="ragworthy.evidence" name="evidence">'
            f'<error type="invalid" message={_attr(reason)}/></testcase>'
        )
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="ragworthy" {counts}>',
            f'  <testsuite name="ragworthy {report["verdict"]}" {counts}>',
            *cases,
            "  </testsuite>",
            "</testsuites>",
            "",
        ]
    )


def _offenders(report: dict[str, Any]) -> str:
    lines = []
    for body in report["suites"].values():
        for one in body["offenders"]:
            lines.append(f"{one['qid']} {one['label']} {one['stage']}: {one['why']}; claim: {one['claim'] or ''}")
    return "\n".join(lines)


def _text(text: str) -> str:
    return escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))


def _attr(text: str) -> str:
    return quoteattr(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))
