"""Traces that do not belong to their gold questions, in words: the same for answers and retrieval."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragworthy.text import clip

if TYPE_CHECKING:
    from ragworthy.suites.id_forms import Unseen

_SHOWN = 60


def unfitting(others: Sequence[tuple[str, str]], compared: int, unseen: "Unseen | None") -> tuple[str, ...]:
    """Why traces cannot speak for a gold set: so many of those that can be compared ask something else, or none knows
    the gold ids.
    """
    reasons = []
    if others:
        reasons.append(
            f"the traces answer other questions than the gold set asks: {len(others):,} of {compared:,} that can be "
            f"compared, e.g. {asked_as(others[0])}"
        )
    if unseen is not None and unseen.all:
        reasons.append(f"the traces do not know the gold ids: {unseen.told}")
    return tuple(reasons)


def asked_as(one: tuple[str, str]) -> str:
    """A question by its id, and what was asked instead.

    >>> asked_as(("Q1", "How long?"))
    'Q1: "How long?"'
    """
    qid, text = one
    return f'{qid}: "{clip(text, _SHOWN)}"'
