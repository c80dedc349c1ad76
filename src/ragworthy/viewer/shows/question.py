"""One question through time, and the questions of a run to choose from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.errors import usage_error
from ragworthy.history.entries import Run
from ragworthy.metrics.fold import as_number, of_nothing
from ragworthy.names import HARMLESS
from ragworthy.rows import Rows
from ragworthy.viewer import pages
from ragworthy.viewer.shows.runs import number

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ragworthy.history.store import Store

MOST = 30
"""Runs of which a question is looked up."""
RECENT = 10
"""Runs of the same gold set whose reports are searched for the text of a question."""
SIZE = 100
"""Questions on a page."""


class Then(NamedTuple):
    """A question in one run."""

    run: Run
    label: str | None
    cause: str | None
    good: bool
    values: dict[str, float]


def page(request: "Request") -> "Response":
    """A question, or where none is named those of the newest run."""
    asked = request.query_params
    store = request.app.state.site.opened()
    runs = store.runs()[::-1]
    suites = list(dict.fromkeys(suite for one in runs for suite in one.suites))
    suite = asked.get("suite") if asked.get("suite") in suites else suites[0] if suites else ""
    common: dict[str, Any] = {"suites": suites, "suite": suite}
    if asked.get("qid"):
        return _through_time(request, store, [one for one in runs if suite in one.suites], common)
    return _chosen(request, store, runs, common)


def _through_time(request: "Request", store: "Store", runs: list[Run], common: dict[str, Any]) -> "Response":
    suite, qid = common["suite"], request.query_params["qid"]
    found = []
    for run in runs[:MOST]:
        rows = store.rows(run.id, suite)
        nth = rows.places().get(qid) if rows is not None else None
        if rows is not None and nth is not None:
            found.append(_then(run, rows, nth))
    if not found:
        message = (
            f'expected a question of {suite or "a suite"}, got "{qid[:80]}": the last {MOST} runs have no row of it'
        )
        raise usage_error(message, code="RW-U13")
    metrics = list(dict.fromkeys(name for one in found for name in one.values))
    told = next((one for then in found if (one := _offender(store, then.run, suite, qid))), None)
    return pages.shown(
        request,
        "question.html",
        qid=qid,
        times=found,
        metrics=metrics,
        told=told,
        looked=min(len(runs), MOST),
        **common,
    )


def _then(run: Run, rows: Rows, nth: int) -> Then:
    words = {name: column[nth] for name, column in rows.words.items()}
    values = {name: float(as_number(word)) for name, word in words.items() if word is not None and not of_nothing(word)}
    return Then(run, rows.labels[nth], rows.causes[nth], is_good(rows.labels[nth]), values)


def is_good(label: str | None) -> bool:
    """Whether a label is nothing to look at."""
    return label is None or label in HARMLESS


def _offender(store: "Store", run: Run, suite: str, qid: str) -> dict[str, Any] | None:
    """The texts of a question, which a report has where something was wrong with it."""
    offenders = store.report(run.id, rows=False)["suites"][suite]["offenders"]
    return next(({"run": run.id} | one for one in offenders if one["qid"] == qid), None)


class Asked(NamedTuple):
    """Which questions somebody wants to see."""

    find: str
    """A part of an id, or of a text."""
    label: str


def _chosen(request: "Request", store: "Store", runs: list[Run], common: dict[str, Any]) -> "Response":
    params, suite = request.query_params, common["suite"]
    run = store.find(params["run"]) if params.get("run") else next((one for one in runs if suite in one.suites), None)
    asked = Asked(params.get("find", "").strip(), params.get("label", ""))
    rows = store.rows(run.id, suite) if run is not None else None
    values: dict[str, Any] = {"count": 0, "every": 0, "at": 0, "last": 0, "rows": [], "labels": []}
    if run is not None and rows is not None:
        alike = [one for one in runs if suite in one.suites and one.gold_sha256 == run.gold_sha256]
        texts = _texts(store, [run, *alike[:RECENT]], suite)
        kept = _kept(rows, texts, asked)
        last = max(0, (len(kept) - 1) // SIZE)
        at = min(last, number(params.get("page", "")))
        part = kept[at * SIZE : (at + 1) * SIZE]
        shown = [(rows.qids[nth], _then(run, rows, nth), texts.get(rows.qids[nth], "")) for nth in part]
        labels = sorted({one or "–" for one in rows.labels})
        values = {"count": len(kept), "every": len(rows.qids), "at": at, "last": last, "rows": shown, "labels": labels}
    return pages.shown(
        request, "questions.html", run=run, runs=runs[:MOST], find=asked.find, label=asked.label, **values, **common
    )


def _texts(store: "Store", runs: Sequence[Run], suite: str) -> dict[str, str]:
    """What was asked, of questions that were wrong in one of these runs: a report keeps the texts of no others."""
    found: dict[str, str] = {}
    for run in runs:
        for one in store.report(run.id, rows=False)["suites"][suite]["offenders"]:
            found.setdefault(one["qid"], str(one.get("question") or ""))
    return found


def _kept(rows: Rows, texts: dict[str, str], asked: Asked) -> list[int]:
    """Where the questions stand that are wanted; those with something wrong first."""
    part = asked.find.lower()
    kept = [
        nth
        for nth, qid in enumerate(rows.qids)
        if asked.label in ("", rows.labels[nth] or "–") and (part in qid.lower() or part in texts.get(qid, "").lower())
    ]
    return sorted(kept, key=lambda nth: is_good(rows.labels[nth]))
