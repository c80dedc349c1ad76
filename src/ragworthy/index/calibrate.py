"""Calibration: what raw distances of a model mean on one gold set and corpus, and which model separates best there."""

import hashlib
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import cycle, islice
from typing import NamedTuple

from ragworthy.index.blocks import Corpus
from ragworthy.index.measure import BUILT_IN, Measure, measure
from ragworthy.index.ngrams import NAME as NGRAM
from ragworthy.metrics.facts.distance import PLACES, Calibration, Spread, exact, scaled
from ragworthy.metrics.fold import in_order
from ragworthy.stats import auc, percentile

UNRELATED = 10
"""How many blocks of other documents each question is compared with."""
SEED = "ragworthy.calibration/1"
PROBED = 500
"""How many questions tell whether a model separates, where nothing was frozen."""


class Asked(NamedTuple):
    """A question as it is calibrated with: its wordings, and the blocks of the corpus that answer it or look so."""

    qid: str
    wordings: Sequence[str]
    relevant: Sequence[str]
    negatives: Sequence[str] = ()


class Pairs(NamedTuple):
    """Texts whose distances calibrate a model; `first` has every wording with the first relevant block, by question."""

    relevant: list[tuple[str, str]]
    first: list[tuple[str, str]]
    unrelated: list[tuple[str, str]]
    negatives: list[tuple[str, str]]
    qids: list[str]
    """The question of each pair in `first`."""

    @property
    def enough(self) -> bool:
        """Whether there is relevant text, and unrelated text to hold against it."""
        return bool(self.first and self.unrelated)


def pairs_of(asked: Iterable[Asked], corpus: Corpus) -> Pairs:
    """Question and text, for relevant blocks, blocks of other documents (a seeded sample) and hard negatives."""
    everything = list(corpus.texts)
    pairs = Pairs([], [], [], [], [])
    for one in asked:
        wordings, names = one.wordings, one.relevant
        if not wordings or not names:
            continue
        negatives = [name for name in one.negatives if name in corpus.texts]
        for wording in wordings:
            pairs.qids.append(one.qid)
            pairs.first.append((wording, corpus.texts[names[0]]))
            pairs.relevant.extend((wording, corpus.texts[name]) for name in names)
            pairs.negatives.extend((wording, corpus.texts[name]) for name in negatives)
        docs = {corpus.places[name].doc for name in names}
        draw = random.Random(f"{SEED}:{one.qid}")  # noqa: S311 - a seeded sample, nothing secret
        drawn = (everything[draw.randrange(len(everything))] for _ in range(20 * UNRELATED))
        strangers = islice((name for name in drawn if corpus.places[name].doc not in docs), UNRELATED)
        worded = cycle(wordings)
        pairs.unrelated.extend((next(worded), corpus.texts[name]) for name in strangers)
    return pairs


def calibrated(pairs: Pairs, model: Measure) -> tuple[Calibration, dict[str, list[Fraction]]]:
    """The calibration, and the raw distances of every wording to the first relevant block, by question."""
    groups = (pairs.relevant, pairs.first, pairs.unrelated, pairs.negatives)
    flat = [pair for group in groups for pair in group]
    raw = [exact(float(value)) for value in model.distances(*map(list, zip(*flat, strict=True)))]
    values: list[list[Fraction]] = []
    for group in groups:
        values.append(raw[: len(group)])
        raw = raw[len(group) :]
    relevant, first, unrelated, negatives = values
    by_question: dict[str, list[Fraction]] = {}
    for qid, value in zip(pairs.qids, first, strict=True):
        by_question.setdefault(qid, []).append(value)
    found = calibration_of(
        model.name,
        model.weights,
        relevant=relevant,
        first=list(by_question.values()),
        unrelated=unrelated,
        negatives=negatives,
    )
    return found, by_question


class Chosen(NamedTuple):
    """The model that separates best, and all that were tried."""

    model: Measure
    calibration: Calibration
    first: dict[str, list[Fraction]]
    """The raw distances of every wording to the first relevant block, by question."""
    tried: Sequence[Calibration]

    @property
    def chosen(self) -> bool:
        """Whether there was a choice."""
        return len(self.tried) > 1


def choose(pairs: Pairs, corpus: Corpus, named: str | None) -> Chosen:
    """The model of this name; where none is named, the built-in one that tells relevant from unrelated text best."""
    models = [measure(name, lambda: list(corpus.texts.values())) for name in ([named] if named else BUILT_IN)]
    found = [(model, *calibrated(pairs, model)) for model in models]
    best = max(found, key=lambda one: _worth(one[1]))  # the first of equals
    return Chosen(*best, tried=[one[1] for one in found])


def _worth(found: Calibration) -> tuple[bool, float, float]:
    return (True, found.separation or 0.0, found.auc or 0.0) if found.separates else (False, 0.0, 0.0)


def probed(asked: Sequence[Asked], corpus: Corpus, model: Measure) -> tuple[Calibration | None, bool]:
    """What a sample of the questions says of a model, and whether it is all of them; None where nothing can be said."""
    sample = sorted(asked, key=lambda one: hashlib.sha256(f"{SEED}:{one.qid}".encode()).digest())[:PROBED]
    pairs = pairs_of(sample, corpus)
    return calibrated(pairs, model)[0] if pairs.enough else None, len(sample) == len(asked)


def calibration_of(
    model: str,
    weights: str,
    *,
    relevant: Sequence[Fraction],
    first: Sequence[Sequence[Fraction]],
    unrelated: Sequence[Fraction],
    negatives: Sequence[Fraction],
) -> Calibration:
    """The calibration from raw distances: question to relevant block, to a block of another document, to a negative.

    `first` holds, question by question, the distance of every wording to the first relevant block.
    """
    ordered = in_order(relevant)
    r90 = round(percentile(ordered, 90), PLACES)
    n10 = round(percentile(in_order(unrelated), 10), PLACES)
    r50 = round(percentile(ordered, 50), PLACES) if model == NGRAM else None
    mapped = [[scaled(one, r90, n10, r50) for one in some] for some in first] if r90 < n10 else first
    near = [float(one) for one in relevant]
    return Calibration(
        model=model,
        weights=weights,
        r90=r90,
        n10=n10,
        relevant_pairs=len(relevant),
        unrelated_pairs=len(unrelated),
        perfect_raw=Spread.of([_mean(some) for some in first], percentile),
        perfect=Spread.of([_mean(some) for some in mapped], percentile),
        auc=auc(near, [float(one) for one in negatives]),
        separation=auc(near, [float(one) for one in unrelated]),
        r50=r50,
        nearest=round(ordered[0], PLACES),
    )


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
