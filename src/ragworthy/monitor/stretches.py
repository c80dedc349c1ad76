"""Whether so much of a log was late or from the future that nothing can be said of it.

Counted are the records of a log in stretches of a thousand in a row, and all that a run reads. A monitor that looks at
the rest alone would say "nothing fires" where it saw nothing.
"""

from fractions import Fraction
from typing import Any, NamedTuple

STRETCH = 1000
"""So many records of a log in a row are looked at together."""
LEAST = 200
"""With fewer records there is no share: no rule has enough of them either."""
MOST = Fraction(2, 5)
"""Above this share nothing can be said. One wrong clock of two or three is well away: chance decides nothing."""


class Blind(NamedTuple):
    """Records of which too many could not be judged."""

    first: str
    """Where the first one is that was not."""
    missed: int
    records: int

    @property
    def share(self) -> Fraction:
        """How many of them were not judged."""
        return Fraction(self.missed, self.records)


class Stretch:
    """Records in a row, and how many of them could not be judged."""

    __slots__ = ("first", "looked", "missed")

    def __init__(self, looked: int = 0, missed: int = 0, first: str = "") -> None:
        self.looked = looked
        self.missed = missed
        self.first = first

    def miss(self, place: str) -> None:
        """One of them could not be judged."""
        self.missed += 1
        self.first = self.first or place

    @property
    def blind(self) -> Blind | None:
        """Whether too many could not be judged; None where that is not so."""
        if self.looked < LEAST or self.missed <= MOST * self.looked:
            return None
        return Blind(self.first, min(self.missed, self.looked), self.looked)

    def state(self) -> list[Any]:
        """As plain values."""
        return [self.looked, self.missed, self.first]


class Run:
    """What one run reads of all logs; never kept, since the next one answers for what it reads itself."""

    def __init__(self) -> None:
        self._all = Stretch()
        self._going: dict[int, Stretch] = {}
        """The stretches that have not ended."""
        self._worst: Blind | None = None
        """Of those that have."""

    def look(self, stretch: Stretch) -> None:
        """One more record of a log."""
        if stretch.looked >= STRETCH:
            if self._going.pop(id(stretch), None) is not None:  # otherwise an earlier run has told it
                self._worst = _worse(self._worst, stretch.blind)
            stretch.looked, stretch.missed, stretch.first = 0, 0, ""
        stretch.looked += 1
        self._all.looked += 1

    def miss(self, stretch: Stretch, place: str) -> None:
        """A record of a log could not be judged."""
        stretch.miss(place)
        self._all.miss(place)
        self._going[id(stretch)] = stretch

    @property
    def blind(self) -> Blind | None:
        """All records of the run, or the stretch of which the least could be judged, where that is too little."""
        found = self._worst
        for stretch in self._going.values():
            found = _worse(found, stretch.blind)
        return self._all.blind or found


def _worse(one: Blind | None, other: Blind | None) -> Blind | None:
    if one is None or other is None:
        return one or other
    return other if other.share > one.share else one
