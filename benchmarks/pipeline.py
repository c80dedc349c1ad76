"""The built-in pipeline as it is: how right, how careful and how fast it is on real questions and on the example.

SQuAD 2.0: the weights of the pipeline were developed on the questions about every second article; these are figures of
the other articles, in one index with all of them. For each set of knobs the threshold is tuned on 30 % of the questions
and the rest is scored with `ragworthy score answers`. Nothing here decides anything: the exit code is 0.
"""

import argparse
import gzip
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import ragworthy
from answers import machine
from ragworthy.experiments.tune import tune
from ragworthy.index import build as indexing
from ragworthy.index import embed, store
from ragworthy.pipeline import Pipeline
from ragworthy.records import Chunk

SQUAD = Path(__file__).resolve().parents[2] / "shared/data/squad2/dev"
EXAMPLES = Path(ragworthy.__file__).parent / "examples"
QUESTIONS = 2000
METRICS = ("precision", "chr", "under_refusal", "over_refusal", "containment", "recall@5")
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "hybrid (default)": {},
    "hybrid, rerank off": {"rerank_depth": 0},
    "hybrid, rerank 20": {"rerank_depth": 20},
    "hybrid, intersect": {"intersect": True},
    "hybrid, knee": {"knee": True},
    "bm25": {"mode": "bm25"},
    "bm25, rerank off": {"mode": "bm25", "rerank_depth": 0},
    "dense": {"mode": "dense"},
}

Row = dict[str, Any]


class Set(NamedTuple):
    """An index and questions about it."""

    name: str
    indexed: Path
    gold: Path


def _rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def squad(folder: Path, questions: int) -> Set:
    """An index of all articles, and questions about those that nothing was developed on."""
    documents, chunks = [], []
    by_article: dict[str, list[Row]] = {}
    for row in _rows(SQUAD / "corpus.jsonl"):
        by_article.setdefault(row["id"].rpartition("#")[0], []).append(row)
    for article, rows in by_article.items():
        text = "\n\n".join(row["text"] for row in rows)
        documents.append(store.CanonicalText(article, f"{article}.txt", "0", text))
        for row in rows:
            fields = {name: row[name] for name in ("section_id", "type", "title", "text")}
            chunks.append(Chunk(chunk_id=row["id"], doc_id=article, offsets=tuple(row["offsets"]), **fields))
    out = folder / "squad"
    store.build(out, chunks=chunks, documents=documents, normaliser="none/1", chunker="given/1", embedder=embed.load())
    home = {row["qid"]: row["context_id"].rpartition("#")[0] for row in _rows(SQUAD / "meta.jsonl.gz")}
    held_out = set(sorted(set(home.values()))[1::2])
    gold = [row for row in _rows(SQUAD / "gold.jsonl.gz") if home[row["qid"]] in held_out]
    gold.sort(key=lambda row: hashlib.sha256(row["qid"].encode()).hexdigest())
    path = folder / "squad.gold.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in gold[:questions]), encoding="utf-8")
    return Set(f"SQuAD 2.0, {len(gold[:questions]):,} questions about {len(held_out)} articles", out, path)


def harbor(folder: Path) -> Set:
    """The bundled example."""
    indexing.build(EXAMPLES / "corpus", folder / "harbor", dense="wordllama")
    return Set("Harbor example, 72 questions", folder / "harbor", EXAMPLES / "answers_gold.jsonl")


def scored(gold: Path, traces: Path, folder: Path) -> dict[str, float | None]:
    """The metrics of `ragworthy score answers`."""
    report = folder / "report.json"
    command = [sys.executable, "-m", "ragworthy", "score", "answers", "--gold", str(gold), "--trace", str(traces)]
    done = subprocess.run([*command, "--short-substr", "word", "-o", str(report), "-q"], capture_output=True, text=True)
    if not report.exists():
        raise SystemExit(f"score failed: {done.stderr}")
    metrics = json.loads(report.read_text(encoding="utf-8"))["suites"]["answers"]["metrics"]
    return {name: metrics[f"answers.{name}"]["value"] for name in METRICS}


def measured(given: Set, knobs: Row, folder: Path, *, refusing: bool) -> list[str]:
    """The cells of one configuration."""
    folder.mkdir()
    tuned = tune(given.indexed, given.gold, folder, knobs=knobs, short_words=True)
    pipeline = Pipeline(given.indexed, folder / "pipeline.toml")
    asked = _rows(folder / "gold.scored.jsonl")
    pipeline(qid="", q="warm up", knobs={})
    lines, spent = [], []
    extra = {} if refusing else {"threshold": 0.0}
    for row in asked:
        started = time.perf_counter()
        reply = pipeline(qid=row["qid"], q=row["question"], knobs=extra)
        spent.append(1000 * (time.perf_counter() - started))
        lines.append(json.dumps({"qid": row["qid"], **reply}) + "\n")
    traces = folder / "traces.jsonl"
    traces.write_text("".join(lines), encoding="utf-8")
    values = scored(folder / "gold.scored.jsonl", traces, folder)
    shown = ["-" if values[name] is None else f"{values[name]:.3f}" for name in METRICS]
    threshold = f"{tuned.chosen.threshold:.3f}" if refusing else "none"
    ninety_five = statistics.quantiles(spent, n=20, method="inclusive")[-1]
    speed = [f"{statistics.median(spent):.2f}", f"{ninety_five:.2f}", f"{1000 * len(spent) / sum(spent):,.0f}"]
    return [threshold, *shown, *speed]


def report(given: Set, folder: Path) -> None:
    """Print one table."""
    head = ["knobs", "threshold", *METRICS, "P50 ms", "P95 ms", "per s"]
    rows = [head]
    for number, (name, knobs) in enumerate(CONFIGURATIONS.items()):
        cells = measured(given, knobs, folder / f"{given.indexed.name}{number}", refusing=True)
        rows.append([name, *cells])
        if not knobs:
            cells = measured(given, knobs, folder / f"{given.indexed.name}-open", refusing=False)
            rows.append(["the same, never refusing", *cells])
    wide = [max(len(row[at]) for row in rows) for at in range(len(head))]
    print(f"\n{given.name}; 30 % tuned on, 70 % scored")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="how many of SQuAD's questions")
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report(harbor(folder), folder)
        if SQUAD.is_dir():
            report(squad(folder, given.questions), folder)
        else:
            print("\nSQuAD 2.0: SKIPPED, ../shared/data is absent")


if __name__ == "__main__":
    main()
