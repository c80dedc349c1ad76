"""Ranges of bytes: how far two are apart, and how much of a block some of them hold."""

from collections.abc import Sequence
from fractions import Fraction

from ragworthy.metrics.facts.placed import Place
from ragworthy.metrics.facts.wanted import Span

_NOTHING, _WHOLE = Fraction(0), Fraction(1)


def gap(one: tuple[int, int], other: tuple[int, int]) -> int:
    """The bytes between two half-open ranges; 0 where they meet.

    >>> gap((1130, 1200), (1000, 1100)), gap((1050, 1200), (1000, 1100))
    (30, 0)
    """
    return max(0, max(one[0], other[0]) - min(one[1], other[1]))


def placed(place: Place, span: Span) -> Place:
    """A block at the bytes that a citation names, where it names some."""
    if span is None or span[0] >= span[1]:
        return place
    return Place(place.doc, place.section, place.type, span, place.tokens, place.page)  # in half the time of a copy


def held(cited: Sequence[tuple[str, Place]], relevant: Sequence[tuple[str, Place]]) -> Fraction:
    """The share of a relevant block that is cited, of the block that is cited most; both by id, with their bytes.

    >>> block = [("a", Place("d", "1", span=(100, 200)))]
    >>> held([("b", Place("d", "1", span=(90, 130))), ("c", Place("d", "1", span=(120, 150)))], block)
    Fraction(1, 2)
    >>> held([("a", Place("d", "1"))], block), held([("b", Place("e", "1", span=(100, 200)))], block)
    (Fraction(1, 1), Fraction(0, 1))
    """
    ids = {name for name, _ in cited}
    if not any([place.span for _, place in cited]):  # without bytes a block itself is cited, or nothing of it
        return _WHOLE if any([name in ids for name, _ in relevant]) else _NOTHING
    docs = {place.doc for _, place in cited}
    if None not in docs:  # of another block of another document nothing is cited
        relevant = [(name, spot) for name, spot in relevant if spot.doc is None or spot.doc in docs or name in ids]
    return max([_share(name, spot, cited) for name, spot in relevant], default=_NOTHING)


def _share(name: str, spot: Place, cited: Sequence[tuple[str, Place]]) -> Fraction:
    if any([one == name and (place.span is None or spot.span is None) for one, place in cited]):
        return _WHOLE  # the block itself, and no bytes that say less
    if spot.span is None:
        return _NOTHING
    begin, end = at, _ = spot.span
    found = 0
    for first, last in sorted([place.span for _, place in cited if place.span is not None and _alike(place, spot)]):
        found += max(0, min(last, end) - max(first, at))
        at = max(at, min(last, end))
    return Fraction(found, end - begin) if found else _NOTHING  # most blocks are not cited


def _alike(one: Place, other: Place) -> bool:
    """Whether two places are of one document, as far as anyone knows."""
    return one.doc == other.doc or one.doc is None or other.doc is None
