"""The parts of the HTML report, of a run that is kept."""

from typing import TYPE_CHECKING, Any

from ragworthy import flow
from ragworthy.history.before import before
from ragworthy.history.entries import Run

if TYPE_CHECKING:
    from ragworthy.history.store import Store
    from ragworthy.report.html.page import Parts


def parts(store: "Store", run: Run, report: dict[str, Any]) -> "Parts":
    """The verdict and the sections, with what earlier runs had."""
    from ragworthy.report.html import page
    from ragworthy.report.html.gather import of_report

    return page.parts(of_report(report, flow.voice_of)._replace(trend=before(store, run)))
