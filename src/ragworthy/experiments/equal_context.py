"""Two indexes whose chunks differ in size, compared at equal bytes: five small chunks are less context than five large.

What fits into a context is what a model would read: see `budgets`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragworthy import flow
from ragworthy.experiments.budgets import BUDGETS, DEEPEST, SHOWN, UNLIKE, fitting
from ragworthy.gates import DROP, Gate
from ragworthy.index.store import Index
from ragworthy.runner.retrieve import Asked, How, search
from ragworthy.suites.retrieval import Retrieval

Side = tuple[Index, Sequence[list[str]]]
"""An index, and what it finds for each wording, in order."""


def compared(
    indexes: Sequence[Index], asked: Sequence[Asked], how: How, request: flow.Request
) -> dict[str, Any] | None:
    """How large the first results of live and shadow are, and the recall of both at equal bytes; None where they are
    of a size.
    """
    found = [[[hit.chunk.name for hit in hits] for hits in _deep(index, asked, how)] for index in indexes]
    sides: list[Side] = list(zip(indexes, found, strict=True))
    sizes = [_mean_size(index, lists) for index, lists in sides]
    if min(sizes) <= 0 or max(sizes) < UNLIKE * min(sizes):
        return None
    return {
        "results": SHOWN,
        "bytes": {"live": round(sizes[0]), "shadow": round(sizes[1])},
        "recall": {str(budget): _recall(sides, asked, budget, request) for budget in BUDGETS},
    }


def _deep(index: Index, asked: Sequence[Asked], how: How) -> Any:
    return search(index, [one.query for one in asked], how._replace(k=DEEPEST))


def _size(index: Index) -> Callable[[str], int]:
    return lambda name: len(index.by_id[name].text.encode())


def _mean_size(index: Index, lists: Sequence[list[str]]) -> float:
    """How many bytes the first results of a query have together, on average."""
    size = _size(index)
    return sum(size(name) for names in lists for name in names[:SHOWN]) / max(1, len(lists))


def _recall(sides: Sequence[Side], asked: Sequence[Asked], budget: int, request: flow.Request) -> Mapping[str, Any]:
    """Recall of both sides where only what fits counts, worked out as any other recall."""
    traces = [
        [
            {
                "qid": one.qid,
                "paraphrase": one.paraphrase,
                "retrieved_ids": fitting(names, _size(index), budget),
                "index_hash": index.manifest.index_hash,
                "normaliser_id": index.manifest.text_preproc.normaliser,
            }
            for one, names in zip(asked, lists, strict=True)
        ]
        for index, lists in sides
    ]
    metric = f"retrieval.recall@{DEEPEST}"
    again = request._replace(
        given={**request.given, "live": traces[0], "traces": traces[1]},
        settings=Retrieval(ks=(DEEPEST,), delta_s="recorded"),
        gates=(Gate(metric, DROP, "0.5"),),
        waivers=(),
        baseline=None,
    )
    delta = flow.score(again).report["suites"]["retrieval"]["live"]["deltas"][metric]
    return {key: delta[key] for key in ("live", "shadow", "delta", "up", "down", "same")}
