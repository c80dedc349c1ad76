"""Structured answers and stability."""

import json
import random
from pathlib import Path

import structured as generating
from runner import OURS, Bench, Line, Ran, Subject, alone, exponent, furthest, progress, run, side

ITEMS, QUESTIONS, SEEDS = 10_000, 2_000, 5
STRUCTURED = (
    "Generated questions with structured answers, a tenth of them broken JSON. There is no other tool without a model "
    "for these; the floors decode the same files and drop what they find."
)
STABILITY = (
    "Five runs of each question: edit distances between all ten pairs of claims, and whether runs agree. ragas "
    "compares the same pairs with its own string similarity. Whole processes."
)


def structured(bench: Bench) -> Subject:
    """Structured answers."""
    progress("structured answers")
    if not generating.TEXTS.is_dir():
        return Subject("Structured answers", STRUCTURED, "items", skipped=("all of it: its texts are in ../shared",))
    many = bench.count(ITEMS)
    pair = generating.generate(bench.folder, many)
    tenth = generating.first_of(pair, max(2, many // 10), bench.folder)
    whole, part = (run(generating.score(one), bench.times) for one in (pair, tenth))
    growth = exponent((max(2, many // 10), part.processor), (many, whole.processor))
    lines = [Line("ragworthy", many, whole, growth)]
    for name, said in (("json", "floor: json.loads alone"), ("answers", "floor: our records, answers parsed")):
        done = run(generating.floor_command(name, pair))
        lines.append(Line(said, many, done))
    return Subject("Structured answers", STRUCTURED, "items", tuple(lines))


def stability(bench: Bench) -> Subject:
    """Stability over seeds."""
    progress("stability")
    many = bench.count(QUESTIONS)

    def ours(count: int) -> Ran:
        gold, runs, _ = experiment(bench.folder, count)
        return run([*OURS, "score", "stability", "--gold", gold, "--runs", runs, "--format", "json"], bench.times)

    whole, part = ours(many), ours(many // 5)
    growth = exponent((many // 5, part.processor), (many, whole.processor))
    lines, skipped = [Line("ragworthy", many, whole, growth)], []
    if bench.peers is None:
        skipped.append("ragas: make peers")
    else:
        found = side(bench.peers, "ragas", "strings", bench.folder / f"pairs-{many}.jsonl")
        value = json.loads(whole.output)["suites"]["stability"]["metrics"].get("stability.ned50", {}).get("value")
        mean = found.told["numbers"]["NonLLMStringSimilarity"]
        about = furthest({"mean distance": 1 - mean}, {"mean distance": value}) if value is not None else ""
        lines.append(Line("ragas, string similarity", many, found, None, alone(found, about)))
    return Subject("Stability", STABILITY, "questions", tuple(lines), skipped=tuple(skipped))


def experiment(folder: Path, count: int) -> tuple[Path, Path, Path]:
    """A gold set, five runs of each question, and the pairs of their claims as rows of ragas.

    All ten pairs of a question are equally far apart, so that a mean over pairs and a mean of medians are one number.
    """
    draw = random.Random(5)
    gold, runs, pairs = (folder / f"{name}-{count}.jsonl" for name in ("seeds-gold", "seeds-runs", "pairs"))
    with gold.open("w") as golds, runs.open("w") as asked, pairs.open("w") as plain:
        for nth in range(count):
            base = "".join(draw.choices("abcdefghijklmnop", k=100))
            claims = [base + mark * (1 + nth % 20) for mark in "VWXYZ"]
            question = {"qid": f"q{nth}", "question": f"What is {nth}?", "answerable": True,
                        "gold_claim_substr": [base[:12]], "gold_citations": ["d#1"]}  # fmt: skip
            golds.write(json.dumps(question) + "\n")
            for seed, claim in enumerate(claims):
                answer = {"claim": claim, "citations": ["d#1"]}
                line = {"qid": f"q{nth}", "seed": seed, "retrieved_ids": ["d#1"], "answer_json": answer}
                asked.write(json.dumps(line) + "\n")
            for one in range(SEEDS):
                for other in range(one):
                    row = {"user_input": "?", "response": claims[one], "reference": claims[other]}
                    plain.write(json.dumps(row) + "\n")
    return gold, runs, pairs
