"""A number that was measured, with everything that is needed to judge it."""

from fractions import Fraction
from typing import NamedTuple


class Value(NamedTuple):
    """A metric's value: a rate with numerator and denominator, a count, or the exact mean of `n` numbers."""

    num: int
    den: int | None
    undefined: str | None = None
    interval: tuple[float, float] | None = None
    better: str = "higher"
    cases: str = ""
    event: str = ""
    n: int | None = None
    counts: bool = True
    """Whether numerator and denominator count cases; those of a mean are only its exact value."""
    rate: bool = True
    """Whether it lies between 0 and 1 and needs as many cases as a rate does; percentiles do not."""
    pooled: tuple[int, int] | None = None
    """The same over all blocks at once, where that is another number."""
    top: int = 1
    """The greatest value there can be, where it needs as many cases as a rate does."""
    independent: int | None = None
    """How many cases are different ones, where some are repeated."""
    most: int | None = None
    """The greatest count there can be here: how many cases were looked at."""
    endless: bool = False
    """Whether it is undefined because it is worse than any number: something was spent and nothing came of it."""
    boundless: str = ""
    """Why it has no interval, where that is known."""
    deff: float | None = None
    """How many times wider clusters make the variance, where some questions share one."""
    clusters: int | None = None
    """How many clusters its questions are of, where some share one."""
    homeless: int = 0
    """How many cases have no known document while other questions have one, where these are a tenth or more."""
    doubtful: tuple[float, float] | None = None
    """Its interval then, if such cases went together as much as those of documents do."""

    @property
    def size(self) -> int | None:
        """How many cases the value rests on, repeated ones counted once; None for a count."""
        if self.independent is not None:
            return self.independent
        return self.n if self.n is not None else self.den

    @property
    def exact(self) -> Fraction | None:
        """The number itself; None when it is undefined."""
        if self.undefined is not None:
            return None
        return Fraction(self.num) if self.den is None else Fraction(self.num, self.den)
