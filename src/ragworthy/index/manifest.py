"""The manifest of an index: what it was made of and by, what its files are, and whether two indexes go together."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ragworthy.errors import DataError, data_error
from ragworthy.records import Chunk, explained

SCHEMA = "ragworthy.index/1"
NAME = "manifest.json"
CHUNKS, VECTORS, GRAPH = "chunks.jsonl", "vectors.npy", "hnsw.faiss"
COMPATIBILITY = (
    "index_type",
    "metric",
    "embedding.model",
    "embedding.dimension",
    "embedding.normalized",
    "embedding.weights",
    "chunker.version",
    "chunker.limit",
    "text_preproc.unicode_norm",
    "text_preproc.lowercase",
    "text_preproc.language",
    "text_preproc.normaliser",
    "analyzer",
)
"""What must be the same in two indexes that are compared, and in an index and what searches it."""
_FILE_NAME = re.compile(r"(?:canonical/)?[A-Za-z0-9][A-Za-z0-9._-]*")


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """The model behind the vectors."""

    model: str
    dimension: int
    normalized: bool | UnsetType = UNSET
    weights: str


class Chunker(msgspec.Struct, frozen=True, kw_only=True):
    """What cut the documents into chunks, and the size above which it cut blocks."""

    version: str
    limit: int | UnsetType | None = UNSET


class TextPreproc(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to the text before it was cut."""

    unicode_norm: str | UnsetType = UNSET
    lowercase: bool | UnsetType = UNSET
    language: str | UnsetType | None = UNSET
    normaliser: str


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is of each."""

    documents: int
    chunks: int
    vectors: int


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document and the file with its canonical text."""

    doc_id: str
    path: str
    rev: str
    file: str
    bytes: int
    sha256: str


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was written."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to know about an index; the same inputs give the same bytes."""

    schema: str
    index_hash: str
    index_type: str
    metric: str | None
    embedding: Embedding | None
    chunker: Chunker
    text_preproc: TextPreproc
    analyzer: str
    counts: Counts
    notes: list[str] = []
    documents: list[Document]
    files: dict[str, File]


def encode(manifest: Manifest) -> bytes:
    """The manifest as it is written."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read(path: Path) -> Manifest:
    """The manifest in this file, with every name in it known to stay inside the folder."""
    try:
        data = path.read_bytes()
        found = msgspec.json.decode(data, type=dict[str, Any]).get("schema")
        if found != SCHEMA:
            raise data_error("RW-I03", f"expected {SCHEMA}, got {found}", where=str(path), field="schema")
        manifest = msgspec.json.decode(data, type=Manifest)
    except OSError as error:
        raise data_error("RW-I03", f"expected a readable file, got: {error.strerror}", where=str(path)) from None
    except msgspec.MsgspecError as error:
        field, message = explained(error)
        raise data_error("RW-I03", message, where=str(path), field=field) from None
    except (UnicodeDecodeError, RecursionError):
        raise data_error("RW-I03", "expected a JSON object in UTF-8, got something else", where=str(path)) from None
    _check_names(manifest, path)
    return manifest


def _check_names(manifest: Manifest, path: Path) -> None:
    for name in manifest.files:
        if not _FILE_NAME.fullmatch(name):
            raise _wrong(path, "files", f'expected a file name inside the index, got "{name}"')
    for document in manifest.documents:
        if document.file not in manifest.files:
            raise _wrong(path, "documents", f'expected a file listed under files, got "{document.file}"')


def _wrong(path: Path, field: str, message: str) -> DataError:
    return data_error("RW-I03", message, where=str(path), field=field)


def index_hash(
    chunks: Sequence[Chunk],
    *,
    index_type: str,
    normaliser: str,
    analyzer: str,
    metric: str | None,
    embedding: Embedding | None,
) -> str:
    """A name for what is searched and how; the same wherever the index lies and whatever built it."""
    model = [embedding.model, embedding.weights] if embedding else None
    digest = hashlib.sha256(msgspec.json.encode([SCHEMA, index_type, normaliser, analyzer, metric, model]))
    for chunk in chunks:
        content = [chunk.name, chunk.section_id, chunk.type, chunk.offsets, chunk.title, chunk.text]
        digest.update(b"\n" + msgspec.json.encode(content))
    return f"rw:{digest.hexdigest()[:16]}"


def drift(a: Manifest, b: Manifest) -> list[str]:
    """Every field that must be the same in both and is not; a missing value differs from false, null and empty."""
    left, right = msgspec.to_builtins(a), msgspec.to_builtins(b)
    found = []
    for field in COMPATIBILITY:
        one, other = _shown(left, field), _shown(right, field)
        if one != other:
            found.append(f"{field}: {one} against {other}")
    return found


def _shown(manifest: dict[str, Any], field: str) -> str:
    value: Any = manifest
    for key in field.split("."):
        if not isinstance(value, dict) or key not in value:
            return "missing"
        value = value[key]
    return msgspec.json.encode(value).decode()
