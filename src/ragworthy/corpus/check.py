"""Checks over a whole corpus: ids, order, sections, spans, anchors, captions, bytes."""

from collections.abc import Callable, Iterator

from ragworthy import ids
from ragworthy.corpus.assemble import short_hash
from ragworthy.corpus.model import Corpus, Document, Finding
from ragworthy.corpus.outline import DEEPEST


def check(corpus: Corpus) -> list[Finding]:
    """Everything that does not hold, document by document; empty where all is well."""
    found = list(_unique(corpus))
    for document in corpus.documents:
        for one in _CHECKS:
            found += one(document)
    return found


def _unique(corpus: Corpus) -> Iterator[Finding]:
    """No stable id is twice."""
    seen: dict[str, str] = {}
    for document in corpus.documents:
        for chunk in document.chunks:
            name = ids.stable(chunk.name)
            if name in seen:
                message = f"the id is already in {seen[name]}"
                yield Finding("unique_ids", document.doc_id, chunk.name, message)
            seen.setdefault(name, document.doc_id)


def _order(document: Document) -> Iterator[Finding]:
    """Within a section the natural order of ids is the reading order; opaque ids have no order."""
    last: dict[str, str] = {}
    for chunk in document.chunks:
        if ids.parse(chunk.name).form == "opaque":
            continue
        section = chunk.section_id or ""
        if section in last and ids.natural(last[section]) > ids.natural(chunk.name):
            message = f"comes after {last[section]}"
            yield Finding("id_order", document.doc_id, chunk.name, message)
        last[section] = chunk.name


def _bytes(document: Document) -> Iterator[Finding]:
    """Every chunk is the slice that its offsets name, with the hash that it carries."""
    data = document.text.encode()
    for chunk in document.chunks:
        begin, end = chunk.offsets or (0, 0)
        if not 0 <= begin < end <= len(data):
            message = f"[{begin}, {end}) is not a range in {len(data)} bytes"
            yield Finding("offsets", document.doc_id, chunk.name, message)
        elif data[begin:end] != chunk.text.encode():
            message = f"[{begin}, {end}) of the canonical text is not the text of the chunk"
            yield Finding("offsets", document.doc_id, chunk.name, message)
        elif chunk.hash != short_hash(chunk.text):
            yield Finding("hash", document.doc_id, chunk.name, "the hash is not that of the text")


def _disjoint(document: Document) -> Iterator[Finding]:
    """Chunks are in reading order and do not overlap; those that were cut elsewhere may."""
    before = 0
    if document.foreign:
        return
    for chunk in document.chunks:
        begin, end = chunk.offsets or (0, 0)
        if begin < before:
            message = f"begins at {begin}, before the end of the chunk before it ({before})"
            yield Finding("overlap", document.doc_id, chunk.name, message)
        before = max(before, end)


def _owned(document: Document) -> Iterator[Finding]:
    """Every chunk belongs to exactly one section and lies inside what that section owns."""
    spans = {section.section_id: section.own_span for section in document.sections}
    for chunk in document.chunks:
        if chunk.section_id not in spans:
            yield Finding("orphan", document.doc_id, chunk.name, f"its section {chunk.section_id} does not exist")
        elif not _within(chunk.offsets, spans[chunk.section_id]):
            message = f"lies outside the own span of section {chunk.section_id}"
            yield Finding("orphan", document.doc_id, chunk.name, message)


def _within(inner: tuple[int, int] | None, outer: tuple[int, int] | None) -> bool:
    return inner is not None and outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _spans(document: Document) -> Iterator[Finding]:
    """The own spans of sections do not overlap, unless chunks that were cut elsewhere do."""
    if document.foreign:
        return
    spans = sorted((section.own_span, section.section_id) for section in document.sections if section.own_span)
    furthest, owner = 0, ""
    for (begin, end), name in spans:
        if begin < furthest:
            yield Finding("section_overlap", document.doc_id, name, f"its own span overlaps that of section {owner}")
        if end > furthest:
            furthest, owner = end, name


def _outline(document: Document) -> Iterator[Finding]:
    """Paths are unique, at most six levels deep, and no level is skipped."""
    depths: dict[str, int] = {}
    parents = {child: section.section_id for section in document.sections for child in section.children}
    for section in document.sections:
        name = section.section_id
        if name in depths:
            yield Finding("outline", document.doc_id, name, "the path is twice")
        if section.depth > DEEPEST:
            yield Finding("outline", document.doc_id, name, f"has depth {section.depth}, more than {DEEPEST}")
        above = parents.get(name)
        expected = depths.get(above, 0) + 1 if above else 1
        if section.depth != expected:
            yield Finding("outline", document.doc_id, name, f"has depth {section.depth} where {expected} is expected")
        depths[name] = section.depth


def _anchors(document: Document) -> Iterator[Finding]:
    """Anchors lie inside the own span and are what is there."""
    data = document.text.encode()
    for section in document.sections:
        if section.anchor is None:
            continue
        if section.anchor_offsets is None or not _within(section.anchor_offsets, section.own_span):
            yield Finding("anchor", document.doc_id, section.section_id, "the anchor lies outside the own span")
        elif data[slice(*section.anchor_offsets)] != section.anchor.encode():
            yield Finding("anchor", document.doc_id, section.section_id, "the anchor is not what its offsets name")


def _captions(document: Document) -> Iterator[Finding]:
    """Every caption has a figure, table or code block of its own section as target."""
    where = {chunk.name: chunk.section_id for chunk in document.chunks if chunk.type != "caption"}
    kinds = {(chunk.section_id, chunk.type) for chunk in document.chunks}
    for chunk in document.chunks:
        if chunk.type != "caption":
            continue
        target = (chunk.attrs or {}).get("target")
        if target is None and {(chunk.section_id, kind) for kind in ("figure", "table", "code")} & kinds:
            continue
        if target is None or where.get(target) != chunk.section_id:
            yield Finding("caption", document.doc_id, chunk.name, "has no figure, table or code in its section")


_CHECKS: tuple[Callable[[Document], Iterator[Finding]], ...] = (
    _order,
    _bytes,
    _disjoint,
    _owned,
    _spans,
    _outline,
    _anchors,
    _captions,
)
