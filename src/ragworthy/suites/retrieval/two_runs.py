"""Two TREC runs over the same judgements: the candidate against the one in use, query by query."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ragworthy import gates as g
from ragworthy.metrics.registry import MetricName
from ragworthy.suites.evidence import Summary
from ragworthy.suites.retrieval.shadow import Results, churn, delta
from ragworthy.trec.ranking import Floats, Run, ranking

DEPTH = 10
"""How many results of a query are compared."""
ALIKE = 1e-9
"""Values that differ by less are the same: sums of floats end differently for the same ranks."""


class Pair(NamedTuple):
    """Both runs; values come as columns over the judged queries."""

    live: Run
    run: Run
    summary: Summary
    """The numbers of the run in use."""
    columns: Callable[[str], tuple[Floats, Floats] | None]
    """What a metric says of every query under the run in use and under the other; None where it says nothing."""

    @property
    def baseline(self) -> g.Baseline:
        """The numbers of the run in use as those that the other must not fall behind."""
        values = {key: value.exact for key, value in self.summary.values.items() if value.exact is not None}
        return g.Baseline(values, {}, None, "the live run", self.summary.rows, self.summary.rowless)

    def as_json(self, qids: Sequence[str], names: Sequence[MetricName], shadow: Summary) -> dict[str, Any]:
        """The comparison as the report has it."""
        results = list(_results(qids, self.live, self.run))
        return {
            "comparable": True,
            "unlike": [],
            "live_index": self.live.tag,
            "shadow_index": self.run.tag,
            "deltas": {name.id: delta(name, self.summary, shadow) | self._paired(name.id) for name in names},
            "gone": 0,
            "canary": None,
            "gained": [],
            "lost": [],
            "churn": churn(results),
        }

    def _paired(self, name: str) -> dict[str, int]:
        """How many queries went up, went down or stayed."""
        columns = self.columns(name)
        if columns is None:
            return {"up": 0, "down": 0, "same": 0, "only_one": 0}
        change = columns[1] - columns[0]
        up, down = int((change > ALIKE).sum()), int((change < -ALIKE).sum())
        return {"up": up, "down": down, "same": len(change) - up - down, "only_one": 0}


def _results(qids: Sequence[str], live: Run, run: Run) -> Iterator[Results]:
    before, after = _first(live), _first(run)
    for qid in qids:
        yield Results(qid, "", before.get(qid, []), after.get(qid, []))


def _first(run: Run) -> dict[str, list[str]]:
    """The first documents of each query, in the order in which they are scored."""
    order = ranking(run)
    ends = np.cumsum(np.bincount(run.query, minlength=len(run.qids))).tolist()
    begins = [0, *ends[:-1]]
    return {
        qid: [piece.decode() for piece in run.docs.at(order[begin : min(end, begin + DEPTH)]).pieces()]
        for qid, begin, end in zip(run.qids, begins, ends, strict=True)
    }
