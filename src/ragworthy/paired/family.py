"""Many gates, one verdict: p-values and e-values of a family."""

import math
from collections.abc import Sequence
from fractions import Fraction


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: right whatever the gates have to do with each other.

    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03, 0.005, 0.2])]
    [0.04, 0.09, 0.09, 0.025, 0.2]
    """
    found, highest = [1.0] * len(ps), 0.0
    for nth, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        highest = max(highest, min(1.0, (len(ps) - nth) * ps[place]))
        found[place] = highest
    return found


def e_mean(es: Sequence[float]) -> float:
    """One e-value for "some of them": the mean, right whatever they have to do with each other. 1 of none.

    >>> e_mean([30.0, 0.0, 3.0])
    11.0
    """
    return float(sum(map(Fraction, es), Fraction(0)) / len(es)) if es else 1.0


def e_product(es: Sequence[float]) -> float:
    """One e-value from independent windows: the product. No larger than the largest float.

    >>> e_product([6.0, 0.5, 10.0])
    30.0
    """
    return min(math.prod(es), math.nextafter(math.inf, 0))


def e_holm(es: Sequence[float]) -> list[float]:
    """Adjusted e-values, in the order given: each may be compared with 1/α (Vovk & Wang 2021, algorithm 1).

    The smallest mean of any group that it belongs to: that of itself and some of the smallest.

    >>> e_holm([40.0, 1.0, 25.0])
    [20.5, 1.0, 13.0]
    """
    found = [1.0] * len(es)
    smaller: list[float] = []
    for place in sorted(range(len(es)), key=lambda place: es[place]):
        mean = least = es[place]
        for size, one in enumerate(smaller, start=2):
            mean += (one - mean) / size
            least = min(least, mean)
        found[place] = least
        smaller.append(es[place])
    return found
