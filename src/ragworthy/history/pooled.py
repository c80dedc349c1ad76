"""Several runs as one: parts and wholes of every question, added up over the runs and divided by their number."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy.metrics.fold import percent_of
from ragworthy.metrics.registry import all_metrics
from ragworthy.rows import RUNS, Number, Rows, Word, text_of


def pooled(before: Sequence[Rows], after: Sequence[Rows]) -> tuple[Rows, Rows]:
    """Two groups of runs as two runs, on one scale.

    A question that is a case of one run out of eight weighs an eighth of one that is a case of all: so the rate over
    the pooled words is that of all cases together, and not that of questions. Wholes stay whole numbers, since both
    sides are taken as many times as it needs for that.
    """
    scale = math.lcm(len(before), len(after))
    return _one(before, scale // len(before)), _one(after, scale // len(after))


def _one(runs: Sequence[Rows], times: int) -> Rows:
    first = runs[0]
    if len(runs) == times == 1:
        return first
    places = [one.places() for one in runs]
    at = [[one[qid] for one in places] for qid in first.qids if all(qid in one for one in places)]
    mine = [nths[0] for nths in at]
    names = [name for name in first.words if all(name in one.words for one in runs)]
    known = all_metrics()
    tails = [name for name in names if (one := known.get(name.partition("@")[0])) and percent_of(one.kind) is not None]
    return Rows(
        tuple(first.qids[nth] for nth in mine),
        tuple(first.clusters[nth] for nth in mine),
        tuple(first.labels[nth] for nth in mine),
        tuple(first.causes[nth] for nth in mine),
        tuple(times * sum(one.runs[nth] for one, nth in zip(runs, nths, strict=True)) for nths in at),
        tuple(first.slices[nth] for nth in mine),
        {name: tuple(_added([one.words[name] for one in runs], nths, times) for nths in at) for name in names},
        {f"{RUNS} {name}": _single(runs, name, at) for name in tails},
    )


def _added(columns: Sequence[Sequence[Word]], nths: Sequence[int], times: int) -> Word:
    """The word of a question: part of whole, over all runs in which it is a case; None where it is one of none."""
    said = [parts(column[nth]) for column, nth in zip(columns, nths, strict=True) if column[nth] is not None]
    return (times * sum(part for part, _ in said), times * sum(whole for _, whole in said)) if said else None


def _single(runs: Sequence[Rows], name: str, at: Sequence[Sequence[int]]) -> tuple[str | None, ...]:
    """What every single run says, for percentiles: of those no parts are added up."""
    columns = [one.of_runs(name) for one in runs]
    return tuple(
        " ".join(text_of(word) for column, nth in zip(columns, nths, strict=True) for word in column[nth]) or None
        for nths in at
    )


def parts(word: Word) -> tuple[Any, Any]:
    """A word as part and whole; nothing of nothing where the question is not a case.

    >>> parts(True), parts((3, 4)), parts(None)
    ((1, 1), (3, 4), (0, 0))
    """
    if word is None:
        return 0, 0
    return word if isinstance(word, tuple) else (int(word) if isinstance(word, bool) else word, 1)


def rate(words: Sequence[Word]) -> Fraction | None:
    """The parts of all questions together, of their wholes; None where no question is a case.

    >>> rate([(7, 8), (0, 1), None])
    Fraction(7, 9)
    """
    part, whole = (sum((_fraction(one[nth]) for one in map(parts, words)), Fraction(0)) for nth in (0, 1))
    return part / whole if whole else None


def _fraction(number: Number) -> Fraction:
    return Fraction(number)
