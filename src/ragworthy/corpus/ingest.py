"""The whole way from source documents to a corpus."""

from collections.abc import Callable, Iterable

from ragworthy import ids
from ragworthy.corpus import assemble, blocks
from ragworthy.corpus.model import Corpus, Document, Note, Parsed, SourceDocument
from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error, usage_error

CHUNKER = "ragworthy-blocks/1"
"""What cuts documents into chunks, as manifests name it."""
DEFAULT_LIMIT = 2000
"""Bytes of UTF-8 above which a block of prose is split."""
SMALLEST_LIMIT = 64


def ingest(documents: Iterable[SourceDocument], *, limit: int = DEFAULT_LIMIT) -> Corpus:
    """Canonical text, sections and chunks of every document; raises a DataError with everything that is wrong."""
    if limit < SMALLEST_LIMIT:
        raise usage_error(f"expected a limit of at least {SMALLEST_LIMIT} bytes, got {limit}")
    found: list[Document] = []
    notes: list[Note] = []
    problems: list[Problem] = []
    places: dict[str, str] = {}
    for source in documents:
        if source.kind == "skipped":
            notes.append(Note(source.where, f"skipped: {source.text}"))
            continue
        document = _usable(source, places, problems) and _document(source, limit, problems, notes)
        if not document:
            continue
        if not document.chunks and source.kind != "blocks":
            notes.append(Note(source.where or source.doc_id, "the document has no text"))
        found.append(document)
    problems += _repeated(found)
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    if not any(document.chunks for document in found):
        raise data_error("RW-D03", "expected a document with text, got none")
    return Corpus(tuple(found), tuple(blocks.told_once(notes)))


def _usable(source: SourceDocument, places: dict[str, str], problems: list[Problem]) -> bool:
    """Whether the id of a document is valid and new."""
    name = source.doc_id
    where = source.where or name
    encodable = name.encode(errors="replace").decode() == name
    if not name.strip() or "|" in name or not encodable or any(ord(ch) < 32 or ord(ch) == 127 for ch in name):
        message = f"expected an id without '|' and control characters, got {name!a}"
        problems.append(Problem("RW-D06", message, source.where))
        return False
    if name in places:
        message = f'expected a new document id, got "{name}" again (first at {places[name]})'
        problems.append(Problem("RW-D02", message, source.where))
        return False
    places[name] = where
    return True


def _readers() -> dict[str, Callable[[str], Parsed]]:
    from ragworthy.corpus import html, markdown, plain

    return {"markdown": markdown.read, "html": html.read, "text": plain.read}


def _document(source: SourceDocument, limit: int, problems: list[Problem], notes: list[Note]) -> Document | None:
    if source.kind == "blocks":
        return blocks.document(source, problems, notes)
    parsed = _readers()[source.kind](source.text)
    return assemble.document(source.doc_id, source.path, parsed, limit)


def _repeated(documents: list[Document]) -> list[Problem]:
    """Chunk ids that are twice in the corpus, revisions aside."""
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for document in documents:
        for chunk in document.chunks:
            name = ids.stable(chunk.name)
            if name in first:
                message = f'expected a new chunk id, got "{chunk.name}" again (first in {first[name]})'
                problems.append(Problem("RW-I06", message, document.path))
            first.setdefault(name, document.path)
    return problems
