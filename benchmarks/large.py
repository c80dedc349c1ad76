"""Twenty million traces on one machine: time, peak memory, and how both grow from two million.

    python benchmarks/large.py [--traces 20000000] [--folder DIR] [--spark]

Two shapes of the same size. In the first every trace has a question of its own, so that the gold set is as long as the
traces. In the second the traces of a month ask the same 100,000 questions again and again. About 11 GB of disk, which
are given back at the end.
"""

import argparse
import itertools
import json
import math
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from answers import OURS, Pair, Words, machine, peak_memory, question, run

SHARE = 10
"""The smaller input has so many times fewer traces."""
MONTH = 100_000
"""So many questions the traces of a month ask."""


class Taken(NamedTuple):
    """What one score took."""

    seconds: float
    cpu: float
    gb: float
    numbers: object


def _write(pair: Pair, part: int, first: int, traces: int, asked: int | None) -> None:
    """Some of the traces, and the gold items of those that ask for the first time."""
    words = Words(random.Random(7))
    words.rng.seed(part)
    encode = json.JSONEncoder(ensure_ascii=False).encode
    golds_file, lines_file = (Path(f"{path}.{part}") for path in pair)
    with golds_file.open("w", encoding="utf-8") as golds, lines_file.open("w", encoding="utf-8") as lines:
        for number in range(first, first + traces):
            if asked is not None:
                words.rng.seed(number % asked)  # the same question is answered alike
            gold, trace = question(number if asked is None else number % asked, words)
            if asked is None or number < asked:
                golds.write(encode(gold) + "\n")
            lines.write(encode(trace) + "\n")


def generate(folder: Path, traces: int, asked: int | None) -> Pair:
    """A gold set and its traces, each part by a process of its own."""
    folder.mkdir()
    pair, cores = Pair(folder / "gold.jsonl", folder / "traces.jsonl"), len(os.sched_getaffinity(0))
    edges = [traces * part // cores for part in range(cores + 1)]
    jobs = [(pair, part, first, last - first, asked) for part, (first, last) in enumerate(itertools.pairwise(edges))]
    with multiprocessing.get_context("fork").Pool(cores) as pool:
        pool.starmap(_write, jobs, chunksize=1)
    for path in pair:
        with path.open("wb") as whole:
            for part in range(cores):
                some = Path(f"{path}.{part}")
                with some.open("rb") as source:
                    while os.sendfile(whole.fileno(), source.fileno(), None, 1 << 30):
                        pass
                some.unlink()
    return pair


def scored(pair: Pair, more: Sequence[str]) -> Taken:
    """A score of a fresh process, and one more in which its memory is watched."""
    command = [*OURS, "score", "answers", *pair.arguments, "--format", "json", *more]
    before = os.times()
    done = run(command)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    report = json.loads(done.output)["suites"]["answers"]
    return Taken(done.seconds, cpu, peak_memory(command), [report["counts"], report["metrics"], report["labels"]])


def _exponent(small: float, large: float) -> float:
    return math.log(large / small) / math.log(SHARE)


def measured(folder: Path, traces: int, asked: int | None, ways: Sequence[Sequence[str]]) -> list[str]:
    """The rows of one shape."""
    what = "a question for each trace" if asked is None else f"{asked:,} questions"
    rows = []
    found: dict[tuple[int, tuple[str, ...]], Taken] = {}
    for many in (traces // SHARE, traces):
        print(f"… {many:,} traces, {what}", file=sys.stderr, flush=True)
        pair = generate(folder / f"{many}-{asked}", many, asked)
        for way in ways:
            one = found[many, tuple(way)] = scored(pair, way)
            small = found[traces // SHARE, tuple(way)]
            grown = f"{_exponent(small.seconds, one.seconds):.2f}", f"{_exponent(small.gb, one.gb):.2f}"
            cells = [f"{many:,}", what, " ".join(way), f"{pair.size / 1e9:.1f}", f"{one.seconds:.1f}", f"{one.cpu:.1f}"]
            cells += [f"{many / one.seconds:,.0f}", f"{one.gb:.2f}", *(grown if one is not small else ("", ""))]
            rows.append(f"| {' | '.join(cells)} |")
            print(rows[-1], file=sys.stderr, flush=True)
        if any(found[many, tuple(way)].numbers != found[many, tuple(ways[0])].numbers for way in ways):
            raise SystemExit(f"{many:,} traces: other numbers from another engine")
        for path in pair:
            path.unlink()
    return rows


def main() -> int:
    """Measure both shapes and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--traces", type=int, default=20_000_000, help="how many (default: 20,000,000)")
    parser.add_argument("--folder", type=Path, help="where the files go for the time being (default: a temporary one)")
    parser.add_argument("--spark", action="store_true", help="through Spark on this machine, too")
    given = parser.parse_args()
    ways = [["--jobs", "1"], ["--jobs", str(len(os.sched_getaffinity(0)))]]
    if given.spark:
        ways.append(["--engine", "spark"])
    print(f"{machine()}\n")
    begin, rows = time.perf_counter(), []
    with tempfile.TemporaryDirectory(prefix="ragworthy-large-", dir=given.folder) as temporary:
        for asked in (None, min(MONTH, given.traces // SHARE)):
            rows += measured(Path(temporary), given.traces, asked, ways)
    print("| traces | gold set | how | GB | seconds | of the processor | traces/s | peak GB | time | memory |")
    print("|---:|---|---|---:|---:|---:|---:|---:|---:|---:|", *rows, sep="\n")
    print(f"\nThe last two columns are exponents of growth. {(time.perf_counter() - begin) / 60:.0f} minutes.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
