"""The interval of a rate whose cases come in clusters: questions of one document are worth less than as many others."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ragworthy.paired.bounds import student
from ragworthy.stats import Interval, wilson_mean

Totals = Mapping[str, tuple[int | Fraction, int]]
"""By cluster: the sum of its values, and how many there are."""


def totals(values: Sequence[int | Fraction], clusters: Sequence[str]) -> dict[str, tuple[int | Fraction, int]]:
    """Sums and cases of each cluster.

    >>> totals([1, 0, 1], ["a", "a", "b"])
    {'a': (1, 2), 'b': (1, 1)}
    """
    found: dict[str, tuple[int | Fraction, int]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        total, cases = found.get(cluster, (0, 0))
        found[cluster] = total + value, cases + 1
    return found


def design_effect(found: Totals, *, unit: int = 1, cases: int | None = None) -> float:
    """How many times wider the variance is than that of as many cases without clusters; never below 1.

    [G/(G−1) · Σs_g²/n²] / [x̄(1−x̄)/n] with s_g the sum of what the cases of a cluster lie above the mean. Where every
    cluster is one case, where there is only one cluster, or all cases are alike, it is 1. `unit` is the greatest value
    of a case, so that sums can be whole numbers; `cases` is what it is held against, where some cases are repeated.

    >>> design_effect({"a": (2, 2), "b": (0, 2)}), design_effect({"a": (1, 1), "b": (0, 1)})
    (4.0, 1.0)
    >>> design_effect({"a": (6, 2), "b": (0, 2)}, unit=3, cases=2)
    2.0
    """
    count, weight = len(found), sum(size for _, size in found.values())
    whole = sum(total for total, _ in found.values())
    if count < 2 or count == weight or whole in (0, weight * unit):
        return 1.0
    mean = Fraction(whole) / (weight * unit)
    top, bottom = mean.numerator * unit, mean.denominator
    above = sum((total * bottom - top * size) ** 2 for total, size in found.values())  # integers where sums are
    spread = Fraction(count, count - 1) * above / (mean * (1 - mean) * (unit * bottom * weight) ** 2)
    return max(1.0, float(spread * (weight if cases is None else cases)))


def wilson_clustered(found: Totals, *, unit: int = 1, cases: int | None = None) -> Interval | None:
    """The 95 % Wilson interval with n / design effect cases, and t with G − 1 degrees for z; None without cases.

    Where every cluster is one case it is the plain one. One cluster of several cases says nothing of others: 0 to 1.
    `unit` and `cases` are those of `design_effect`; the interval is of the mean over `unit`.

    >>> [round(end, 3) for end in wilson_clustered({"a": (9, 10), "b": (6, 10), "c": (10, 10)})]
    [0.24, 0.987]
    """
    count, weight = len(found), sum(size for _, size in found.values())
    if weight == 0:
        return None
    mean = Fraction(sum(total for total, _ in found.values())) / (weight * unit)
    if count == weight:
        return wilson_mean(mean, weight)
    if count == 1:
        return Interval(0.0, 1.0)
    worth = (weight if cases is None else cases) / design_effect(found, unit=unit, cases=cases)
    z, share = student(0.975, count - 1), float(mean)
    centre = share + z * z / (2 * worth)
    spread = z * math.sqrt(share * (1 - share) / worth + z * z / (4 * worth * worth))
    scale = 1 + z * z / worth
    low = 0.0 if mean == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if mean == 1 else min(1.0, (centre + spread) / scale)
    return Interval(low, high)
