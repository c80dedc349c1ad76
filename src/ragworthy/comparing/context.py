"""Two chunkings at equal bytes of context: at equal k the one with larger chunks gives a model more to read."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy import flow
from ragworthy.comparing.sides import Side, of_run
from ragworthy.comparison.compared import Run, compare
from ragworthy.comparison.records import Context, InContext
from ragworthy.experiments.budgets import BUDGETS, DEEPEST, SHOWN, UNLIKE, fitting
from ragworthy.gates import MIN, Gate
from ragworthy.index.blocks import load_corpus
from ragworthy.load.decode import read_items
from ragworthy.load.sources import open_source
from ragworthy.metrics.registry import all_metrics
from ragworthy.records import RetrievalTrace, Trace
from ragworthy.suites import SUITES

RECALL: dict[str, type[Any]] = {"answers": Trace, "retrieval": RetrievalTrace}
"""The suites that have a recall, with the records of their traces."""

Ids = list[str]


def in_context(suite: str, sides: tuple[Side, Side], corpora: Sequence[Path | None]) -> InContext | None:
    """How large the first results of both are, and their recall at equal bytes; None where they are of a size."""
    pairs = [(side, corpus) for side, corpus in zip(sides, corpora, strict=True) if corpus is not None]
    if suite not in RECALL or len(pairs) < 2 or any(side.traces is None or side.gold is None for side, _ in pairs):
        return None
    sizes = [_sizes(corpus) for _, corpus in pairs]
    records = [_records(suite, side.traces) for side, _ in pairs if side.traces is not None]
    first = [_first(lines, size) for lines, size in zip(records, sizes, strict=True)]
    if min(first) <= 0 or max(first) < UNLIKE * min(first):
        return None

    def scored(nth: int, budget: int) -> Run:
        side, corpus = pairs[nth]
        cut = [_cut(one, sizes[nth], budget) for one in records[nth]]
        return _recall(suite, {"gold": side.gold, "traces": cut, "corpus": corpus})

    return InContext(
        results=SHOWN,
        bytes_a=round(first[0]),
        bytes_b=round(first[1]),
        recall=[_compared(suite, budget, scored(0, budget), scored(1, budget)) for budget in BUDGETS],
    )


def _sizes(corpus: Path) -> Callable[[str], int]:
    """How many bytes the text of each chunk has; 0 for one that the corpus lacks."""
    texts = load_corpus(corpus).texts
    sizes = {name: len(text.encode()) for name, text in texts.items()}
    return lambda name: sizes.get(name, 0)


def _records(suite: str, traces: Path) -> list[dict[str, Any]]:
    return [dict(item.value) for item in read_items(open_source("trace", traces), RECALL[suite])[0]]


def _ids(one: Mapping[str, Any]) -> Ids:
    """What a trace retrieved, in order."""
    if one.get("retrieved_ids"):
        return [str(name) for name in one["retrieved_ids"]]
    return [str(item["id"]) for item in one.get("topk") or ()]


def _first(records: Sequence[Mapping[str, Any]], size: Callable[[str], int]) -> float:
    """How many bytes the first results have together, on average."""
    return sum(size(name) for one in records for name in _ids(one)[:SHOWN]) / max(1, len(records))


def _cut(one: dict[str, Any], size: Callable[[str], int], budget: int) -> dict[str, Any]:
    """A trace with what fits into a context."""
    kept = fitting(_ids(one), size, budget)
    return {**one, "retrieved_ids": kept, **({"topk": one["topk"][: len(kept)]} if one.get("topk") else {})}


def _recall(suite: str, given: Mapping[str, Any]) -> Run:
    """The recall of what fits, worked out as any other recall."""
    metric = f"{suite}.recall@{DEEPEST}"
    settings = SUITES[suite].settings()._replace(ks=(DEEPEST,))
    request = flow.Request(suite, given, settings, (Gate(metric, MIN, "0.5"),), unfrozen=True, jobs=1, keep_rows=True)
    measured = of_run("", flow.score(request).report, None).suites[suite]
    assert measured.rows is not None  # noqa: S101 - what was scored just now has them
    rows = measured.rows._replace(words={name: words for name, words in measured.rows.words.items() if name == metric})
    return Run(rows, {metric: measured.values.get(metric)})


def _compared(suite: str, budget: int, a: Run, b: Run) -> Context:
    metric = f"{suite}.recall@{DEEPEST}"
    found = compare(a, b, all_metrics(suite)).metrics[metric]
    return Context(
        budget=budget,
        a=found.a,
        b=found.b,
        difference=found.difference,
        low=found.low,
        high=found.high,
        p=found.p,
        fixed=found.fixed or 0,
        broken=found.broken or 0,
    )
