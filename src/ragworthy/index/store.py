"""Indexes on disk: opening one, reading its parts when they are needed, searching it."""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from ragworthy.errors import data_error, usage_error
from ragworthy.index import dense, embed, ranking
from ragworthy.index import manifest as mf
from ragworthy.index.arrays import read_array
from ragworthy.index.check import Finding, check, not_unit
from ragworthy.index.contents import Contents
from ragworthy.index.embed import Embedder
from ragworthy.index.folder import Say, open_folder, print_note
from ragworthy.index.lexical import Lexical
from ragworthy.index.lexical import load as load_lexical
from ragworthy.index.manifest import GRAPH, VECTORS, Manifest, drift
from ragworthy.index.tokens import ANALYZER
from ragworthy.index.write import CanonicalText, build
from ragworthy.records import Chunk

__all__ = ["CanonicalText", "Finding", "Hit", "Index", "Manifest", "build", "check", "drift", "open_index"]

DEPTH = 100
"""How many results of each search are fused."""
PERMIT = "RAGWORTHY_EMBED_URL"
"""The environment variable that names the one address which an index may have us send questions (and the key) to."""

Mode = Literal["bm25", "dense", "hybrid"]
Fusion = Literal["rrf", "intersection", "union"]
_FUSIONS = {"rrf": ranking.rrf, "intersection": ranking.intersection, "union": ranking.union}
Made = TypeVar("Made")


class _Fitting:
    """A model whose vectors can be compared with those of an index."""

    def __init__(self, model: Embedder, dimension: int, where: str) -> None:
        self.name, self.weights, self.dimension = model.name, model.weights, dimension
        self._model = model
        self._where = where

    def embed(self, texts: Sequence[str]) -> ranking.Floats:
        """One row for each text, as the model gives it."""
        rows = self._model.embed(texts)
        if rows.shape[1] != self.dimension:
            message = f"expected a model with {self.dimension} numbers in a vector, got one with {rows.shape[1]}"
            raise data_error("RW-I04", message, where=self._where, field="embedding.dimension")
        return rows


class Hit(NamedTuple):
    """A chunk that was found."""

    chunk: Chunk
    score: float
    rank: int


def open_index(path: Path, *, verify: bool = True, say: Say = print_note) -> "Index":
    """The index in this folder; `verify` reads every file and compares it with the manifest.

    `say` gets a note where a build that was cut off left the index aside.
    """
    folder = open_folder(path, say)
    folder.check(verify=verify)
    return Index(folder, verify=verify)


class Index(Contents):
    """A built, searchable corpus."""

    @cached_property
    def vectors(self) -> ranking.Floats:
        """The vector of each chunk's text, memory-mapped; each of unit length, or zeros."""
        vectors = self.written_vectors
        where = str(self.root / VECTORS)
        if len(vectors) != len(self.chunks):
            message = f"expected a vector for each of the {len(self.chunks)} chunks, got {len(vectors)}"
            raise data_error("RW-I02", message, where=where)
        for row, length in not_unit(vectors)[:1]:
            raise data_error("RW-I12", f"expected unit length, got {length:.4f}", where=where, field=f"row {row}")
        return vectors

    @cached_property
    def written_vectors(self) -> ranking.Floats:
        """The vectors as the file has them, sound or not."""
        dimension = self._embedding().dimension
        with self._as_built(VECTORS):
            return read_array(self.root / VECTORS, "<f4", (None, dimension))

    @cached_property
    def lexical(self) -> Lexical:
        """The words of the chunks with their scores."""
        self._check_field("analyzer", self.manifest.analyzer, ANALYZER)
        return load_lexical(self._part, len(self.chunks))

    def embedder(self) -> Embedder:
        """The model that made the vectors, and no other."""
        return self._embedder

    def search(
        self,
        query: str,
        k: int = 5,
        mode: Mode = "bm25",
        *,
        fusion: Fusion = "rrf",
        knee: bool = False,
        depth: int = DEPTH,
    ) -> list[Hit]:
        """The best chunks for a question."""
        return self.search_many([query], k, mode, fusion=fusion, knee=knee, depth=depth)[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 5,
        mode: Mode = "bm25",
        *,
        fusion: Fusion = "rrf",
        knee: bool = False,
        depth: int = DEPTH,
    ) -> list[list[Hit]]:
        """The best chunks for each question; `knee` cuts the `depth` best where the scores have fallen."""
        if k < 1 or depth < 1:
            raise usage_error(f"expected k and depth of at least 1, got {min(k, depth)}")
        if fusion not in _FUSIONS:
            raise usage_error(f'expected rrf, intersection or union, got "{fusion}"')
        found = self._ranked(queries, max(k, depth) if knee or mode == "hybrid" else k, mode, fusion)
        if knee:
            found = [one[: ranking.knee([score for _, score in one])] for one in found]
        return [
            [Hit(self.chunks[position], score, rank) for rank, (position, score) in enumerate(one[:k], 1)]
            for one in found
        ]

    def _ranked(self, queries: Sequence[str], count: int, mode: str, fusion: str) -> list[ranking.Ranked]:
        if mode == "bm25":
            return [self.lexical.search(query, count, self._places) for query in queries]
        if mode == "dense":
            return self._near(queries, count)
        if mode != "hybrid":
            raise usage_error(f'expected bm25, dense or hybrid, got "{mode}"')
        both = zip(self._ranked(queries, count, "bm25", fusion), self._near(queries, count), strict=True)
        return [_FUSIONS[fusion]([_positions(one), _positions(other)], self._places.item) for one, other in both]

    def _near(self, queries: Sequence[str], count: int) -> list[ranking.Ranked]:
        """By distance of meaning; a question in capitals is read in lower case, which is what models know."""
        vectors, graph = self.vectors, self.graph if self.manifest.index_type == "hnsw" else None
        asked = self.embedder().embed([query.lower() if query.isupper() else query for query in queries])
        if graph is not None:
            return dense.approximate(graph, vectors, asked, count, self._places)
        return dense.exact(vectors, asked, count, self._places)

    def _embedding(self) -> mf.Embedding:
        if self.manifest.embedding is None:
            message = "expected an index with vectors, got one for lexical search only"
            raise data_error("RW-I10", message, where=str(self.root))
        self._check_field("metric", self.manifest.metric, "cosine")
        return self.manifest.embedding

    def _check_field(self, field: str, found: str | None, ours: str) -> None:
        """Refuse an index that was made for another way of searching."""
        if found != ours:
            raise data_error("RW-I03", f"expected {ours}, got {found}", where=str(self.root / mf.NAME), field=field)

    @cached_property
    def _embedder(self) -> Embedder:
        wanted = self._embedding()
        url = embed.endpoint_url(wanted.model)
        if url and os.environ.get(PERMIT) != url:
            message = f"expected {PERMIT}={url} in the environment, without which no index may make us ask an address"
            raise data_error("RW-I04", message, where=str(self.root / mf.NAME), field="embedding.model")
        model = embed.load(wanted.model)
        if model.weights != wanted.weights:
            message = f"expected weights {wanted.weights[:12]}…, got {model.weights[:12]}…"
            raise data_error("RW-I04", message, where=str(self.root / mf.NAME), field="embedding.weights")
        return _Fitting(model, wanted.dimension, str(self.root / mf.NAME))

    @cached_property
    def _places(self) -> ranking.Ints:
        return ranking.places(self.chunks)

    @cached_property
    def graph(self) -> Any:
        """The graph over the vectors, of the library that made it."""
        return self._part(GRAPH, lambda data: dense.load_graph(data, self.vectors))


def _positions(ranked: ranking.Ranked) -> list[int]:
    return [position for position, _ in ranked]
