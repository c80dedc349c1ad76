"""Where a block stands: its document, its section, its type."""

from functools import lru_cache
from typing import NamedTuple

from ragworthy.ids import TYPE_TAGS, section_key, spot_of


class Place(NamedTuple):
    """Where a block stands: what the corpus, or else its id, says."""

    doc: str | None
    section: str | None
    type: str | None = None
    span: tuple[int, int] | None = None
    tokens: int = 0
    page: str | None = None
    """The section that its id names, where the corpus says another."""


_NOWHERE = Place(None, None)
_DIGITS = "0123456789"


@lru_cache(maxsize=1 << 16)
def place_of(name: str) -> Place:
    """Where a block stands by its id alone.

    >>> place_of("S.4.2.p.Bk011a").section, place_of("guide.md|s=1.2|p=000|b=001").doc
    ('4.2', 'guide.md')
    """
    return _place_of(first_of(name))


def first_of(name: str) -> str:
    """The id of a block that stands where this one does. Digits at the end of an id are the number of the block, which
    says nothing of its place: all blocks of a page or a document are looked at once.

    >>> first_of("guide.md|s=1.2|p=000|b=017"), first_of("c_00123"), first_of("S.4.2.p.Bk011a")
    ('guide.md|s=1.2|p=000|b=0', 'c_0', 'S.4.2.p.Bk011a')
    """
    stem = name.rstrip(_DIGITS)
    return name if stem == name else f"{stem}0"


@lru_cache(maxsize=1 << 16)
def _place_of(name: str) -> Place:
    spot = spot_of(name)
    if spot is None:
        return _NOWHERE
    return Place(spot.doc, section_key(spot.section), TYPE_TAGS.get(spot.type or ""))


def kind_of(given: str | None) -> str:
    """The type of a block as it is counted; a paragraph is prose, and nothing is not known."""
    return "prose" if given == "paragraph" else given or ""


def qualified(place: Place) -> str:
    """A section with its document, so that sections of two documents differ; empty where it is not known."""
    if place.section is None:
        return ""
    return f"{place.doc}|s={place.section}" if place.doc is not None else place.section
