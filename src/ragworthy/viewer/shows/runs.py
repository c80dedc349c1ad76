"""Every run, newest first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from ragworthy.history.entries import Run
from ragworthy.history.listing import gates_of, listed
from ragworthy.viewer import pages

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ragworthy.history.store import Store

SIZE = 50
"""Runs on a page."""
COLUMNS = 4
"""Numbers of a suite."""


class Asked(NamedTuple):
    """What somebody wants to see."""

    suite: str = ""
    verdict: str = ""
    commit: str = ""
    gold: str = ""

    def keeps(self, run: Run) -> bool:
        """Whether a run is one of these."""
        return (
            (not self.suite or self.suite in run.suites)
            and (not self.verdict or self.verdict == run.verdict)
            and (not self.commit or self.commit.lower() in run.commit.lower() or run.id.startswith(self.commit))
            and (not self.gold or self.gold in (run.gold_label, run.gold_sha256))
        )


def page(request: "Request") -> "Response":
    """The list with its filters."""
    asked = Asked(*(request.query_params.get(name, "").strip() for name in Asked._fields))
    store = request.app.state.site.opened()
    every = store.runs()[::-1]
    kept = [one for one in every if asked.keeps(one)]
    last = max(0, (len(kept) - 1) // SIZE)
    at = min(last, number(request.query_params.get("page", "")))
    part = kept[at * SIZE : (at + 1) * SIZE]
    metrics = _metrics(store, part)
    names = [name for mine in metrics.values() for name in mine]
    golds = {one.gold_sha256: one.gold_label or one.gold_sha256[:8] for one in every if one.gold_sha256}
    return pages.shown(
        request, "runs.html", rows=listed(store, part, names), asked=asked, metrics=metrics, golds=golds,
        suites=list(dict.fromkeys(suite for one in every for suite in one.suites)),
        verdicts=sorted({one.verdict for one in every}), count=len(kept), every=len(every),
        at=at, last=last, before=_link(asked, at - 1) if at else "", after=_link(asked, at + 1) if at < last else "",
    )  # fmt: skip


def number(text: str) -> int:
    """A number of a page; whatever else it is, the first one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0


def _link(asked: Asked, at: int) -> str:
    given = {name: value for name, value in asked._asdict().items() if value}
    return f"/runs?{urlencode(given | {'page': at})}"


def _metrics(store: "Store", runs: Sequence[Run]) -> dict[str, list[str]]:
    """By suite the metrics that its newest run has gates on."""
    found: dict[str, list[str]] = {}
    for one in runs:
        if any(suite not in found for suite in one.suites):
            gated = gates_of(store, one.id)
            for suite in one.suites:
                found.setdefault(suite, [name for name in gated if name.startswith(f"{suite}.")][:COLUMNS])
    return found
