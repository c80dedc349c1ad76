"""What metrics say of one question, as its row has it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ragworthy.metrics.registry import MetricName, Word
from ragworthy.suites.evidence import Case, Found

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite

WHOLE = "a number of all items at once"
"""Why a question has no value of a metric that looks at all of them."""


def numbers_of(
    suite: "Suite", names: Iterable[MetricName], case: Case, words: Mapping[str, Word], found: Found
) -> tuple[dict[str, float], dict[str, str]]:
    """What some metrics say of one question, and why the others say nothing."""
    metrics: dict[str, float] = {}
    undefined: dict[str, str] = {}
    values = found.summary.values
    for name in names:
        known = name.id
        word, value = words.get(known), values[None, known]
        if name.metric.over == "all":
            undefined[known] = WHOLE
        elif suite.lacks(word, value):
            undefined[known] = suite.undefined(name, case, value)
        else:
            metrics[known] = suite.number(name, word)
    return metrics, undefined
