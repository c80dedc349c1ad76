"""Indexes on disk: opening one, reading its parts when they are needed, searching it."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np

from ragworthy.errors import data_error, usage_error
from ragworthy.files import sha256_of
from ragworthy.index import dense, embed, fuse, lexical, ranking, swap
from ragworthy.index import manifest as mf
from ragworthy.index.check import Finding, check
from ragworthy.index.embed import Embedder
from ragworthy.index.manifest import CHUNKS, GRAPH, VECTORS, Manifest, drift
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
_FUSIONS = {"rrf": fuse.rrf, "intersection": fuse.intersection, "union": fuse.union}
Read = TypeVar("Read")


class Hit(NamedTuple):
    """A chunk that was found."""

    chunk: Chunk
    score: float
    rank: int


def open_index(path: Path, *, verify: bool = True) -> "Index":
    """The index in this folder; `verify` reads every file and compares it with the manifest."""
    home = swap.standing(path)
    where = str(path)
    if not home.exists():
        raise data_error("RW-I01", "expected an index, got nothing at this path", where=where)
    if not home.is_dir():
        raise data_error("RW-I01", "expected an index, got a file", where=where)
    if not (home / mf.NAME).is_file():
        raise data_error("RW-I01", f"expected an index, got a folder without {mf.NAME}", where=where)
    manifest = mf.read(home / mf.NAME)
    for name, file in manifest.files.items():
        _check_file(home / name, file, verify)
    return Index(home, manifest)


def _check_file(path: Path, file: mf.File, verify: bool) -> None:
    if not path.is_file():
        raise data_error("RW-I02", "expected a file, got nothing at this path", where=str(path))
    size = path.stat().st_size
    if size != file.bytes:
        raise data_error("RW-I02", f"expected {file.bytes} bytes, got {size}", where=str(path))
    if verify and (actual := sha256_of(path)) != file.sha256:
        message = f"expected SHA-256 {file.sha256[:12]}…, got {actual[:12]}…"
        raise data_error("RW-I02", message, where=str(path))


class Index:
    """A built, searchable corpus; each part is read when it is first needed."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest

    @cached_property
    def chunks(self) -> list[Chunk]:
        """Every chunk, in reading order."""
        decoder = msgspec.json.Decoder(Chunk)
        return self._read(CHUNKS, lambda path: decoder.decode_lines(path.read_bytes()))

    @cached_property
    def by_id(self) -> dict[str, Chunk]:
        """The chunks under their ids."""
        return {chunk.name: chunk for chunk in self.chunks}

    @cached_property
    def vectors(self) -> ranking.Floats:
        """The vector of each chunk's text, memory-mapped."""
        dimension = self._embedding().dimension
        return self._read(VECTORS, lambda path: _array(path, dimension))

    def canonical(self, doc_id: str) -> bytes:
        """The canonical text of a document."""
        file = self._canonical.get(doc_id)
        if file is None:
            raise usage_error(f'expected a document of the index, got "{doc_id}"')
        return self._read(file, Path.read_bytes)

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
            found = [one[: fuse.knee([score for _, score in one])] for one in found]
        return [
            [Hit(self.chunks[position], score, rank) for rank, (position, score) in enumerate(one[:k], 1)]
            for one in found
        ]

    def _ranked(self, queries: Sequence[str], count: int, mode: str, fusion: str) -> list[ranking.Ranked]:
        if mode == "bm25":
            return [self._lexical.search(query, count, self._places) for query in queries]
        if mode == "dense":
            return self._near(queries, count)
        if mode != "hybrid":
            raise usage_error(f'expected bm25, dense or hybrid, got "{mode}"')
        both = zip(self._ranked(queries, count, "bm25", fusion), self._near(queries, count), strict=True)
        return [_FUSIONS[fusion]([_positions(one), _positions(other)], self._places.item) for one, other in both]

    def _near(self, queries: Sequence[str], count: int) -> list[ranking.Ranked]:
        """By distance of meaning; a question in capitals is read in lower case, which is what models know."""
        asked = self.embedder().embed([query.lower() if query.isupper() else query for query in queries])
        if len(self.vectors) != len(self.chunks):
            message = f"expected a vector for each of the {len(self.chunks)} chunks, got {len(self.vectors)}"
            raise data_error("RW-I02", message, where=str(self.root / VECTORS))
        if self.manifest.index_type == "hnsw":
            return dense.approximate(self._graph, self.vectors, asked, count, self._places)
        return dense.exact(self.vectors, asked, count, self._places)

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
        return model

    @cached_property
    def _canonical(self) -> dict[str, str]:
        return {document.doc_id: document.file for document in self.manifest.documents}

    @cached_property
    def _places(self) -> ranking.Ints:
        return ranking.places(self.chunks)

    @cached_property
    def _lexical(self) -> lexical.Lexical:
        self._check_field("analyzer", self.manifest.analyzer, ANALYZER)
        return self._read(lexical.FILES[0], lambda path: lexical.load(path.parent, len(self.chunks)))

    @cached_property
    def _graph(self) -> Any:
        return self._read(GRAPH, lambda path: dense.load_graph(path, self.vectors.shape))

    def _read(self, name: str, read: Callable[[Path], Read]) -> Read:
        """What `read` makes of a file; a file that it cannot read was altered."""
        path = self.root / name
        try:
            return read(path)
        except OSError as error:
            message = f"expected a readable file, got: {error.strerror or error}"
        except (ValueError, msgspec.MsgspecError) as error:
            message = f"expected a file as it was built, got: {error}"
        raise data_error("RW-I02", message, where=str(path))


def _array(path: Path, dimension: int) -> ranking.Floats:
    array: ranking.Floats = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.ndim != 2 or array.shape[1] != dimension or array.dtype != np.float32:
        raise ValueError(f"{array.dtype} of shape {array.shape} for vectors of dimension {dimension}")
    return array


def _positions(ranked: ranking.Ranked) -> list[int]:
    return [position for position, _ in ranked]
