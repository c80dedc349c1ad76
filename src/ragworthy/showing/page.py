"""`ragworthy report`: the page of a run that was scored before, with everything that its files still tell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragworthy import flow
from ragworthy.files import read_bytes
from ragworthy.names import REPORT_SCHEMA
from ragworthy.records import SchemaOnly
from ragworthy.report.html.gather import gather, of_report
from ragworthy.report.html.material import Material
from ragworthy.report.sheet import Viewed
from ragworthy.showing import given_run


def material_of(path: Path, given: given_run.Given) -> Material:
    """What a page is made of. Of a receipt everything is scored again; a report has its numbers."""
    data = read_bytes(path)
    if msgspec.json.decode(data, type=SchemaOnly).schema != REPORT_SCHEMA:
        run = flow.score_all(given.requests)
        return gather(run.report, run.parts, flow.voice_of)
    report: dict[str, Any] = msgspec.json.decode(data)
    requests = {one.suite: one for one in given.requests}

    def look(suite: str, names: Sequence[str]) -> Sequence[Viewed]:
        if suite in requests:
            return flow.look(requests[suite], names).shown
        return given_run.from_report({suite: given.lost[suite]}, names)

    return of_report(report, flow.voice_of, look)
