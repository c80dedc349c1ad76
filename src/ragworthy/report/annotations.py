"""What a code host shows beside the lines of a change: annotations of GitHub, and the Code Quality report of GitLab."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ragworthy.codes import CATALOGUE
from ragworthy.errors import Problem
from ragworthy.report.blamed import named
from ragworthy.report.headline import heading
from ragworthy.report.show import gate_name, gate_notes, plural
from ragworthy.safe import json_text, workflow_text, workflow_value
from ragworthy.text import clip

MOST = 10
"""So many errors GitHub shows of one step, and as many warnings; the rest it drops without a word."""
WIDEST = 600
ERROR, WARNING, NOTICE = "error", "warning", "notice"


class Place(NamedTuple):
    """A line of a file, as the repository names it."""

    file: str
    line: int = 1


class Places(NamedTuple):
    """Where things are that a report names; what nobody finds has no place."""

    gates: Mapping[int, Place]
    """The table of each gate in the policy, by its position in the report."""
    questions: Mapping[tuple[str, str], Place]
    """The gold item of each offender, by suite and id."""


class Annotation(NamedTuple):
    """One remark on a line."""

    level: str
    """error, warning or notice."""
    check: str
    """What it is about, in one stable word: a gate's metric, a label, a code."""
    title: str
    message: str
    place: Place | None = None


def of_report(report: Mapping[str, Any], places: Places) -> list[Annotation]:
    """Errors: what keeps the verdict from SHIP. Warnings: waived gates, the questions to look at, what is doubtful."""
    remarks = [*_of_gates(report, places), *_of_evidence(report)]
    if report["verdict"] == "SHIP":
        remarks.insert(0, Annotation(NOTICE, "verdict", "ragworthy", heading(dict(report))))
    for suite, body in report["suites"].items():
        remarks += [_of_offender(suite, one, places) for one in body["offenders"]]
    for body in report["suites"].values():
        remarks += map(_of_warning, body["warnings"])
    return remarks


def of_findings(findings: Iterable[tuple[str, Problem]]) -> list[Annotation]:
    """Problems with their level: what has to be fixed before anything can be scored, and what the lint says."""
    remarks = []
    for level, one in findings:
        said = ": ".join(part for part in (one.field, one.message) if part)
        name = f" {CATALOGUE[one.code].name}" if one.code in CATALOGUE else ""
        remarks.append(Annotation(level, one.code, f"{one.code}{name}", said, _place(one.where)))
    return remarks


_WORDS = {"fail": "failing gate", "undecided": "undecided gate", "not_measured": "gate not measured"}


def _of_gates(report: Mapping[str, Any], places: Places) -> Iterator[Annotation]:
    for nth, gate in enumerate(report["gates"]):
        if (gate["outcome"] == "pass" or not gate.get("judged", True)) and "waiver" not in gate:
            continue
        shown, name = gate["shown"], gate_name(gate)
        rests = f" ({shown['cases']})" if shown["cases"] else ""
        why = f": {gate['why']}" if gate["why"] else ""
        said = "; ".join([f"{shown['value']}{rests}, needs {shown['rule']}{why}", *gate_notes(gate)])
        title = f"{_WORDS[gate['outcome']]}: {name}"
        if "waiver" in gate:
            yield Annotation(WARNING, gate["metric"], f"waived gate: {name}", said, places.gates.get(nth))
        elif gate["outcome"] == "not_measured" and gate["optional"]:
            yield Annotation(WARNING, gate["metric"], f"optional {title}", said, places.gates.get(nth))
        else:
            yield Annotation(ERROR, gate["metric"], title, said, places.gates.get(nth))


def _of_evidence(report: Mapping[str, Any]) -> Iterator[Annotation]:
    for reason in report["invalid"]:
        if "was not measured" not in reason:  # the gate says it
            yield Annotation(ERROR, "invalid", "evidence not valid", reason)


def _of_offender(suite: str, one: Mapping[str, Any], places: Places) -> Annotation:
    asked = f"{clip(one['question'], 200)}: " if one.get("question") else ""
    claim = f"; answered: {clip(one['claim'], 200)}" if one.get("claim") else ""
    wanted = f"; expected: {clip(one['expected'], 200)}" if one.get("expected") else ""
    said = f"{asked}{named(dict(one))}: {one['why']}{claim}{wanted}"
    return Annotation(
        WARNING, one["label"], f"{one['label']} {one['qid']}", said, places.questions.get((suite, one["qid"]))
    )


def _of_warning(warning: Mapping[str, Any]) -> Annotation:
    place = _place(warning["where"] or "")
    return Annotation(WARNING, warning["code"], f"{warning['code']} {warning['name']}", warning["message"], place)


def _place(where: str) -> Place | None:
    """`file:line`, or a file alone.

    >>> _place("gold.jsonl:7"), _place("gold.jsonl"), _place("")
    (Place(file='gold.jsonl', line=7), Place(file='gold.jsonl', line=1), None)
    """
    file, _, line = where.rpartition(":")
    if file and line.isascii() and line.isdigit():
        return Place(file, max(1, int(line)))
    return Place(where) if where else None


# GitHub


def github(remarks: Sequence[Annotation]) -> str:
    """Workflow commands, one per line: of each level as many as GitHub shows, the last of which counts the rest."""
    lines: list[str] = []
    for level in (ERROR, WARNING, NOTICE):
        there = [one for one in remarks if one.level == level]
        shown = there if len(there) <= MOST else there[: MOST - 1]
        lines += map(_command, shown)
        if more := len(there) - len(shown):
            said = f"{plural(more, f'more {level}')}: the report has them all"
            lines.append(_command(Annotation(level, "more", f"ragworthy: {more} more", said)))
    return "".join(f"{line}\n" for line in lines)


def _command(one: Annotation) -> str:
    """A workflow command; text from data ends neither a property nor the line.

    >>> _command(Annotation("error", "x", "a: b, c", "50 % off", Place("g,1.jsonl", 3)))
    '::error file=g%2C1.jsonl,line=3,title=a%3A b%2C c::50 %25 off'
    """
    place = f"file={workflow_value(one.place.file)},line={one.place.line}," if one.place is not None else ""
    title, said = workflow_value(clip(one.title, 120)), workflow_text(clip(one.message, WIDEST))
    return f"::{one.level} {place}title={title}::{said}"


# GitLab

_SEVERITY = {ERROR: "critical", WARNING: "minor", NOTICE: "info"}


def gitlab(remarks: Sequence[Annotation], fallback: str) -> str:
    """The Code Quality report: every remark needs a file, so those without a place are laid on the `fallback`."""
    seen: Counter[str] = Counter()
    issues = []
    for one in remarks:
        if one.level == NOTICE:
            continue
        place = one.place or Place(fallback)
        # without the line and the numbers: what stays the same is the same issue, wherever it moves
        same = "\n".join((one.check, place.file, one.title))
        seen[same] += 1
        mark = hashlib.sha256(f"{same}\n{seen[same]}".encode("utf-8", "backslashreplace")).hexdigest()
        issues.append(
            {
                "description": clip(f"{one.title}: {one.message}", WIDEST),
                "check_name": one.check,
                "fingerprint": mark,
                "severity": _SEVERITY[one.level],
                "location": {"path": place.file, "lines": {"begin": place.line}},
            }
        )
    return json_text(issues)
