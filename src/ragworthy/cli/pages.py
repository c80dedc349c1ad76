"""The page that `gate` writes by itself. Whatever goes wrong with it is told on stderr, and changes no verdict."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragworthy.cli.keep import eval_outputs, warned
from ragworthy.cli.outputs import guard
from ragworthy.files import check_inside, check_ours
from ragworthy.policy.read import Policy
from ragworthy.report.write import PAGE_MARK

if TYPE_CHECKING:
    from ragworthy import flow
    from ragworthy.report.html.material import History

HOME, PAGE = ".ragworthy", "report.html"
NOT_WRITTEN = "page: not written"


class OwnPage:
    """Where the page goes when nobody named one, and the page itself."""

    def __init__(self, given: argparse.Namespace, policy: Policy) -> None:
        self._given, self._policy = given, policy
        self._path: Path | None = None

    def check(self, requests: Sequence["flow.Request"], others: Sequence[str | None]) -> list[str]:
        """The place, before anything is scored: never through a link, over another file, or where something is read."""
        if any(Path(name).suffix == ".html" for name in self._given.output):
            return []
        path = self._place()
        with warned(NOT_WRITTEN):
            if path.name == PAGE and self._policy.path is not None:
                check_inside(path, self._policy.path.parent, "the page")
            check_ours(path, lambda data: not data or PAGE_MARK in data)
            guard(self._given, requests, [*others, str(path)])
            self._path = path
        return [str(self._path)] if self._path is not None else []

    def _place(self) -> Path:
        """Beside the JSON report, else in the folder of the last report, else beside the receipt."""
        written = next((Path(name) for name in self._given.output if Path(name).suffix == ".json"), None)
        if written is not None:
            return written.with_suffix(".html")
        if kept := eval_outputs(self._policy, self._given):
            return kept[0].parent / PAGE
        return (self._policy.path or Path()).parent / HOME / PAGE

    def write(self, run: "flow.Run", history: "History | None") -> None:
        """Write it, where it has a place."""
        if self._path is not None:
            from ragworthy import flow

            with warned(NOT_WRITTEN):
                flow.write(self._path, run, history)
