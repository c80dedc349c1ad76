"""The interval of a loss whose questions share clusters: the widest of those that are known, as each misses somewhere.

Where changes cancel inside of clusters these vary less than their questions; where few clusters changed the delta method
is too sure. design/paired.md has how often what misses.
"""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.paired.bounds import ONE_SIDED, Loss, clustered, hull, lost, tango, tango_clustered, weighted
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
    weights: Collection[float] = ()
    """What each cluster lost, in the unit of the metric for `cases` questions; none where it cannot be so counted."""
    flips: tuple[int, int] | None = None
    """How many questions are worse and better, where the words are yes or no and of the same cases."""

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
        if len(self.together.residuals) == self.cases:  # no two questions share a cluster
            return found[0]
        if self.flips is not None:
            score = tango_clustered(*self.flips, self.cases, self.together.residuals, level)
            found += [tango(*self.flips, self.cases, level), *([] if score is None else [score])]
        return hull(found)

    @property
    def upper(self) -> float:
        """The loss that is not excluded, one-sided at 95 %; it holds where few clusters changed, too."""
        high = self.interval(ONE_SIDED).high
        if not self.weights or len(self.together.residuals) == self.cases:
            return high
        return max(high, weighted(self.weights, self.cases).high)
