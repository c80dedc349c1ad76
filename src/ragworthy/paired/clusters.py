"""The interval of a rate whose cases come in clusters: questions of one document are worth less than as many others."""

import math
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

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


SEVERAL = 3
"""So many good questions of a cluster that all are bad now are not chance: one or two may be."""
Parts = Sequence[tuple[int, int]]


def felled(old: Parts, new: Parts, clusters: Sequence[str], good: tuple[int, int]) -> tuple[tuple[str, int], ...]:
    """Clusters in which several questions were good, and none is now, with how many; the largest first.

    >>> felled([(1, 1)] * 4, [(0, 1)] * 3 + [(1, 1)], ["a", "a", "a", "b"], (1, 1))
    (('a', 3),)
    """
    if not {*old, *new} <= {(0, 0), (0, 1), (1, 1)}:
        return ()
    both = list(zip(old, new, clusters, strict=True))
    before = Counter(cluster for one, _, cluster in both if one == good)
    after = {cluster for _, one, cluster in both if one == good}
    fell = [(name, count) for name, count in before.items() if count >= SEVERAL and name not in after]
    return tuple(sorted(fell, key=lambda one: -one[1]))


def mean_square(moved: Sequence[int], scale: int) -> float:
    """The mean square of changes, `scale` being twice their unit for all questions together."""
    return float(4 * Fraction(len(moved) * sum(one * one for one in moved), scale * scale)) if scale else 0.0


def swap_effect(moved: Sequence[int], column: Mapping[str, int]) -> float:
    """How much larger the variance of the swaps is than if each question were swapped by itself."""
    squares = sum(one * one for one in moved)
    return max(1.0, sum(one * one for one in column.values()) / squares) if squares else 1.0


class Spread(NamedTuple):
    """The variance of a mean over clusters."""

    variance: Fraction
    degrees: int
    """Its degrees of freedom, Satterthwaite's cut to a whole number; without strata one less than there are clusters.
    """


Alike = Mapping[tuple[int | Fraction, int, bool], int]
"""How many clusters have the same sum and the same number of cases, and stand apart or do not: a variance depends on
nothing else, and thousands of documents are a few dozen different ones.
"""


def alike(found: Totals, apart: Container[str] = ()) -> Alike:
    """Clusters of which nobody needs to know the names.

    >>> dict(alike({"a": (1, 2), "b": (1, 2), "q7": (1, 1)}, apart={"q7"}))
    {(1, 2, False): 2, (1, 1, True): 1}
    """
    return Counter((total, size, name in apart) for name, (total, size) in found.items())


def spread(found: Alike, *, unit: int = 1) -> Spread:
    """G/(G−1) · Σs_g²/n², with s_g the sum of what the cases of a cluster lie above the mean.

    Clusters of two kinds whose numbers somebody chose, questions about documents and unanswerable ones that are about
    none, are two strata: those of one stand `apart`. What lies between strata is not chance, so each has the mean of
    its own s_g taken off. A stratum of one cluster is none.

    >>> spread(alike({"a": (2, 2), "b": (0, 2)}))
    Spread(variance=Fraction(1, 4), degrees=1)
    """
    weight, whole = _sums(found)
    mean = Fraction(whole) / (weight * unit)
    top, bottom = mean.numerator * unit, mean.denominator
    parts: tuple[list[tuple[Any, int]], list[tuple[Any, int]]] = ([], [])
    for (total, size, apart), count in found.items():
        parts[apart].append((total * bottom - top * size, count))  # integers where sums are
    strata = parts if min(map(_how_many, parts)) > 1 else [[*parts[0], *parts[1]]]
    variances = [
        Fraction(
            _how_many(one) * sum([count * value * value for value, count in one])
            - sum([count * value for value, count in one]) ** 2,
            _how_many(one) - 1,
        )
        / (unit * bottom * weight) ** 2
        for one in strata
    ]
    variance = sum(variances, Fraction(0))
    shares = sum(part * part / (_how_many(one) - 1) for part, one in zip(variances, strata, strict=True))
    return Spread(variance, int(variance * variance / shares) if shares else sum(found.values()) - 1)


def _how_many(clusters: list[tuple[Any, int]]) -> int:
    return sum([count for _, count in clusters])


def _sums(found: Alike) -> tuple[int, int | Fraction]:
    """Of all clusters the number of cases and the sum."""
    weight = sum([size * count for (_, size, _), count in found.items()])
    return weight, sum([total * count for (total, _, _), count in found.items()])


def design_effect(found: Alike, *, unit: int = 1, cases: int | None = None) -> float:
    """How many times wider the variance is than that of as many cases without clusters; never below 1.

    The `spread` over x̄(1−x̄)/n. Where every cluster is one case, where there is only one cluster, or all cases are
    alike, it is 1. `unit` is the greatest value of a case, so that sums can be whole numbers; `cases` is what it is
    compared with, where some cases are repeated.

    >>> design_effect(alike({"a": (2, 2), "b": (0, 2)})), design_effect(alike({"a": (1, 1), "b": (0, 1)}))
    (4.0, 1.0)
    >>> design_effect(alike({"a": (6, 2), "b": (0, 2)}), unit=3, cases=2)
    2.0
    """
    return _effect(found, unit, cases, lambda: spread(found, unit=unit))


def _effect(found: Alike, unit: int, cases: int | None, how: Callable[[], Spread]) -> float:
    """The design effect from the spread, which is worked out where it counts."""
    weight, whole = _sums(found)
    clusters = sum(found.values())
    if clusters < 2 or clusters == weight or whole in (0, weight * unit):
        return 1.0
    mean = Fraction(whole) / (weight * unit)
    plain = mean * (1 - mean) / (weight if cases is None else cases)
    return max(1.0, float(how().variance / plain))


def wilson_clustered(
    found: Totals, *, unit: int = 1, cases: int | None = None, apart: Container[str] = ()
) -> Interval | None:
    """The 95 % Wilson interval with n / design effect cases, and t with G − 1 degrees for z; None without cases.

    Where every cluster is one case it is the plain one. One cluster of several cases says nothing of others: 0 to 1.
    `unit` and `cases` are those of `design_effect`, `apart` is that of `alike`; the interval is of the mean over
    `unit`.

    >>> [round(end, 3) for end in wilson_clustered({"a": (9, 10), "b": (6, 10), "c": (10, 10)})]
    [0.24, 0.987]
    """
    return clustered(alike(found, apart), unit=unit, cases=cases).interval


class Clustered(NamedTuple):
    """The interval of a mean over clusters, and the design effect in it."""

    interval: Interval | None
    deff: float


def clustered(found: Alike, *, unit: int = 1, cases: int | None = None) -> Clustered:
    """`wilson_clustered` and `design_effect` together: the spread, which takes longest, is worked out once."""
    count = sum(found.values())
    weight, whole = _sums(found)
    if weight == 0:
        return Clustered(None, 1.0)
    mean = Fraction(whole) / (weight * unit)
    if count == weight:
        return Clustered(wilson_mean(mean, weight), 1.0)
    if count == 1:
        return Clustered(Interval(0.0, 1.0), 1.0)
    how = spread(found, unit=unit)
    deff = _effect(found, unit, cases, lambda: how)
    return Clustered(wilson_worth(mean, (weight if cases is None else cases) / deff, how.degrees), deff)


def wilson_worth(mean: Fraction, worth: float, degrees: int) -> Interval:
    """The same for so many cases as the clusters are worth, and so many degrees."""
    z, share = student(0.975, degrees), float(mean)
    centre = share + z * z / (2 * worth)
    margin = z * math.sqrt(share * (1 - share) / worth + z * z / (4 * worth * worth))
    scale = 1 + z * z / worth
    low = 0.0 if mean == 0 else max(0.0, (centre - margin) / scale)
    high = 1.0 if mean == 1 else min(1.0, (centre + margin) / scale)
    return Interval(low, high)
