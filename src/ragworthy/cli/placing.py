"""Where gates and gold items are in their files, for what code hosts show beside lines."""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import RagworthyError
from ragworthy.gold.lint import Finding
from ragworthy.load.questions import open_questions
from ragworthy.metrics.registry import find
from ragworthy.report.annotations import (
    ERROR,
    NOTICE,
    Annotation,
    Place,
    Places,
    github,
    gitlab,
    of_findings,
    of_report,
)

GITHUB, GITLAB = "github", "gitlab"
FORMS = (GITHUB, GITLAB)
"""Formats that name lines of files."""
_ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Where build servers have the repository."""
_GATE = re.compile(r"\s*\[\[\s*(?:tool\s*\.\s*ragworthy\s*\.\s*)?gate\s*\]\]")
_TABLE = re.compile(r"\s*\[+\s*(?:tool\s*\.\s*ragworthy\s*\.\s*)?(\w[\w-]*)")
_DEFAULT_K = 5


def places_of(report: Mapping[str, Any]) -> Places:
    """The line of every gate and of every offender. They are looked up for people: a file that cannot be read any more
    gives none.
    """
    policy = (report.get("provenance") or {}).get("policy")
    gates = _gates(report, Path(policy["path"])) if policy else {}
    questions = {
        (suite, qid): place
        for suite, body in report["suites"].items()
        for qid, place in _questions(body, {one["qid"] for one in body["offenders"]}).items()
    }
    return Places(gates, questions)


def from_root(remark: Annotation) -> Annotation:
    """The same with the file as the repository names it, where a build server says where that is."""
    if remark.place is None:
        return remark
    return remark._replace(place=remark.place._replace(file=rooted(remark.place.file)))


def rooted(path: str) -> str:
    """A path as the repository names it."""
    for name in _ROOTS:
        root = os.environ.get(name)
        if root and (whole := Path(os.path.realpath(path))).is_relative_to(os.path.realpath(root)):
            return whole.relative_to(os.path.realpath(root)).as_posix()
    return path


# gates


class _Table(NamedTuple):
    """A `[[gate]]` of a policy as it is written."""

    line: int
    values: dict[str, Any]


def _gates(report: Mapping[str, Any], policy: Path) -> dict[int, Place]:
    try:
        text = policy.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    tables, sections = list(_tables(text)), dict(_sections(text))
    found = {}
    for nth, gate in enumerate(report["gates"]):
        suite = gate.get("suite") or gate["metric"].partition(".")[0]
        line = next((table.line for table in tables if _is_of(table.values, gate)), sections.get(suite, 1))
        found[nth] = Place(policy.as_posix(), line)
    return found


def _tables(text: str) -> Iterator[_Table]:
    """Every gate with its line; one that cannot be read alone is left out."""
    lines = text.split("\n")
    for nth, line in enumerate(lines):
        if not _GATE.match(line):
            continue
        end = next((at for at in range(nth + 1, len(lines)) if lines[at].lstrip().startswith("[")), len(lines))
        try:
            values = tomllib.loads("\n".join(lines[nth + 1 : end]))
        except tomllib.TOMLDecodeError:  # e.g. a list over several lines
            continue
        yield _Table(nth + 1, values)


def _sections(text: str) -> Iterator[tuple[str, int]]:
    for nth, line in enumerate(text.split("\n"), 1):
        if (table := _TABLE.match(line)) and not _GATE.match(line):
            yield table[1], nth


def _is_of(values: Mapping[str, Any], gate: Mapping[str, Any]) -> bool:
    """Whether a written gate is this one of the report."""
    metric = values.get("metric")
    if not isinstance(metric, str) or values.get("slice") != gate["slice"]:
        return False
    known = find(metric, default_k=_DEFAULT_K, suite=values.get("suite"))
    if gate["metric"] not in (metric, known.id if known is not None else None):
        return False
    limits = [str(values[key]) for key in ("min", "max", "max_drop", "max_worse") if key in values]
    return not limits or any(_same(limit, gate["threshold"]) for limit in limits)


def _same(limit: str, threshold: str) -> bool:
    try:
        return float(limit) == float(threshold)
    except ValueError:
        return limit == threshold


# gold items


class _Named(msgspec.Struct, frozen=True):
    """What a gold item is called."""

    qid: str | None = None
    q_id: str | None = None
    id: str | None = None


def _questions(body: Mapping[str, Any], wanted: set[str]) -> dict[str, Place]:
    path = next((one["path"] for one in body["inputs"] if one["role"] in ("gold", "questions")), None)
    if path is None or not wanted or not Path(path).is_file():
        return {}
    decode = msgspec.json.Decoder(_Named).decode
    found: dict[str, Place] = {}
    try:
        for number, line in open_questions("gold", path).numbered():
            try:
                item = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue  # scoring has said what is wrong with it
            qid = item.qid or item.q_id or item.id or ""
            if qid in wanted and qid not in found:
                found[qid] = Place(path, number)
            if len(found) == len(wanted):
                break
    except (RagworthyError, OSError):
        return {}
    return found


# what commands print


def render(report: Mapping[str, Any], form: str) -> str:
    """A report as annotations of GitHub, or as GitLab's Code Quality report."""
    policy = (report.get("provenance") or {}).get("policy")
    remarks = list(map(from_root, of_report(report, places_of(report))))
    if form == GITLAB:
        gold = next((one["path"] for body in report["suites"].values() for one in body["inputs"]), ".")
        return gitlab(remarks, rooted(policy["path"] if policy else gold))
    return github(remarks) + f"verdict: {report['verdict']} (exit {report['exit_code']})\n"


def problems(error: RagworthyError) -> str:
    """What has to be fixed, as annotations of GitHub."""
    return github(list(map(from_root, of_findings([(ERROR, one) for one in error.problems]))))


def annotated(findings: Iterable[Finding]) -> str:
    """What the lint of a gold set finds, as annotations of GitHub."""
    levels = {"note": NOTICE}
    remarks = of_findings([(levels.get(one.level, one.level), one.problem) for one in findings])
    return github(list(map(from_root, remarks)))
