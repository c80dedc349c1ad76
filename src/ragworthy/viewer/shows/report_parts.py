"""The parts of the HTML report, of a run that is kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ragworthy import flow
from ragworthy.history.course import course
from ragworthy.history.entries import Run
from ragworthy.report.sheet import Viewed
from ragworthy.showing import given_run

if TYPE_CHECKING:
    from ragworthy.history.store import Store
    from ragworthy.report.html.material import Material


FILES = "the viewer opens no files; 'ragworthy show' does"


def material(store: "Store", run: Run, report: dict[str, Any]) -> "Material":
    """What a report alone knows, with what earlier runs had. Its files are not opened: whoever may look at the history
    may not read whatever a report in it names, and plugins of a policy are code.
    """
    from ragworthy.report.html.gather import of_report

    def look(suite: str, names: Sequence[str]) -> Sequence[Viewed]:
        body = msgspec.convert(report["suites"][suite], given_run.Body)
        return given_run.from_report({suite: (body, [FILES])}, names)

    return of_report(report, flow.voice_of, look)._replace(trend=course(store, report, run.id))
