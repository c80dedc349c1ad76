"""The same difference over the questions that ended in an error in neither run.

An error of the new run is a loss, and stays one. An error of the old run hides a loss: the question can only get
better. So where the old run has errors, what happened to the others is looked at for itself, too.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.differences import PLAIN, Difference, difference
from ragworthy.metrics.fold import in_order, percent_of, total_of
from ragworthy.metrics.registry import Metric
from ragworthy.proving import hidden_by_errors
from ragworthy.rows import GONE, Pairs, Rows, words_of
from ragworthy.stats import percentile


class Unerrored(NamedTuple):
    """The same difference over the questions that ended in an error in neither run, where the old one has errors."""

    difference: Difference
    old: Fraction
    new: Fraction
    """What the metric says of these questions in both runs."""
    questions: int


def beside_errors(found: Difference, gate: g.Gate, metric: Metric, pairs: Pairs) -> Difference:
    """A difference with how many of its questions ended in an error in the old run, and with that of the others."""
    if not hidden_by_errors(metric.id) or metric.over == "all":
        return found
    before, after = _said(pairs.old, gate.metric), _said(pairs.new, gate.metric)
    asked = [(old, new) for old, new in pairs.both if before[old] or after[new]]
    gone = sum(pairs.old.labels[old] in GONE for old, _ in asked)
    if not gone:
        return found
    left = [(old, new) for old, new in asked if pairs.old.labels[old] not in GONE and pairs.new.labels[new] not in GONE]
    same = difference(gate, metric, pairs._replace(both=tuple(left)))
    old = _value(metric, [words for nth, _ in left for words in before[nth]])
    new = _value(metric, [words for _, nth in left for words in after[nth]])
    found = found._replace(gone=(gone, len(asked)))
    if isinstance(same, str) or old is None or new is None:
        return found
    return found._replace(unerrored=Unerrored(same, old, new, len(left)))


def _said(rows: Rows, name: str) -> Sequence[Sequence[Any]]:
    """What a metric says of each question, of every run where that is known; nothing of one that is not a case."""
    if name in rows.words or any(name in column.split(" ") for column in rows.own):
        return rows.of_runs(name)
    return [() if word is None else (word,) for word in words_of(rows, name) or (None,) * len(rows.qids)]


def _value(metric: Metric, words: Sequence[Any]) -> Fraction | None:
    """What the words of some questions come to; None where they come to nothing."""
    if not words:
        return None
    percent = percent_of(metric.kind)
    if percent is not None:
        return percentile(in_order(words), percent)
    pairs = [word if isinstance(word, tuple) else (word, 1) for word in words]
    part = total_of(one for one, _ in pairs)
    whole = total_of(one for _, one in pairs)
    if metric.kind in PLAIN:
        return part
    return part / whole if whole else None
