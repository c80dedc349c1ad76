"""Whether a report is one that ragworthy could have written, and a receipt the one of it, before either is kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragworthy.errors import RagworthyError, data_error
from ragworthy.history.commit import same_commit
from ragworthy.names import Verdict, exit_code
from ragworthy.proof.outcomes import check_outcomes
from ragworthy.proving import IMPLIED
from ragworthy.report import receipt


def check_report(report: Mapping[str, Any], where: str) -> None:
    """Refuse a report whose verdict does not follow from its own gates, or these not from its numbers."""
    try:
        check_outcomes(report, where)
        follows = _follows(report["gates"], report["invalid"])
        said, code = str(report["verdict"]), report["exit_code"]
    except (LookupError, TypeError, AttributeError):
        message = "expected a verdict with its gates and what is not valid, got a report without"
        raise data_error("RW-H16", message, where=where) from None
    if said != follows:
        message = f"expected {follows}, which follows from the gates, got {said}"
        raise data_error("RW-H16", message, where=where, field="verdict")
    if code != int(exit_code(follows)):
        message = f"expected {int(exit_code(follows))}, which follows from the verdict, got {code}"
        raise data_error("RW-H16", message, where=where, field="exit_code")


def _follows(gates: list[Any], invalid: list[Any]) -> Verdict:
    """What `gates.verdict` says of gates as a report has them."""
    if not gates and not invalid:
        return Verdict.INCONCLUSIVE
    counted = [one for one in gates if one.get("waiver") is None]
    measured = [one for one in gates if one["outcome"] != "not_measured"]
    lacking = [
        one
        for one in counted
        if one["outcome"] == "not_measured" and not one["optional"] and one.get("judged", True) is True
    ]
    deciding = [one for one in measured if one["metric"].partition(".")[2] not in IMPLIED]
    if invalid or lacking or not deciding:
        return Verdict.INVALID
    outcomes = {one["outcome"] for one in counted}
    if "fail" in outcomes:
        return Verdict.NO_SHIP
    return Verdict.INCONCLUSIVE if "undecided" in outcomes else Verdict.SHIP


def check_receipt(report: Mapping[str, Any], path: Path, commit: str) -> None:
    """Refuse a receipt that is not the one of a report, or of another commit."""
    _, body, _ = receipt.read(path)
    if body.get("verdict") != report["verdict"]:
        raise _other(path, "verdict", f"{report['verdict']} of the report", body.get("verdict"))
    derived = receipt.report_hash(dict(report))
    if body.get("report_sha256") != derived:
        raise _other(path, "report_sha256", f"that of the report, {derived}", body.get("report_sha256"))
    named = commit_in(body)
    if named and not same_commit(named, commit):
        raise _other(path, "request.commit", commit or "no commit", named)


def commit_in(body: Mapping[str, Any]) -> str:
    """The commit that a receipt names; empty where it names none."""
    asked = body.get("request")
    named = asked.get("commit") if isinstance(asked, dict) else None
    return named if isinstance(named, str) else ""


def _other(path: Path, field: str, expected: str, got: object) -> RagworthyError:
    return data_error("RW-H16", f"expected {expected}, got {got}", where=str(path), field=field)
