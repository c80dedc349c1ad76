"""The addresses of the viewer. Which of them write is said here: the two forms that are sent with POST."""

from typing import TYPE_CHECKING, Any

from ragworthy.errors import RagworthyError
from ragworthy.viewer import pages
from ragworthy.viewer.door import Refused
from ragworthy.viewer.shows import live, login, one, pair, question, rollout, runs, trend
from ragworthy.viewer.site import Site

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ragworthy.viewer.sessions import Sessions


def application(site: Site, sessions: "Sessions") -> "Starlette":
    """The pages; who may see them is decided by the door."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    routes = [
        Route("/", lambda _: RedirectResponse("/runs", 303)),
        Route("/runs", runs.page),
        Route("/runs/{run}", one.page),
        Route("/runs/{run}/bless", one.bless, methods=["POST"]),
        Route("/runs/{run}/{name}", one.file),
        Route("/trend", trend.page),
        Route("/compare", pair.page),
        Route("/questions", question.page),
        Route("/live", live.page),
        Route("/rollout", rollout.page),
        Route("/rollout/advance", rollout.advance, methods=["POST"]),
        Route("/rollout/rollback", rollout.rollback, methods=["POST"]),
        Route("/login", login.page),
        Route("/login", login.enter, methods=["POST"]),
        Route("/logout", login.leave, methods=["POST"]),
    ]
    handlers: dict[Any, Any] = {
        RagworthyError: pages.of_error,
        Refused: pages.of_refused,
        HTTPException: pages.of_status,
        Exception: pages.of_defect,
    }
    made = Starlette(routes=routes, exception_handlers=handlers)
    made.router.redirect_slashes = False
    made.state.site, made.state.sessions = site, sessions
    return made
