"""How clumpy traffic is: by how much means of some minutes vary more than independent records would.

Questions come in sessions and by topics, so neighbours are alike. A detector that takes them as independent sees false
drops. The dispersion D is the variance of sums over blocks of minutes, divided by what independence would
give; the largest over several lengths counts. Evidence is then taken to the power 1 / D, and a baseline of n records
counts as n / D. For sums that are nearly normal this gives back just what the clumps took.
"""

from collections.abc import Mapping, Sequence
from typing import Any

LENGTHS = (1, 4, 15, 60)
"""Minutes of a block."""
_ENOUGH = 12
"""Blocks below which nothing is said."""


class _Blocks:
    """Sums over blocks of one length: their number, and the sums of n, n², S, S·n and S²; then the open block."""

    __slots__ = ("length", "open", "sums")

    def __init__(self, length: int, state: Sequence[Sequence[float]] | None = None) -> None:
        self.length = length
        self.sums: list[float] = list(state[0]) if state else [0.0] * 6
        self.open: list[float] = list(state[1]) if state else [0, 0, 0.0]

    def add(self, at: int, cases: int, total: float) -> None:
        place = -(-at // self.length)
        if place != self.open[0]:
            self.close()
            self.open[0] = place
        self.open[1] += cases
        self.open[2] += total

    def close(self) -> None:
        _, cases, total = self.open
        if cases:
            more = (1, cases, cases * cases, total, total * cases, total * total)
            self.sums = [before + one for before, one in zip(self.sums, more, strict=True)]
        self.open = [0, 0, 0.0]

    def dispersion(self, variance: float) -> float:
        """Of the closed blocks, given the variance of a single record."""
        blocks, cases, squares, total, crossed, totals = self.sums
        if blocks < _ENOUGH or variance <= 0:
            return 1.0
        mean = total / cases
        varied = totals - 2 * mean * crossed + mean * mean * squares
        # The mean comes from the same blocks, which takes away about one of them.
        return varied / (variance * cases * (1 - squares / (cases * cases)))


class Dispersion:
    """The dispersion of one number of live traffic, minute by minute."""

    __slots__ = ("_blocks", "_cases", "_squares", "_total")

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        sums: Sequence[float] = state["sums"] if state else (0, 0.0, 0.0)
        self._cases, self._total, self._squares = sums
        blocks = state["blocks"] if state else [None] * len(LENGTHS)
        self._blocks = [_Blocks(length, one) for length, one in zip(LENGTHS, blocks, strict=True)]

    def add(self, at: int, cases: int, total: float, squares: float) -> None:
        """A minute: how many numbers between 0 and 1, their sum and the sum of their squares."""
        if cases:
            self._cases, self._total, self._squares = self._cases + cases, self._total + total, self._squares + squares
            for blocks in self._blocks:
                blocks.add(at, cases, total)

    def value(self) -> float:
        """The largest over the lengths, and at least 1.

        >>> alike = Dispersion()
        >>> for at in range(1, 100): alike.add(at, 10, 10.0 * (at % 2), 10.0 * (at % 2))
        >>> alike.value()  # ten records of a minute say the same: they count as one
        10.1
        """
        if not self._cases:
            return 1.0
        mean = self._total / self._cases
        variance = self._squares / self._cases - mean * mean
        return round(max(1.0, *(blocks.dispersion(variance) for blocks in self._blocks)), 2)

    def state(self) -> dict[str, Any]:
        """All it knows, as plain values."""
        return {
            "sums": [self._cases, self._total, self._squares],
            "blocks": [[blocks.sums, blocks.open] for blocks in self._blocks],
        }
