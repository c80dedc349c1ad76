"""What a claim lacks of the gold text, and whether it is the question over again, in the words of a report."""

from typing import NamedTuple

from ragworthy.metrics.facts.answers import Rules
from ragworthy.metrics.facts.pieces import every_piece, named, needed, occurs
from ragworthy.records import NO_ANSWER, Gold, Trace
from ragworthy.text import fold


class Parts(NamedTuple):
    """Which of the groups that a right claim needs it has, and which not."""

    met: tuple[str, ...]
    missing: tuple[str, ...]


def parts_of(gold: Gold, claim: str | None, rules: Rules) -> Parts:
    """The groups of a gold item, told apart by a claim."""
    text = fold(claim or "")
    held = [(named(group), occurs(group, text, short_words=rules.short_words)) for group in needed(gold)]
    return Parts(tuple(name for name, found in held if found), tuple(name for name, found in held if not found))


def missing_pieces(gold: Gold, trace: Trace, rules: Rules) -> tuple[str, ...]:
    """What a claim lacks of all that it needs."""
    return parts_of(gold, (trace.answer_json or NO_ANSWER).claim, rules).missing


def expected_text(gold: Gold) -> str:
    """What a right claim says: pieces of which any will do, and those that are all needed; else the reference.

    >>> expected_text(Gold(answerable=True, gold_claim_substr=["a", "b"], gold_claim_all=["sync"]))
    'a or b; and sync'
    """
    if not gold.answerable:
        return ""
    if every_piece(gold):
        return "; and ".join(map(named, needed(gold)))
    given = gold.gold_reference or ""
    return given if isinstance(given, str) else named(given)
