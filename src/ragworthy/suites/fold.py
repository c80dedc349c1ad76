"""What suites that are not moved yet take from here."""

from typing import Any

from ragworthy.metrics.facts.convergence import Question
from ragworthy.metrics.facts.distance import ACCEPT
from ragworthy.metrics.fold import as_number, mean
from ragworthy.metrics.fold import value_of as value_of
from ragworthy.metrics.registry import Metric, MetricName, Word


def word_of(name: MetricName, question: Question) -> Word:
    """What a metric says about one question."""
    metric = name.metric
    depth = {} if name.k is None else {"k": name.k}
    if metric.over == "question":
        word: Word = metric.of(question)
        return word
    words = [word for facts in question.facts if (word := metric.of(facts, **depth)) is not None]
    return mean(words) if words else None


def is_good(metric: Metric, word: Any) -> bool:
    """Whether a question alone is as it should be."""
    number = as_number(word)
    if metric.needs == "distances":
        return number <= ACCEPT
    return number == (1 if metric.better == "higher" else 0)
