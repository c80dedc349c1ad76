"""What a metric says of the same questions in two runs, as one number a question: how much worse the second is.

Whatever is folded as a sum over a sum (rates, means, shares, ratios) has a part N and a whole D for each question. With
R, the value over both runs together, the loss of a question is (N_a − R·D_a) − (N_b − R·D_b), with the sign turned
where lower is better. Swapping the two runs of a question turns the sign of its loss and leaves R alone.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.metrics.fold import percent_of, total_of
from ragworthy.metrics.registry import Metric

SUMMED = ("sum", "count")
"""Kinds whose value is a sum and not a mean."""
APART = ("tail", "spread")
"""Kinds that say how far questions are apart: no question has a loss of its own."""
_MOST = 1 << 80
"""Common denominators up to here are kept exactly; else losses are rounded to so many parts."""

Part = tuple[Any, int | Fraction]


class Words(NamedTuple):
    """The parts and wholes of the questions that count in one run or the other."""

    places: list[int]
    """Where the questions stand among all that are in both runs."""
    a: list[Part]
    b: list[Part]
    plain: bool
    """Whether every word is yes, no or nothing."""
    same_cases: bool
    """Whether the same questions count in both runs, each as much."""
    changed: list[int]
    """The places of those whose words differ."""


class Losses(NamedTuple):
    """How much worse each question that changed is, by its place, as integers of one scale."""

    at: dict[int, int]

    @property
    def worse(self) -> int:
        """How many questions are worse."""
        return sum(loss > 0 for loss in self.at.values())

    @property
    def better(self) -> int:
        """How many are better."""
        return sum(loss < 0 for loss in self.at.values())


def words_of(kind: str, a: Sequence[Any], b: Sequence[Any]) -> Words:
    """Two columns of one metric, side by side; questions that count in neither are left out."""
    places: list[int] = []
    one: list[Part] = []
    other: list[Part] = []
    changed: list[int] = []
    plain = same = True
    for nth, (before, after) in enumerate(zip(a, b, strict=True)):
        if before is None and after is None:
            continue
        old, new = _parts(before), _parts(after)
        places.append(nth)
        if before != after:
            changed.append(nth)
        one.append(old)
        other.append(new)
        same = same and old[1] == new[1]
        plain = plain and _is_plain(before) and _is_plain(after)
    return Words(places, one, other, plain and kind in ("rate", "mean", "count"), same or kind in SUMMED, changed)


def _is_plain(word: Any) -> bool:
    return word is None or (not isinstance(word, tuple) and (word == 0 or word == 1))


def _parts(word: Any) -> Part:
    if word is None:
        return 0, 0
    if isinstance(word, tuple):
        return word[0], word[1]
    return (int(word), 1) if isinstance(word, bool) else (word, 1)


def rate_of(words: Words) -> Fraction:
    """The value over both runs together."""
    whole = _total(part[1] for part in (*words.a, *words.b))
    return _total(part[0] for part in (*words.a, *words.b)) / whole if whole else Fraction(0)


def _total(numbers: Iterable[Any]) -> Fraction:
    """An exact sum; numbers that occur often are added once."""
    counts = Counter(numbers)
    return total_of(Fraction(number) * count for number, count in counts.items())


def losses_of(metric: Metric | None, words: Words) -> Losses:
    """How much worse each question that changed is; where nobody knows which way is better, how much lower."""
    rate = Fraction(0) if metric is not None and metric.kind in SUMMED else rate_of(words)
    sign = -1 if metric is not None and metric.better == "lower" else 1
    found: dict[int, Fraction] = {}
    known: dict[tuple[Part, Part], Fraction] = {}
    for place, old, new in zip(words.places, words.a, words.b, strict=True):
        if old == new:
            continue
        key = old, new
        if key not in known:
            known[key] = sign * (Fraction(old[0]) - Fraction(new[0]) - rate * (Fraction(old[1]) - Fraction(new[1])))
        if known[key]:
            found[place] = known[key]
    return Losses(as_integers(found))


def as_integers(found: dict[int, Fraction]) -> dict[int, int]:
    """Fractions as integers of one scale: exactly where it is not too large, else rounded.

    >>> as_integers({3: Fraction(1, 2), 5: Fraction(-1, 3)})
    {3: 3, 5: -2}
    """
    scale = 1
    for one in {number.denominator for number in found.values()}:
        scale = math.lcm(scale, one)
        if scale > _MOST:
            scale = _MOST
            break
    whole = {number: round(number * scale) for number in set(found.values())}
    return {place: whole[number] for place, number in found.items() if whole[number]}


class Flips(NamedTuple):
    """Yes and no in two runs: the changes of each size, as pairs of worse and better."""

    right_wrong: tuple[int, int]
    counted_wrong: tuple[int, int]
    right_counted: tuple[int, int]


def flips_of(metric: Metric, words: Words) -> Flips:
    """How many questions changed in which way. Right is yes, or no where lower is better."""
    right = 0 if metric.better == "lower" else 1
    summed = metric.kind in SUMMED
    counts: Counter[tuple[str, str]] = Counter(
        (_state(old, right, summed), _state(new, right, summed)) for old, new in zip(words.a, words.b, strict=True)
    )
    return Flips(
        (counts["right", "wrong"], counts["wrong", "right"]),
        (counts["none", "wrong"], counts["wrong", "none"]),
        (counts["right", "none"], counts["none", "right"]),
    )


def _state(part: Part, right: int, summed: bool) -> str:
    if not part[1] and not summed:
        return "none"
    return "right" if part[0] == right else "wrong"


def testable(metric: Metric | None) -> bool:
    """Whether questions have losses of their own under a metric."""
    if metric is None:
        return True
    return metric.over != "all" and metric.kind not in APART


def is_percentile(metric: Metric | None) -> bool:
    """Whether a metric is a percentile of its words."""
    return metric is not None and percent_of(metric.kind) is not None
