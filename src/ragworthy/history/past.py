"""What became of single questions in runs that are kept."""

from ragworthy.history.entries import Run
from ragworthy.history.store import Store
from ragworthy.report.sheet import Earlier
from ragworthy.rows import Rows


class Told:
    """The last runs of a store; rows are read once for each run and suite."""

    def __init__(self, store: Store, runs: list[Run]) -> None:
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

    def _rows(self, run: str, suite: str) -> tuple[Rows, dict[str, int]] | None:
        if (run, suite) not in self.known:
            rows = self.store.rows(run, suite)
            self.known[run, suite] = None if rows is None else (rows, rows.places())
        return self.known[run, suite]
