"""The parts of the HTML report, of a run that is kept."""

from typing import TYPE_CHECKING, Any

from ragworthy import flow
from ragworthy.history.course import course
from ragworthy.history.entries import Run

if TYPE_CHECKING:
    from ragworthy.history.store import Store
    from ragworthy.report.html.material import Material


def material(store: "Store", run: Run, report: dict[str, Any]) -> "Material":
    """What a report alone knows, with what earlier runs had."""
    from ragworthy.report.html.gather import of_report

    return of_report(report, flow.voice_of)._replace(trend=course(store, report, run.id))
