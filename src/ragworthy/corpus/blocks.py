"""Blocks that were extracted elsewhere: records to block records, block records to a document with canonical text."""

import re
from pathlib import PurePath
from typing import Any

from ragworthy import ids
from ragworthy.corpus.assemble import PREFACE, Node, chunk, revision, sections
from ragworthy.corpus.model import TYPES, BlockRecord, Document, Note, SourceDocument
from ragworthy.errors import Problem
from ragworthy.load.chunks import Line
from ragworthy.records import Chunk
from ragworthy.text import described

LARGEST = 32 << 20
"""Bytes of one document."""
_PATH = re.compile(r"(?P<upper>[A-Za-z0-9]+(?:\.[0-9]+){0,11})\.[0-9]+", re.ASCII)
ID_KEYS = ("chunk_id", "block_id", "id")


def is_block(record: dict[str, Any]) -> bool:
    """Whether a record is a block and not a whole document."""
    return any(key in record for key in ID_KEYS)


def block_record(line: Line, file: str, problems: list[Problem]) -> BlockRecord | None:
    """The block of a record; what is wrong with it goes to `problems`."""
    record, before = line.record, len(problems)

    def wrong(field: str, expected: str, got: Any) -> None:
        problems.append(Problem("RW-D05", f"expected {expected}, got {got}", line.where, field))

    key = next(key for key in ID_KEYS if key in record)
    name = record[key]
    if not isinstance(name, str) or not name.strip():
        wrong(key, "a non-empty string", described(name))
    text = record.get("text")
    if not isinstance(text, str):
        wrong("text", "a string", described(text) if "text" in record else "nothing")
    elif "\0" in text:
        problems.append(Problem("RW-D01", "expected text, got a NUL character", line.where, "text"))
    for field in ("doc_id", "section_id", "title", "anchor", "source_url", "path", "section"):
        if not isinstance(record.get(field), str | None):
            wrong(field, "a string", described(record[field]))
    type_ = record.get("type", record.get("block_type")) or "prose"
    type_ = "prose" if type_ == "paragraph" else type_
    if type_ not in TYPES:
        wrong("type", f"one of {', '.join(TYPES)}", described(type_))
    if not isinstance(record.get("attrs"), dict | None):
        wrong("attrs", "an object", described(record["attrs"]))
    place = _offsets(record, wrong)
    if len(problems) > before or not isinstance(text, str):
        return None
    return _built(line, file, name, text, type_, place)


def _built(line: Line, file: str, name: str, text: str, type_: str, place: tuple[int, int, str] | None) -> BlockRecord:
    record, parsed = line.record, ids.parse(name)
    doc = record.get("doc_id") or record.get("path") or parsed.doc
    if not doc:
        doc = file if parsed.form == "dotted" else name
    built = Chunk(
        chunk_id=name,
        doc_id=doc,
        section_id=record.get("section_id") or parsed.section or PREFACE,
        type=type_,
        offsets=place[:2] if place else None,
        text=text,
        title=record.get("title") or record.get("section") or None,
        anchor=record.get("anchor"),
        source_url=record.get("source_url"),
        attrs=record.get("attrs") or None,
    )
    return BlockRecord(built, line.where, place[2] if place else "byte")


def _offsets(record: dict[str, Any], wrong: Any) -> tuple[int, int, str] | None:
    """Begin, end and unit of a block's offsets, in whichever of the known shapes they are written."""
    field, given, unit = "offsets", record.get("offsets"), "byte"
    if given is None and "off_begin" in record:
        field, given = "off_begin", [record["off_begin"], record.get("off_end")]
    if given is None:
        return None
    if isinstance(given, dict):
        unit = given.get("unit", "byte")
        given = [given.get("start"), given.get("end")]
        if unit not in ("byte", "char"):
            wrong("offsets.unit", '"byte" or "char"', described(unit))
            return None
    pair = given if isinstance(given, list) and len(given) == 2 else [None, None]
    begin, end = (number if type(number) is int else -1 for number in pair)
    if begin < 0 or end < begin or (end == begin and record.get("text")):
        wrong(field, "[begin, end] with 0 <= begin < end", pair if given == pair else described(given))
        return None
    return begin, end, unit


BY_CHARACTERS = "the offsets of this document count characters, not bytes"


def told_once(notes: list[Note]) -> list[Note]:
    """The notes, with one for all documents whose offsets count characters: a splitter counts alike everywhere."""
    counted = [note for note in notes if note.message == BY_CHARACTERS]
    if len(counted) < 2:
        return notes
    whole = counted[0]._replace(message=f"the offsets of {len(counted):,} documents count characters, not bytes")
    return [whole, *(note for note in notes if note.message != BY_CHARACTERS)]


def grouped(blocks: list[BlockRecord]) -> list[SourceDocument]:
    """The blocks by document, documents in the order in which they first appear."""
    by_document: dict[str, list[BlockRecord]] = {}
    for block in blocks:
        by_document.setdefault(block.chunk.doc_id or "", []).append(block)
    return [
        SourceDocument(doc_id, doc_id, "blocks", blocks=tuple(members), where=members[0].where)
        for doc_id, members in by_document.items()
    ]


def file_name(path: str) -> str:
    """The name of a block file without its suffixes: the document of ids that name none.

    >>> file_name("data/guide.jsonl.gz")
    'guide'
    """
    return PurePath(path).name.split(".jsonl")[0] or path


def document(source: SourceDocument, problems: list[Problem], notes: list[Note]) -> Document | None:
    """The document that its blocks make; None where they do not fit together."""
    before = len(problems)
    placed = _placed(source, problems, notes)
    if len(problems) > before:
        return None
    text, blocks = placed
    rev = revision(text)
    chunks = []
    for block, begin, end in blocks:
        if block.chunk.text.strip():
            chunks.append(chunk(_with(block.chunk, (begin, end), rev)))
        else:
            notes.append(Note(block.where, f'block "{block.chunk.chunk_id}" has no text and gives no chunk'))
    titles = list(dict.fromkeys(one.title for one in chunks if one.title))
    title = titles[0] if len(titles) == 1 else ""
    found = tuple(sections(_nodes(chunks), chunks))
    return Document(source.doc_id, source.path, rev, text, found, tuple(chunks), title, foreign=True)


def _with(given: Chunk, offsets: tuple[int, int], rev: str) -> Chunk:
    import msgspec

    return msgspec.structs.replace(given, offsets=offsets, rev=rev)


def _placed(
    source: SourceDocument, problems: list[Problem], notes: list[Note]
) -> tuple[str, list[tuple[BlockRecord, int, int]]]:
    """The canonical text, and the blocks in reading order with their byte offsets."""
    blocks = list(source.blocks)
    without = [block for block in blocks if block.chunk.offsets is None]
    if not without:
        return _at_their_offsets(blocks, problems, notes)
    if len(without) < len(blocks):
        message = "expected offsets on every block of the document or on none, got a block without"
        problems.append(Problem("RW-D05", message, without[0].where, "offsets"))
        return "", []
    pieces: list[str] = []
    placed: list[tuple[BlockRecord, int, int]] = []
    at = 0
    for block in blocks:
        size = len(block.chunk.text.encode())
        placed.append((block, at, at + size))
        if size:
            pieces.append(block.chunk.text)
            at += size + 2
    text = "\n\n".join(pieces) + "\n" if pieces else ""
    if at > LARGEST:
        problems.append(_too_large(source.where, at))
    return text, placed


def _too_large(where: str, size: int) -> Problem:
    return Problem("RW-D04", f"expected at most {LARGEST:,} bytes, got {size:,}", where)


def _at_their_offsets(
    blocks: list[BlockRecord], problems: list[Problem], notes: list[Note]
) -> tuple[str, list[tuple[BlockRecord, int, int]]]:
    """Blocks placed where their offsets say; gaps are filled with line ends, and blocks that overlap say the same."""
    units = {block.unit for block in blocks}
    if len(units) > 1:
        problems.append(
            Problem("RW-D05", "expected one unit of offsets in a document, got two", blocks[0].where, "offsets")
        )
        return "", []
    sheet = _Sheet("char" if _are_characters(blocks) else blocks[0].unit)
    if sheet.unit != blocks[0].unit:
        notes.append(Note(blocks[0].where, BY_CHARACTERS))
    placed: list[tuple[BlockRecord, int, int]] = []
    for block in sorted(blocks, key=lambda block: block.chunk.offsets or (0, 0)):
        _, end = block.chunk.offsets or (0, 0)
        wrong = _too_large(block.where, end) if end > LARGEST else sheet.misfit(block)
        if wrong is not None:
            problems.append(wrong)
        else:
            placed.append((block, *sheet.lay(block)))
    return sheet.text, placed


def _are_characters(blocks: list[BlockRecord]) -> bool:
    """Whether plain offsets count characters: no splitter counts bytes, and few say so."""
    texts = [(end - begin, block.chunk.text) for block in blocks for begin, end in [block.chunk.offsets or (0, 0)]]
    as_bytes = all(length == len(text.encode()) for length, text in texts)
    return not as_bytes and all(length == len(text) for length, text in texts)


class _Sheet:
    """The canonical text while blocks are laid on it, in units of which every one has the same width."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self._form, self._width = ("utf-8", 1) if unit == "byte" else ("utf-32-le", 4)
        self._data = bytearray()
        self._bytes = 0

    @property
    def text(self) -> str:
        """Everything that was laid."""
        return self._data.decode(self._form)

    @property
    def end(self) -> int:
        """How far the text goes."""
        return len(self._data) // self._width

    def misfit(self, block: BlockRecord) -> Problem | None:
        """Why a block cannot be laid where its offsets say."""
        begin, end = block.chunk.offsets or (0, 0)
        own = block.chunk.text.encode(self._form)
        if end - begin != len(own) // self._width:
            length = len(own) // self._width
            message = f"expected {end - begin} {self.unit}s of text for [{begin}, {end}), got {length}"
            return Problem("RW-I07", message, block.where, "offsets")
        shared = min(end, self.end) - begin
        if shared > 0 and self._slice(begin, begin + shared) != own[: shared * self._width]:
            message = f"expected the text that the chunks before have for [{begin}, {begin + shared}), got another"
            return Problem("RW-I07", message, block.where, "offsets")
        return None

    def lay(self, block: BlockRecord) -> tuple[int, int]:
        """Put a block on the sheet; gives its range in bytes of UTF-8 back."""
        begin, _ = block.chunk.offsets or (0, 0)
        gap = max(0, begin - self.end)
        self._data += ("\n" * gap).encode(self._form)
        self._bytes += gap
        there = self.end - begin
        first = self._bytes - len(self._slice(begin, self.end).decode(self._form).encode())
        fresh = block.chunk.text.encode(self._form)[there * self._width :]
        self._data += fresh
        self._bytes += len(fresh.decode(self._form).encode())
        return first, first + len(block.chunk.text.encode())

    def _slice(self, begin: int, end: int) -> bytes:
        return bytes(self._data[begin * self._width : end * self._width])


def _parent(section_id: str) -> str | None:
    """The section above a dotted one; None at the top and for names that are no path."""
    found = _PATH.fullmatch(section_id)
    return found["upper"] if found and found["upper"] != "S" else None


def _nodes(chunks: list[Chunk]) -> list[Node]:
    """The sections that the chunks name, each after the one above it; those without blocks of their own are added."""
    nodes: list[Node] = []
    known: dict[str, int] = {}

    def add(section_id: str, begin: int, title: str) -> int:
        if section_id in known:
            return known[section_id]
        upper = _parent(section_id)
        parent = add(upper, begin, "") if upper else None
        depth = 1 if parent is None else nodes[parent].depth + 1
        known[section_id] = len(nodes)
        nodes.append(Node(section_id, title, depth, parent, begin, begin, (title,)))
        return known[section_id]

    for one in chunks:
        add(one.section_id or PREFACE, (one.offsets or (0, 0))[0], one.title or "")
    return nodes
