"""Percentiles as the sources' own harness prints them: floating point, cut to a whole number, 0 for no samples."""

import math
from collections.abc import Sequence


def percentile(values: Sequence[float], percent: int) -> int:
    """The percentile of a list, truncated.

    >>> [percentile([100, 200, 300, 400], p) for p in (50, 90, 95, 99)], percentile([], 95)
    ([250, 370, 385, 396], 0)
    """
    if not values:
        return 0
    ordered = sorted(values)
    position = (len(ordered) - 1) * (percent / 100)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    if below == above:
        return int(ordered[below])
    return int(ordered[below] * (above - position) + ordered[above] * (position - below))
