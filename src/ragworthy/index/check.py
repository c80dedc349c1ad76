"""Whether an index holds together: ids, offsets, counts, vectors."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ragworthy.errors import DataError, Problem
from ragworthy.index.manifest import CHUNKS, NAME, VECTORS, index_hash
from ragworthy.index.ranking import Floats
from ragworthy.records import Chunk

if TYPE_CHECKING:
    from ragworthy.index.store import Index

_UNIT = 1e-4
"""How far from 1 the length of a vector may be."""


class Finding(NamedTuple):
    """One thing that is wrong, and the chunk it is about, if it is about one."""

    problem: Problem
    chunk_id: str = ""


def chunk_findings(
    chunks: Sequence[Chunk], text_of: Callable[[str], bytes | None], where: Callable[[int, Chunk], str]
) -> list[Finding]:
    """Ids that are missing or repeated, and offsets that do not lead to the text of the chunk."""
    found: list[Finding] = []
    seen: set[str] = set()
    for number, chunk in enumerate(chunks, 1):
        for code, field, message in (*_identity(chunk, seen), *_slice(chunk, text_of)):
            found.append(Finding(Problem(code, message, where(number, chunk), field), chunk.name))
        seen.add(chunk.name)
    return found


def _identity(chunk: Chunk, seen: set[str]) -> list[tuple[str, str, str]]:
    if not chunk.name:
        return [("RW-C01", "chunk_id", "expected a non-empty string, got nothing")]
    if chunk.name in seen:
        return [("RW-I06", "chunk_id", f'expected a unique id, got "{chunk.name}" again')]
    return []


def _slice(chunk: Chunk, text_of: Callable[[str], bytes | None]) -> list[tuple[str, str, str]]:
    if chunk.doc_id is None or chunk.offsets is None:
        return [("RW-C01", "doc_id" if chunk.doc_id is None else "offsets", "expected a value, got nothing")]
    begin, end = chunk.offsets
    shown = f"[{begin}, {end})"
    text = text_of(chunk.doc_id)
    if text is None:
        return [("RW-I07", "doc_id", f'expected a document of the index, got "{chunk.doc_id}"')]
    if not 0 <= begin < end:
        return [("RW-I07", "offsets", f"expected [begin, end) with 0 <= begin < end, got {shown}")]
    if end > len(text):
        return [("RW-I07", "offsets", f"expected a range inside the {len(text)} bytes of the text, got {shown}")]
    if text[begin:end] != chunk.text.encode("utf-8", "surrogatepass"):
        return [("RW-I07", "text", f"expected the bytes {shown} of the canonical text, got another text")]
    return []


def check(index: "Index") -> list[Finding]:
    """Everything that is wrong with an index, in the order of its chunks, then of the whole."""
    texts = {document.doc_id: None for document in index.manifest.documents}
    cache: dict[str, bytes] = {}

    def text_of(doc_id: str) -> bytes | None:
        if doc_id not in texts:
            return None
        if doc_id not in cache:
            cache.clear()
            cache[doc_id] = index.canonical(doc_id)
        return cache[doc_id]

    home = index.root / CHUNKS
    found = chunk_findings(index.written_chunks, text_of, lambda number, _: f"{home}:{number}")
    found += _named(index) + _counts(index) + _vectors(index)
    return found or _unsearchable(index)  # searching needs sound chunks and vectors


def _named(index: "Index") -> list[Finding]:
    """Whether the hash in the manifest is that of what the manifest and the chunks say."""
    manifest = index.manifest
    actual = index_hash(
        index.written_chunks,
        index_type=manifest.index_type,
        normaliser=manifest.text_preproc.normaliser,
        analyzer=manifest.analyzer,
        metric=manifest.metric,
        embedding=manifest.embedding,
    )
    if actual == manifest.index_hash:
        return []
    message = f"expected {actual}, which the chunks and settings give, got {manifest.index_hash}"
    return [Finding(Problem("RW-I03", message, str(index.root / NAME), "index_hash"))]


def _counts(index: "Index") -> list[Finding]:
    counts = index.manifest.counts
    where = str(index.root / NAME)
    vectors = len(index.written_vectors) if index.manifest.embedding else 0
    expected = {
        "documents": (counts.documents, len(index.manifest.documents)),
        "chunks": (counts.chunks, len(index.written_chunks)),
        "vectors": (counts.vectors, vectors),
    }
    found = [
        Finding(Problem("RW-I11", f"expected {actual}, which the files have, got {said}", where, f"counts.{name}"))
        for name, (said, actual) in expected.items()
        if said != actual
    ]
    if index.manifest.embedding and vectors != len(index.written_chunks):
        message = f"expected a vector for each of the {len(index.written_chunks)} chunks, got {vectors}"
        found.append(Finding(Problem("RW-I11", message, where, "counts.vectors")))
    return found


def _unsearchable(index: "Index") -> list[Finding]:
    """What keeps an index from being searched; a graph can be looked at only where its library is installed."""
    try:
        _ = index.lexical
        if index.manifest.index_type == "hnsw" and find_spec("faiss") is not None:
            _ = index.graph
    except DataError as error:
        return [Finding(problem) for problem in error.problems]
    return []


def _vectors(index: "Index") -> list[Finding]:
    if index.manifest.embedding is None:
        return []
    where, chunks = str(index.root / VECTORS), index.written_chunks
    return [
        Finding(
            Problem("RW-I12", f"expected unit length, got {length:.4f}", where, f"row {row}"),
            chunks[row].name if row < len(chunks) else "",
        )
        for row, length in not_unit(index.written_vectors)
    ]


def not_unit(vectors: Floats) -> list[tuple[int, float]]:
    """The rows that are neither zeros nor of unit length, with their lengths."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64, casting="safe"))
    wrong = np.flatnonzero(~(np.abs(lengths - 1) <= _UNIT) & (lengths != 0))
    return [(int(row), float(lengths[row])) for row in wrong]
