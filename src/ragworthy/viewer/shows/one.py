"""One run: what the report shows, who stands behind it, and the form that makes it a baseline."""

from typing import TYPE_CHECKING, Any

from ragworthy import flow
from ragworthy.errors import RagworthyError, data_error
from ragworthy.history.baselines import Wish, flip_lines
from ragworthy.history.baselines import bless as make_baseline
from ragworthy.history.entries import Run
from ragworthy.history.listing import listed
from ragworthy.safe import json_text
from ragworthy.viewer import pages
from ragworthy.viewer.door import Visit
from ragworthy.viewer.shows.report_parts import material

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ragworthy.history.store import Store


def page(request: "Request", **more: Any) -> "Response":
    """The page of a run; `more` is what came of a form that was sent from it."""
    from ragworthy.report.html.page import parts

    store = request.app.state.site.opened()
    run = store.find(request.path_params["run"])
    report = store.report(run.id)
    attempts = store.attempts_with(run.id)
    blessings = [(one, list(flip_lines(one.flips))) for one in store.blessings() if one.run == run.id]
    values: dict[str, Any] = {
        "run": run, "report": report, "row": listed(store, [run])[0], "attempts": attempts, "blessings": blessings,
        "signers": [one.by for one in store.signatures(run.id) if one.what == "gold"],
        "against": _against(store, run), "has_receipt": store.receipt(run.id) is not None,
        "names": sorted({"main", *(one.name for one in store.blessings())}),
        "parts": parts(material(store, run, report)), "form": {"name": "main"}, "problem": [],
    }  # fmt: skip
    return pages.shown(request, "run.html", more.pop("code", 200), **values | more)


def _against(store: "Store", run: Run) -> dict[str, str]:
    """What somebody would hold this run against: the baseline, and the run before it."""
    alike = [one for one in store.runs() if set(one.suites) & set(run.suites)]
    at = next((nth for nth, one in enumerate(alike) if one.id == run.id), 0)
    found = {}
    blessed = store.baseline("main")
    if blessed is not None and blessed.run != run.id and any(one.id == blessed.run for one in alike):
        found["the baseline"] = blessed.run
    if at:
        found["the run before"] = alike[at - 1].id
    return found


def bless(request: "Request") -> "Response":
    """Make the run a baseline, as `ragworthy history bless` does."""
    site = request.app.state.site
    visit: Visit = request.scope["visit"]
    store = site.opened()
    run = store.find(request.path_params["run"])
    given = visit.fields
    wish = Wish(
        run.id, given.get("by", ""), given.get("reason", ""), given.get("name", "").strip() or "main",
        "single" in given, "errors" in given,
    )  # fmt: skip
    try:
        made = make_baseline(site.home, store, wish)
    except RagworthyError as error:
        return page(request, problem=pages.error_lines(error), form=given, code=409)
    return page(request, done=made)


def file(request: "Request") -> "Response":
    """The report or the receipt of a run, to be kept."""
    from starlette.responses import Response

    store = request.app.state.site.opened()
    run = store.find(request.path_params["run"])
    kind, data = _content(store, run, request.path_params["name"])
    name = f"{run.id}-{request.path_params['name']}"
    return Response(data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def _content(store: "Store", run: Run, name: str) -> tuple[str, bytes]:
    if name == "report.json":
        return "application/json", json_text(store.report(run.id)).encode()
    if name == "report.md":
        return "text/markdown; charset=utf-8", flow.render(store.report(run.id), "markdown").encode()
    if name == "report.html":
        from ragworthy.report.html.page import render

        return "text/html; charset=utf-8", render(material(store, run, store.report(run.id))).encode()
    receipt = store.receipt(run.id) if name == "receipt.json" else None
    if receipt is None:
        raise data_error(
            "RW-H07", f"expected report.html, report.json, report.md or a receipt, got {name[:60]}", where=run.id
        )
    return "application/json", receipt
