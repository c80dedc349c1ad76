"""The sections of the report of a run that is kept."""

from typing import TYPE_CHECKING, Any

from ragworthy.history.entries import Run

if TYPE_CHECKING:
    from ragworthy.history.store import Store


def sections(store: "Store", run: Run, report: dict[str, Any]) -> list[Any]:
    """The parts of the page that the HTML report has too."""
    return []
