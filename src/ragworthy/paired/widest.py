"""The interval of a loss by the delta method, made as wide as it must be: the widest of all that are known.

Where changes cancel inside clusters, these vary less than their questions; where few clusters changed, the delta
method is too sure. design/paired.md has how often what misses.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.paired.bounds import ONE_SIDED, Loss, clustered, hull, lost, tango, tango_clustered
from ragworthy.stats import Interval

Words = Sequence[tuple[int | Fraction, int]]


def losses_of(old: Words, new: Words, clusters: Sequence[str]) -> tuple[Loss, Loss] | None:
    """The loss with what clusters pull at it, and with what questions do; None where a run has no case."""
    together, single = lost(old, new, clusters), lost(old, new, [str(nth) for nth in range(len(old))])
    return None if together is None or single is None else (together, single)


class Changes(NamedTuple):
    """What is known of a loss."""

    together: Loss
    single: Loss
    """The same of questions one by one."""
    cases: int
    unit: float
    """What the losses are to be multiplied with; negative where a rise is a loss."""
    flips: tuple[int, int] | None = None
    """How many questions are worse and better, where the words are yes or no and of the same cases."""
    highest: int | None = None
    """The greatest value there can be, where there is one."""

    def interval(self, level: float) -> Interval:
        """The interval of the loss; there must be two clusters, and something that pulls."""
        some = [
            clustered(one.residuals, self.cases, level, loss=float(one.loss))
            for one in (self.together, self.single)
            if one.pulled
        ]
        ends = hull([one for one in some if one is not None])
        low, high = sorted((ends.low * self.unit, ends.high * self.unit))
        found = [Interval(low, high)]
        if self.flips is not None and len(self.together.residuals) < self.cases:
            score = tango_clustered(*self.flips, self.cases, self.together.residuals, level)
            found += [tango(*self.flips, self.cases, level), *([] if score is None else [score])]
        return hull(found)

    def told(self, level: float) -> Interval:
        """The same for people: where questions share clusters it excludes no loss that `upper` does not exclude."""
        found, units = self.interval(level), len(self.together.residuals)
        if self.highest is None or units == self.cases:
            return found
        return Interval(found.low, max(found.high, tango(0, 0, units, level).high * self.highest))

    @property
    def upper(self) -> float:
        """The loss that is not excluded, one-sided at 95 %: no less than if nothing had changed in any cluster."""
        high = self.interval(ONE_SIDED).high
        return high if self.highest is None else max(high, still(len(self.together.residuals), self.highest))


def still(units: int, highest: int) -> float:
    """What may be lost although none of so many clusters changed: z² / (n + z²) of the greatest value.

    >>> round(still(12, 1), 3), round(still(100, 1), 4)
    (0.184, 0.0263)
    """
    return tango(0, 0, units).high * highest
