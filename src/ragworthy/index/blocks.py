"""The corpus as scoring sees it: where every block stands, and its text; from an index, or from a chunk file.

Whatever is read of an index was compared with its manifest before, and what is decoded are the bytes that were hashed.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.corpus.normalise import count_tokens
from ragworthy.files import shown_path
from ragworthy.ids import section_key, stable
from ragworthy.index.found import CHUNKS, MANIFEST, index_at
from ragworthy.load.chunks import read_chunks
from ragworthy.load.sources import Block, FileSource, PlainFile, Source, open_source
from ragworthy.metrics.facts.placed import Place, kind_of, place_of
from ragworthy.metrics.facts.wanted import Section
from ragworthy.records import Chunk

if TYPE_CHECKING:
    from ragworthy.index.folder import Folder


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
    chunks: Sequence[Chunk] = ()
    canonical: Callable[[str], bytes | None] | None = None
    """The canonical text of a document, where it comes from an index."""

    @property
    def again(self) -> int:
        """How many chunks are there once more."""
        return len(self.chunks) - len({chunk.name for chunk in self.chunks})

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


class _Chunks(PlainFile):
    """The chunks of an index. They are hashed while they are read, so that what was decoded is what was checked."""

    @property
    def splits(self) -> bool:
        return False

    def __init__(self, folder: "Folder") -> None:
        folder.check_size(CHUNKS)
        super().__init__("corpus", folder.root / CHUNKS)
        self._folder = folder

    def between(self, begin: int, end: int) -> Iterator[Block]:
        digest = hashlib.sha256()
        for block in super().between(0, self.size):
            digest.update(block.data)
            yield block
        self._folder.check_hash(CHUNKS, digest.hexdigest())

    def sha256(self) -> str:
        return self._folder.manifest.files[CHUNKS].sha256


def chunk_source(given: Any) -> Source:
    """The chunks behind a path, for whoever needs their texts only: of an index no other file is looked at."""
    path = index_at(given)
    if path is None or not (path / MANIFEST).is_file():
        return open_source("corpus", given)
    from ragworthy.index.folder import open_folder

    return _Chunks(open_folder(path))


def load_corpus(given: Any) -> Corpus:
    """The corpus behind a path: an index, its manifest, or a file of chunks."""
    path = index_at(given)
    if path is not None:
        from ragworthy.index.contents import open_contents

        index = open_contents(path)
        manifest = index.manifest
        lengths = {one.doc_id: one.bytes for one in manifest.documents}
        found = _corpus(index.chunks, shown_path(path), index.folder.sha256)
        return found._replace(
            lengths=found.lengths | lengths,
            index_hash=manifest.index_hash,
            normaliser=manifest.text_preproc.normaliser,
            canonical=lru_cache(maxsize=1)(lambda doc: index.canonical(doc) if doc in lengths else None),
        )
    source = open_source("corpus", given)
    corpus = _corpus(read_chunks(source), source.label, source.sha256())._replace(source=source)
    if isinstance(source, FileSource):
        source.check_unchanged()
    return corpus


def _corpus(chunks: Sequence[Chunk], label: str, sha256: str) -> Corpus:
    corpus = Corpus({}, {}, {}, {}, label, sha256, chunks=chunks)
    for chunk in chunks:
        name = stable(chunk.name)
        if corpus.texts.get(name) == chunk.text:
            continue  # it is there once more
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
