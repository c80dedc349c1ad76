"""Words become numbers: a question's word from its runs, and a value from the words of all questions."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.convergence import Question
from ragworthy.metrics.distance import ACCEPT
from ragworthy.metrics.registry import Metric, MetricName, Word
from ragworthy.stats import percentile, percentile_interval, wilson, wilson_mean


def word_of(name: MetricName, question: Question) -> Word:
    """What a metric says about one question: the mean of what it says about each run where it looks at runs."""
    metric = name.metric
    if metric.over == "question":
        word: Word = metric.of(question)
        return word
    words = [word for facts in question.facts if (word := _apply(metric, name.k, facts)) is not None]
    return mean(words) if words else None


def _apply(metric: Metric, k: int | None, facts: Any) -> Any:
    return metric.of(facts) if k is None else metric.of(facts, k=k)


def mean(words: Sequence[Any]) -> Word:
    """The mean of numbers: exact, unless one of them is a float."""
    if len(words) == 1:
        only: Word = words[0]
        return only
    if isinstance(words[0], float):
        return math.fsum(words) / len(words)
    first = words[0]
    if all(word == first for word in words):
        same: Word = first
        return same
    return sum(map(Fraction, words), Fraction(0)) / len(words)


def value_of(metric: Metric, words: Iterable[Word]) -> g.Value:
    """The words of all questions as one value."""
    counted: list[Any] = [word for word in words if word is not None]
    rate = metric.highest == 1
    base = g.Value(0, 0, better=metric.better, cases=metric.cases, event=metric.event, rate=rate)
    if metric.kind == "count":
        return base._replace(num=sum(counted), den=None)
    if not counted:
        return base._replace(undefined=metric.undefined)
    if metric.kind == "share":
        num, den = sum(part for part, _ in counted), sum(whole for _, whole in counted)
        # Runs of one question are not independent of each other: the interval rests on the number of questions.
        return base._replace(num=num, den=den, n=len(counted), interval=wilson_mean(Fraction(num, den), len(counted)))
    if metric.kind in ("median", "p90"):
        ordered = sorted(map(Fraction, counted))
        percent = 50 if metric.kind == "median" else 90
        number = percentile(ordered, percent)
        interval = percentile_interval(ordered, percent)
        return _numbered(base, number, len(counted))._replace(interval=interval, rate=False)
    if all(word in (0, 1) for word in counted):
        num, den = int(sum(counted)), len(counted)
        return base._replace(num=num, den=den, n=den, interval=wilson(num, den) if rate else None)
    total = Fraction(math.fsum(counted)) if isinstance(counted[0], float) else total_of(counted)
    number = total / len(counted)
    interval = wilson_mean(number, len(counted)) if rate else None
    return _numbered(base, number, len(counted))._replace(interval=interval)


def is_good(metric: Metric, word: Any) -> bool:
    """Whether a question alone is as it should be: the best rate, no step away, an accepted distance."""
    number = Fraction(*word) if isinstance(word, tuple) else Fraction(word)
    if metric.needs == "distances":
        return number <= ACCEPT
    return number == (1 if metric.better == "higher" else 0)


def total_of(words: Iterable[Any]) -> Fraction:
    """An exact sum; numbers over the same denominator are added as integers first.

    >>> total_of([Fraction(1, 2), Fraction(1, 3), 1, Fraction(1, 2)])
    Fraction(7, 3)
    """
    sums: dict[int, int] = {}
    for word in words:
        sums[word.denominator] = sums.get(word.denominator, 0) + word.numerator
    return sum((Fraction(num, den) for den, num in sorted(sums.items())), Fraction(0))


def _numbered(base: g.Value, number: Fraction, cases: int) -> g.Value:
    return base._replace(num=number.numerator, den=number.denominator, n=cases, counts=False)
