"""The fields of a manifest against what this version writes: changed, added and removed ones, also where it is no
manifest any more.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.corpus.ingest import CHUNKER, DEFAULT_LIMIT
from ragworthy.corpus.normalise import NORMALISER
from ragworthy.errors import DataError, Problem
from ragworthy.index import manifest as mf
from ragworthy.index.arrays import read_array
from ragworthy.index.manifest import COMPATIBILITY, GRAPH, NAME, SCHEMA, VECTORS, data_of, field_shown
from ragworthy.index.models import Minilm, Wordllama
from ragworthy.index.tokens import ANALYZER
from ragworthy.index.write import METRIC, UNICODE_NORM

Plain = dict[str, Any]
PARTS: dict[str, type[msgspec.Struct]] = {
    "": mf.Manifest,
    "embedding": mf.Embedding,
    "chunker": mf.Chunker,
    "text_preproc": mf.TextPreproc,
    "counts": mf.Counts,
}
"""The objects of a manifest whose fields are told one by one."""


def differing(root: Path, plain: Plain) -> list[Problem]:
    """Every field that is not what this version works with, or not what the files say; `missing` where it is not there.

    What an index was built from it alone knows: such fields are looked at only for being there.
    """
    where, here = str(root / NAME), _runtime(root, plain)
    found = [
        Problem("RW-I13", f"expected {ours}, got {theirs}", where, field)
        for field, theirs in ((field, field_shown(plain, field)) for field in COMPATIBILITY)
        if (ours := here.get(field, theirs)) != theirs
    ]
    return found + [Problem("RW-I13", message, where, field) for field, message in _shape(plain)]


def of_manifest(root: Path) -> list[Problem]:
    """The same of a file that is not a sound manifest; nothing where it is none of this version at all."""
    try:
        plain = msgspec.json.decode(data_of(root / NAME))
    except (DataError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    return differing(root, plain) if isinstance(plain, dict) and plain.get("schema") == SCHEMA else []


def _shape(plain: Plain) -> Iterator[tuple[str, str]]:
    """Fields that no manifest has, and those that each one needs and this one lacks."""
    told = {*COMPATIBILITY}
    for part, struct in PARTS.items():
        given = plain.get(part) if part else plain
        if not isinstance(given, dict):
            continue
        fields = {one.name: one for one in msgspec.structs.fields(struct)}
        for name in (*given, *fields):
            path = f"{part}.{name}" if part else name
            if name not in fields:
                yield path, f"expected no such field, got {msgspec.json.encode(given[name]).decode()}"
            elif name not in given and fields[name].required and path not in told:
                yield path, "expected a value, got missing"


def _runtime(root: Path, plain: Plain) -> dict[str, str]:
    """What the manifest of this index would say, were it built here: every field that is known without a build."""
    embedding, chunker = plain.get("embedding"), plain.get("chunker")
    found: dict[str, Any] = {
        "metric": None if embedding is None else METRIC,
        "chunker.version": CHUNKER,
        "text_preproc.unicode_norm": UNICODE_NORM,
        "text_preproc.lowercase": False,
        "text_preproc.language": None,
        "text_preproc.normaliser": NORMALISER,
        "analyzer": ANALYZER,
        **_of_vectors(root, plain, embedding),
    }
    if not (isinstance(chunker, dict) and chunker.get("limit")):  # which one it was, only the documents can tell
        found["chunker.limit"] = DEFAULT_LIMIT
    return {field: msgspec.json.encode(value).decode() for field, value in found.items()}


def _of_vectors(root: Path, plain: Plain, wanted: Any) -> Plain:
    """What the files and the model of this machine say of the vectors; a model that is not here says nothing."""
    if not isinstance(wanted, dict):
        return {"index_type": "bm25"} if wanted is None else {}
    graph = GRAPH in (plain.get("files") or ()) or (root / GRAPH).is_file()
    found: Plain = {"index_type": "hnsw" if graph else "flat", "embedding.normalized": True}
    with suppress(ValueError, OSError):  # an array that is none is another fault
        found["embedding.dimension"] = read_array(root / VECTORS, "<f4", (None, None)).shape[1]
    known = {one.name: one.weights for one in (Wordllama, Minilm)}
    names = {weights: name for name, weights in known.items()}
    model, weights = (wanted.get(key) if isinstance(wanted.get(key), str) else None for key in ("model", "weights"))
    if weights in names:
        found["embedding.model"] = names[weights]
    if model in known:
        found["embedding.weights"] = known[model]
    return found
