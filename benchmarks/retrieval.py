"""Speed and memory of the retrieval suite: rank metrics against ir_measures and ranx, and ΔS.

Everything is generated, run and compared in one go. Timings never decide anything: the exit code is 0 whatever they
are. Each side runs in a process of its own and times itself from files in to values out; imports (and, for ranx, the
compiler) are not counted. ΔS is about one core, so its seconds are those of the processor, not of the clock.
"""

import argparse
import gzip
import importlib.util
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from answers import Finished, Row, machine, run, table

SQUAD = Path(__file__).resolve().parents[2] / "shared/data/squad2/dev"
TIMES = 5
RESULTS = 20
KS = (1, 5, 10)
LEAST_OVER_PEER, MOST_GB, MOST_GROWTH, CLOSE = 5.0, 1.5, 10.5, 1e-9
LEAST_PAIRS = 20_000
TEN = {
    "precision@1": "P@1",
    "precision@5": "P@5",
    "precision@10": "P@10",
    "recall@1": "R@1",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "ndcg@5": "nDCG@5",
    "ndcg@10": "nDCG@10",
    "mrr": "RR",
    "hit@5": "Success@5",
}
RANX = {"hit@5": "hit_rate@5"}

Values = dict[str, dict[str, float]]
"""Query by query, for each metric."""


class Pair(NamedTuple):
    """Judgements and a run."""

    qrels: Path
    run: Path

    @property
    def size(self) -> int:
        return self.qrels.stat().st_size + self.run.stat().st_size


# the input


def generate(folder: Path, queries: int, seed: int = 7) -> Pair:
    """Write judgements and a run: some ties, some queries without results, some without judgements."""
    rng = random.Random(seed)
    draw = rng.random
    pair = Pair(folder / f"qrels-{queries}.txt", folder / f"run-{queries}.txt")
    with pair.qrels.open("w") as judged, pair.run.open("w") as results:
        for number in range(queries):
            qid = f"q{number}"
            documents = [f"doc{int(draw() * 2e6):07d}-{place:02d}" for place in range(RESULTS)]
            wanted = [one for one in documents if draw() < 0.12] + [f"doc{int(draw() * 2e6):07d}-xx"]
            if draw() < 0.99:
                judged.writelines(f"{qid} 0 {one} {int(draw() * 4)}\n" for one in wanted)
            if draw() < 0.99:
                score, lines = 30.0, []
                for place, one in enumerate(documents, 1):
                    score -= draw() if draw() < 0.98 else 0.0
                    lines.append(f"{qid} Q0 {one} {place} {score:.6f} bench\n")
                results.writelines(lines)
    return pair


# the sides: this file runs itself with --side


def _ours(pair: Pair) -> Callable[[], tuple[dict[str, float], Callable[[], Values]]]:
    from ragworthy.trec.ranking import score
    from ragworthy.trec.read import read_qrels, read_run

    def work() -> tuple[dict[str, float], Callable[[], Values]]:
        ranked = score(read_qrels(pair.qrels), read_run(pair.run), KS)
        values = ranked.values()
        means = {name: float(value or 0) for name, value in ranked.means().items() if name in TEN}
        return means, lambda: {name: dict(zip(ranked.qids, values[name].tolist(), strict=True)) for name in TEN}

    return work


def _ir_measures(pair: Pair) -> Callable[[], tuple[dict[str, float], Callable[[], Values]]]:
    import ir_measures

    names = {text: name for name, text in TEN.items()}
    measures = [ir_measures.parse_measure(text) for text in TEN.values()]
    read_qrels: Callable[[str], Any] = ir_measures.read_trec_qrels
    read_run: Callable[[str], Any] = ir_measures.read_trec_run

    def by_query() -> Values:
        values: Values = {name: {} for name in TEN}
        for row in ir_measures.iter_calc(measures, read_qrels(str(pair.qrels)), read_run(str(pair.run))):
            values[names[str(row.measure)]][row.query_id] = row.value
        return values

    def work() -> tuple[dict[str, float], Callable[[], Values]]:
        found = ir_measures.calc_aggregate(measures, read_qrels(str(pair.qrels)), read_run(str(pair.run)))
        return {names[str(measure)]: value for measure, value in found.items()}, by_query

    return work


def _ranx(pair: Pair) -> Callable[[], tuple[dict[str, float], Callable[[], Values]]]:
    from ranx import Qrels, Run, evaluate

    names = {RANX.get(name, name): name for name in TEN}

    def work() -> tuple[dict[str, float], Callable[[], Values]]:
        qrels, results = Qrels.from_file(str(pair.qrels), kind="trec"), Run.from_file(str(pair.run), kind="trec")
        found = evaluate(qrels, results, list(names), make_comparable=True)
        return {name: float(found[theirs]) for theirs, name in names.items()}, dict

    return work


def _distances(pair: Pair) -> Callable[[], tuple[dict[str, float], Callable[[], Values]]]:
    """ΔS of generated pairs on one core; the two files hold the texts, a line each."""
    from ragworthy.index.embed import load, text_distances

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    left, right = (path.read_text(encoding="utf-8").splitlines() for path in pair)
    embedder = load("wordllama")
    text_distances(embedder, left[:100], right[:100])

    def work() -> tuple[dict[str, float], Callable[[], Values]]:
        found = text_distances(embedder, left, right)
        return {"pairs": float(len(found)), "mean": float(found.mean())}, dict

    return work


def _ngrams(pair: Pair) -> Callable[[], tuple[dict[str, float], Callable[[], Values]]]:
    """The same with n-grams, whose weights were counted before."""
    from ragworthy.index.ngrams import Ngram, count

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    left, right = (path.read_text(encoding="utf-8").splitlines() for path in pair)
    table = count(list(dict.fromkeys(right)))

    def work() -> tuple[dict[str, float], Callable[[], Values]]:
        found = Ngram(table).distances(left, right)
        return {"pairs": float(len(found)), "mean": float(found.mean())}, dict

    return work


SIDES = {"ours": _ours, "ir_measures": _ir_measures, "ranx": _ranx, "distances": _distances, "ngrams": _ngrams}


def side(name: str, pair: Pair, values: Path | None, warm: int, times: int) -> dict[str, Any]:
    """Run one side a few times, the first ones for nothing; the median of the seconds and what it found."""
    work = SIDES[name](pair)
    clock = time.process_time if name in ("distances", "ngrams") else time.perf_counter
    seconds, processor = [], []
    for _ in range(warm + times):
        begin, used = clock(), time.process_time()
        means, by_query = work()
        seconds.append(clock() - begin)
        processor.append(time.process_time() - used)
    if values:
        values.write_text(json.dumps(by_query()), encoding="utf-8")
    medians = {"seconds": statistics.median(seconds[warm:]), "processor": statistics.median(processor[warm:])}
    return {**medians, "means": means}


class Timed(NamedTuple):
    """A side that has run: its own seconds, and the process it ran in."""

    seconds: float
    means: dict[str, float]
    process: Finished


def timed(name: str, pair: Pair, *more: str) -> Timed:
    """Run a side in a fresh process."""
    done = run([sys.executable, __file__, "--side", name, "--times", "1", *more, str(pair[0]), str(pair[1])])
    found = json.loads(done.output.splitlines()[-1])
    return Timed(found["seconds"], found["means"], done)


def median(runs: Sequence[Timed]) -> float:
    """The middle of the seconds."""
    return statistics.median(one.seconds for one in runs)


# the parts of the table


def _progress(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


def _at_most(what: str, value: float, limit: float, unit: str = "×") -> Row:
    return Row(what, value, unit, f"≤ {limit:g} {unit}", value <= limit)


def _at_least(what: str, value: float, limit: float, unit: str = "×") -> Row:
    return Row(what, value, unit, f"≥ {limit:,g} {unit}", value >= limit)


def _furthest(one: dict[str, float], other: dict[str, float]) -> float:
    """The largest difference; infinite where a key is missing on either side."""
    if set(one) != set(other):
        return float("inf")
    return max(abs(one[key] - other[key]) for key in one)


def rank_metrics(folder: Path, queries: int, times: int) -> list[Row]:
    """Ten rank metrics from TREC files: ours, ir_measures and ranx on the same files."""
    _progress(f"generating {queries:,} queries with {RESULTS} results in {folder}")
    pair, tenth = generate(folder, queries), generate(folder, queries // 10)
    with_ranx = importlib.util.find_spec("ranx") is not None
    names = ("ours", "ir_measures", "ranx") if with_ranx else ("ours", "ir_measures")
    runs: dict[str, list[Timed]] = {name: [] for name in (*names, "tenth")}
    for turn in range(times):
        _progress(f"rank metrics, round {turn + 1} of {times}")
        for name in ("ours", "ir_measures"):
            runs[name].append(timed(name, pair))
        runs["tenth"].append(timed("ours", tenth))
    if with_ranx:
        _progress("ranx: one process, the first time for its compiler")
        runs["ranx"].append(timed("ranx", pair, "--warm", "1", "--times", str(times)))
    else:
        _progress("ranx is not installed: its rows are left out (pip install ranx)")
    ours = median(runs["ours"])
    rows = [Row(f"input: {queries:,} queries × {RESULTS}, qrels and run", pair.size / 1e6, "MB")]
    for name in names:
        whole = statistics.median(one.process.seconds for one in runs[name])
        rows += [
            Row(f"{name}: files in, ten metrics out", median(runs[name]), "s"),
            Row(f"{name}: whole process", whole, "s")
            if name != "ranx"
            else Row("ranx: all runs, compiler", whole, "s"),
            Row(f"{name}: peak memory", max(one.process.own_gb for one in runs[name]), "GB"),
        ]
    rows.append(_at_least("ir_measures / ours", median(runs["ir_measures"]) / ours, LEAST_OVER_PEER))
    if with_ranx:
        rows.append(Row("ranx / ours", median(runs["ranx"]) / ours, "×"))
    rows.append(_at_most("ours: peak memory", max(one.process.own_gb for one in runs["ours"]), MOST_GB, "GB"))
    rows.append(_at_most("growth: time, ten times the queries", ours / median(runs["tenth"]), MOST_GROWTH))
    return rows + _agreement(folder, pair, {name: runs[name][0].means for name in names})


def _agreement(folder: Path, pair: Pair, means: dict[str, dict[str, float]]) -> list[Row]:
    """How far the sides are apart, in the mean and for each query."""
    _progress("comparing query by query")
    found: dict[str, Values] = {}
    for name in ("ours", "ir_measures"):
        target = folder / f"{name}.json"
        timed(name, pair, "--values", str(target))
        found[name] = json.loads(target.read_text(encoding="utf-8"))
    by_query = max(_furthest(found["ours"][name], found["ir_measures"][name]) for name in TEN)
    in_mean = _furthest(means["ours"], means["ir_measures"])
    rows = [
        Row("furthest from ir_measures, any query", f"{by_query:.1e}", "", f"≤ {CLOSE:g}", by_query <= CLOSE),
        Row("furthest from ir_measures, mean", f"{in_mean:.1e}", "", f"≤ {CLOSE:g}", in_mean <= CLOSE),
    ]
    if "ranx" in means:
        far = _furthest(means["ours"], means["ranx"])
        rows.append(Row("furthest from ranx, mean (it breaks ties its own way)", f"{far:.1e}"))
    return rows


_WORDS = (
    "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which "
    "one you were all her she there would their we him been has when who will more no if out so said what up its about "
    "into than them can only other new some could time these two may then do first any my now such like our over man "
    "me even most made after also did many before must through back years where much your way well down should because "
    "each just those people how too little state good very make world still own see men work long get here between "
    "both life being under never day same another know while last might us great old year off come since against go "
    "came right used take three system index answer question document version server request response value table"
)
_CASES = (
    ("questions of 8 words, snippets of 12", 12, 0),
    ("questions of 8 words, chunks of 60", 60, 0),
    ("questions of 8 words, 2,000 chunks of 60", 60, 2000),
)


def known_words() -> list[str]:
    """Frequent English words, and some of software."""
    return _WORDS.split()


def _texts(words: int, count: int, rng: random.Random) -> list[str]:
    known = known_words()
    return [" ".join(rng.choices(known, k=words)) for _ in range(count)]


def distances(folder: Path, pairs: int, times: int) -> list[Row]:
    """ΔS pairs a second on one core with both built-in models: generated texts, and SQuAD where it is there."""
    cases: list[tuple[str, list[str], list[str]]] = []
    for what, words, distinct in _CASES:
        rng = random.Random(13)
        chunks = _texts(words, distinct or pairs, rng)
        cases.append((what, _texts(8, pairs, rng), [chunks[place % len(chunks)] for place in range(pairs)]))
    if SQUAD.is_dir():
        cases.append(("SQuAD 2.0 questions and their paragraphs", *_squad()))
    rows = []
    for what, questions, chunks in cases:
        _progress(f"ΔS, {what}")
        pair = Pair(folder / "questions.txt", folder / "chunks.txt")
        for path, texts in zip(pair, (questions, chunks), strict=True):
            path.write_text("".join(" ".join(text.split()) + "\n" for text in texts), encoding="utf-8")
        for side, called in (("distances", "ΔS"), ("ngrams", "ΔS by n-grams")):
            speed = len(questions) / median([timed(side, pair) for _ in range(times)])
            rows.append(_at_least(f"{called} on one core, {what}", speed, LEAST_PAIRS, "pairs/s"))
    return rows


def _squad() -> tuple[list[str], list[str]]:
    """Every answerable question with the paragraph it was asked about."""
    corpus = [json.loads(line) for line in (SQUAD / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = {chunk["id"]: chunk["text"] for chunk in corpus}
    with gzip.open(SQUAD / "gold.jsonl.gz", "rt", encoding="utf-8") as file:
        gold = [json.loads(line) for line in file]
    asked = [one for one in gold if one["gold_citations"]]
    return [one["question"] for one in asked], [texts[one["gold_citations"][0]] for one in asked]


# the whole


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--queries", type=int, default=50_000, metavar="N", help="how many (default: 50,000)")
    add("--pairs", type=int, default=20_000, metavar="N", help="pairs for ΔS (default: 20,000)")
    add("--times", type=int, default=TIMES, metavar="N", help=f"repeats, of which the median counts (default: {TIMES})")
    add("--only", choices=("ranks", "distances"), help="run one section")
    add("--keep", type=Path, metavar="DIR", help="generate into this folder and leave it there")
    add("--json", type=Path, metavar="FILE", help="also write the table as JSON")
    add("--side", choices=SIDES, help=argparse.SUPPRESS)
    add("--values", type=Path, help=argparse.SUPPRESS)
    add("--warm", type=int, default=0, help=argparse.SUPPRESS)
    add("files", nargs="*", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Run the benchmark, or one side of it."""
    given = _arguments()
    if given.side:
        print(json.dumps(side(given.side, Pair(*given.files), given.values, given.warm, given.times)))
        return 0
    about = machine()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="ragworthy-bench-") as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if given.only != "distances":
            rows += rank_metrics(folder, given.queries, given.times)
        if given.only != "ranks":
            rows += distances(folder, given.pairs, given.times)
    print(about)
    print(table(rows))
    if given.json:
        content = {"machine": about, "queries": given.queries, "rows": [row._asdict() for row in rows]}
        given.json.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
