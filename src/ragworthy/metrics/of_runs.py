"""What metrics say of questions that were asked several times: the same, however often that was."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy.metrics.registry import Metric
from ragworthy.rows import Pairs, Rows, Word, words_of

SUM = "sum"
ANSWERS = "answers."
ADDED_UP = ("share", "ratio")
"""Kinds whose word of a question adds up its runs; rows of answers have the mean of the runs already."""


def said_of(rows: Rows, name: str, metric: Metric | None) -> Sequence[Word] | None:
    """What a metric says of every question, however often it was asked: the mean over its runs.

    >>> from ragworthy.metrics.registry import all_metrics
    >>> rows = Rows(("a", "b"), ("a", "b"), (None,) * 2, (None,) * 2, (4, 2), ((),) * 2, {"x": ((3, 4), (2, 2))})
    >>> said_of(rows, "x", all_metrics("stability")["stability.acr"])
    [(Fraction(3, 4), Fraction(1, 1)), (Fraction(1, 1), Fraction(1, 1))]
    """
    words = words_of(rows, name)
    if words is None or metric is None or metric.kind not in ADDED_UP or metric.id.startswith(ANSWERS):
        return words
    return per_run(words, rows.runs)


def per_run(words: Sequence[Word], runs: Sequence[int]) -> list[Word]:
    """What was added up over runs, divided by how many there are; equal words at once."""
    known: dict[Any, Word] = {}
    for one in zip(words, runs, strict=True):
        if one not in known:
            word, many = one
            known[one] = word if word is None or many < 2 or not is_sound(word) else _divided(word, many)
    return [known[one] for one in zip(words, runs, strict=True)]


def _divided(word: Any, runs: int) -> Word:
    if isinstance(word, tuple):
        part, whole = (Fraction(one) / runs for one in word)
        return part, whole
    return Fraction(word) / runs


def is_uneven(metric: Metric, pairs: Pairs, before: Sequence[Word], after: Sequence[Word]) -> bool:
    """Whether a number adds up all runs, of which one side has more; suites but answers count questions, not runs."""
    if metric.kind != SUM and not (metric.kind == "count" and metric.id.startswith(ANSWERS)):
        return False
    return any(pairs.old.runs[old] != pairs.new.runs[new] and (before[old] or after[new]) for old, new in pairs.both)


def as_often(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two lists of runs hold the same values in the same shares, in whatever order.

    >>> as_often([1, 2, 1, 2], [2, 1]), as_often([1, 2, 2], [2, 1]), as_often([], [1])
    (True, False, False)
    """
    if len(one) == len(other):
        return one == other or sorted(one, key=str) == sorted(other, key=str)
    return bool(one and other) and sorted([*one] * len(other), key=str) == sorted([*other] * len(one), key=str)


def is_sound(word: Any) -> bool:
    """Whether a word is what metrics say; a file may say anything."""
    if isinstance(word, tuple):
        return all(map(is_sound, word)) and word[1] >= 0
    return not isinstance(word, float) or math.isfinite(word)
