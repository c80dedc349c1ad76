"""Ids that differ only in form: `bucket-2` and `buckets#2`, a path and a file name, another case, a suffix.

Said of ids that should have met and did not; nothing is ever scored by it.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ragworthy.report.show import plural
from ragworthy.suites.unfound import LEAST, Absence, guessed

MOST_IDS = 200_000
"""Among more ids than this no pair is looked for."""
LONGEST = 300
"""Longer ids are texts: their forms are not looked at, which would take the square of their length."""
MOST_WORDS = 16
"""For more words than this, ids are not searched: to take them to pieces takes no longer."""
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_ENDINGS = frozenset(("md", "markdown", "html", "htm", "txt", "pdf", "json", "jsonl", "rst", "docx"))
Pieces = tuple[str, ...]


class Pair(NamedTuple):
    """Two ids that mean the same, as it seems."""

    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.one}, {self.other}"


def pieces_of(name: str) -> Pieces:
    """The words and numbers of an id, without what is only form.

    >>> pieces_of("bucket-2") == pieces_of("Buckets#02") == pieces_of("buckets.md#2")
    True
    >>> pieces_of("doc-1") == pieces_of("doc-2")
    False
    """
    found = [_form(piece) for piece in _PIECE.findall(name)]
    return tuple([form for form, ending in found if not ending] or [form for form, _ in found])


@lru_cache(maxsize=1 << 16)
def _form(piece: str) -> tuple[str, bool]:
    """A word or number without what is only form, and whether it is the ending of a file name."""
    form = piece.lstrip("0") or "0" if piece.isdigit() else piece.casefold()
    return form[:-1] if len(form) > 3 and form.endswith("s") else form, form in _ENDINGS


class Forms:
    """Some ids, to be asked for the one that another id means."""

    def __init__(self, names: Iterable[str]) -> None:
        self._all = [(name, pieces_of(name)) for name in names if len(name) <= LONGEST]
        self._whole: dict[Pieces, set[str]] = {}
        for name, pieces in self._all:
            _add(self._whole, pieces, name)
        # By how long they are, and made when one of that length is asked for: ids mostly have one form, and few are.
        self._ends: dict[int, dict[Pieces, set[str]]] = {}

    def _ends_like(self, wanted: Pieces) -> set[str]:
        """Ids that have more before or after these pieces."""
        length = len(wanted)
        if length not in self._ends:
            ends: dict[Pieces, set[str]] = {}
            for name, pieces in self._all:
                if len(pieces) > length:
                    _add(ends, pieces[-length:], name)  # a path or a prefix before it
                    if not any(piece.isdigit() for piece in pieces[length:]):
                        _add(ends, pieces[:length], name)  # a suffix without a number: that may name another chunk
            self._ends[length] = ends
        return self._ends[length].get(wanted, set())

    def meant(self, name: str) -> str | None:
        """The only id of which this one is another form; None where there is none, or more than one.

        >>> ids = Forms(["docs/buckets.md#2", "docs/buckets.md#3", "limits#1"])
        >>> ids.meant("bucket-2"), ids.meant("buckets"), ids.meant("limits.md#1"), ids.meant("2")
        ('docs/buckets.md#2', None, 'limits#1', None)
        """
        pieces = pieces_of(name) if len(name) <= LONGEST else ()
        if not pieces or not any(len(piece) > 1 and not piece.isdigit() for piece in pieces):
            return None
        found = self._whole.get(pieces) or self._ends_like(pieces) or self._longer(pieces)
        return next(iter(found)) if len(found) == 1 and name not in found else None

    def _longer(self, pieces: Pieces) -> set[str]:
        """Ids of which this one has more before or after them."""
        for cut in range(1, len(pieces)):
            if (found := self._whole.get(pieces[cut:])) and _telling(pieces[cut:]):
                return found
        for cut in range(len(pieces) - 1, 0, -1):
            rest = pieces[cut:]
            if (found := self._whole.get(pieces[:cut])) and not any(piece.isdigit() for piece in rest):
                return found if _telling(pieces[:cut]) else set()
        return set()


def _add(found: dict[Pieces, set[str]], pieces: Pieces, name: str) -> None:
    names = found.get(pieces)
    if names is None:
        found[pieces] = {name}
    else:
        names.add(name)


def _telling(pieces: Pieces) -> bool:
    return any(len(piece) > 1 and not piece.isdigit() for piece in pieces)


class Unseen(NamedTuple):
    """Gold ids that occur in no trace."""

    names: list[str]
    total: int
    """How many gold ids there are."""
    alike: Pair | None = None
    """A gold id, and the id in the traces that seems to be the same."""

    @property
    def all(self) -> bool:
        """Whether not one gold id was ever met, and that cannot be chance."""
        return len(self.names) == self.total >= LEAST

    @property
    def told(self) -> str:
        """How many, and which."""
        some = f"{len(self.names):,} of {plural(self.total, 'gold id')}"
        named = f"{some} {'occurs' if len(self.names) == 1 else 'occur'} in no trace, e.g. {', '.join(self.names[:3])}"
        if self.alike is not None:
            return f"{named}; ids differ in form: {self.alike}"
        low, cut = "ranked too low (raise k)", "re-chunked ('ragworthy gold bind' or 'ragworthy gold rebind')"
        first, second = (cut, low) if self.absence is Absence.DRIFT else (low, cut)
        return f"{named}; {first}, or {second}? --corpus tells which"

    @property
    def absence(self) -> Absence:
        """Whether they are in the index, as it seems."""
        return guessed(len(self.names), self.total)


def unseen(gold: Iterable[str], seen: set[str]) -> Unseen | None:
    """The gold ids that are in no trace, in the order of the gold set; None where all are, or nothing was retrieved."""
    wanted = list(dict.fromkeys(gold))
    lost = [name for name in wanted if name not in seen]
    if not lost or not seen:
        return None
    return Unseen(lost, len(wanted), alike(lost, seen))


def alike(names: Iterable[str], others: set[str]) -> Pair | None:
    """The first of some ids that is another form of one of the others."""
    if len(others) > MOST_IDS:
        return None
    wanted = list(names)
    forms = Forms(sorted(_perhaps(wanted, others)))
    return next((Pair(name, meant) for name in wanted if (meant := forms.meant(name)) is not None), None)


_DIGITS = "123456789"
"""The digits that two forms of an id share; zeros may be form."""
_OTHERS = str.maketrans("", "", "".join(chr(code) for code in range(128) if chr(code) not in _DIGITS))


def _digits(name: str) -> str:
    if name.isascii():
        return name.translate(_OTHERS)
    return "".join([one for one in name if one in _DIGITS])


def _perhaps(names: Iterable[str], others: Iterable[str]) -> list[str]:
    """Those ids of which one of the names may be another form: where one begins or ends as the other does, so do their
    digits. Far cheaper than taking every id to pieces; of names without digits, a word must be in the other id, too.
    """
    short = [name for name in names if len(name) <= LONGEST]
    wanted = {_digits(name) for name in short} - {""}
    lengths = sorted({len(one) for one in wanted})
    given = list(others)
    digits = list(map(_digits, given))
    there = set(digits)
    likely = {one for one in there if any([one[:cut] in wanted or one[-cut:] in wanted for cut in lengths])}
    for one in wanted:
        likely.update([part for cut in range(len(one) + 1) for part in (one[:cut], one[cut:]) if part in there])
    words = {piece for name in short if not _digits(name) for piece in pieces_of(name) if _telling((piece,))}
    if len(words) > MOST_WORDS:
        return given
    return [
        other
        for other, own in zip(given, digits, strict=True)
        if own in likely or (words and _has_one(other.casefold(), words))
    ]


def _has_one(text: str, words: Iterable[str]) -> bool:
    return any([word in text for word in words])
