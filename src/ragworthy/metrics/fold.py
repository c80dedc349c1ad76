"""What a metric says of all questions, made into one value. One fold for each kind of metric, and no other."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from ragworthy import gates as g
from ragworthy.stats import Interval, percentile, percentile_interval, variation_squared, wilson_mean

if TYPE_CHECKING:
    from ragworthy.metrics.registry import Metric, Word

Fold = Callable[["Metric", list[Any], g.Value], g.Value]
"""From the words that count, and the value as far as the metric itself gives it, to the value."""


def value_of(metric: "Metric", words: "Iterable[Word]", *, independent: int | None = None) -> g.Value:
    """The words of all questions as one value; `independent` of them are different questions, where some repeat."""
    counted: list[Any] = [word for word in words if word is not None]
    rate = metric.highest is not None and metric.lowest == 0
    base = g.Value(
        0, 0, better=metric.better, cases=metric.cases, event=metric.event, rate=rate, top=metric.highest or 1
    )
    if metric.kind == "count":
        return base._replace(num=sum(counted), den=None, most=len(counted))
    base = base._replace(independent=independent)
    if not counted:
        return base._replace(undefined=metric.undefined)
    return fold_of(metric.kind)(metric, counted, base)


def value_of_all(metric: "Metric", found: Any, cases: int) -> g.Value:
    """The value of a metric of all items at once: its number, or why there is none, over so many cases."""
    base = g.Value(
        0, 1, better=metric.better, cases=metric.cases, event=metric.event, n=cases, counts=False, rate=False
    )
    if found is None or isinstance(found, str) or of_nothing(found):
        return base._replace(undefined=str(found) if isinstance(found, str) else metric.undefined)
    number = as_number(found)
    if metric.kind == "count" and number.denominator == 1:
        return base._replace(num=number.numerator, den=None, n=None, counts=True)
    return _exact(base, number)


def _share(metric: "Metric", words: list[Any], base: g.Value) -> g.Value:
    """The sum of parts over the sum of wholes."""
    num, den = sum(part for part, _ in words), sum(whole for _, whole in words)
    if not den:
        return base._replace(undefined=metric.undefined)
    # Runs of one question are not independent of each other: the interval rests on the number of questions.
    cases = min(len(words), base.independent or len(words))
    return base._replace(num=num, den=den, n=len(words), interval=wilson_mean(Fraction(num, den), cases))


def _percentile(percent: int, metric: "Metric", words: list[Any], base: g.Value) -> g.Value:
    ordered = in_order(words)
    interval = percentile_interval(ordered, percent) if base.independent is None else None
    few = f"{len(words)} {base.cases} are too few to bound a percentile"
    boundless = "" if interval is not None else few if base.independent is None else "some cases are the same"
    value = _numbered(base, percentile(ordered, percent), len(words))
    return value._replace(interval=interval, rate=False, boundless=boundless)


def _mean(metric: "Metric", words: list[Any], base: g.Value) -> g.Value:
    """The mean; of words that say yes or no, their share."""
    cases = min(len(words), base.independent or len(words))
    if base.top == 1 and metric.lowest == 0 and all(map(_is_word, words)):
        num, den = int(sum(words)), len(words)
        interval = wilson_mean(Fraction(num, den), cases) if base.rate else None
        return base._replace(num=num, den=den, n=den, interval=interval)
    floats = any(isinstance(word, float) for word in words)
    total = Fraction(math.fsum(words)) if floats else total_of(words)
    number = total / len(words)
    interval = wilson_mean(number / base.top, cases) if base.rate else None
    if interval is not None and base.top != 1:
        interval = Interval(base.top * interval.low, base.top * interval.high)
    return _numbered(base, number, len(words))._replace(interval=interval)


def _tail(metric: "Metric", words: list[Any], base: g.Value) -> g.Value:
    """P99 over P50."""
    ordered = in_order(words)
    median = percentile(ordered, 50)
    value = _numbered(base, Fraction(0), len(words))._replace(rate=False, independent=None)
    return _exact(value, percentile(ordered, 99) / median) if median else value._replace(undefined=metric.undefined)


def _sum(metric: "Metric", words: list[Any], base: g.Value) -> g.Value:
    return _numbered(base, total_of(words), len(words))._replace(rate=False, independent=None)


def _ratio(metric: "Metric", words: list[Any], base: g.Value) -> g.Value:
    """One sum for each of another: words are pairs of an amount and whether it bought something."""
    bought = sum(good for _, good in words)
    value = _numbered(base, Fraction(0), len(words))._replace(rate=False, independent=None)
    if not bought:
        return value._replace(undefined=metric.undefined, endless=metric.better == "lower")
    return _exact(value, total_of(amount for amount, _ in words) / bought)


def _spread(metric: "Metric", words: list[Any], base: g.Value) -> g.Value:
    """Deviation over mean of sums: words are pairs of what is summed together and an amount."""
    sums: dict[Any, Fraction] = {}
    for together, amount in words:
        sums[together] = sums.get(together, Fraction(0)) + amount
    value = _numbered(base, Fraction(0), len(sums))._replace(rate=False, independent=None)
    spread = variation(list(sums.values()))
    return value._replace(undefined=metric.undefined) if spread is None else _exact(value, spread)


KINDS: dict[str, Fold] = {
    "rate": _mean,
    "mean": _mean,
    "count": _mean,  # counts are folded before they get here: a count of nothing is 0, never undefined
    "share": _share,
    "median": partial(_percentile, 50),
    "tail": _tail,
    "sum": _sum,
    "ratio": _ratio,
    "spread": _spread,
}
_PERCENTILE = re.compile(r"p([1-9][0-9]?)")


def percent_of(kind: str) -> int | None:
    """Which percentile a kind is.

    >>> percent_of("p75"), percent_of("median"), percent_of("rate")
    (75, 50, None)
    """
    if kind == "median":
        return 50
    found = _PERCENTILE.fullmatch(kind)
    return int(found[1]) if found else None


def fold_of(kind: str) -> Fold:
    """How words of a kind become a value; a KeyError names a kind that does not exist."""
    percent = percent_of(kind)
    return partial(_percentile, percent) if percent is not None else KINDS[kind]


# numbers


def mean(words: Sequence[Any]) -> "Word":
    """The mean of numbers: exact, unless one of them is a float."""
    if len(words) == 1:
        only: Word = words[0]
        return only
    if isinstance(words[0], float):
        return math.fsum(words) / len(words)
    first = words[0]
    if all([word is first or word == first for word in words]):
        same: Word = first
        return same
    # Whole numbers over one denominator: one fraction is made instead of one for each word.
    below = math.lcm(*[word.denominator for word in words])
    return Fraction(sum([word.numerator * (below // word.denominator) for word in words]), below * len(words))


def joined(metric: "Metric", words: Sequence[Any]) -> "Word":
    """What a metric says of a question from what it says of each run: the mean, or the sum where sums are folded."""
    if metric.kind in ("share", "ratio"):
        return sum(part for part, _ in words), sum(whole for _, whole in words)
    return total_of(words) if metric.kind == "sum" else mean(words)


def of_nothing(word: Any) -> bool:
    """Whether a word is a part of nothing, which is not a number.

    >>> of_nothing((0, 0)), of_nothing((0, 4)), of_nothing(0)
    (True, False, False)
    """
    return isinstance(word, tuple) and not word[1]


def best(metric: "Metric", word: Any) -> bool:
    """Whether what a metric says of a question alone is as it should be: the best there is, no step away, an accepted
    distance.
    """
    if of_nothing(word):
        return False
    number = as_number(word)
    if metric.needs == "distances" and metric.better == "lower":
        from ragworthy.metrics.facts.distance import ACCEPT

        return number <= ACCEPT
    return number == (metric.highest if metric.better == "higher" else 0)


def as_number(word: Any) -> Fraction:
    """A word as one number.

    >>> as_number((3, 4)), as_number(True)
    (Fraction(3, 4), Fraction(1, 1))
    """
    return Fraction(*word) if isinstance(word, tuple) else Fraction(word)


def variation(numbers: Sequence[Fraction]) -> Fraction | None:
    """Population deviation over mean; None for fewer than two numbers or a mean of 0.

    A deviation is a root and has no exact value: six places of it count.

    >>> float(variation([Fraction("0.38"), Fraction("0.42"), Fraction("0.44")]))
    0.060349
    """
    square = variation_squared(numbers)
    if len(numbers) < 2 or square is None:
        return None
    return Fraction(str(round(math.sqrt(square), 6)))


def _is_word(word: Any) -> bool:
    """Whether a word says yes or no."""
    return word in (0, 1) if isinstance(word, float) else word.denominator == 1 and word.numerator in (0, 1)


def in_order(words: Iterable[Any]) -> list[Fraction]:
    """Words in order, as fractions; compared as whole numbers over one denominator, which is many times faster."""
    given = list(words)
    if any(isinstance(word, float) for word in given):
        return sorted(map(Fraction, given))
    below = math.lcm(*{word.denominator for word in given})
    return [Fraction(word) for word in sorted(given, key=lambda word: word.numerator * (below // word.denominator))]


def total_of(words: Iterable[Any]) -> Fraction:
    """An exact sum; numbers over the same denominator are added as integers first.

    >>> total_of([Fraction(1, 2), Fraction(1, 3), 1, Fraction(1, 2)])
    Fraction(7, 3)
    """
    sums: dict[int, int] = {}
    for given in words:
        word = Fraction(given) if isinstance(given, float) else given
        sums[word.denominator] = sums.get(word.denominator, 0) + word.numerator
    return sum((Fraction(num, den) for den, num in sorted(sums.items())), Fraction(0))


def _numbered(base: g.Value, number: Fraction, cases: int) -> g.Value:
    return base._replace(num=number.numerator, den=number.denominator, n=cases, counts=False)


def _exact(value: g.Value, number: Fraction) -> g.Value:
    return value._replace(num=number.numerator, den=number.denominator)
