"""Pages: the frame of the report around what each address shows, and errors in the same frame."""

from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ragworthy.errors import RagworthyError, UsageError
from ragworthy.report.html.page import SCRIPTS
from ragworthy.viewer import words
from ragworthy.viewer.door import Refused, Visit
from ragworthy.viewer.site import Site

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response

LINKS = (("/runs", "Runs"), ("/trend", "Trend"), ("/compare", "Compare"), ("/questions", "Questions"),
         ("/live", "Live"), ("/rollout", "Rollout"))  # fmt: skip
DEFECT = "a defect of ragworthy: the terminal that it runs in says which"
NOT_THERE = ("RW-H01", "RW-H07", "RW-U13", "RW-Z01")
"""Codes of what is asked for and is not there."""


@cache
def _environment() -> "Environment":
    """The templates of the report with those of the viewer before them: what escapes is the same."""
    from jinja2 import ChoiceLoader, PackageLoader

    from ragworthy.report.html.env import environment

    theirs = environment()
    assert theirs.loader is not None  # noqa: S101 - it was made with one
    made = theirs.overlay(loader=ChoiceLoader([PackageLoader("ragworthy.viewer"), theirs.loader]))
    made.filters |= words.FILTERS
    return made


def filled(template: str, **values: Any) -> str:
    """A template as a page."""
    return _environment().get_template(template).render(scripts=SCRIPTS, links=LINKS, **values)


def shown(request: "Request", template: str, code: int = 200, **values: Any) -> "Response":
    """A page of a request."""
    from starlette.responses import HTMLResponse

    visit: Visit = request.scope["visit"]
    site: Site = request.app.state.site
    common = {"here": f"/{request.url.path.split('/')[1]}", "sign": visit.sign, "guarded": visit.guarded}
    return HTMLResponse(filled(template, place=site.place, **common | values), code)


def plain(status: int, why: str) -> bytes:
    """A page that says why there is none."""
    title = HTTPStatus(status).phrase
    return filled("plain.html", title=title, lines=[why], here="", place="", guarded=False).encode()


def of_error(request: "Request", error: Exception) -> "Response":
    """A page that says what is wrong, in the words of the command line."""
    assert isinstance(error, RagworthyError)  # noqa: S101 - it is called for these alone
    there = error.problems[0].code not in NOT_THERE
    status = 404 if not there else 400 if isinstance(error, UsageError) else 409
    title = "Not found" if not there else "That cannot be done" if request.method == "POST" else "That cannot be shown"
    return shown(request, "plain.html", status, title=title, lines=error_lines(error))


def error_lines(error: RagworthyError) -> list[str]:
    """What is wrong and what to do; flags are the fields of a form here."""
    return [line.strip().removeprefix("--") for line in error.lines()]


def of_status(request: "Request", error: Exception) -> "Response":
    """A page for an address that does not exist, or not for this method."""
    from starlette.exceptions import HTTPException

    assert isinstance(error, HTTPException)  # noqa: S101 - it is called for these alone
    why = "there is no such page" if error.status_code == 404 else str(error.detail)
    made = shown(request, "plain.html", error.status_code, title=why.capitalize(), lines=[])
    made.headers.update(error.headers or {})
    return made


def of_refused(request: "Request", error: Exception) -> "Response":
    """A page for what the door would not have let in, had it known."""
    from starlette.responses import HTMLResponse

    assert isinstance(error, Refused)  # noqa: S101 - it is called for these alone
    more = {name.decode(): value.decode() for name, value in error.more}
    return HTMLResponse(plain(error.status, error.why), error.status, more)


def of_defect(request: "Request", error: Exception) -> "Response":
    """A page for what should never happen; the door says in the terminal what it was."""
    from starlette.responses import HTMLResponse

    return HTMLResponse(plain(500, DEFECT), 500)


def gone(where: str) -> "Response":
    """On to another page, after something was done."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(where, 303)
