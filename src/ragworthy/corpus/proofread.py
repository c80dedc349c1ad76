"""Rates of documents against what they should say: headings, header rows of tables, headers and footers, hyphens."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.corpus.rates import Rate, by_document, pages_of, repeated_lines, titles
from ragworthy.records import Chunk

HEADINGS = Fraction(95, 100)
"""title_hierarchy.md: visible headings that are found."""
PAGES_PER_SPURIOUS = 20
"""title_hierarchy.md: at most one heading that is none in so many pages."""
TABLES = Fraction(95, 100)
"""code_tables_blocks.md: tables whose header row is known as one."""
REMOVED, LEFT = Fraction(1, 100), Fraction(3, 100)
"""pdf_layouts_and_ocr.md: body lines removed as headers or footers, and pages on which one of these is left."""
HYPHENS = Fraction(98, 100)
"""pdf_layouts_and_ocr.md: words cut at the end of a line that are put together rightly."""
_ALIKE = 0.8
"""From here on two headings, or two lines, are the same one with letters misread."""
_CUT = re.compile(r"(\w+(?:-\w+)*)-[ \t]*\r?\n[ \t]*(\w+(?:-\w+)*)")
_WORD = re.compile(r"\w+(?:-\w+)*")


class Proof(NamedTuple):
    """What was counted, over all documents of the reference that a corpus has."""

    headings: Rate
    """Headings found, of those of the reference."""
    spurious: Rate
    """Spurious headings, and the pages that they are on; a document without pages is one page."""
    tables: Rate
    """Tables whose header rows are found, of those of the reference that have some."""
    removed: Rate
    """Lines of the reference that are gone."""
    left: Rate
    """Pages with a header or footer that the reference does not have; none where pages are not known."""
    hyphens: Rate
    """Words cut at the end of a line that came out as in the reference; none without the documents themselves."""

    @property
    def too_many_spurious(self) -> bool:
        """Whether there is more than one heading too many in every 20 pages begun."""
        return self.spurious.part * PAGES_PER_SPURIOUS > self.spurious.whole + PAGES_PER_SPURIOUS - 1


def proofread(chunks: Sequence[Chunk], reference: Sequence[Chunk], sources: Mapping[str, str]) -> Proof:
    """Count over every document that both have; `sources` are the documents as they were before they were read."""
    here, there = by_document(chunks), by_document(reference)
    both = [(doc, here[doc], there[doc]) for doc in there if doc in here]
    found = [_headings(mine, wanted) for _, mine, wanted in both]
    pages = [len(pages_of(mine)) or 1 for _, mine, _ in both]
    return Proof(
        headings=_sum(one for one, _ in found),
        spurious=_sum(Rate(extra, page) for (_, extra), page in zip(found, pages, strict=True)),
        tables=_sum(_tables(mine, wanted) for _, mine, wanted in both),
        removed=_sum(_removed(mine, wanted) for _, mine, wanted in both),
        left=_sum(_left(mine, wanted) for _, mine, wanted in both),
        hyphens=_sum(hyphens(sources[doc], _text(mine), _text(wanted)) for doc, mine, wanted in both if doc in sources),
    )


def _sum(rates: Iterable[Rate]) -> Rate:
    every = list(rates)
    return Rate(sum(one.part for one in every), sum(one.whole for one in every))


def _text(chunks: Iterable[Chunk]) -> str:
    return "\n".join(chunk.text for chunk in chunks)


def _headings(chunks: Sequence[Chunk], reference: Sequence[Chunk]) -> tuple[Rate, int]:
    """How many headings were found, and how many are none."""
    wanted, got = list(titles(reference)), list(titles(chunks))
    found = matched(wanted, got)
    return Rate(found, len(wanted)), len(got) - found


def matched(wanted: Sequence[str], got: Sequence[str]) -> int:
    """How many texts are among others, each taken once, a few letters aside.

    >>> matched(["Keys", "Introduction", "Keys"], ["lntroduction", "Keys", "Page 3"])
    2
    """
    from rapidfuzz.distance import Levenshtein

    rest = [_plain(one) for one in got]
    for text in map(_plain, wanted):
        near = [Levenshtein.normalized_similarity(text, other) for other in rest]
        if near and max(near) >= _ALIKE:
            del rest[near.index(max(near))]
    return len(got) - len(rest)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _tables(chunks: Sequence[Chunk], reference: Sequence[Chunk]) -> Rate:
    wanted, got = Counter(_header_rows(reference)), Counter(_header_rows(chunks))
    return Rate((wanted & got).total(), wanted.total())


def _header_rows(chunks: Iterable[Chunk]) -> list[str]:
    """The header rows of every table that has some."""
    tables = [(chunk, (chunk.attrs or {}).get("header_rows")) for chunk in chunks if chunk.type == "table"]
    known = [(chunk, rows) for chunk, rows in tables if isinstance(rows, int) and rows > 0]
    return [_plain("\n".join(chunk.text.splitlines()[:rows])) for chunk, rows in known]


def _removed(chunks: Sequence[Chunk], reference: Sequence[Chunk]) -> Rate:
    """Lines of the reference that are nowhere in the document, not even with letters misread."""
    from rapidfuzz.fuzz import partial_ratio

    whole = _plain(_text(chunks))
    lines = [line for line in map(_plain, _text(reference).splitlines()) if line]
    gone = sum(line not in whole and partial_ratio(line, whole) < 100 * _ALIKE for line in lines)
    return Rate(gone, len(lines))


def _left(chunks: Sequence[Chunk], reference: Sequence[Chunk]) -> Rate:
    meant = {_plain(line) for line in _text(reference).splitlines()}
    extra = [one for one in repeated_lines(chunks) if _plain(one.text) not in meant]
    return Rate(len({page for one in extra for page in one.on}), len(pages_of(chunks)))


def hyphens(source: str, text: str, reference: str) -> Rate:
    """Words that the source cuts at the end of a line, and of these the ones that came out as in the reference.

    A word that the reference has in both forms, or in none, shows nothing and is left out.

    >>> read, meant = "an example of a wellknown reuse", "an example of a well-known reuse"
    >>> hyphens("an exam-\\nple of a well-\\nknown re-\\nuse", read, meant)
    Rate(part=2, whole=3)
    """
    got, wanted = (set(_WORD.findall(one)) for one in (text, reference))
    right = whole = 0
    for left, rest in _CUT.findall(source):
        forms = {left + rest, f"{left}-{rest}"}
        meant = forms & wanted
        if len(meant) == 1:
            whole += 1
            right += meant <= got
    return Rate(right, whole)
