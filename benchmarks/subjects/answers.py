"""Scored answers: the sources' scorer, and the metrics of ragas and DeepEval that ask no model."""

import json
import sys
from pathlib import Path
from typing import Any

import answers as generating
from runner import OURS, Bench, Line, Ran, Subject, alone, exponent, progress, run, side

QUESTIONS, FEW = 1_000_000, 20_000
ABOUT = (
    "Generated gold sets with the traces of a run: files in, numbers out, whole processes; ours on every core. "
    "ragas and DeepEval get the same answers as rows of their own kind. They score one or two metrics of a row, ours "
    "the whole suite with gates and intervals."
)


def rows_of(pair: generating.Pair, folder: Path) -> Path:
    """The same questions as ragas and DeepEval take them."""
    target = folder / "rows.jsonl"
    with pair.gold.open("rb") as golds, pair.traces.open("rb") as traces, target.open("w") as rows:
        for gold, trace in zip(golds, traces, strict=True):
            rows.write(json.dumps(_row(json.loads(gold), json.loads(trace))) + "\n")
    return target


def _row(gold: dict[str, Any], trace: dict[str, Any]) -> dict[str, Any]:
    pieces = gold["gold_claim_substr"]
    return {
        "user_input": gold["question"],
        "response": trace["answer_json"]["claim"],
        "reference": pieces[0] if pieces else "not in context",
        "retrieved_context_ids": trace["retrieved_ids"],
        "reference_context_ids": gold["gold_citations"] or ["none"],
    }


def measured(bench: Bench) -> Subject:
    """The table."""
    progress("answers")
    many, few = bench.count(QUESTIONS), bench.count(FEW)
    pair = generating.generate(bench.folder, many)
    tenth, small = (generating.first_of(pair, count, bench.folder) for count in (many // 10, few))

    def ours(given: generating.Pair) -> Ran:
        return run([*OURS, "score", "answers", *given.arguments, "--format", "json"], bench.times)

    whole, part, least = ours(pair), ours(tenth), ours(small)
    growth = exponent((many // 10, part.processor), (many, whole.processor))
    lines, skipped = [Line("ragworthy", many, whole, growth)], []
    scorer = generating.sources_scorer(bench.folder)
    if scorer is None:
        skipped.append("the sources' scorer, which is in ../shared")
    else:
        theirs = run([sys.executable, scorer, *pair.arguments])
        same = generating.rounded(whole.output) == generating.printed(theirs.output)
        lines.append(Line("sources' scorer", many, theirs, None, "same" if same else "NOT THE SAME"))
    lines.append(Line("ragworthy, fewer questions", few, least))
    if bench.peers is None:
        skipped.append("ragas and DeepEval: make peers")
    else:
        rows = rows_of(small, bench.folder)
        found = side(bench.peers, "ragas", "answers", rows)
        exact = side(bench.peers, "deepeval", rows)
        both = found.told["numbers"]["ExactMatch"] == exact.told["numbers"]["ExactMatch"]
        agree = "exact match: both the same" if both else "exact match: NOT THE SAME"
        lines += [
            Line("ragas, two string metrics", few, found, None, alone(found, agree)),
            Line("DeepEval, exact match", few, exact, None, alone(exact, agree)),
        ]
    return Subject("Answers", ABOUT, "questions", tuple(lines), skipped=tuple(skipped))
