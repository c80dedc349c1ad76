"""The manifest of an index: what it was made of and by, what its files are, and whether two indexes go together."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ragworthy.errors import DataError, data_error
from ragworthy.records import Chunk, explained

SCHEMA = "ragworthy.index/1"
NAME = "manifest.json"
CHUNKS, VECTORS, GRAPH = "chunks.jsonl", "vectors.npy", "hnsw.faiss"
SCORES, POSTINGS, STARTS, WORDS = "bm25.scores.npy", "bm25.chunks.npy", "bm25.starts.npy", "bm25.words.json"
LEXICAL = (SCORES, POSTINGS, STARTS, WORDS)
CANONICAL = "canonical/"
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

Size = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """The model behind the vectors."""

    model: str
    dimension: Positive
    normalized: bool | UnsetType = UNSET
    weights: str


class Chunker(msgspec.Struct, frozen=True, kw_only=True):
    """What cut the documents into chunks, and the size above which it cut blocks."""

    version: str
    limit: Positive | UnsetType | None = UNSET


class TextPreproc(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to the text before it was cut."""

    unicode_norm: str | UnsetType = UNSET
    lowercase: bool | UnsetType = UNSET
    language: str | UnsetType | None = UNSET
    normaliser: str


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is of each."""

    documents: Size
    chunks: Size
    vectors: Size


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document and the file with its canonical text."""

    doc_id: str
    path: str
    rev: str
    file: str
    bytes: Size
    sha256: str


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was written."""

    bytes: Size
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
    return decode(data_of(path), path)


def data_of(path: Path) -> bytes:
    """The bytes of a manifest."""
    try:
        if not path.is_file():  # reading a pipe would never end
            raise data_error("RW-I03", "expected a file, got nothing of the kind", where=str(path))
        return path.read_bytes()
    except OSError as error:
        raise data_error("RW-I03", f"expected a readable file, got: {error.strerror}", where=str(path)) from None


def decode(data: bytes, path: Path) -> Manifest:
    """The manifest in these bytes of this file; it lists everything that an index needs, or it is none."""
    try:
        found = msgspec.json.decode(data, type=dict[str, Any]).get("schema")
        if found != SCHEMA:
            raise data_error("RW-I03", f"expected {SCHEMA}, got {found}", where=str(path), field="schema")
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        field, message = explained(error)
        raise data_error("RW-I03", message, where=str(path), field=field) from None
    except (UnicodeDecodeError, RecursionError):
        raise data_error("RW-I03", "expected a JSON object in UTF-8, got something else", where=str(path)) from None
    _check_files(manifest, path)
    _check_documents(manifest, path)
    return manifest


def _check_files(manifest: Manifest, path: Path) -> None:
    for name in manifest.files:
        if not _FILE_NAME.fullmatch(name):
            raise _wrong(path, "files", f'expected a file name inside the index, got "{name}"')
    types = ("bm25",) if manifest.embedding is None else ("flat", "hnsw")
    if manifest.index_type not in types:
        given = "without vectors" if manifest.embedding is None else "with vectors"
        message = f'expected {" or ".join(types)} for an index {given}, got "{manifest.index_type}"'
        raise _wrong(path, "index_type", message)
    needed = [CHUNKS, *LEXICAL]
    needed += [VECTORS] if manifest.embedding is not None else []
    needed += [GRAPH] if manifest.index_type == "hnsw" else []
    for name in needed:
        if name not in manifest.files:
            raise _wrong(path, "files", f"expected {name} among the files of this index, got none")


def _check_documents(manifest: Manifest, path: Path) -> None:
    seen: set[tuple[str, str]] = set()
    for document in manifest.documents:
        file = manifest.files.get(document.file)
        if file is None or not document.file.startswith(CANONICAL):
            raise _wrong(path, "documents", f'expected a file listed under files, got "{document.file}"')
        if (file.bytes, file.sha256) != (document.bytes, document.sha256):
            message = f"expected the size and hash that {document.file} has under files, got others"
            raise _wrong(path, "documents", message)
        for key in (("doc_id", document.doc_id), ("file", document.file)):
            if key in seen:
                raise _wrong(path, "documents", f'expected another {key[0]} for each document, got "{key[1]}" again')
            seen.add(key)


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
    right = shown(b)
    found = ((field, one, right[field]) for field, one in shown(a).items())
    return [f"{field}: {one} against {other}" for field, one, other in found if one != other]


def shown(manifest: Manifest) -> dict[str, str]:
    """What must be the same in two indexes, as JSON; `missing` where a manifest does not say it."""
    plain = msgspec.to_builtins(manifest)
    return {field: field_shown(plain, field) for field in COMPATIBILITY}


def field_shown(manifest: dict[str, Any], field: str) -> str:
    """A field as JSON; `missing` where the manifest does not have it."""
    value: Any = manifest
    for key in field.split("."):
        if not isinstance(value, dict) or key not in value:
            return "missing"
        value = value[key]
    return msgspec.json.encode(value).decode()
