"""Which chunks a source names: a document, by whatever name people call it, a section, a page."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from ragworthy.ids import parse, section_key
from ragworthy.records import Chunk, GoldSource

_NAMES = ("source", "file_path", "file_name", "path", "url")
"""Where splitters keep the name of a document."""
_PAGES = ("page", "page_number", "page_label")


class Named(NamedTuple):
    """The chunks that a source names, and why there are none."""

    numbers: frozenset[int]
    why: str = ""
    document: frozenset[int] = frozenset()
    """All chunks of the document, where only its section or page was not found."""
    note: str = ""


class Origins:
    """The documents, sections and pages of a corpus."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._levels: tuple[dict[str, set[int]], ...] = tuple(defaultdict(set) for _ in range(5))
        for number, chunk in enumerate(chunks):
            for name in _document_names(chunk):
                for level, key in enumerate(_keys(name)):
                    self._levels[level][key].add(number)
        self._known: dict[tuple[str, str | None, int | str | None], Named] = {}

    def named(self, source: str | GoldSource) -> Named:
        """The chunks of a document, of one of its sections or of one of its pages."""
        one = GoldSource(source) if isinstance(source, str) else source
        key = (one.doc, one.section, one.page)
        if key not in self._known:
            self._known[key] = self._looked_up(one)
        return self._known[key]

    def _looked_up(self, source: GoldSource) -> Named:
        document = self._document(source.doc)
        if not document:
            return Named(document, f"no chunk is of a document named {source.doc}")
        note = self._several(source.doc, document)
        if source.section is not None:
            wanted = _section_keys(source.section)
            inside = frozenset(n for n in document if wanted & _sections(self._chunks[n]))
            if not inside:
                return Named(inside, f"no chunk of {source.doc} is in a section {source.section}", document)
            document = inside
        if source.page is not None:
            page = _page(source.page)
            inside = frozenset(n for n in document if page in _pages(self._chunks[n]))
            if not inside:
                said = any(_pages(self._chunks[n]) for n in document)
                why = f"is on page {source.page}" if said else "says on which page it stands"
                return Named(inside, f"no chunk of {source.doc} {why}", document)
            document = inside
        return Named(document, note=note)

    def _document(self, name: str) -> frozenset[int]:
        """By the exact name, then the file's name, then without its suffix, each also in another case."""
        for level, key in zip(self._levels, _keys(name), strict=True):
            if key and key in level:
                return frozenset(level[key])
        return frozenset()

    def _several(self, name: str, numbers: frozenset[int]) -> str:
        docs = {document_of(self._chunks[n]) for n in numbers}
        return f"{name} names {len(docs)} documents" if len(docs) > 1 else ""


def document_of(chunk: Chunk) -> str:
    """The document that a chunk belongs to; by its id where it does not say so."""
    return chunk.doc_id or parse(chunk.name).doc or next(iter(_document_names(chunk)), "")


def _document_names(chunk: Chunk) -> list[str]:
    attrs = chunk.attrs or {}
    told = [chunk.doc_id or parse(chunk.name).doc, chunk.source_url, *(attrs.get(key) for key in _NAMES)]
    return [name for name in told if isinstance(name, str) and name.strip()]


def _keys(name: str) -> tuple[str, str, str, str, str]:
    """A name, ever less strictly.

    >>> _keys("Docs\\\\Buckets.md")
    ('Docs\\\\Buckets.md', 'Buckets.md', 'buckets.md', 'Buckets', 'buckets')
    """
    path = PurePosixPath(name.strip().replace("\\", "/").partition("#")[0].partition("?")[0])
    stem = path.stem if path.suffix[1:].isalnum() and not path.suffix[1:].isdigit() else path.name
    return name.strip(), path.name, path.name.casefold(), stem, stem.casefold()


def _section_keys(name: str) -> frozenset[str]:
    key = section_key(name).rpartition("|s=")[2]
    plain = " ".join(key.casefold().lstrip("#§ ").split())
    return frozenset({key, plain, plain.replace(" ", "-")} - {""})


def _sections(chunk: Chunk) -> frozenset[str]:
    attrs = chunk.attrs or {}
    told = [chunk.section_id, chunk.title, chunk.anchor, attrs.get("section"), parse(chunk.name).section]
    found: set[str] = set()
    for name in told:
        if isinstance(name, str) and name.strip():
            found |= _section_keys(name)
    return frozenset(found)


def _page(page: int | str) -> str:
    text = str(page).strip().casefold()
    return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else text


def _pages(chunk: Chunk) -> frozenset[str]:
    attrs = chunk.attrs or {}
    told = [attrs[key] for key in _PAGES if isinstance(attrs.get(key), (int, str))]
    page = parse(chunk.name).page
    return frozenset(map(_page, told if told or not page else [page]))
