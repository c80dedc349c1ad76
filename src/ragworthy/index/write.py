"""Building an index: everything is computed first, then the folder appears whole or not at all."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ragworthy.errors import DataError, data_error
from ragworthy.files import sha256_of
from ragworthy.index import dense, lexical, ranking, swap
from ragworthy.index import manifest as mf
from ragworthy.index.check import chunk_findings
from ragworthy.index.embed import Embedder
from ragworthy.index.tokens import ANALYZER
from ragworthy.records import Chunk

UNICODE_NORM = "NFC"
METRIC = "cosine"
"""What every index is made with, where it has vectors."""


class CanonicalText(NamedTuple):
    """A document as its chunks refer to it."""

    doc_id: str
    path: str
    rev: str
    text: str


class _Parts(NamedTuple):
    """What is computed before anything is written."""

    chunks: list[Chunk]
    documents: Sequence[CanonicalText]
    words: lexical.Lexical
    embedding: mf.Embedding | None
    vectors: ranking.Floats | None
    graph: Any


def build(
    out: Path,
    *,
    chunks: Sequence[Chunk],
    documents: Sequence[CanonicalText],
    normaliser: str,
    chunker: str,
    limit: int | None = None,
    embedder: Embedder | None,
    ann: str = "auto",
    notes: Sequence[str] = (),
) -> mf.Manifest:
    """Make an index of the chunks at `out`; what stood there stays until the new index is whole."""
    home = swap.real(out)  # a link stays, and the index behind it is replaced
    _check_replaceable(home, out)
    parts = _computed(chunks, documents, embedder, ann)
    chunked = mf.Chunker(version=chunker, limit=limit)
    preproc = mf.TextPreproc(unicode_norm=UNICODE_NORM, lowercase=False, language=None, normaliser=normaliser)
    try:
        with swap.replacing(home, lambda: _check_replaceable(home, out)) as folder:
            files = _write(folder, parts)
            manifest = _manifest(folder, parts, files, chunked, preproc, notes)
            (folder / mf.NAME).write_bytes(mf.encode(manifest))
    except UnicodeEncodeError:
        message = "expected ids and paths that can be written in UTF-8, got a lone surrogate"
        raise data_error("RW-D06", message, where=str(out)) from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise data_error("RW-F14", f"cannot be written: {reason}", where=str(out)) from None
    return manifest


def _computed(
    chunks: Sequence[Chunk], documents: Sequence[CanonicalText], embedder: Embedder | None, ann: str
) -> _Parts:
    named = [msgspec.structs.replace(chunk, chunk_id=chunk.name, id=None) for chunk in chunks]
    _check_input(named, documents)
    kind = dense.kind(ann, len(named))
    words = lexical.build(named)
    if embedder is None:
        return _Parts(named, documents, words, None, None, None)
    vectors = embedder.embed([chunk.text for chunk in named])
    graph = dense.build_graph(vectors) if kind == "hnsw" else None
    model = mf.Embedding(model=embedder.name, dimension=embedder.dimension, normalized=True, weights=embedder.weights)
    return _Parts(named, documents, words, model, vectors, graph)


def _write(folder: Path, parts: _Parts) -> list[str]:
    """Write everything but the manifest; gives the names of the canonical files back."""
    (folder / mf.CHUNKS).write_bytes(msgspec.json.Encoder().encode_lines(parts.chunks))
    files = _canonical_files(parts.documents)
    (folder / mf.CANONICAL).mkdir()
    for document, file in zip(parts.documents, files, strict=True):
        (folder / file).write_bytes(document.text.encode())
    lexical.save(parts.words, folder)
    if parts.vectors is not None:
        np.save(folder / mf.VECTORS, np.ascontiguousarray(parts.vectors, dtype="<f4"), allow_pickle=False)
    if parts.graph is not None:
        dense.save_graph(parts.graph, folder / mf.GRAPH)
    return files


def _manifest(
    folder: Path,
    parts: _Parts,
    files: Sequence[str],
    chunker: mf.Chunker,
    preproc: mf.TextPreproc,
    notes: Sequence[str],
) -> mf.Manifest:
    metric = METRIC if parts.embedding else None
    written = _listed(folder)
    documents = [
        mf.Document(doc_id=one.doc_id, path=one.path, rev=one.rev, file=file, **msgspec.structs.asdict(written[file]))
        for one, file in zip(parts.documents, files, strict=True)
    ]
    vectors = 0 if parts.vectors is None else len(parts.vectors)
    index_type = ("flat" if parts.graph is None else "hnsw") if parts.embedding else "bm25"
    return mf.Manifest(
        schema=mf.SCHEMA,
        index_hash=mf.index_hash(
            parts.chunks,
            index_type=index_type,
            normaliser=preproc.normaliser,
            analyzer=ANALYZER,
            metric=metric,
            embedding=parts.embedding,
        ),
        index_type=index_type,
        metric=metric,
        embedding=parts.embedding,
        chunker=chunker,
        text_preproc=preproc,
        analyzer=ANALYZER,
        counts=mf.Counts(documents=len(documents), chunks=len(parts.chunks), vectors=vectors),
        notes=list(notes),
        documents=documents,
        files=written,
    )


def _check_replaceable(home: Path, out: Path) -> None:
    """Refuse to replace anything but an index as it was built, or an empty folder."""
    where = str(out)
    try:
        if not os.path.lexists(home):
            return
        if not home.is_dir():
            raise data_error("RW-I09", "expected an index or nothing, got a file", where=where)
        inside = sorted(path.relative_to(home).as_posix() for path in home.rglob("*"))
    except OSError as error:
        raise data_error("RW-I09", f"expected an index or nothing, got: {error.strerror}", where=where) from None
    if not inside:
        return
    try:
        known = {*mf.read(home / mf.NAME).files, mf.NAME, mf.CANONICAL.rstrip("/")}
    except DataError:
        raise data_error(
            "RW-I09", f"expected an index or nothing, got a folder with {inside[0]}", where=where
        ) from None
    strange = [name for name in inside if name not in known]
    if strange:
        raise data_error("RW-I09", f"expected only the files of an index, got {strange[0]} too", where=where)


def _check_input(chunks: Sequence[Chunk], documents: Sequence[CanonicalText]) -> None:
    if not chunks:
        raise data_error("RW-D03", "expected chunks, got none")
    texts: dict[str, bytes] = {}
    for document in documents:
        if document.doc_id in texts:
            message = f'expected a unique id, got "{document.doc_id}" again'
            raise data_error("RW-D02", message, where=document.path, field="doc_id")
        try:
            texts[document.doc_id] = document.text.encode()
        except UnicodeEncodeError as error:
            message = f"expected text, got a lone surrogate at character {error.start}"
            raise data_error("RW-D01", message, where=document.path) from None
    found = chunk_findings(chunks, texts.get, lambda _, chunk: chunk.name)
    if found:
        raise DataError([finding.problem for finding in found])


def _canonical_files(documents: Sequence[CanonicalText]) -> list[str]:
    """A file name for each document: a number, and what is harmless of its id."""
    names = []
    for number, document in enumerate(documents):
        slug = re.sub(r"[^a-z0-9]+", "-", document.doc_id.lower()).strip("-")[:40].strip("-")
        names.append(f"{mf.CANONICAL}{number:04d}{'-' if slug else ''}{slug}.txt")
    return names


def _listed(folder: Path) -> dict[str, mf.File]:
    paths = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    return {name: mf.File(bytes=path.stat().st_size, sha256=sha256_of(path)) for name, path in paths}
