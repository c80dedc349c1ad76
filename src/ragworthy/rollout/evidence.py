"""Reports and receipts as evidence of a move: read, checked, and compared with what the move asks for.

A receipt or a bundle is derived again from its inputs. A report alone is only checked against itself: whoever can
write the file can write another verdict. So a report moves a rollout as far as the canary, and no further.
"""

import json
import os
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from ragworthy import receipts
from ragworthy.errors import data_error
from ragworthy.files import read_bytes, sha256_of
from ragworthy.load.baseline import check_report as check_numbers
from ragworthy.proof import bundle, zipped
from ragworthy.proof.consistent import check_report
from ragworthy.rollout.entries import Basis, Evidence, Numbers

RECALL, TRIPLETS = "retrieval.recall@5", "retrieval.triplet_rate"


def of_report(path: Path, folder: Path) -> Evidence:
    """A JSON report that agrees with itself."""
    check_numbers(path)  # says what is wrong with it
    report = json.loads(read_bytes(path))
    check_report(report, str(path))
    return _evidence("report", path, folder, report, verified=False)


def of_receipt(path: Path, folder: Path, today: date, jobs: int | None = None) -> Evidence:
    """A receipt or a bundle whose verdict was derived again; refused where a byte differs or an input is not here."""
    how = receipts.How(today, jobs)
    if zipped.is_zip(path):
        with bundle.opened(path) as there:
            checked = bundle.check(path, there, how)
    else:
        checked = receipts.check(path, how)
    if not checked.agrees or checked.run is None:
        why = "its inputs are not here" if checked.gone else "it does not re-derive"
        message = f"expected a receipt that verifies, got one of which {why}: {'; '.join(checked.differences[:3])}"
        raise data_error("RW-Z03", message, where=str(path))
    for one in checked.run.judged:
        if one.waiver is not None and one.waiver.expires < today.isoformat():
            message = f"expected waivers that hold, got one on {one.gate.metric} that expired {one.waiver.expires}"
            raise data_error("RW-Z03", message, where=str(path))
    kind = "bundle" if zipped.is_zip(path) else "receipt"
    return _evidence(kind, path, folder, checked.run.report, verified=True)


def _evidence(kind: str, path: Path, folder: Path, report: Mapping[str, Any], *, verified: bool) -> Evidence:
    for suite, body in report["suites"].items():
        if body["frozen"] in ("unfrozen", "broken"):
            message = f"expected a run on the frozen gold set, got one whose set was not it ({suite})"
            raise data_error("RW-Z03", message, where=str(path))
    body = report["suites"].get("retrieval") or {}
    against = body.get("live") or {}
    deltas = against.get("deltas") or {}
    canary = against.get("canary") or {}
    gold = next((one["sha256"] for one in body.get("inputs") or () if one["role"] == "gold"), None)
    return Evidence(
        kind=kind,
        path=Path(os.path.relpath(path, folder)).as_posix(),
        sha256=sha256_of(path),
        verdict=str(report["verdict"]),
        verified=verified,
        eligible=bool(canary["eligible"]) if "eligible" in canary else None,
        shadow_index=against.get("shadow_index"),
        recall=_both(deltas.get(RECALL), lambda value: value),
        flip=_both(deltas.get(TRIPLETS), lambda value: 1 - value),
        basis=Basis(gold=gold, live_index=against.get("live_index")),
    )


def _both(delta: Mapping[str, Any] | None, turned: Any) -> Numbers | None:
    if delta is None or delta["live"] is None or delta["shadow"] is None:
        return None
    return Numbers(*(str(turned(near(delta[side]))) for side in ("live", "shadow")))


def near(value: float) -> Fraction:
    """The fraction that a report shows as a float: rates have far fewer cases than a float has digits.

    >>> near(0.88), near(44 / 50) - near(45 / 50) == -Fraction(1, 50)
    (Fraction(22, 25), True)
    """
    return Fraction(value).limit_denominator(10_000_000)
