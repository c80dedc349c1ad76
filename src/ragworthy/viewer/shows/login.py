"""The token, asked for once."""

from typing import TYPE_CHECKING

from ragworthy.viewer import pages
from ragworthy.viewer.door import LOGIN, Visit, heard
from ragworthy.viewer.sessions import Sessions

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def page(request: "Request") -> "Response":
    """The form."""
    return pages.shown(request, "login.html", wrong=False)


def enter(request: "Request") -> "Response":
    """Look at what was written into it."""
    sessions: Sessions = request.app.state.sessions
    visit: Visit = request.scope["visit"]
    if not sessions.guarded:
        return pages.gone("/runs")
    if not heard(sessions, request.scope, visit.fields.get("token", "")):
        return pages.shown(request, "login.html", 403, wrong=True)
    request.scope["answer"].set_cookie(sessions.name, sessions.begin())
    return pages.gone("/runs")


def leave(request: "Request") -> "Response":
    """End a visit."""
    sessions: Sessions = request.app.state.sessions
    sessions.end(request.scope["visit"].id)
    return pages.gone(LOGIN)
