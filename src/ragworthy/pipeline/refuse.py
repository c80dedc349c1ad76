"""When the extractive answerer refuses, and how it says why."""

from ragworthy.pipeline.asked import Question
from ragworthy.pipeline.extract import Scored
from ragworthy.pipeline.shelf import Parts

THRESHOLD = 0.5
"""The least score with which a question is answered when nothing was tuned."""
MOST_MISSING = 3


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
