"""What is wrong or doubtful about single pieces of gold text."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.pieces import can_count, grouped, occurs, tells
from ragworthy.records import Gold
from ragworthy.text import clip, fold, letters

BY_PIECE = frozenset({f.NO_LETTERS, f.UNMEETABLE})
"""Errors of a whole item, of which the lint says more exactly which piece it is."""


class Found(NamedTuple):
    """What is wrong with a piece."""

    code: str
    field: str
    message: str


def placed(gold: Gold) -> Iterator[tuple[str, str]]:
    """Every piece, with the field that it is used.

    >>> list(placed(Gold(answerable=True, gold_claim_all=["sync", ["45 days"]])))
    [('gold_claim_all[0]', 'sync'), ('gold_claim_all[1][0]', '45 days')]
    """
    yield from ((f"gold_claim_substr[{nth}]", piece) for nth, piece in enumerate(gold.gold_claim_substr or ()))
    for nth, one in enumerate(gold.gold_claim_all or ()):
        if isinstance(one, str):
            yield f"gold_claim_all[{nth}]", one
        else:
            yield from ((f"gold_claim_all[{nth}][{inner}]", piece) for inner, piece in enumerate(one))


def unfit(gold: Gold, *, short_words: bool) -> Iterator[Found]:
    """Pieces and evidence without a letter or a digit, and groups that no claim can meet."""
    for nth, text in enumerate(gold.gold_evidence or ()):
        if not tells(text):
            yield Found("RW-G33", f"gold_evidence[{nth}]", f"expected a letter or a digit, got {_quoted(text)}")
    for field, piece in placed(gold):
        if piece and not tells(piece):
            yield Found("RW-G30", field, f"expected a letter or a digit, got {_quoted(piece)}")
    for nth, group in enumerate(grouped(gold.gold_claim_all)):
        if not any(can_count(piece, short_words=short_words) for piece in group):
            got = ", ".join(map(_quoted, group)) or "an empty group"
            yield Found("RW-G31", f"gold_claim_all[{nth}]", f"expected a piece that counts, got {got}")


def doubted(gold: Gold, *, short_words: bool) -> Iterator[Found]:
    """Pieces that are in the question itself, and references that are it: an answer that repeats the question has
    them.
    """
    question = fold(gold.question or "")
    for field, piece in placed(gold):
        if question and occurs([piece], question, short_words=short_words):
            yield Found("RW-G32", field, f"{_quoted(piece)} is in the question itself")
    given = gold.gold_reference
    for text in given if isinstance(given, list) else [given or ""]:
        if question and letters(text) and letters(text) == letters(question):
            yield Found("RW-G32", "gold_reference", f"{_quoted(text)} is the question itself")


def _quoted(piece: str) -> str:
    return json.dumps(clip(piece, 60) or piece[:60], ensure_ascii=False)
