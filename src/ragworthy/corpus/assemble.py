"""Pieces in reading order to a document: canonical text, section tree, chunks. Pure functions."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from ragworthy import ids
from ragworthy.corpus import markup, outline, sentences
from ragworthy.corpus.model import Document, Parsed, Piece, Section
from ragworthy.corpus.normalise import count_tokens, fingerprint
from ragworthy.records import Chunk

SHORTEST_ANCHOR = 8
PREFACE = "0"
"""The section of the text before the first heading."""

_BULLETS = re.compile(r"(?:\s*(?:[-*+•‣◦>]+|[0-9]{1,3}[.)]|\[[ xX]\])[^\S\n]+)*")
_CAPTION = re.compile(
    r"""
    [*_]{0,3} (?: (?P<figure>figure|fig\.?|图|圖) | (?P<table>table|表) ) \s* [0-9]+ (?:[.-][0-9]+)* [*_]{0,3} \s*
    (?: [:：。] | [.—–-](?=\s|$) | $ )
    """,
    re.IGNORECASE | re.VERBOSE,
)


class Block(NamedTuple):
    """A piece with its place in the canonical text, its section and its number there."""

    piece: Piece
    begin: int
    section: int
    number: int


class Node(NamedTuple):
    """A section before its blocks are known."""

    section_id: str
    title: str
    depth: int
    parent: int | None
    begin: int
    end: int
    """Of the heading; the same as the begin where there is none."""
    path: tuple[str, ...]
    """The titles from the top of the document down to this one."""


def short_hash(text: str) -> str:
    """The first 16 hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def revision(text: str) -> str:
    """The first 8 hex digits of the SHA-1 of a canonical text."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:8]


def matching_hash(text: str) -> str:
    """The hash of the fingerprint form; of the text itself where nothing else is left of it."""
    return short_hash(fingerprint(text) or text.strip())


def document(doc_id: str, path: str, parsed: Parsed, limit: int) -> Document:
    """The document that its pieces make."""
    text = "\n\n".join(piece.text for piece in parsed.pieces) + "\n" if parsed.pieces else ""
    nodes, blocks = _placed(parsed)
    blocks = _captioned(doc_id, nodes, blocks)
    rev = revision(text)
    chunks: list[Chunk] = []
    for block in blocks:
        chunks += _chunks(doc_id, rev, nodes[block.section], block, limit)
    return Document(doc_id, path, rev, text, tuple(sections(nodes, chunks)), tuple(chunks), parsed.title)


def _placed(parsed: Parsed) -> tuple[list[Node], list[Block]]:
    """The sections, and the blocks with the section each belongs to."""
    pieces = parsed.pieces
    headings = [piece for piece in pieces if piece.type == "heading"]
    places = outline.places(outline.levels([(piece.level, piece.title) for piece in headings]))
    above = (parsed.title,) if parsed.title else ()
    preface = bool(pieces) and pieces[0].type != "heading"
    nodes = [Node(PREFACE, parsed.title, 1, None, 0, 0, above)] if preface else []
    first = len(nodes)
    blocks: list[Block] = []
    begin = number = 0
    for piece in pieces:
        end = begin + len(piece.text.encode())
        if piece.type == "heading":
            place = places[len(nodes) - first]
            parent = None if place.parent is None else place.parent + first
            path = (*(above if parent is None else nodes[parent].path), piece.title)
            if parent is None and above and fingerprint(piece.title) == fingerprint(above[0]):
                path = (piece.title,)
            nodes.append(Node(place.path, piece.title, place.depth, parent, begin, end, path))
            number = 0
        else:
            number += 1
            blocks.append(Block(piece, begin, len(nodes) - 1, number))
        begin = end + 2
    return nodes, blocks


def _captioned(doc_id: str, nodes: list[Node], blocks: list[Block]) -> list[Block]:
    """The blocks, captions bound to their figure or table; a caption without one is prose."""
    out = blocks[:]
    taken: set[int] = set()
    for index, block in enumerate(blocks):
        wanted = _caption_of(block.piece)
        if not wanted:
            continue
        side = (block.piece.attrs or {}).get("side", "")
        target = _target(blocks, index, wanted, taken, side)
        if target is None:
            piece = block.piece._replace(type="prose", attrs=None)
        else:
            taken.add(target)
            other = blocks[target]
            name = ids.pipe(doc_id, nodes[other.section].section_id, other.number)
            piece = block.piece._replace(type="caption", attrs={"target": name})
        out[index] = block._replace(piece=piece)
    return out


def _caption_of(piece: Piece) -> tuple[str, ...]:
    """The types of block that a piece can be the caption of; none where it is not a caption."""
    if piece.type == "caption":
        of = (piece.attrs or {}).get("of", "any")
        return ("figure", "table", "code") if of == "any" else (of,)
    found = _CAPTION.match(piece.text) if piece.type == "prose" and len(piece.text) < 1000 else None
    if not found or "\n" in piece.text:
        return ()
    return ("figure",) if found["figure"] else ("table",)


def _target(blocks: list[Block], index: int, wanted: tuple[str, ...], taken: set[int], side: str) -> int | None:
    """The block a caption belongs to: the nearest before it that has no caption yet, else the next one."""
    section = blocks[index].section
    before = [
        other
        for other in range(index - 1, max(-1, index - 50), -1)
        if blocks[other].section == section and blocks[other].piece.type in wanted
    ]
    after = [
        other
        for other in range(index + 1, min(len(blocks), index + 2))
        if blocks[other].section == section and blocks[other].piece.type in wanted
    ]
    free = [other for other in before if other not in taken]
    order = (after, free, before) if side == "next" else (free, after, before)
    return next((found[0] for found in order if found), None)


def _chunks(doc_id: str, rev: str, node: Node, block: Block, limit: int) -> Iterator[Chunk]:
    """A block as one chunk, or as several where it is prose over the limit."""
    piece = block.piece
    text = piece.text
    if piece.type == "prose" and len(text.encode()) > limit:
        slices = sentences.parts(text, limit)
    elif piece.type == "code":
        slices = [(0, len(text))]
    else:
        slices = [sentences.trimmed(text, 0, len(text))]
    at, begin = 0, block.begin
    for index, (first, last) in enumerate(slices):
        begin += len(text[at:first].encode())
        part = text[first:last]
        size = len(part.encode())
        letters = ids.part_letters(index) if len(slices) > 1 else ""
        name = ids.pipe(doc_id, node.section_id, block.number, letters)
        yield chunk(
            Chunk(
                chunk_id=name,
                doc_id=doc_id,
                section_id=node.section_id,
                type=piece.type,
                offsets=(begin, begin + size),
                text=part,
                title=" > ".join(title for title in node.path if title) or None,
                rev=rev,
                attrs=piece.attrs or None,
            )
        )
        at, begin = last, begin + size


def chunk(given: Chunk) -> Chunk:
    """The chunk with everything that follows from its text."""
    return msgspec.structs.replace(
        given,
        anchor=given.anchor or anchor_of(given.type or "prose", given.text),
        tokens=count_tokens(given.text),
        hash=short_hash(given.text),
        fp=matching_hash(given.text),
    )


def anchor_of(type_: str, text: str) -> str | None:
    """The line by which a block is known: of code the first, of a table the header, of prose the first sentence."""
    if type_ == "table":
        return _table_anchor(text) or None
    if type_ == "code":
        lines = (line for line in text.split("\n") if line.strip())
        return next((line.strip() for line in lines if not markup.FENCE.match(line.strip())), None)
    if type_ == "prose":
        begin, end = anchor_span(text)
        return text[begin:end] or None
    return text.strip() or None


def _table_anchor(text: str) -> str:
    """The header of a table, else its first row with text."""
    if text.lstrip()[:6].lower() == "<table":
        return markup.first_html_row(text)
    for line in text.split("\n"):
        if line.strip(" |\t") and not markup.is_delimiter(line):
            return line.strip()
    return ""


def anchor_span(text: str) -> tuple[int, int]:
    """The first sentence of prose without its bullet, as a slice of characters.

    >>> text = "- 1. Buckets are private. They stay so."
    >>> begin, end = anchor_span(text); text[begin:end]
    'Buckets are private.'
    """
    found = _BULLETS.match(text)
    start = found.end() if found else 0
    return sentences.first(text, start if start < len(text) else 0, SHORTEST_ANCHOR)


def _section_anchor(chunks: Sequence[Chunk]) -> tuple[str, tuple[int, int]] | tuple[None, None]:
    """The anchor sentence of a section: from its first real paragraph; from its first block where it has none."""
    for one in chunks:
        if one.type == "prose" and one.offsets and len(fingerprint(one.text)) >= SHORTEST_ANCHOR:
            begin, end = anchor_span(one.text)
            anchor = one.text[begin:end]
            at = one.offsets[0] + len(one.text[:begin].encode())
            return anchor, (at, at + len(anchor.encode()))
    for one in chunks:
        if one.type != "prose" and one.offsets and one.anchor and one.anchor in one.text:
            at = one.offsets[0] + len(one.text[: one.text.index(one.anchor)].encode())
            return one.anchor, (at, at + len(one.anchor.encode()))
    return None, None


def sections(nodes: Sequence[Node], chunks: Sequence[Chunk]) -> Iterable[Section]:
    """The section records, given the chunks in reading order."""
    own: dict[str, list[int]] = {node.section_id: [] for node in nodes}
    for index, one in enumerate(chunks):
        own[one.section_id or ""].append(index)
    children: list[list[str]] = [[] for _ in nodes]
    ends = [node.end for node in nodes]
    for index in range(len(nodes) - 1, -1, -1):
        node = nodes[index]
        ends[index] = max([ends[index], *((chunks[n].offsets or (0, 0))[1] for n in own[node.section_id])])
        if node.parent is not None:
            ends[node.parent] = max(ends[node.parent], ends[index])
            children[node.parent].append(node.section_id)
    for index, node in enumerate(nodes):
        mine = own[node.section_id]
        spans = [chunks[n].offsets or (0, 0) for n in mine]
        anchor, place = _section_anchor([chunks[n] for n in mine])
        yield Section(
            node.section_id,
            node.title,
            outline.slug(node.title),
            node.depth,
            (min(begin for begin, _ in spans), max(end for _, end in spans)) if spans else None,
            (node.begin, ends[index]),
            short_hash(fingerprint(node.title)),
            anchor,
            place,
            mine[0] if mine else None,
            mine[-1] if mine else None,
            tuple(reversed(children[index])),
        )
