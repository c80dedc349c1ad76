"""One side of a comparison: runs in the Python that has its packages, prints what it found and how long it took.

    python benchmarks/sides.py NAME WORD …

The last line is JSON: `seconds` and `processor` of the work without imports, and `numbers`, held against ours.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

K1, B = 1.2, 0.75
DEPTH = 10


def records(path: str) -> list[dict[str, Any]]:
    """The lines of a JSONL file."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as a user writes it
        return [json.loads(line) for line in file]


class Took(NamedTuple):
    """Seconds by the clock and of the processor."""

    seconds: float
    processor: float


def timed(work: Callable[[], Any]) -> tuple[Took, Any]:
    """How long the work took, and what it gave."""
    begin, used = time.perf_counter(), time.process_time()
    found = work()
    return Took(time.perf_counter() - begin, time.process_time() - used), found


def ragas(kind: str, path: str) -> dict[str, Any]:
    """Metrics of ragas that ask no model, row by row as its own loop awaits them."""
    import asyncio

    from ragas import SingleTurnSample
    from ragas import metrics as known

    rows = records(path)
    names = {
        "answers": ("StringPresence", "ExactMatch"),
        "ids": ("IDBasedContextRecall", "IDBasedContextPrecision"),
        "strings": ("NonLLMStringSimilarity",),
    }[kind]
    metrics = [getattr(known, name)() for name in names]

    async def all_of() -> list[list[float]]:
        samples = [SingleTurnSample(**row) for row in rows]
        return [[await metric.single_turn_ascore(one) for one in samples] for metric in metrics]

    seconds, found = timed(lambda: asyncio.run(all_of()))
    return {**seconds._asdict(), "numbers": dict(zip(names, (sum(one) / len(one) for one in found), strict=True))}


def deepeval(path: str) -> dict[str, Any]:
    """Exact match of DeepEval, test case by test case, without its screen."""
    from deepeval.metrics import ExactMatchMetric
    from deepeval.test_case import LLMTestCase

    rows = records(path)

    def work() -> float:
        metric = ExactMatchMetric()
        right = 0.0
        for row in rows:
            case = LLMTestCase(input=row["user_input"], actual_output=row["response"], expected_output=row["reference"])
            right += metric.measure(case, _show_indicator=False)
        return right / len(rows)

    seconds, found = timed(work)
    return {**seconds._asdict(), "numbers": {"ExactMatch": found}}


TREC = {
    "P_1": "precision@1",
    "P_5": "precision@5",
    "P_10": "precision@10",
    "recall_1": "recall@1",
    "recall_5": "recall@5",
    "recall_10": "recall@10",
    "ndcg_cut_5": "ndcg@5",
    "ndcg_cut_10": "ndcg@10",
    "recip_rank": "mrr",
    "success_5": "hit@5",
}
"""What trec_eval calls ten metrics of ours."""


def pytrec_eval(qrels: str, run: str) -> dict[str, Any]:
    """The ten metrics by pytrec_eval, with the reading of the files; a judged query without results counts as 0."""
    import pytrec_eval as library

    def work() -> dict[str, float]:
        with open(qrels, encoding="utf-8") as file:  # noqa: PTH123
            judged = library.parse_qrel(file)
        with open(run, encoding="utf-8") as file:  # noqa: PTH123
            results = library.parse_run(file)
        asked = {"P.1,5,10", "recall.1,5,10", "ndcg_cut.5,10", "recip_rank", "success.5"}
        values = library.RelevanceEvaluator(judged, asked).evaluate(results)
        return {name: sum(one[key] for one in values.values()) / len(judged) for key, name in TREC.items()}

    seconds, found = timed(work)
    return {**seconds._asdict(), "numbers": found}


def tokens(text: str) -> list[str]:
    """Words, the same for both libraries."""
    return text.lower().split()


def _texts(corpus: str, queries: str) -> tuple[list[str], list[str]]:
    return [row["text"] for row in records(corpus)], [row["question"] for row in records(queries)]


def rank_bm25(corpus: str, queries: str) -> dict[str, Any]:
    """BM25 by rank_bm25: index, then the best ten of each question."""
    from rank_bm25 import BM25Okapi

    texts, asked = _texts(corpus, queries)
    building, index = timed(lambda: BM25Okapi([tokens(text) for text in texts], k1=K1, b=B))
    searching, _ = timed(lambda: [index.get_scores(tokens(one)).argsort()[::-1][:DEPTH].tolist() for one in asked])
    return {**searching._asdict(), "building": building._asdict(), "numbers": {}}


def bm25s(corpus: str, queries: str) -> dict[str, Any]:
    """BM25 by bm25s, with its own tokenizer replaced by the same words."""
    import bm25s as library

    texts, asked = _texts(corpus, queries)

    def build() -> Any:
        made = library.BM25(method="lucene", k1=K1, b=B)
        made.index([tokens(text) for text in texts], show_progress=False)
        return made

    building, index = timed(build)

    def search() -> list[list[int]]:
        found, _ = index.retrieve([tokens(one) for one in asked], k=DEPTH, show_progress=False, n_threads=1)
        return [[int(place) for place in one] for one in found]

    searching, found = timed(search)
    return {**searching._asdict(), "building": building._asdict(), "numbers": {}, "found": found}


def ours_bm25(corpus: str, queries: str) -> dict[str, Any]:
    """BM25 of an index of ours in memory: as `index build` makes it and `index search` asks it."""
    from ragworthy.index import lexical
    from ragworthy.index.ranking import places
    from ragworthy.records import Chunk

    texts, asked = _texts(corpus, queries)
    chunks = [Chunk(chunk_id=f"c{nth}", text=text) for nth, text in enumerate(texts)]
    lexical.build(chunks[:2])  # imports what it needs where it needs it
    building, index = timed(lambda: lexical.build(chunks))
    place = places(chunks)
    searching, found = timed(lambda: [index.search(one, DEPTH, place) for one in asked])
    return {
        **searching._asdict(),
        "building": building._asdict(),
        "numbers": {},
        "found": [[at for at, _ in one] for one in found],
    }


def distances(model: str, path: str) -> dict[str, Any]:
    """ΔS of pairs of texts with a built-in model."""
    from ragworthy.index.measure import measure

    rows = records(path)
    left, right = [row["reference"] for row in rows], [row["response"] for row in rows]
    made = measure(model, lambda: list(dict.fromkeys(right)))
    made.distances(left[:50], right[:50])
    seconds, found = timed(lambda: made.distances(left, right))
    return {**seconds._asdict(), "numbers": {"mean": float(sum(found) / len(found))}}


def imports(name: str) -> dict[str, Any]:
    """How long a package takes to be imported."""
    from importlib import import_module

    seconds, _ = timed(lambda: import_module(name))
    return {**seconds._asdict(), "numbers": {}, "modules": len(sys.modules)}


def installed(*names: str) -> dict[str, Any]:
    """What these packages and all that they ask for weigh, compiled modules included."""
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, int] = {}
    wanted = [Requirement(name) for name in names]
    seen: set[str] = set()
    while wanted:
        asked = wanted.pop()
        name = canonicalize_name(asked.name)
        key = f"{name}[{','.join(sorted(asked.extras))}]"
        if key in seen:
            continue
        seen.add(key)
        try:
            package = distribution(asked.name)
        except PackageNotFoundError:
            continue
        for text in package.requires or ():
            one = Requirement(text)
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *asked.extras)):
                wanted.append(one)
        files = {Path(str(package.locate_file(file))).resolve() for file in package.files or ()}
        if name == "ragworthy":  # an editable install lists no files of its own
            import ragworthy

            files = {path for path in Path(ragworthy.__file__).parent.rglob("*") if "__pycache__" not in path.parts}
        files = {path for path in files if path.is_file()}
        code = sum(path.stat().st_size for path in files if path.suffix == ".py")
        compiled = sum(path.stat().st_size for path in files if path.suffix == ".pyc")
        # modules that nobody has compiled yet weigh about 1.75 times their source, as pip compiles them
        found[name] = sum(path.stat().st_size for path in files) + (0 if compiled else round(1.75 * code))
    return {"numbers": {}, "packages": len(found), "bytes": sum(found.values())}


SIDES: dict[str, Callable[..., dict[str, Any]]] = {
    one.__name__: one
    for one in (ragas, deepeval, pytrec_eval, rank_bm25, bm25s, ours_bm25, distances, imports, installed)
}

if __name__ == "__main__":
    sys.path.pop(0)  # this folder has modules that are named like packages
    print(json.dumps(SIDES[sys.argv[1]](*sys.argv[2:])))
