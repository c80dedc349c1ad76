"""Rank metrics: from TREC files against ir_measures, pytrec_eval and ranx; from JSONL against ragas."""

import json
import sys
from pathlib import Path

import retrieval as generating
from runner import OURS, ROOT, Bench, Line, Ran, Subject, alone, exponent, furthest, progress, run, side

QUERIES, TRACES = 20_000, 5_000
TREC = (
    "Generated judgements and a run of 20 results a query. Files in, ten metrics out, the time "
    "without imports. ranx compiles itself at its first call, which is left out."
)
JSONL = (
    "Questions as a gold set and traces, 20 results each: files in, numbers out, whole processes. ragas: recall and "
    "precision of ids."
)
_SCRIPT = ROOT / "benchmarks/retrieval.py"


def _side(python: Path | str, name: str, pair: generating.Pair, *more: str, times: int = 1) -> Ran:
    return run([python, _SCRIPT, "--side", name, "--times", "1", *more, *pair], times)


def trec(bench: Bench) -> Subject:
    """The table of TREC files."""
    progress("retrieval, TREC files")
    count = bench.count(QUERIES)
    pair, tenth = generating.generate(bench.folder, count), generating.generate(bench.folder, count // 10)
    ours, part = (_side(sys.executable, "ours", one, times=bench.times) for one in (pair, tenth))
    mine = ours.told["means"]
    growth = exponent((count // 10, part.told["processor"]), (count, ours.told["processor"]))
    lines, skipped = [Line("ragworthy", count, ours, growth, work=ours.told)], []
    if bench.peers is None:
        skipped.append("ir_measures, pytrec_eval and ranx: make peers")
    else:
        theirs = _side(bench.peers, "ir_measures", pair)
        compiled = _side(bench.peers, "ranx", pair, "--warm", "1")
        plain = side(bench.peers, "pytrec_eval", *pair)
        lines += [
            Line("ir_measures", count, theirs, None, furthest(theirs.told["means"], mine), theirs.told),
            Line("pytrec_eval", count, plain, None, furthest(plain.told["numbers"], mine), plain.told),
            Line("ranx", count, compiled, None, furthest(compiled.told["means"], mine), compiled.told),
        ]
    return Subject("Retrieval from TREC files", TREC, "queries", tuple(lines), skipped=tuple(skipped))


def records(folder: Path, count: int) -> tuple[Path, Path, Path]:
    """A gold set, its traces, and both as rows of ragas."""
    gold, traces, rows = (folder / f"{name}-{count}.jsonl" for name in ("ids-gold", "ids-traces", "ids-rows"))
    with gold.open("w") as golds, traces.open("w") as asked, rows.open("w") as plain:
        for nth in range(count):
            ids = [f"d{(nth * 7 + place * 13) % 50_000}#{place}" for place in range(20)]
            wanted = [ids[nth % 5], ids[5 + nth % 10], "nowhere#0"][: 1 + nth % 3]
            golds.write(json.dumps({"qid": f"q{nth}", "paraphrases": [f"What is {nth}?"], "relevant": wanted}) + "\n")
            asked.write(json.dumps({"qid": f"q{nth}", "retrieved_ids": ids}) + "\n")
            row = {"user_input": "?", "response": "", "retrieved_context_ids": ids, "reference_context_ids": wanted}
            plain.write(json.dumps(row) + "\n")
    return gold, traces, rows


def jsonl(bench: Bench) -> Subject:
    """The table of JSONL files."""
    progress("retrieval, JSONL")
    many = bench.count(TRACES)

    def ours(count: int) -> Ran:
        gold, traces, _ = records(bench.folder, count)
        words = ("score", "retrieval", "--gold", gold, "--trace", traces, "--k", "5,20", "--format", "json")
        return run([*OURS, *words], bench.times)

    whole, part = ours(many), ours(many // 5)
    growth = exponent((many // 5, part.processor), (many, whole.processor))
    lines, skipped = [Line("ragworthy", many, whole, growth)], []
    if bench.peers is None:
        skipped.append("ragas: make peers")
    else:
        found = side(bench.peers, "ragas", "ids", bench.folder / f"ids-rows-{many}.jsonl")
        value = json.loads(whole.output)["suites"]["retrieval"]["metrics"]["retrieval.recall@20"]["value"]
        same = furthest({"recall": found.told["numbers"]["IDBasedContextRecall"]}, {"recall": value})
        lines.append(Line("ragas, recall and precision of ids", many, found, None, alone(found, same)))
    return Subject("Retrieval from JSONL", JSONL, "queries", tuple(lines), skipped=tuple(skipped))
