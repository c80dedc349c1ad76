"""Has a percentile risen by more than it may? Then the new run has more than its share of the largest values.

The new values are made smaller by what is allowed, both runs are pooled, and the largest are counted: those from the
P-th percent of the pool on, equal values together. With "no more than allowed" it is chance whose they are. Where lower
values are worse, negate both runs.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Tops(NamedTuple):
    """Which values of either run are among the largest of both."""

    old: tuple[bool, ...]
    new: tuple[bool, ...]

    @property
    def words(self) -> tuple[int, ...]:
        """One for each question, for the swaps: 1 where only the new value is among the largest, −1 only the old one.

        >>> Tops((True, False, False), (False, True, False)).words
        (-1, 1, 0)
        """
        return tuple(new - old for old, new in zip(self.old, self.new, strict=True))

    @property
    def p(self) -> float:
        """The chance that the new run has so many of them, or more: hypergeometric, exact, as if runs were not paired.

        >>> Tops((False,) * 5, (True,) * 3 + (False,) * 2).p == 10 / 120
        True
        """
        total, marked = len(self.old) + len(self.new), sum(self.old) + sum(self.new)
        return hypergeometric(sum(self.new), total, marked, len(self.new))


def tops(
    old: Sequence[Fraction],
    new: Sequence[Fraction],
    percent: int,
    *,
    ratio: Fraction | None = None,
    shift: Fraction | None = None,
) -> Tops:
    """Which values are among the largest (100 − percent) % of both runs.

    `ratio` is by how much the percentile may rise as a share (3/20: 15 %), `shift` by how much in its own unit.

    >>> tops([Fraction(1), Fraction(2)], [Fraction(1), Fraction(9)], 75)
    Tops(old=(False, False), new=(False, True))
    """
    if not 0 < percent < 100:
        raise ValueError(f"a percentile between 0 and 100, not {percent}")
    if ratio is not None and (ratio <= -1 or shift is not None):
        raise ValueError("a ratio above −1, or a shift, not both")
    if ratio is not None:
        new = [value / (1 + ratio) for value in new]
    elif shift is not None:
        new = [value - shift for value in new]
    pool = sorted([*old, *new])
    if not pool:
        return Tops((), ())
    largest = max(1, math.ceil(Fraction(100 - percent, 100) * len(pool)))
    cut = pool[-largest]
    return Tops(tuple(value >= cut for value in old), tuple(value >= cut for value in new))


def hypergeometric(seen: int, total: int, marked: int, drawn: int) -> float:
    """The chance that at least so many are marked among those drawn, without putting back. Integers, one division.

    >>> hypergeometric(3, 10, 3, 5) == 10 / 120
    True
    """
    low, high = max(seen, 0, marked + drawn - total), min(marked, drawn)
    if low > high:
        return 0.0
    whole = term = math.comb(marked, low) * math.comb(total - marked, drawn - low)
    for k in range(low, high):
        term = term * (marked - k) * (drawn - k) // ((k + 1) * (total - marked - drawn + k + 1))
        whole += term
    return whole / math.comb(total, drawn)
