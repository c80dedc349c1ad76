"""Rank metrics: from TREC files against ir_measures, pytrec_eval and ranx; from JSONL against ragas."""

import json
import random
import sys
from itertools import product
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
    "precision of ids. *six runs each*: the same questions in three wordings under two seeds, ten results with scores "
    "and citations each; a third of the runs have another order."
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


def wordings(folder: Path, count: int) -> tuple[Path, Path]:
    """A gold set, and traces of six runs of each question over 20,000 chunks of 800 documents."""
    rng = random.Random(3)
    gold, traces = folder / f"six-gold-{count}.jsonl", folder / f"six-traces-{count}.jsonl"
    with gold.open("w") as golds, traces.open("w") as asked:
        for nth in range(count):
            places = [(int(rng.random() * 800), int(rng.random() * 25)) for _ in range(15)]
            ids = [f"doc{doc:03d}.md|s={at // 5 + 1}.{at % 5 + 1}|p=000|b={at:03d}" for doc, at in places]
            wanted = list(dict.fromkeys([ids[nth % 5], ids[5 + nth % 10]][: 1 + nth % 2]))
            texts = [f"What is {nth}?", f"Which is {nth}?", f"Tell me {nth}"]
            item = {"qid": f"q{nth}", "paraphrases": texts, "relevant": wanted}
            golds.write(json.dumps(item | {"anchor_section": wanted[0].split("|")[1][2:]}) + "\n")
            for paraphrase, seed in product(range(3), range(2)):
                some = ids[:10]
                if rng.random() < 1 / 3:
                    some.reverse()
                trace = {"qid": f"q{nth}", "paraphrase": paraphrase, "seed": seed, "query": texts[paraphrase]}
                top = [{"id": one, "score": round(1 - rank / 20, 2)} for rank, one in enumerate(some)]
                cited = [some[0]] if rng.random() < 0.5 else [wanted[0], some[1]]
                asked.write(json.dumps(trace | {"topk": top, "answer_citations": cited}) + "\n")
    return gold, traces


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
    gold, traces = wordings(bench.folder, many)
    words = ("score", "retrieval", "--gold", gold, "--trace", traces, "--format", "json")
    six = run([*OURS, *words], bench.times)
    lines, skipped = [Line("ragworthy", many, whole, growth)], []
    if bench.peers is None:
        skipped.append("ragas: make peers")
    else:
        found = side(bench.peers, "ragas", "ids", bench.folder / f"ids-rows-{many}.jsonl")
        value = json.loads(whole.output)["suites"]["retrieval"]["metrics"]["retrieval.recall@20"]["value"]
        same = furthest({"recall": found.told["numbers"]["IDBasedContextRecall"]}, {"recall": value})
        lines.append(Line("ragas, recall and precision of ids", many, found, None, alone(found, same)))
    lines.append(Line("ragworthy, six runs each", many, six))
    return Subject("Retrieval from JSONL", JSONL, "queries", tuple(lines), skipped=tuple(skipped))
