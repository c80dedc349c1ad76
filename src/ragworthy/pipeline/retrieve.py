"""From a question to the chunks that the answerer gets: search, fuse, rerank, cut."""

from collections.abc import Sequence
from typing import NamedTuple

from ragworthy.index import ranking
from ragworthy.index.ranking import DECIMALS, Floats
from ragworthy.pipeline.asked import Question
from ragworthy.pipeline.knobs import Knobs
from ragworthy.pipeline.shelf import Shelf, order
from ragworthy.records import Chunk
from ragworthy.text import words

COVERAGE, LIKENESS = 0.6, 0.4
"""The weights of reranking: how much of the question the chunk holds, and how like the question it is."""


class Found(NamedTuple):
    """A chunk and how well it was found."""

    chunk: Chunk
    score: float


def mode_of(shelf: Shelf, knobs: Knobs) -> str:
    """The way of searching; hybrid where the index has vectors and none was asked for."""
    if knobs.mode != "auto":
        return knobs.mode
    return "hybrid" if shelf.index.manifest.embedding is not None else "bm25"


def search(shelf: Shelf, question: str, knobs: Knobs) -> list[Found]:
    """The candidates, best first.

    Hybrid search fuses both lists by reciprocal rank. With `intersect` only what both hold is kept; where they share
    nothing, all of it is, since no candidate at all would look like a question outside the corpus.
    """
    mode = mode_of(shelf, knobs)
    lists = []
    if mode != "dense":
        lists.append(shelf.index.search(question, knobs.k_lex, "bm25"))
    if mode != "bm25":
        lists.append(shelf.index.search(question, knobs.k_sem, "dense"))
    if len(lists) == 1:
        return [Found(hit.chunk, round(hit.score, DECIMALS)) for hit in lists[0]]
    by_name = {hit.chunk.name: hit.chunk for hits in lists for hit in hits}
    names = [[hit.chunk.name for hit in hits] for hits in lists]
    fused = ranking.intersection(names, lambda name: order(by_name[name])) if knobs.intersect else []
    fused = fused or ranking.rrf(names, lambda name: order(by_name[name]))
    return [Found(by_name[name], round(score, DECIMALS)) for name, score in fused]


def rerank(shelf: Shelf, question: Question, vector: Floats | None, found: Sequence[Found], depth: int) -> list[Found]:
    """The first candidates by coverage and likeness; without vectors the score they were found with stands for it."""
    first = found[:depth]
    if not first:
        return []
    if vector is not None:
        likeness = shelf.near(vector, [one.chunk for one in first])
    else:
        most = max(one.score for one in first) or 1.0
        likeness = [one.score / most for one in first]
    again = [
        Found(one.chunk, _mixed(question.coverage(shelf.parts(one.chunk).every), like))
        for one, like in zip(first, likeness, strict=True)
    ]
    return sorted(again, key=lambda one: (-one.score, order(one.chunk)))


def _mixed(coverage: float, likeness: float) -> float:
    return round(COVERAGE * coverage + LIKENESS * likeness, DECIMALS)


def cut(found: Sequence[Found], knobs: Knobs) -> list[Found]:
    """What fits: up to the knee, up to k, up to the tokens; the first always does."""
    kept = found[: ranking.knee([one.score for one in found])] if knobs.knee else found
    chosen: list[Found] = []
    used = 0
    for one in kept[: knobs.k]:
        used += tokens_of(one.chunk)
        if chosen and used > knobs.max_tokens:
            break
        chosen.append(one)
    return chosen


def tokens_of(chunk: Chunk) -> int:
    """How long a chunk is, in tokens; counted as words where the index does not say."""
    return chunk.tokens if chunk.tokens is not None else max(1, len(words(chunk.text)))
