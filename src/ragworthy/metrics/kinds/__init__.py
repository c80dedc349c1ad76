"""How one field of a structured answer is compared with what is expected: a class for each kind of field.

A kind says what its settings are (the keys of a definition), what is wrong with a value, what a value is worth between
0 and 1, and, for people, what matched what. To add one, write its class and put it into KINDS.
"""

from ragworthy.metrics.kinds.base import Detail, Kind, Match
from ragworthy.metrics.kinds.grounding import Grounding
from ragworthy.metrics.kinds.texts import Keywords, Label, Listed
from ragworthy.metrics.kinds.values import Boolean, Date, Enum, Number

__all__ = ["COUNTS", "KINDS", "Detail", "Kind", "Match"]

KINDS: dict[str, type[Kind]] = {
    "label": Label,
    "list": Listed,
    "keywords": Keywords,
    "grounding": Grounding,
    "number": Number,
    "date": Date,
    "enum": Enum,
    "boolean": Boolean,
}

COUNTS: dict[str, tuple[str, ...]] = {
    "list": ("matched", "expected", "got"),
    "keywords": ("hits", "length"),
    "grounding": ("ok_refs", "total_refs"),
}
"""What the counts of a match are called, by kind."""
