"""What the lint finds in SARIF 2.1.0, as code hosts read it."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from ragworthy.codes import CATALOGUE
from ragworthy.errors import Problem
from ragworthy.gold.commands import Linted
from ragworthy.gold.lint import Finding
from ragworthy.safe import unlinked

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "ragworthyFinding/v1"
"""By this a host tells that a finding is the one it knows, although its line is another."""


def sarif(several: Sequence[Linted], version: str) -> dict[str, Any]:
    """One run over all gold sets that were looked at."""
    used = sorted({finding.problem.code for linted in several for finding in linted.findings})
    seen: Counter[str] = Counter()
    results = [
        _result(finding, linted.label, used.index(finding.problem.code), seen)
        for linted in several
        for finding in linted.findings
    ]
    driver = {"name": "ragworthy", "version": version, "rules": [_rule(code) for code in used]}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _rule(code: str) -> dict[str, Any]:
    entry = CATALOGUE[code]
    return {
        "id": code,
        "name": entry.name,
        "shortDescription": {"text": entry.means},
        "help": {"text": entry.do},
    }


def _result(finding: Finding, label: str, rule: int, seen: Counter[str]) -> dict[str, Any]:
    problem = finding.problem
    message = unlinked(": ".join(filter(None, (problem.field, problem.message))))
    return {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(label)},
                    "region": {"startLine": max(1, finding.line)},
                }
            }
        ],
        "partialFingerprints": {FINGERPRINT: _fingerprint(finding.qid, label, problem, seen)},
    }


def _fingerprint(qid: str, label: str, problem: Problem, seen: Counter[str]) -> str:
    """A hash of what stays when items above are added or removed: no line. Of equals each has its number."""
    same = "\n".join((problem.code, label, qid, problem.field))
    seen[same] += 1
    return hashlib.sha256(f"{same}\n{seen[same]}".encode("utf-8", "backslashreplace")).hexdigest()
