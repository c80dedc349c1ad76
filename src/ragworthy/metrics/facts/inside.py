"""Claims that have a gold piece only inside a longer number: "12 books" is in "112 books". A hint for people,
never a score: the rule that the sources give is that a claim has the piece as it stands.

A point, a comma or a colon between two digits joins them ("5 GB" is in "1.5 GB"), unless the whole is a date, a
time of day with seconds or a list of years: the year of "3.5.2021" and the minute of "22:15:00" are what they are.
"""

from collections.abc import Iterable

from ragworthy.metrics.facts.pieces import contains, needed, tells
from ragworthy.names import MIN_SUBSTR
from ragworthy.records import Gold
from ragworthy.text import compiled, fold, piece_occurs

_JOINS = ".,:"
_NUMBER = r"\d+(?:[.,:]\d+)*"
_DATED = r"(?:\d{1,2}\.\d{1,2}\.\d{2,4}|\d{4}\.\d{1,2}\.\d{1,2}|\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?|\d{4}(?:,\d{4})+)"
_AROUND = 24
"""So many characters beside a piece are looked at."""


def only_inside(gold: Gold, claim: str, *, short_words: bool) -> bool:
    """Whether a claim has the gold text, and has it only where pieces inside longer numbers count.

    >>> item = Gold(answerable=True, gold_claim_substr=["12 books"])
    >>> only_inside(item, "An adult may borrow 112 books.", short_words=True)
    True
    >>> only_inside(item, "112 books? No: 12 books.", short_words=True)
    False
    """
    if compiled(r"\d").search(claim) is None:
        return False
    text, groups = fold(claim), needed(gold)
    if not groups or all(_stands(group, text, short_words=short_words) for group in groups):
        return False
    return contains(gold, text, short_words=short_words)


def _stands(pieces: Iterable[str], folded: str, *, short_words: bool) -> bool:
    """Whether any piece that counts occurs in a folded text and is not part of a longer number."""
    return any(
        _stands_alone(wanted, folded, short_words=short_words) for wanted in map(fold, pieces) if tells(wanted)
    )  # fmt: skip


def _stands_alone(wanted: str, folded: str, *, short_words: bool) -> bool:
    start = folded.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        here = folded[max(0, start - 1) : end + 1]
        counts = len(wanted) >= MIN_SUBSTR or piece_occurs([wanted], here, short_words=short_words)
        if counts and not is_inside(folded, start, end):
            return True
        start = folded.find(wanted, start + 1)
    return False


def is_inside(text: str, start: int, end: int) -> bool:
    """Whether a piece of a text begins or ends within a number.

    >>> is_inside("31,000 litres", 1, 13), is_inside("it is 1,000 litres", 6, 18), is_inside("at 22:15.", 3, 8)
    (True, False, False)
    """
    return _cuts(text, start) or _cuts(text, end)


def _cuts(text: str, at: int) -> bool:
    """Whether a place lies within a number: between two digits, or beside the sign that joins them."""
    before, after = text[at - 1 : at] if at else "", text[at : at + 1]
    if before.isdecimal() and after.isdecimal():
        return True
    signed = (before in _JOINS and bool(before)) or (after in _JOINS and bool(after))
    if not signed:
        return False
    low = max(0, at - _AROUND)
    for found in compiled(_NUMBER).finditer(text, low, at + _AROUND):
        if found.start() < at < found.end():
            return compiled(_DATED).fullmatch(found[0]) is None
    return False
