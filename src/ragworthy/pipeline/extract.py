"""The answerer that needs no model: the sentence that fits the question best, with a score that can be explained;
when it refuses, and how it says why.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ragworthy.index.ranking import DECIMALS, Floats
from ragworthy.pipeline.asked import Question
from ragworthy.pipeline.shelf import Parts, Shelf
from ragworthy.records import Chunk

THRESHOLD = 0.5
"""The least score with which a question is answered when nothing was tuned."""
MOST_MISSING = 3
WEIGHTS = {"own": 0.4, "near": 0.3, "likeness": 0.2, "cue": 0.1}
"""What counts for a sentence, each from 0 to 1. `own`: the share of the question's weight that its words hold; `near`:
the same with the sentences beside it and the title; `likeness`: of meaning; `cue`: a number, date or name where the
question asks for one. What cannot be said (no vectors, no such question) is left out, and the others count for it.
"""
HELPS = 0.3
"""The share of the question's weight that a sentence beside the best must add to be part of the answer."""


class Scored(NamedTuple):
    """A sentence and how well it fits."""

    chunk: Chunk
    place: int
    features: dict[str, float]
    score: float


def score(features: dict[str, float]) -> float:
    """The weighted mean of what is known, from 0 to 1.

    >>> score({"own": 0.5, "near": 1.0, "likeness": 0.5, "cue": 1.0}), score({"own": 0.5, "near": 1.0})
    (0.7, 0.714286)
    """
    total = sum(WEIGHTS[name] for name in features)
    return round(sum(WEIGHTS[name] * value for name, value in features.items()) / total, DECIMALS)


def ranked(shelf: Shelf, question: Question, vector: Floats | None, context: Sequence[Chunk]) -> list[Scored]:
    """Every sentence of the context, best first; among equals that of the better chunk, then the earlier one."""
    found: list[Scored] = []
    for chunk in context:
        parts = shelf.parts(chunk)
        likeness = shelf.near_units(vector, chunk) if vector is not None else None
        for place, unit in enumerate(parts.units):
            own, near = question.coverage(parts.words[place]), question.coverage(_around(parts, place))
            features = {"own": own, "near": near}
            if likeness is not None:
                features["likeness"] = likeness[place]
            cue = question.cue(unit.text)
            if cue is not None:
                features["cue"] = cue
            found.append(Scored(chunk, place, features, score(features)))
    return sorted(found, key=lambda one: -one.score)


def _around(parts: Parts, place: int) -> frozenset[str]:
    return parts.title.union(*parts.words[max(0, place - 1) : place + 2])


def claim(shelf: Shelf, question: Question, best: Scored) -> str:
    """The sentence, with the one before or after it where that clearly helps."""
    parts, place = shelf.parts(best.chunk), best.place
    unit = parts.units[place]
    if unit.kind != "sentence":
        return unit.text
    beside = [at for at in (place - 1, place + 1) if 0 <= at < len(parts.units) and parts.units[at].kind == "sentence"]
    gains = {at: question.coverage(parts.words[place] | parts.words[at]) - best.features["own"] for at in beside}
    added = max(gains, key=gains.__getitem__, default=None)
    if added is None or round(gains[added], DECIMALS) < HELPS:
        return unit.text
    return " ".join(parts.units[at].text for at in sorted((place, added)))


def refuses(best: Scored | None, threshold: float) -> bool:
    """Whether there is nothing, or nothing good enough, to answer with."""
    return best is None or best.score < threshold


def reason(question: Question, best: Scored | None, parts: Parts | None, threshold: float) -> str:
    """The decision in one sentence."""
    if best is None or parts is None:
        return "refused: nothing in the index shares a word or a meaning with the question"
    verb, sign = ("refused", "below") if refuses(best, threshold) else ("answered", "not below")
    said = (
        f"{verb}: the best sentence scores {best.score:.2f}, {sign} the threshold {threshold:.2f}; "
        f"it covers {best.features['own']:.2f} of the question's weight"
    )
    missing = question.missing(parts.words[best.place])
    if not missing:
        return said
    more = f" and {len(missing) - MOST_MISSING} more" if len(missing) > MOST_MISSING else ""
    return f"{said}; missing: " + ", ".join(f"'{word}'" for word in missing[:MOST_MISSING]) + more
