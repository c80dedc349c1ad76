"""Which chunks a source names: a document, by whatever name people call it, a section, a page."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from ragworthy.ids import natural, parse, section_key
from ragworthy.records import Chunk, GoldSource
from ragworthy.text import clip, compiled

_NAMES = ("source", "file_path", "file_name", "path", "url")
"""Where splitters keep the name of a document."""
_BORDER = r"#|\||::|@"
"""What is between a document and the rest in ids that programs make."""
_NEAREST = 3
_COMMON = 2000
"""Three letters that more names than these have tell nothing."""
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
        self._levels = _levels([_document_names(chunk) for chunk in chunks])
        self._likely = _levels([_likely_names(chunk) for chunk in chunks])
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
            near = self._nearest(source.doc)
            nearest = f"; nearest: {', '.join(clip(name, 60) for name in near)}" if near else ""
            return Named(document, f"no chunk is of a document named {source.doc}{nearest}")
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
        """By the exact name, then the file's name, then without its suffix, each also in another case.

        What chunks only may be called counts where no chunk says that it is of the document.
        """
        for levels in (self._levels, self._likely):
            for level, key in zip(levels, _keys(name), strict=True):
                if key and key in level:
                    return frozenset(level[key])
        return frozenset()

    @cached_property
    def _letters(self) -> dict[str, list[str]]:
        """The names of documents by three letters in a row."""
        found: dict[str, list[str]] = defaultdict(list)
        for name in sorted({*self._levels[0], *self._likely[0]}, key=natural):
            for three in _threes(name):
                found[three].append(name)
        return found

    def _nearest(self, name: str) -> list[str]:
        """The names of documents that share most with a name, the best first: half of three letters in a row at least.

        Names that many documents share letters with are not looked for among all of them.
        """
        mine = _threes(name)
        shared = Counter(
            other
            for three in mine
            if len(self._letters.get(three, ())) <= _COMMON
            for other in self._letters.get(three, ())
        )
        alike = {other: 2 * count / (len(mine) + len(_threes(other))) for other, count in shared.items()}
        close = [other for other, share in alike.items() if share >= 0.5]
        return sorted(close, key=lambda other: (-alike[other], natural(other)))[:_NEAREST]

    def _several(self, name: str, numbers: frozenset[int]) -> str:
        docs = {document_of(self._chunks[n]) for n in numbers}
        return f"{name} names {len(docs)} documents" if len(docs) > 1 else ""


def document_of(chunk: Chunk) -> str:
    """The document that a chunk belongs to; by its id where it does not say so."""
    return chunk.doc_id or parse(chunk.name).doc or next(iter(_document_names(chunk)), "")


def _document_names(chunk: Chunk) -> list[str]:
    """What the document of a chunk is called, by what the chunk says."""
    attrs = chunk.attrs or {}
    told = [chunk.doc_id or parse(chunk.name).doc, chunk.source_url, *(attrs.get(key) for key in _NAMES)]
    return [name for name in told if isinstance(name, str) and name.strip()]


def _likely_names(chunk: Chunk) -> list[str]:
    """What else it may be called where the chunk does not name its document: the beginnings of its id, its title."""
    if chunk.doc_id:
        return []
    begins = [chunk.name[: border.start()] for border in compiled(_BORDER).finditer(chunk.name)]
    return [name for name in (*begins, chunk.title) if name and name.strip()]


def _levels(names: Sequence[Sequence[str]]) -> tuple[dict[str, set[int]], ...]:
    """The numbers of chunks by each name, ever less strictly."""
    levels: tuple[dict[str, set[int]], ...] = tuple(defaultdict(set) for _ in range(5))
    for number, mine in enumerate(names):
        for name in dict.fromkeys(mine):
            for level, key in zip(levels, _keys(name), strict=True):
                level[key].add(number)
    return levels


def _threes(name: str) -> set[str]:
    """Three letters or digits in a row, whatever is between them.

    >>> sorted(_threes("Yu-an"))
    ['$yu', 'an$', 'uan', 'yua']
    """
    plain = f"${''.join(filter(str.isalnum, name.casefold()))}$"
    return {plain[at : at + 3] for at in range(max(len(plain) - 2, 1))}


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
