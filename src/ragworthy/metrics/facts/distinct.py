"""Columns for millions of rows: numbers side by side, and values of which many are equal, each different one once."""

import sys
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from ragworthy.records import Ints

Value = TypeVar("Value", bound=Hashable)


class Distinct(Generic[Value]):
    """A column of values; equal ones are kept once, and every row has the place of its value.

    >>> column = Distinct(["a", "b", "a"])
    >>> column.values, list(column.at), column[2], len(column)
    (['a', 'b'], [0, 1, 0], 'a', 3)
    """

    __slots__ = ("_places", "at", "values")

    def __init__(self, rows: Iterable[Value] = ()) -> None:
        self.values: list[Value] = []
        self.at: Ints = array("I")
        self._places: dict[Value, int] = {}
        for value in rows:
            self.append(value)

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, row: int) -> Value:
        return self.values[self.at[row]]

    def append(self, value: Value) -> None:
        """One more row."""
        self.at.append(self.place(value))

    def place(self, value: Value) -> int:
        """The place of a value, new or not."""
        place = self._places.setdefault(value, len(self.values))
        if place == len(self.values):
            self.values.append(value)
        return place

    def extend(self, values: Iterable[Value], at: Iterable[int]) -> None:
        """The rows of another such column below these."""
        places = [self.place(value) for value in values]
        self.at.extend(map(places.__getitem__, at))


def pairs_of(values: Iterable[Value]) -> Iterator[tuple[Value, Value, int]]:
    """Every pair of some values, equal pairs once with their number.

    >>> list(pairs_of("aba"))
    [('a', 'a', 1), ('a', 'b', 2)]
    """
    counts = list(Counter(values).items())
    for nth, (one, many) in enumerate(counts):
        if many > 1:
            yield one, one, many * (many - 1) // 2
        yield from ((one, other, many * more) for other, more in counts[nth + 1 :])


def packed(column: "array[int] | array[float]") -> bytes:
    """A column of numbers as bytes, the same on every machine.

    >>> packed(array("I", [1, 256]))
    b'\\x01\\x00\\x00\\x00\\x00\\x01\\x00\\x00'
    """
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()


def ints(kind: str, data: bytes) -> Ints:
    """The whole numbers of a column that was packed; a ValueError where there are some bytes too many."""
    column: Ints = array(kind)
    column.frombytes(data)
    if sys.byteorder == "big":
        column.byteswap()
    return column


def floats(data: bytes) -> "array[float]":
    """The same of numbers with a point."""
    column: array[float] = array("d")
    column.frombytes(data)
    if sys.byteorder == "big":
        column.byteswap()
    return column
