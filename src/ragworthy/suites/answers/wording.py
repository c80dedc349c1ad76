"""What is wrong with an answer in the words of a report, the same in every suite that has answers."""

from typing import Any, NamedTuple

from ragworthy.metrics.facts.answers import Rules
from ragworthy.metrics.facts.echo import repeats
from ragworthy.metrics.facts.pieces import named, needed, occurs
from ragworthy.records import NO_ANSWER, Gold, Run, Trace
from ragworthy.text import fold

READS_LIKE, REPEATS, INSIDE = "reads like a refusal", "repeats the question", "inside a longer number"
"""What is remarked of a claim, which changes no number."""


class Parts(NamedTuple):
    """Which of the groups that a right claim needs it has, and which not."""

    met: tuple[str, ...]
    missing: tuple[str, ...]


def parts_of(gold: Gold, claim: str | None, rules: Rules) -> Parts:
    """The groups of a gold item, told apart by a claim."""
    text = fold(claim or "")
    held = [(named(group), occurs(group, text, short_words=rules.short_words)) for group in needed(gold)]
    return Parts(tuple(name for name, found in held if found), tuple(name for name, found in held if not found))


def missing_pieces(gold: Gold, trace: Trace | Run, rules: Rules) -> tuple[str, ...]:
    """What a claim lacks of all that it needs."""
    return parts_of(gold, (trace.answer_json or NO_ANSWER).claim, rules).missing


def expected_text(gold: Gold) -> str:
    """What a right claim says: pieces of which any will do, and those that are all needed; else the reference.

    >>> expected_text(Gold(answerable=True, gold_claim_substr=["a", "b"], gold_claim_all=["sync"]))
    'a or b; and sync'
    """
    if not gold.answerable:
        return ""
    groups = [[piece for piece in group if piece.strip()] for group in needed(gold)]
    if any(groups):
        return "; and ".join(map(named, filter(None, groups)))
    given = gold.gold_reference or ""
    return given if isinstance(given, str) else named(given)


class Shown(NamedTuple):
    """An answer that is not as it should be, as people are told of it."""

    question: str | None
    claim: str | None
    expected: str = ""
    """What a right claim says."""
    missing: tuple[str, ...] = ()
    """What the claim lacks of all that it needs; nothing where any piece will do."""
    error: str | None = None
    """What an error says that is in place of an answer."""
    inside: bool = False
    """Whether the gold text is only inside a longer number."""

    def told(self, why: str) -> tuple[str, dict[str, Any]]:
        """Why it is wrong, and what else a report has of it.

        >>> Shown("How?", "By hand.", "by cable; and sync", ("by cable", "sync")).told("wrong")[0]
        'wrong; missing: by cable; sync'
        """
        own: dict[str, Any] = {"expected": self.expected} if self.expected else {}
        if self.error is not None:
            return f"an error instead of an answer: {self.error}", own | {"error": self.error}
        if self.missing:
            why, own["missing"] = f"{why}; missing: {'; '.join(self.missing)}", list(self.missing)
        remarks = []
        if repeats(self.claim or "", self.question or ""):
            why, remarks = f"{why}; the claim repeats the question", [REPEATS]
        if self.inside:
            why, remarks = f"{why}; the gold text is inside a longer number", [*remarks, INSIDE]
        return why, (own | {"remarks": remarks} if remarks else own)
