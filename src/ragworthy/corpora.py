"""The corpus as scoring sees it: where every block stands, and its text; from an index, or from a chunk file."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.corpus.normalise import count_tokens
from ragworthy.ids import section_key, stable
from ragworthy.load.extras import read_chunks
from ragworthy.load.sources import Source, open_source
from ragworthy.metrics.wanted import Place, Section, kind_of, place_of
from ragworthy.records import Chunk

MANIFEST = "manifest.json"
CHUNKS = "chunks.jsonl"


class Corpus(NamedTuple):
    """Every block by id, and what is known of the index it came from."""

    places: dict[str, Place]
    texts: dict[str, str]
    lengths: dict[str, int]
    sections: dict[tuple[str, str], int]
    """The tokens of each section, by document and path."""
    label: str
    sha256: str
    index_hash: str | None = None
    normaliser: str | None = None
    source: Source | None = None

    def place(self, name: str) -> Place:
        """Where a block stands: what the corpus says, else what its id says."""
        return self.places.get(name) or place_of(name)

    def tokens(self, section: Section, *, subtree: bool = False) -> int:
        """How many tokens a section has, over all documents it may be in."""
        if not subtree and section.docs:
            return sum(self.sections.get((doc, section.path), 0) for doc in section.docs)
        return sum(
            count for (doc, path), count in self.sections.items() if section.holds(Place(doc or None, path), subtree)
        )


def text_hash(text: str) -> str:
    """The hash by which a lock remembers the text of a block."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def corpus_file(path: Path) -> Path:
    """The one file that stands for the corpus in a receipt: the manifest of an index names all others."""
    return path / MANIFEST if path.is_dir() else path


def chunks_of(given: Any) -> Any:
    """The chunks of an index, where its folder or its manifest was given; else what was given."""
    path = Path(given) if isinstance(given, (str, Path)) else None
    if path is None or not ((path / MANIFEST).is_file() or path.name == MANIFEST):
        return given
    return (path.parent if path.name == MANIFEST else path) / CHUNKS


def load_corpus(given: Any) -> Corpus:
    """The corpus behind a path: an index (checked first), its manifest, or a file of chunks."""
    path = Path(given) if isinstance(given, (str, Path)) else None
    if path is not None and path.name == MANIFEST:
        path = path.parent
    if path is not None and path.is_dir():
        from ragworthy.index.store import open_index

        index = open_index(path)
        manifest = index.manifest
        lengths = {one.doc_id: one.bytes for one in manifest.documents}
        sha256 = hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()
        found = _corpus(index.chunks, path.name, sha256)
        return found._replace(
            lengths=found.lengths | lengths,
            index_hash=manifest.index_hash,
            normaliser=manifest.text_preproc.normaliser,
        )
    source = open_source("corpus", given)
    return _corpus(read_chunks(source), source.label, source.sha256())._replace(source=source)


def _corpus(chunks: Iterable[Chunk], label: str, sha256: str) -> Corpus:
    corpus = Corpus({}, {}, {}, {}, label, sha256)
    for chunk in chunks:
        name = stable(chunk.name)
        parsed = place_of(name)
        doc = chunk.doc_id or parsed.doc
        section = section_key(chunk.section_id).rpartition("|s=")[2] if chunk.section_id else parsed.section
        tokens = chunk.tokens if chunk.tokens is not None else count_tokens(chunk.text)
        span = chunk.offsets if chunk.offsets and chunk.offsets[0] < chunk.offsets[1] else None
        kind = kind_of(chunk.type) or parsed.type or "prose"
        page = parsed.section if parsed.section != section else None
        corpus.places[name] = Place(doc, section, kind, span, tokens, page)
        corpus.texts[name] = chunk.text
        if span is not None and doc is not None:
            corpus.lengths[doc] = max(corpus.lengths.get(doc, 0), span[1])
        key = (doc or "", section or "")
        corpus.sections[key] = corpus.sections.get(key, 0) + tokens
    return corpus
