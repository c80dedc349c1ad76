"""What metrics say of one question, as its row has it; and of which questions they say nothing."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ragworthy.metrics.registry import MetricName, Word
from ragworthy.suites.evidence import Case, Found, Ledger

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


def ledger_of(suite: "Suite", name: MetricName, found: Found) -> Ledger:
    """Where every question went, for one metric."""
    words, value = found.summary.words.get(name.id), found.value(name.id)
    if words is None:
        fates = [case.fate for case in found.cases]
    else:
        fates = [suite.fate(name, case, word, value) for case, word in zip(found.cases, words, strict=True)]
    return Ledger.of_cases(fates, [case.weight for case in found.cases], found.evidence.left_out)
