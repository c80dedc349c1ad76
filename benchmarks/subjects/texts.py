"""Texts: ΔS of pairs, and building and searching an index."""

import json
import random
import sys
from pathlib import Path

from retrieval import known_words
from runner import OURS, UNLIKE, Bench, Line, Subject, exponent, progress, run, side

PAIRS, CHUNKS, QUERIES = 20_000, 10_000, 500
DELTA = (
    "Pairs of a question of 8 words and a different chunk of 60. The time of the model alone, without loading it. "
    "ragas: its string similarity of the same pairs, the only distance of texts that it has without a model."
)
SEARCH = (
    "BM25 (Lucene's formula, k1 1.2, b 0.75) over generated chunks of 40 to 80 words: building in memory, and the best "
    "ten for each question, one after the other on one core. Agreement: how many of bm25s' ten are among ours."
)
FOLDER = "`ragworthy index build`: documents to a folder with texts, BM25 and vectors, whole process."


def _sentence(draw: random.Random, words: list[str], count: int) -> str:
    return " ".join(draw.choices(words, k=count))


def delta_s(bench: Bench) -> Subject:
    """ΔS, both built-in models."""
    progress("ΔS")
    many, draw, words = bench.count(PAIRS), random.Random(13), known_words()
    rows = bench.folder / "texts.jsonl"
    with rows.open("w") as file:
        for _ in range(many):
            pair = {"reference": _sentence(draw, words, 8), "response": _sentence(draw, words, 60)}
            file.write(json.dumps({"user_input": "?", **pair}) + "\n")
    lines, skipped = [], []
    for model, said in (("wordllama", "ragworthy, wordllama"), ("ngram", "ragworthy, ngram")):
        ran = side(sys.executable, "distances", model, rows, times=bench.times)
        lines.append(Line(said, many, ran, work=ran.told))
    if bench.peers is None:
        skipped.append("ragas: make peers")
    else:
        found = side(bench.peers, "ragas", "strings", rows)
        lines.append(Line("ragas, string similarity", many, found, None, UNLIKE, found.told))
    return Subject("ΔS", DELTA, "pairs", tuple(lines), skipped=tuple(skipped))


def _corpus(folder: Path, count: int, asked: int) -> tuple[Path, Path]:
    draw, words = random.Random(17), known_words()
    words = [f"{one}{more}x" for one in words for more in words[:20]]  # no stop words and no endings: ours treats both
    corpus, queries = folder / f"corpus-{count}.jsonl", folder / f"queries-{count}.jsonl"
    corpus.write_text(
        "".join(json.dumps({"text": _sentence(draw, words, draw.randint(40, 80))}) + "\n" for _ in range(count))
    )
    queries.write_text("".join(json.dumps({"question": _sentence(draw, words, 6)}) + "\n" for _ in range(asked)))
    return corpus, queries


def search(bench: Bench) -> tuple[Subject, Subject]:
    """Two tables: building and searching."""
    progress("index and search")
    many, asked = bench.count(CHUNKS), bench.count(QUERIES)
    files, small = _corpus(bench.folder, many, asked), _corpus(bench.folder, many // 5, asked)
    ours = side(sys.executable, "ours_bm25", *files, times=bench.times)
    part = side(sys.executable, "ours_bm25", *small, times=bench.times)
    took, before = ours.told["building"], part.told["building"]
    builds = exponent((many // 5, before["processor"]), (many, took["processor"]))
    finds = exponent((many // 5, part.told["processor"]), (many, ours.told["processor"]))
    build = [Line("ragworthy", many, ours, builds, work=took)]
    find = [Line("ragworthy", asked, ours, finds, work=ours.told)]
    skipped = () if bench.peers is not None else ("rank_bm25 and bm25s: make peers",)
    if bench.peers is not None:
        for name in ("bm25s", "rank_bm25"):
            ran = side(bench.peers, name, *files)
            agrees = ""
            if name == "bm25s":
                shared = [len(set(a) & set(b)) for a, b in zip(ran.told["found"], ours.told["found"], strict=True)]
                agrees = f"{sum(shared) / (10 * len(shared)):.1%} of its ten are ours"
            build.append(Line(name, many, ran, work=ran.told["building"]))
            find.append(Line(name, asked, ran, None, agrees, ran.told))
    document = bench.folder / "corpus.md"
    sections = [f"# Section {nth}\n\n{json.loads(line)['text']}.\n" for nth, line in enumerate(files[0].open())]
    document.write_text("\n".join(sections))
    whole = run([*OURS, "index", "build", "--docs", document, "--out", bench.folder / "index"])
    facts = ((FOLDER, f"{many:,} sections: {whole.seconds:.1f} s, {whole.peak_mb:,.0f} MB"),)
    return (
        Subject("Building an index", SEARCH, "chunks", tuple(build), facts, skipped),
        Subject("Searching", "The same index and questions.", "questions", tuple(find), (), skipped),
    )
