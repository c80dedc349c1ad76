"""By how much may a percentile have risen? By as much as the test of `percentiles` does not exclude.

The new values are taken back by a rise. Were it the true one, it would be chance whose the largest values of both runs
are; where so few of them are new that swaps of whole clusters seldom leave as few, the true rise is smaller. A larger
rise leaves fewer still, so the least one that is excluded is found by halving. Larger values are worse; else negate
both runs.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ragworthy.stats import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEPS = 1000
"""A rise is looked for in thousandths of the percentile before."""
FARTHEST = 1000 * STEPS
"""No rise is looked for beyond a thousand times that."""
SUMMED, LARGEST = 200, 100_000
"""Up to so many changed clusters every sum is gone through, where no sum is larger; else they are taken as normal."""
FEW = 14
"""Up to so many clusters all signs are gone through, whatever the sums."""
FINEST = 10**6
"""Runs of a question weigh no finer shares than this, however different their numbers are."""


class Runs(NamedTuple):
    """The values of the questions that both runs have, all runs of a question together."""

    old: Sequence[Sequence[float]]
    new: Sequence[Sequence[float]]
    clusters: Sequence[str]


def rise(runs: Runs, percent: int, before: float, chance: float, *, share: bool = False) -> float | None:
    """The least rise that is excluded, in the unit of the values; None where none is.

    `before` is the percentile of the old run, `chance` how often a true rise may be excluded. With `share`, all values
    are taken to rise by the same share, else by the same amount.

    >>> times = [[float(n)] for n in range(1, 201)]
    >>> runs = Runs(times, [[1.5 * n] for [n] in times], [str(nth) for nth in range(200)])
    >>> round(rise(runs, 95, 190.05, 0.05, share=True) / 190.05, 2)
    0.54
    """
    if not before:
        return None
    moved = _moved(runs, percent)
    low, high = -FARTHEST, FARTHEST
    if share:  # nothing can fall by more than all of it
        low, high = (1 - STEPS, FARTHEST) if before > 0 else (-FARTHEST, STEPS - 1)

    def excluded(steps: int) -> bool:
        part = steps / STEPS
        turned = (1 + math.copysign(1, before) * part, 0.0) if share else (1.0, part * abs(before))
        return seldom(-moved(*turned)) <= chance

    return _first(excluded, low, high) * abs(before) / STEPS if excluded(high) else None


def between(runs: Runs, percent: int, before: float, level: float) -> Interval | None:
    """The interval of the rise, as an amount; None where one of its ends is not known.

    >>> times = [[float(n)] for n in range(1, 201)]
    >>> found = between(Runs(times, [[n + 50] for [n] in times], [str(nth) for nth in range(200)]), 95, 190.05, 0.95)
    >>> [round(one) for one in found]
    [45, 55]
    """
    if not before:
        return None
    moved, chance = _moved(runs, percent), (1 - level) / 2

    def excluded(steps: int) -> bool:
        return seldom(-moved(1.0, steps * abs(before) / STEPS)) <= chance

    def possible(steps: int) -> bool:
        return seldom(moved(1.0, steps * abs(before) / STEPS)) > chance

    if not excluded(FARTHEST) or possible(-FARTHEST):
        return None
    ends = _first(possible, -FARTHEST, FARTHEST) - 1, _first(excluded, -FARTHEST, FARTHEST)
    return Interval(*(end * abs(before) / STEPS for end in ends))


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least number up to `high`, where it holds, from which on something holds."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _moved(runs: Runs, percent: int) -> "Callable[[float, float], NDArray[np.int64]]":
    """How many more of the largest values each cluster has in the new run, when that is divided and made smaller."""
    import numpy as np

    scale = min(math.lcm(*{len(some) for some in (*runs.old, *runs.new)}), FINEST)
    places = {name: nth for nth, name in enumerate(dict.fromkeys(runs.clusters))}
    sides = []
    for side in (runs.old, runs.new):
        lengths = [len(some) for some in side]
        values = np.array([value for some in side for value in some])
        of = np.repeat([places[name] for name in runs.clusters], lengths)
        sides.append((values, of, np.repeat([scale // length for length in lengths], lengths)))
    (old, *_), (new, *_) = sides
    below = len(old) + len(new) - max(1, math.ceil((100 - percent) * (len(old) + len(new)) / 100))

    def moved(divisor: float, less: float) -> "NDArray[np.int64]":
        shown = (old, new / divisor - less)
        cut = np.partition(np.concatenate(shown), below)[below]
        before, after = (
            np.bincount(of, weights * (values >= cut), len(places))
            for values, (_, of, weights) in zip(shown, sides, strict=True)
        )
        return (after - before).astype(np.int64)

    return moved


def seldom(moved: "NDArray[np.int64]") -> float:
    """How often random signs give at least the sum of these numbers; 1 where it is not above 0.

    >>> import numpy as np
    >>> seldom(np.array([1] * 10 + [-1] * 3)) == 378 / 8192
    True
    """
    import numpy as np

    seen = int(moved.sum())
    sizes = np.sort(np.abs(moved[moved != 0]))
    if seen <= 0:
        return 1.0
    step = int(np.gcd.reduce(sizes))
    sizes, seen = sizes // step, seen // step
    total = int(sizes.sum())
    if len(sizes) <= FEW:
        sums = np.zeros(1, np.int64)
        for size in sizes:
            sums = np.concatenate((sums + size, sums - size))
        return float((sums >= seen).mean())
    if len(sizes) > SUMMED or total > LARGEST:
        return 0.5 * math.erfc((seen - 1) / math.sqrt(2 * float((sizes.astype(np.float64) ** 2).sum())))
    ways = np.zeros(total + 1)  # by the sum of those that are positive
    ways[0] = 1.0
    for size in sizes.tolist():
        turned = np.zeros_like(ways)
        turned[size:] = ways[: total + 1 - size]
        ways = (ways + turned) / 2
    return float(math.fsum(ways[(total + seen + 1) // 2 :]))
