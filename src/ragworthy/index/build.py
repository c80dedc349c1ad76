"""Documents to an index, an index checked, and the redirects between two of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ragworthy.corpus import check as corpus_check
from ragworthy.corpus.assemble import revision
from ragworthy.corpus.ingest import CHUNKER, DEFAULT_LIMIT, ingest
from ragworthy.corpus.migration import migrate
from ragworthy.corpus.model import Corpus, Note
from ragworthy.corpus.normalise import NORMALISER
from ragworthy.corpus.sources import read_documents
from ragworthy.errors import DataError, Problem
from ragworthy.index import check as index_check
from ragworthy.index.embed import load
from ragworthy.index.fields import of_manifest
from ragworthy.index.manifest import NAME, Manifest
from ragworthy.index.store import Index, open_index
from ragworthy.index.write import CanonicalText
from ragworthy.index.write import build as write_index
from ragworthy.metrics.facts.redirects import Table
from ragworthy.records import Chunk
from ragworthy.text import clip

NO_MODEL = "none"
_WORDS, _LONGEST = 8, 60
"""Of a query that is offered."""


class Built(NamedTuple):
    """An index that was written, and what there is to say about its documents."""

    manifest: Manifest
    notes: tuple[Note, ...]
    types: dict[str, int]
    query: str
    """Something to search for, taken from the documents: a heading, else the first words."""


def build(docs: Path, out: Path, *, dense: str, limit: int = DEFAULT_LIMIT, ann: str = "auto") -> Built:
    """Read documents, cut them into chunks and write an index; the old one stays until the new one is whole."""
    corpus = ingest(read_documents(docs), limit=limit)
    chunks = chunks_of(corpus)
    manifest = write_index(
        out,
        chunks=chunks,
        documents=[CanonicalText(one.doc_id, one.path, one.rev, one.text) for one in corpus.documents],
        normaliser=NORMALISER,
        chunker=CHUNKER,
        limit=limit,
        embedder=None if dense == NO_MODEL else load(dense),
        ann=ann,
        notes=[f"{note.where.removeprefix(f'{docs}/')}: {note.message}" for note in corpus.notes],
    )
    types: dict[str, int] = {}
    for chunk in chunks:
        types[chunk.type or "prose"] = types.get(chunk.type or "prose", 0) + 1
    return Built(manifest, corpus.notes, types, _query(chunks))


def _query(chunks: Sequence[Chunk]) -> str:
    """A heading of the documents, else their first words; nothing of an empty corpus."""
    titled = next((chunk.title for chunk in chunks if chunk.title and chunk.title.strip()), "")
    words = (titled or (chunks[0].text if chunks else "")).split()[:_WORDS]
    return clip(" ".join(words).lstrip("-"), _LONGEST)


def chunks_of(corpus: Corpus) -> list[Chunk]:
    """Every chunk of every document, in reading order."""
    return [chunk for document in corpus.documents for chunk in document.chunks]


class Fault(NamedTuple):
    """A check that does not hold."""

    code: str
    where: str
    message: str


def check(path: Path) -> tuple[Index, list[Fault]]:
    """Open an index, comparing every file with the manifest, and check every chunk."""
    index = open_index(path)
    found = of_manifest(index.root) + _revisions(index)
    try:
        found += [finding.problem for finding in index_check.check(index)]
    except DataError as error:  # a part that makes no sense with such a manifest: what differs was said already
        named = {problem.field for problem in found}
        found += [problem for problem in error.problems if not problem.field or problem.field not in named]
    return index, [_fault(problem) for problem in found]


def manifest_faults(path: Path) -> list[Fault]:
    """What differs in the manifest of an index that cannot be opened because of it."""
    return [_fault(problem) for problem in of_manifest(path)]


def _fault(problem: Problem) -> Fault:
    message = f"{problem.field}: {problem.message}" if problem.field else problem.message
    return Fault(problem.code, problem.where, message)


def _revisions(index: Index) -> list[Problem]:
    """Documents whose revision is not that of their text."""
    found = []
    for nth, document in enumerate(index.manifest.documents):
        rev = revision(index.canonical(document.doc_id).decode(errors="replace"))
        if rev != document.rev:
            message = f'expected "{rev}", which the text gives, got "{document.rev}"'
            found.append(Problem("RW-I13", message, str(index.root / NAME), f"documents[{nth}].rev"))
    return found


def check_documents(docs: Path, index: Index) -> list[Fault]:
    """The checks that need the documents: the section tree, which an index does not keep, and the same chunks again."""
    corpus = ingest(read_documents(docs), limit=index.manifest.chunker.limit or DEFAULT_LIMIT)
    again = {chunk.name: (chunk.offsets, chunk.text) for chunk in chunks_of(corpus)}
    built = {chunk.name: (chunk.offsets, chunk.text) for chunk in index.chunks}
    other = [name for name in dict.fromkeys((*built, *again)) if built.get(name) != again.get(name)]
    faults = [Fault("re-ingest", name, "expected the chunk that the documents give now, got another") for name in other]
    paths = {document.doc_id: document.path for document in corpus.documents}
    for nth, one in enumerate(index.manifest.documents):
        if (path := paths.get(one.doc_id, one.path)) != one.path:
            message = f'documents[{nth}].path: expected "{path}", where the document lies, got "{one.path}"'
            faults.append(Fault("RW-I13", str(index.root / NAME), message))
    return faults + [
        Fault(one.check, f"{one.doc_id} {one.where}".strip(), one.message) for one in corpus_check.check(corpus)
    ]


def redirects(old: Path, new: Path) -> Table:
    """The redirect table from one index to another; the versions are their hashes."""
    before, after = open_index(old), open_index(new)
    lengths = [{one.doc_id: one.bytes for one in index.manifest.documents} for index in (before, after)]
    return migrate(
        before.chunks,
        after.chunks,
        old_lengths=lengths[0],
        new_lengths=lengths[1],
        from_version=before.manifest.index_hash,
        to_version=after.manifest.index_hash,
    )
