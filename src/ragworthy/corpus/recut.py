"""Where a block of a document has gone when the document is the same and only cut differently: by its bytes."""

from collections.abc import Sequence
from typing import Protocol

LEAST = 0.85
"""How much of an old block the new ones must hold."""


class Piece(Protocol):
    """A block with its place in the document."""

    @property
    def begin(self) -> int:
        """Its first byte."""

    @property
    def end(self) -> int:
        """The byte after its last one."""


def cover(begin: int, end: int, pieces: Sequence[Piece]) -> list[tuple[int, int, int]]:
    """The fewest pieces, in reading order, that hold a range: the number of each, and the bytes that it adds.

    None where they hold too little of it. `pieces` are in reading order; they may overlap.

    >>> from collections import namedtuple
    >>> Cut = namedtuple("Cut", "begin end")
    >>> cuts = [Cut(0, 450), Cut(405, 855), Cut(810, 1260)]
    >>> cover(0, 600, cuts), cover(540, 1140, cuts), cover(1300, 1400, cuts)
    ([(0, 0, 450), (1, 450, 600)], [(1, 540, 855), (2, 855, 1140)], [])
    """
    found: list[tuple[int, int, int]] = []
    at = begin
    while at < end:
        reaching = [nth for nth, one in enumerate(pieces) if one.begin <= at < one.end]
        if not reaching:
            later = [one.begin for one in pieces if at < one.begin < end]
            if not later:
                break
            at = min(later)  # between blocks there are only line ends
            continue
        best = max(reaching, key=lambda nth: (pieces[nth].end, -nth))
        found.append((best, at, min(end, pieces[best].end)))
        at = pieces[best].end
    held = sum(last - first for _, first, last in found)
    return found if held >= LEAST * (end - begin) else []
