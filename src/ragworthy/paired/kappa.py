"""Numbers of all items at once, such as Cohen's κ: how sure they are, and what each item contributes (jackknife)."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

from ragworthy.paired.bounds import student
from ragworthy.stats import Interval, wilson

Item = TypeVar("Item", bound=Hashable)

SCALE = 1_000_000_000
"""Pseudo-values are whole numbers of billionths: fractions with the denominators of every item would not fit."""


class Jackknifed(NamedTuple):
    """A number of all items, and what leaving each of them out does to it."""

    value: Fraction
    error: float
    """Its standard error."""
    interval: Interval
    """95 %, t with n − 1 degrees."""
    pseudo: tuple[int, ...]
    """What each item contributes, n·value − (n − 1)·value without it, times SCALE: the mean is nearly the value."""


def cohen(counts: Mapping[tuple[str, str], int]) -> Fraction | None:
    """Cohen's κ from how often each pair of labels occurs; None where both raters know one label only.

    >>> cohen({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15})
    Fraction(2, 5)
    """
    total = sum(counts.values())
    first: Counter[str] = Counter()
    second: Counter[str] = Counter()
    for (one, other), count in counts.items():
        first[one] += count
        second[other] += count
    by_chance = sum(count * second[label] for label, count in first.items())  # times total²
    if by_chance == total * total:
        return None
    agreed = sum(count for (one, other), count in counts.items() if one == other)
    return Fraction(agreed * total - by_chance, total * total - by_chance)


def jackknife(items: Sequence[Item], of: Callable[[Mapping[Item, int]], Fraction | None]) -> Jackknifed | None:
    """The number with its error; `of` gets how often each different item occurs.

    SE² = (n − 1)/n · Σ(value without i − their mean)². None with fewer than two items, and where the number has no
    value, of all items or without one of them. Equal items are worked out once, so
    that the time grows with the different ones.

    >>> found = jackknife([("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15, cohen)
    >>> str(found.value), round(found.error, 4), [round(end, 3) for end in found.interval]
    ('2/5', 0.1299, [0.139, 0.661])
    """
    counts, size = Counter(items), len(items)
    value = of(counts) if size >= 2 else None
    if value is None:
        return None
    without: dict[Item, Fraction] = {}
    for item in counts:
        left = of({other: count - (other == item) for other, count in counts.items() if count > (other == item)})
        if left is None:
            return None
        without[item] = left
    mean = sum((without[item] * count for item, count in counts.items()), Fraction(0)) / size
    spread = sum(((without[item] - mean) ** 2 * count for item, count in counts.items()), Fraction(0))
    error = math.sqrt(spread * (size - 1) / size)
    half = student(0.975, size - 1) * error
    pseudo = {item: round((size * value - (size - 1) * left) * SCALE) for item, left in without.items()}
    return Jackknifed(
        value,
        error,
        Interval(max(-1.0, float(value) - half), min(1.0, float(value) + half)),
        tuple(pseudo[item] for item in items),
    )


def interval(items: Sequence[tuple[str, str]]) -> Interval | None:
    """The 95 % interval of Cohen's κ: the jackknife's, and never less than how often they agree leaves open.

    The jackknife knows only what it sees: with few disagreements, or none, it is far too narrow. So both ends of
    Wilson's interval of the agreement count too, each as κ = (p − chance) / (1 − chance) with the chance that was seen.
    It is taken whatever the number of disagreements, or one more of them could make the interval narrower.

    >>> [round(end, 3) for end in interval([("a", "a"), ("b", "b")] * 2)]  # Wilson: 0.51, chance: 0.5
    [0.02, 1.0]
    """
    found = jackknife(items, cohen)
    shares = wilson(sum(one == other for one, other in items), len(items))
    if found is None or shares is None:
        return None
    firsts, seconds = Counter(one for one, _ in items), Counter(other for _, other in items)
    chance = sum(count * seconds[label] for label, count in firsts.items()) / len(items) ** 2
    low, high = ((share - chance) / (1 - chance) for share in shares)
    return Interval(max(-1.0, min(found.interval.low, low)), min(1.0, max(found.interval.high, high)))
