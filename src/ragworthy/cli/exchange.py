"""`export trec`."""

import argparse
from pathlib import Path
from typing import Any

from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print
from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error, usage_error
from ragworthy.load.decode import read_items
from ragworthy.load.sources import open_source
from ragworthy.names import Exit
from ragworthy.records import RetrievalGold, RetrievalTrace
from ragworthy.trec import records as trec_records


def export_trec(given: argparse.Namespace) -> int:
    """A gold set and traces to TREC judgements and a run."""
    if bool(given.gold) != bool(given.qrels_out) or bool(given.trace) != bool(given.run_out):
        raise usage_error("expected --gold with --qrels-out, and --trace with --run-out")
    if not given.gold and not given.trace:
        raise usage_error("expected --gold with --qrels-out, --trace with --run-out, or both")
    keep_inputs([given.qrels_out, given.run_out], [given.gold, given.trace])
    notes: list[str] = []
    said: list[str] = []
    traces = [_trace(record) for record in _items(given.trace, RetrievalTrace)] if given.trace else []
    gold = _items(given.gold, RetrievalGold) if given.gold else []
    if given.trace:
        paraphrase, seed = min((one["paraphrase"], one["seed"]) for one in traces)
        notes += trec_records.write_run(traces, Path(given.run_out), given.tag, paraphrase=paraphrase, seed=seed)
        said.append(f"run: {given.run_out} (paraphrase {paraphrase}, seed {seed})")
    if given.gold:
        notes += trec_records.write_qrels(gold, Path(given.qrels_out))
        said.insert(0, f"qrels: {given.qrels_out}")
    for line in (*said, *(f"note: {note}" for note in notes)):
        print(line)
    return int(Exit.SHIP)


def _items(path: str, kind: Any) -> list[dict[str, Any]]:
    problems: list[Problem]
    items, problems = read_items(open_source("gold", Path(path)), kind)
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    if not items:
        raise data_error("RW-F04", "expected records, got none", where=path)
    return [item.value | {"qid": item.record.name} for item in items]


def _trace(record: dict[str, Any]) -> dict[str, Any]:
    """A trace with the keys that the export reads."""
    topk = record.get("topk")
    if topk is None:
        topk = [{"id": name} for name in record.get("retrieved_ids") or []]
    return record | {"topk": topk, "paraphrase": record.get("paraphrase") or 0, "seed": record.get("seed") or 0}
