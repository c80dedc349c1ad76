"""Rates of the chunking checklists: text of other sections in a chunk, lines that every page has, errors of OCR."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy import ids
from ragworthy.corpus.normalise import count_tokens
from ragworthy.records import Chunk

BLEED = Fraction(1, 10)
"""chunking-checklist.md: of the tokens of a chunk, no more may be of another section."""
OVERLAP = Fraction(2, 100)
"""section_detection.md: of the bytes of the text, no more may belong to two sections."""
LARGEST = 512
"""patterns/pattern_rag_semantic_drift.md: no chunk has more tokens."""
WORDS, CHARACTERS = Fraction(25, 1000), Fraction(1, 100)
"""pdf_layouts_and_ocr.md: word errors on clean pages, and character errors in headings and captions."""
REPEATED = Fraction(6, 10)
"""pdf_layouts_and_ocr.md: a line on so many of the pages is a header or a footer."""
_FEWEST = 3
"""Pages from which a line that repeats means something."""
_EDGE = 3
"""So many lines at the top and at the foot of a page may be its header and its footer."""
_FEW_WORDS = 5
"""A line with more words besides its numbers is text that counts something, and no page number."""
_ENDS = (".", "!", "?", ",", ";", ":", "。", "！", "？", "，")
_PAGE = re.compile(r"\|p=(\d+)\|")


class Rate(NamedTuple):
    """So many of so many."""

    part: int
    whole: int

    @property
    def share(self) -> Fraction:
        """As a number; 0 of nothing is 0, and anything where nothing should be is all wrong."""
        return Fraction(self.part, self.whole) if self.whole else Fraction(int(self.part > 0))


class Sizes(NamedTuple):
    """Tokens of chunks."""

    least: int
    median: Fraction
    most: int
    above: int
    """How many have more than the sources ever want."""


def sizes(chunks: Iterable[Chunk]) -> Sizes | None:
    """How large chunks are; None where there is none. The sources want 250 to 400 tokens, 350, or 350 to 700.

    >>> sizes(Chunk(chunk_id=str(n), text="one " * n) for n in (2, 600, 3, 4))
    Sizes(least=2, median=Fraction(7, 2), most=600, above=1)
    """
    found = sorted(count_tokens(chunk.text) for chunk in chunks)
    if not found:
        return None
    middle = Fraction(found[(len(found) - 1) // 2] + found[len(found) // 2], 2)
    return Sizes(found[0], middle, found[-1], sum(one > LARGEST for one in found))


def bleed(chunks: Iterable[Chunk]) -> Rate:
    """Tokens that are in a chunk of one section, and belong to another: what lies before the first chunk of its own
    section or after the first one of the next.

    >>> one = Chunk(chunk_id="a", doc_id="d", section_id="1", offsets=(0, 8), text="one two ")
    >>> two = Chunk(chunk_id="b", doc_id="d", section_id="2", offsets=(4, 14), text="two three ")
    >>> bleed([one, two])
    Rate(part=1, whole=4)
    """
    part = whole = 0
    for document in _documents(chunks).values():
        starts: dict[str, int] = {}
        for chunk in document:
            begin, name = _begin(chunk), chunk.section_id or ""
            starts[name] = min(begin, starts.get(name, begin))
        order = sorted(starts.values())
        for chunk in document:
            data, begin = chunk.text.encode("utf-8", "surrogatepass"), _begin(chunk)
            nth = bisect_right(order, starts[chunk.section_id or ""])
            end = order[nth] if nth < len(order) else begin + len(data)
            whole += count_tokens(chunk.text)
            part += count_tokens(data[max(0, end - begin) :].decode("utf-8", "replace"))
    return Rate(part, whole)


def overlap(chunks: Iterable[Chunk]) -> Rate:
    """Bytes of the text that are in chunks of two sections, of all that are in a chunk.

    >>> one = Chunk(chunk_id="a", doc_id="d", section_id="1", offsets=(0, 8), text="one two ")
    >>> two = Chunk(chunk_id="b", doc_id="d", section_id="2", offsets=(4, 14), text="two three ")
    >>> overlap([one, two])
    Rate(part=4, whole=14)
    """
    part = whole = 0
    for document in _documents(chunks).values():
        edges: list[tuple[int, int, str]] = []
        for chunk in document:
            begin = _begin(chunk)
            size = len(chunk.text.encode("utf-8", "surrogatepass"))
            edges += [(begin, 1, chunk.section_id or ""), (begin + size, -1, chunk.section_id or "")]
        there: Counter[str] = Counter()
        before = sections = 0
        for at, step, name in sorted(edges):
            whole += (at - before) * (sections > 0)
            part += (at - before) * (sections > 1)
            there[name] += step
            sections += (there[name] == 1) if step > 0 else -(there[name] == 0)
            before = at
    return Rate(part, whole)


def _documents(chunks: Iterable[Chunk]) -> dict[str, list[Chunk]]:
    found: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        if chunk.offsets is not None:
            found.setdefault(chunk.doc_id or "", []).append(chunk)
    return found


def _begin(chunk: Chunk) -> int:
    return chunk.offsets[0] if chunk.offsets is not None else 0


class Line(NamedTuple):
    """A line that is on most pages of a document."""

    doc_id: str
    text: str
    pages: Rate
    on: frozenset[str] = frozenset()
    """The pages."""


def repeated_lines(chunks: Iterable[Chunk]) -> list[Line]:
    """Headers and footers that were left in: lines at the edge of 60 % of the pages of a document.

    Lines that differ in their numbers alone are the same one where they are short, as a page number is. Pages are known
    by the ids of chunks, or by `page` in their attributes.
    """
    found: list[Line] = []
    for doc, pages in _pages(chunks).items():
        if len(pages) < _FEWEST:
            continue
        seen: dict[str, tuple[str, set[str]]] = {}
        for page, lines in pages.items():
            for line in (*lines[:_EDGE], *lines[-_EDGE:]):
                seen.setdefault(_alike(line), (line, set()))[1].add(page)
        found += [
            Line(doc, line, Rate(len(on), len(pages)), frozenset(on))
            for line, on in seen.values()
            if Fraction(len(on), len(pages)) >= REPEATED
        ]
    return found


def _alike(line: str) -> str:
    """The form in which lines of several pages are compared.

    >>> _alike("Annual Report | 12 of 30"), _alike("Body text number 3 of the page with words.")
    ('annual report | # of #', 'body text number 3 of the page with words.')
    """
    line = line.casefold()
    short = len(re.findall(r"[^\W\d]+", line)) <= _FEW_WORDS and not line.endswith(_ENDS)
    return re.sub(r"\d+", "#", line) if short else line


def _pages(chunks: Iterable[Chunk]) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for chunk in chunks:
        given = _PAGE.search(chunk.name)
        page = str((chunk.attrs or {}).get("page") or (given.group(1) if given else ""))
        if page and page.strip("0"):
            lines = [" ".join(line.split()) for line in chunk.text.splitlines()]
            found.setdefault(chunk.doc_id or "", {}).setdefault(page, []).extend(line for line in lines if line)
    return found


def word_errors(text: str, reference: str) -> Rate:
    """Words that were inserted, dropped or replaced, of those of the reference (WER).

    >>> word_errors("the qick brown fox", "the quick brown fox jumps")
    Rate(part=2, whole=5)
    """
    return _errors(text.split(), reference.split())


def character_errors(text: str, reference: str) -> Rate:
    """The same for characters (CER), runs of spaces counting as one.

    >>> character_errors("Fig. l", "Fig. 1")
    Rate(part=1, whole=6)
    """
    return _errors(" ".join(text.split()), " ".join(reference.split()))


def _errors(given: Sequence[str], reference: Sequence[str]) -> Rate:
    from rapidfuzz.distance import Levenshtein

    return Rate(Levenshtein.distance(given, reference), len(reference))


def pages_of(chunks: Iterable[Chunk]) -> frozenset[str]:
    """The pages of a document, where they are known."""
    return frozenset(page for pages in _pages(chunks).values() for page in pages)


def titles(chunks: Iterable[Chunk]) -> Iterator[str]:
    """Titles of the sections that hold chunks, in reading order."""
    seen: set[tuple[str, str]] = set()
    for chunk in chunks:
        key = (chunk.section_id or "", chunk.title or "")
        if chunk.title and key not in seen:
            yield chunk.title
        seen.add(key)


def headings(chunks: Sequence[Chunk]) -> list[str]:
    """Titles of sections, then captions."""
    return [*titles(chunks), *(chunk.text for chunk in chunks if chunk.type == "caption")]


class Read(NamedTuple):
    """How well a document was read: errors against a text that a person has checked."""

    doc_id: str
    words: Rate
    characters: Rate

    @property
    def good(self) -> bool:
        """Whether both are within their targets."""
        return self.words.share <= WORDS and self.characters.share <= CHARACTERS


def compared(chunks: Sequence[Chunk], reference: Sequence[Chunk]) -> tuple[list[Read], list[str]]:
    """Every document of the reference against the same one of a corpus, and those that the corpus does not have."""
    here, there = by_document(chunks), by_document(reference)
    found = []
    for doc, wanted in there.items():
        if doc in here:
            texts = [" ".join(chunk.text for chunk in some) for some in (here[doc], wanted)]
            titles = ["\n".join(headings(some)) for some in (here[doc], wanted)]
            found.append(Read(doc, word_errors(*texts), character_errors(*titles)))
    return found, [doc for doc in there if doc not in here]


def by_document(chunks: Iterable[Chunk]) -> Mapping[str, list[Chunk]]:
    """The chunks of every document."""
    found: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        found.setdefault(chunk.doc_id or ids.parse(chunk.name).doc or "", []).append(chunk)
    return found
