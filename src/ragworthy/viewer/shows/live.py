"""Live traffic as a monitor sees it: what fires, what the rules say, what alerts there were."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy.errors import RagworthyError
from ragworthy.files import Read, remembering
from ragworthy.monitor.looking import Kept, alerts_of, state_of
from ragworthy.viewer import pages

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MOST = 200
"""Alerts that are shown."""


def page(request: "Request") -> "Response":
    """What there is; each of the two sources without the other."""
    files = request.app.state.site.files
    kept, held, why = _state(files.monitor)
    source = files.alerts if kept is None and files.alerts is not None and files.alerts.is_file() else None
    alerts: list[dict[str, Any]] = kept.alerts if kept else []
    firing = dict(kept.firing) if kept else {}
    if source is not None:
        try:
            with remembering(Read()):
                alerts, firing = alerts_of(source, MOST)
        except RagworthyError as error:
            why += pages.error_lines(error)
    return pages.shown(
        request, "live.html", kept=kept, held=held, why=why, alerts=alerts, firing=firing, most=MOST,
        monitor=files.monitor, source=source,
    )  # fmt: skip


def _state(path: Path | None) -> tuple[Kept | None, str, list[str]]:
    """The state; or that a monitor holds it; or what is wrong with it."""
    if path is None or not path.is_file():
        return None, "", []
    try:
        found = state_of(path, MOST)
    except RagworthyError as error:
        return None, "", pages.error_lines(error)
    return (None, found, []) if isinstance(found, str) else (found, "", [])
