"""Two runs side by side, by the code that `ragworthy compare` runs."""

from typing import TYPE_CHECKING, Any

import msgspec

from ragworthy.comparing.compare import Asked, compared
from ragworthy.comparing.sides import Given
from ragworthy.errors import RagworthyError
from ragworthy.files import Read, remembering
from ragworthy.policy.kept import BLESSED
from ragworthy.report import changes
from ragworthy.viewer import pages

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ragworthy.viewer.site import Site

MOST = 200
"""Runs to choose from."""
QUESTIONS = 50


def page(request: "Request") -> "Response":
    """What changed from A to B; first of all, which two."""
    site: Site = request.app.state.site
    store = site.opened()
    runs = store.runs()[::-1][:MOST]
    now = {one.run: one.name for one in store.blessings()}
    named = [request.query_params.get(side, "").strip() for side in ("a", "b")]
    values: dict[str, Any] = {"runs": runs, "now": now, "a": None, "b": None, "found": None, "why": []}
    if all(named):
        one, other = (store.find(name) for name in named)  # so that no name can be taken for a file
        values |= {"a": one, "b": other}
        try:
            values["found"] = _compared(site, one.id, other.id)
        except RagworthyError as error:
            values["why"] = pages.error_lines(error)
    return pages.shown(request, "pair.html", most=QUESTIONS, header=changes.HEADER, **values)


def _compared(site: "Site", a: str, b: str) -> dict[str, Any]:
    with remembering(Read()):
        given = Given(store=site.store, config=site.config)
        found: dict[str, Any] = msgspec.to_builtins(compared(f"{BLESSED}{a}", f"{BLESSED}{b}", Asked(given)))
    suites = {name: (suite, *changes.rows_of(suite, every=True)) for name, suite in found["suites"].items()}
    return found | {"tables": suites, "said": changes.last_line(found), "alone": changes.alone(found)}
