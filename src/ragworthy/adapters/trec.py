"""TREC judgements, a run and topics as retrieval gold and traces."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.model import Adapter, Imported, Option, Record


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Judgements as gold; results as traces, an empty one for each judged query that the run leaves out."""
    from ragworthy.trec import read as files
    from ragworthy.trec import records

    topics = records.read_topics(Path(options["topics"])) if options["topics"] else {}
    qrels = files.read_qrels(Path(options["qrels"]))
    gold = list(records.gold_records(qrels, topics))
    traces: list[Record] = []
    if options["run"]:
        run = files.read_run(Path(options["run"]))
        traces = list(records.trace_records(run, topics))
        traces += _without_results(gold, traces, run.tag)
    asked = {one["qid"] for one in (*gold, *traces)}
    return Imported(gold, traces, [], len(asked), "query", [], [], suite="retrieval")


def _without_results(gold: list[Record], traces: list[Record], tag: str) -> list[Record]:
    """Empty traces for judged queries that the run has no results for: they count 0 and do not vanish."""
    asked = {trace["qid"] for trace in traces}
    empty: Record = {"topk": [], "index_hash": tag, "paraphrase": 0, "seed": 0}
    left = [item for item in gold if item["qid"] not in asked]
    return [{"qid": item["qid"], "query": next(iter(item["paraphrases"]), ""), **empty} for item in left]


ADAPTER = Adapter(
    "trec",
    "TREC judgements and runs",
    ("gold", "trace"),
    (
        Option("--qrels", "the judgements", "FILE", required=True, reads=True),
        Option("--run", "the run", "FILE", reads=True, goes_with="trace"),
        Option("--topics", "the queries: JSONL with qid and query, or TREC topics", "FILE", reads=True),
    ),
    read,
    inputs="",
    needs=("gold",),
)
