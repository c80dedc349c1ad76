"""The past of a question: what became of it in the runs that the history keeps."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ragworthy.errors import RagworthyError
from ragworthy.report.sheet import Earlier

if TYPE_CHECKING:
    from ragworthy.history.entries import Run
    from ragworthy.history.home import Home
    from ragworthy.history.store import Store
    from ragworthy.rows import Rows

MOST = 10
"""So many of the last runs are looked into."""
Past = Callable[[str, str], list[Earlier]]
"""What became of a question in earlier runs, by its suite and its id, the newest first."""


def past_of(suite: str, qid: str) -> list[Earlier]:
    """What became of a question where no run was kept: nothing is known."""
    return []


class Kept(NamedTuple):
    """The past as a history has it; or why it cannot be told."""

    past: Past
    why: str = ""


def kept_in(home: "Home", given: str | None = None) -> Kept:
    """The past of questions by the history of a policy; nothing where it has none."""
    try:
        place = home.place(given)
        if place.path is not None and not place.path.exists():
            return Kept(past_of)
        from ragworthy.history.store import open_store

        store = open_store(place, create=False)
        return Kept(_Told(store, store.runs()[-MOST:]).past)
    except RagworthyError as error:
        return Kept(past_of, f"its past: {error.lines()[0]}")
    except ModuleNotFoundError as error:
        return Kept(past_of, f"its past: the package {error.name} is not installed")


class _Told:
    """The last runs of a store; rows are read once for each run and suite."""

    def __init__(self, store: "Store", runs: "list[Run]") -> None:
        self.store, self.runs = store, runs
        self.known: dict[tuple[str, str], tuple[Rows, dict[str, int]] | None] = {}

    def past(self, suite: str, qid: str) -> list[Earlier]:
        """What became of one question, the newest run first."""
        found = []
        for run in reversed(self.runs):
            rows = self._rows(run.id, suite) if suite in run.suites else None
            nth = rows[1].get(qid) if rows is not None else None
            if rows is not None and nth is not None:
                found.append(Earlier(run.id, run.created_at, rows[0].labels[nth], rows[0].causes[nth]))
        return found

    def _rows(self, run: str, suite: str) -> "tuple[Rows, dict[str, int]] | None":
        if (run, suite) not in self.known:
            rows = self.store.rows(run, suite)
            self.known[run, suite] = None if rows is None else (rows, rows.places())
        return self.known[run, suite]
