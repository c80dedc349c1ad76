"""Gold evidence that was not retrieved: whether the index has it, and where to look then."""

from collections.abc import Collection, Iterable
from enum import Enum

LEAST = 5
"""Of fewer gold ids all may be missing by chance."""


class Absence(Enum):
    """What is known of evidence that was not retrieved."""

    RANKED = "the corpus has it"
    OPEN = "nobody knows, and little is absent: the index has it, as a rule"
    DRIFT = "nobody knows, and nearly everything is absent: it was cut or indexed in another way, as a rule"


_LOOK = {
    Absence.RANKED: "raise k, or look at the search and its ranking (the corpus has it)",
    Absence.OPEN: "raise k, or look at the search and its ranking, then for index or manifest drift",
    Absence.DRIFT: "look for index or manifest drift, then at the search and its ranking",
}


def unfound(absence: Absence) -> str:
    """Where to look, the likelier cause first."""
    return _LOOK[absence]


def nearly_all(absent: int, total: int) -> bool:
    """Whether so much of the evidence is absent that depth and ranking do not explain it: nine of ten.

    >>> nearly_all(9, 10), nearly_all(8, 10), nearly_all(4, 4)
    (True, False, False)
    """
    return total >= LEAST and 10 * absent >= 9 * total


def absence_of(wanted: Iterable[str], seen: Collection[str]) -> Absence:
    """The same of gold ids, compared with all ids that were retrieved: what was found for another question is there."""
    ids = set(wanted)
    absent = ids.difference(seen)
    return guessed(len(absent), len(ids)) if absent or not ids else Absence.RANKED


def guessed(absent: int, total: int) -> Absence:
    """What is likelier where it cannot be known."""
    return Absence.DRIFT if nearly_all(absent, total) else Absence.OPEN
