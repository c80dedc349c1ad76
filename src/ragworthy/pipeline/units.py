"""What an answer may consist of: the sentences, list items, table rows and code blocks of a chunk. Pure functions.

Among them are the rules that a section states. A rule holds for its section, wherever chunks happen to be cut: an
answer from one chunk repeats those of the section.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from ragworthy.corpus.sentences import ends
from ragworthy.records import Chunk
from ragworthy.text import squeeze

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+•]|[0-9]{1,3}[.)])\s+(?=\S)")
_RULE = re.compile(r"[\s|:+-]*-[\s|:+-]*")
_CELL = re.compile(r"(?<!\\)\|")
_OBLIGES = r"""
    \b(?:must|shall)\b | \b(?:may|can|should)\ not\b | \bcannot\b
    | \b(?:is|are)\ (?:not\ allowed|forbidden|prohibited)\b
    | 必须 | 必須 | 不得 | 禁止 | 不可 | 不能
    """


class Unit(NamedTuple):
    """One piece that can be an answer."""

    text: str
    kind: str
    """sentence, item, row or code."""


def units(text: str, kind: str | None = None) -> list[Unit]:
    """The pieces of a chunk in reading order; a chunk of code is one piece.

    >>> [one.text for one in units("It is 4 GB. See\\nbelow.\\n- first\\n- second")]
    ['It is 4 GB.', 'See below.', 'first', 'second']
    >>> units("| Plan | Fee |\\n|---|---|\\n| Ketch | EUR 240 |")
    [Unit(text='Plan: Ketch; Fee: EUR 240', kind='row')]
    """
    if kind == "code":
        return [Unit(text.strip(), "code")] if text.strip() else []
    return list(_of_lines(text.split("\n")))


def _of_lines(lines: list[str]) -> Iterator[Unit]:
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        if fence := _FENCE.match(line):
            at = _after_fence(lines, at + 1, fence[1])
            yield Unit("\n".join(lines[start:at]).strip(), "code")
        elif line.lstrip().startswith("|"):
            while at < len(lines) and lines[at].lstrip().startswith("|"):
                at += 1
            yield from _rows(lines[start:at])
        elif not line.strip():
            at += 1
        else:
            at += 1
            while at < len(lines) and _goes_on(lines[at]):
                at += 1
            yield from _paragraph(lines[start:at])


def _after_fence(lines: list[str], at: int, fence: str) -> int:
    """The place after the line that closes a code block; the end where none does."""
    while at < len(lines):
        at += 1
        if lines[at - 1].strip().startswith(fence):
            break
    return at


def _goes_on(line: str) -> bool:
    """Whether a line belongs to the paragraph or list item before it."""
    return bool(line.strip()) and not (_ITEM.match(line) or _FENCE.match(line) or line.lstrip().startswith("|"))


def _paragraph(lines: list[str]) -> Iterator[Unit]:
    """A list item as one piece; other text by its sentences, whose lines may end anywhere."""
    text = " ".join(lines)
    if marker := _ITEM.match(text):
        yield Unit(squeeze(text[marker.end() :]), "item")
        return
    begin = 0
    for end in ends(text):
        sentence = squeeze(text[begin:end])
        begin = end
        if sentence:
            yield Unit(sentence, "sentence")


def _rows(lines: list[str]) -> Iterator[Unit]:
    """Each row with the names of its columns."""
    table = [_cells(line) for line in lines if not _RULE.fullmatch(line)]
    if len(table) == len(lines):
        head: list[str] = []
    else:
        head, table = table[0] if table else [], table[1:]
    for row in table:
        named = [f"{name}: {cell}" if name else cell for name, cell in zip_longest(head, row, fillvalue="") if cell]
        if named:
            yield Unit("; ".join(named), "row")


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [squeeze(cell.replace("\\|", "|")) for cell in _CELL.split(inner)]


# the rules that a section states, which an answer from it must repeat word for word


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_OBLIGES, re.VERBOSE | re.IGNORECASE)


def locked(chunks: Iterable[Chunk]) -> list[str]:
    """The sentences and list items that oblige or forbid, each once, in reading order; none that only leads in a list.

    >>> locked([Chunk(text="Names must not change. A name has 3 letters. Old ones cannot come back.")])
    ['Names must not change.', 'Old ones cannot come back.']
    """
    found = (
        unit.text
        for chunk in chunks
        for unit in units(chunk.text, chunk.type)
        if unit.kind in ("sentence", "item") and not unit.text.endswith((":", "：")) and _pattern().search(unit.text)
    )
    return list(dict.fromkeys(found))
