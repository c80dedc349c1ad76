"""Words become numbers: a question's word from its runs, and a value from the words of all questions."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.facts.convergence import Question
from ragworthy.metrics.facts.distance import ACCEPT
from ragworthy.metrics.registry import Metric, MetricName, Word
from ragworthy.stats import Interval, percentile, percentile_interval, wilson_mean

PERCENTS = {"median": 50, "p90": 90, "p95": 95, "p99": 99}


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


def value_of(metric: Metric, words: Iterable[Word], *, independent: int | None = None) -> g.Value:
    """The words of all questions as one value; `independent` of them are different questions, where some repeat."""
    counted: list[Any] = [word for word in words if word is not None]
    top = metric.highest or 1
    rate = metric.highest is not None
    base = g.Value(0, 0, better=metric.better, cases=metric.cases, event=metric.event, rate=rate, top=top)
    base = base._replace(independent=independent if metric.kind != "count" else None)
    if metric.kind == "count":
        return base._replace(num=sum(counted), den=None, most=len(counted))
    if not counted:
        return base._replace(undefined=metric.undefined)
    if metric.kind == "share":
        num, den = sum(part for part, _ in counted), sum(whole for _, whole in counted)
        # Runs of one question are not independent of each other: the interval rests on the number of questions.
        return base._replace(num=num, den=den, n=len(counted), interval=wilson_mean(Fraction(num, den), len(counted)))
    if metric.kind in PERCENTS:
        ordered = _ordered(counted)
        percent = PERCENTS[metric.kind]
        number = percentile(ordered, percent)
        interval = percentile_interval(ordered, percent) if independent is None else None
        return _numbered(base, number, len(counted))._replace(interval=interval, rate=False)
    cases = min(len(counted), independent or len(counted))
    if top == 1 and all(map(_is_word, counted)):
        num, den = int(sum(counted)), len(counted)
        return base._replace(num=num, den=den, n=den, interval=wilson_mean(Fraction(num, den), cases) if rate else None)
    total = Fraction(math.fsum(counted)) if isinstance(counted[0], float) else total_of(counted)
    number = total / len(counted)
    interval = wilson_mean(number / top, cases) if rate else None
    if interval is not None and top != 1:
        interval = Interval(top * interval.low, top * interval.high)
    return _numbered(base, number, len(counted))._replace(interval=interval)


def _is_word(word: Any) -> bool:
    """Whether a word says yes or no."""
    return word in (0, 1) if isinstance(word, float) else word.denominator == 1 and word.numerator in (0, 1)


def _ordered(words: Sequence[Any]) -> list[Fraction]:
    """Words in order, as fractions; compared as whole numbers over one denominator, which is many times faster."""
    if any(isinstance(word, float) for word in words):
        return sorted(map(Fraction, words))
    below = math.lcm(*{word.denominator for word in words})
    return [Fraction(word) for word in sorted(words, key=lambda word: word.numerator * (below // word.denominator))]


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
