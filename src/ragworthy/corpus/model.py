"""What the corpus is made of: source documents, pieces of text, sections, documents, notes and findings."""

from typing import Any, NamedTuple

from ragworthy.records import Chunk

TYPES = ("prose", "code", "table", "figure", "caption", "formula")
"""The types a block can have."""


class BlockRecord(NamedTuple):
    """One block that was extracted elsewhere, with the place it was read from."""

    chunk: Chunk
    where: str
    unit: str = "byte"
    """What the offsets count: bytes of UTF-8, or characters."""


class SourceDocument(NamedTuple):
    """A document as it was found: its text, or the blocks that somebody else made of it.

    `kind` is "markdown", "html", "text" or "blocks"; "skipped" stands for a file that is not read, with the reason as
    its text.
    """

    doc_id: str
    path: str
    kind: str
    text: str = ""
    blocks: tuple[BlockRecord, ...] = ()
    where: str = ""


class Piece(NamedTuple):
    """A heading or a block in reading order, its text already in canonical form."""

    type: str
    text: str
    attrs: dict[str, Any] | None = None
    level: int = 0
    """Of a heading, from its markup or its number; 0 for everything else."""
    title: str = ""


class Parsed(NamedTuple):
    """What a reader of one format found in a document."""

    pieces: list[Piece]
    title: str = ""
    """The name the document gives itself outside its body."""


class Section(NamedTuple):
    """A node of the section tree; all spans are UTF-8 bytes, half-open."""

    section_id: str
    title: str
    slug: str
    depth: int
    own_span: tuple[int, int] | None
    """From the first to the last block of its own; None where it has none."""
    subtree_span: tuple[int, int]
    """From the heading to the end of the last block below it."""
    title_hash: str
    anchor: str | None = None
    anchor_offsets: tuple[int, int] | None = None
    first_block_index: int | None = None
    """Of its own chunks, counted from 0 through the document."""
    last_block_index: int | None = None
    children: tuple[str, ...] = ()


class Document(NamedTuple):
    """One version of a document: canonical text, sections, chunks."""

    doc_id: str
    path: str
    rev: str
    text: str
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    title: str = ""
    foreign: bool = False
    """Whether its chunks were cut elsewhere: those may overlap."""


class Note(NamedTuple):
    """Something that was left out or looks odd, and does not stop the work."""

    where: str
    message: str


class Corpus(NamedTuple):
    """All documents, in reading order, and what there is to say about them."""

    documents: tuple[Document, ...]
    notes: tuple[Note, ...]


class Finding(NamedTuple):
    """A check that does not hold: its name, the document, the section or chunk, and what is wrong."""

    check: str
    doc_id: str
    where: str
    message: str
