"""The ids of the questions of one part: in which row each is, and whether one comes twice."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import lt

FEW = 16
"""An index of all ids costs as much as finding about a tenth of them without one."""


class Ids:
    """Ids in the order of the gold set. Mostly they rise strictly: then none repeats, and few are found by halving. An
    index of half a million takes a tenth of a second, and one process would make it for the hundred traces at a cut.
    """

    def __init__(self) -> None:
        self.all: list[str] = []
        self.rising = True
        """Whether they have come in strictly rising order."""
        self.nameless = False
        """Whether one was empty before those that were taken in last."""
        self._index: dict[str, int] = {}
        self._indexed = 0
        self._asked = 0

    @property
    def index(self) -> dict[str, int]:
        """The row of each id; brought up to date only when it is asked for. Of repeated ids the last one counts."""
        if self._indexed < len(self.all):
            self._index.update(zip(self.all[self._indexed :], range(self._indexed, len(self.all)), strict=True))
            self._indexed = len(self.all)
        return self._index

    def enter(self, ids: Sequence[str]) -> int:
        """Take in more ids; tells how many of them repeat one."""
        last = self.all[-1] if self.all else ""
        self.rising = self.rising and all(map(lt, [last, *ids], ids))
        if self.rising:
            self.all += ids
            return 0
        before, self.nameless = len(self.index), "" in self.index
        self.all += ids
        return before + len(ids) - len(self.index)

    def finder(self, asked: int) -> Callable[[str | None], int | None]:
        """What tells the row of an id, for so many of them."""
        self._asked += asked
        few = self.rising and self._asked * FEW < len(self.all)
        return self._search if few else self.index.get  # type: ignore[return-value]  # None is never a key

    def _search(self, wanted: str | None) -> int | None:
        """The row of an id among those that rise."""
        if wanted is None:
            return None
        row = bisect_left(self.all, wanted)
        return row if row < len(self.all) and self.all[row] == wanted else None
