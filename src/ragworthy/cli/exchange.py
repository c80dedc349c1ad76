"""`import trec` and `export trec`."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print
from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error, usage_error
from ragworthy.files import write_whole
from ragworthy.load.decode import read_items
from ragworthy.load.sources import open_source
from ragworthy.names import Exit
from ragworthy.records import RetrievalGold, RetrievalTrace
from ragworthy.report.show import plural
from ragworthy.trec import read as trec
from ragworthy.trec import records as trec_records


def import_trec(given: argparse.Namespace) -> int:
    """TREC judgements (and a run) to a gold set (and traces)."""
    if bool(given.run_file) != bool(given.trace_out):
        raise usage_error("expected --run and --trace-out together")
    keep_inputs([given.gold_out, given.trace_out], [given.qrels, given.run_file, given.topics])
    topics = trec_records.read_topics(Path(given.topics)) if given.topics else {}
    qrels = trec.read_qrels(Path(given.qrels))
    gold = list(trec_records.gold_records(qrels, topics))
    run = trec.read_run(Path(given.run_file)) if given.run_file else None
    traces = list(trec_records.trace_records(run, topics)) if run is not None else []
    if run is not None:
        traces += _without_results(gold, traces, run.tag)
    _write(Path(given.gold_out), gold)
    print(f"gold: {plural(len(gold), 'question')}: {given.gold_out}")
    if given.run_file:
        _write(Path(given.trace_out), traces)
        print(f"traces: {plural(len(traces), 'query', 'queries')}: {given.trace_out}")
    return int(Exit.SHIP)


def _without_results(gold: list[dict[str, Any]], traces: list[dict[str, Any]], tag: str) -> list[dict[str, Any]]:
    """Empty traces for judged queries that the run has no results for: they count 0 and do not vanish."""
    asked = {trace["qid"] for trace in traces}
    empty = {"topk": [], "index_hash": tag, "paraphrase": 0, "seed": 0}
    left = [item for item in gold if item["qid"] not in asked]
    return [{"qid": item["qid"], "query": next(iter(item["paraphrases"]), ""), **empty} for item in left]


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


def _write(path: Path, records: Iterable[dict[str, Any]]) -> None:
    encode = msgspec.json.Encoder().encode
    write_whole(path, b"".join(encode(record) + b"\n" for record in records))
