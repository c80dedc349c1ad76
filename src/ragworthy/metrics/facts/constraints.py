"""Locked constraints: whether an answer echoes them, and whether its claim contradicts them."""

import unicodedata
from typing import Protocol

from ragworthy.errors import data_error

PATIENCE = 2.0
"""So many seconds a pattern of a rule pack may take for one text."""


class Pattern(Protocol):
    """A regular expression with a limit on the time it takes."""

    @property
    def pattern(self) -> str:
        """Its text."""

    def search(self, text: str, /, *, timeout: float) -> object:
        """The first match; a TimeoutError after so many seconds."""


Contradictions = tuple[tuple[Pattern, Pattern], ...]
"""Rules of packs: where the first pattern matches a lock, the second must not match the claim."""


def kept(
    locked: list[str],
    echo: object,
    claim: str,
    contradictions: Contradictions,
) -> bool:
    """Whether the echo equals the locked constraints as a set of trimmed texts and no rule of a pack fires."""
    if not isinstance(echo, list) or not all(isinstance(one, str) for one in echo):
        return False
    if {_trimmed(one) for one in echo} != {_trimmed(one) for one in locked}:
        return False
    return not contradicted(locked, claim, contradictions)


def contradicted(locked: list[str], claim: str, contradictions: Contradictions) -> bool:
    """Whether some rule matches a locked constraint and the claim, both lower-cased."""
    lowered = claim.lower()
    return any(
        _matches(forbidden, lowered) and any(_matches(lock, one.lower()) for one in locked)
        for lock, forbidden in contradictions
    )


def _matches(pattern: Pattern, text: str) -> bool:
    """Whether a pattern of a pack occurs; one that would try for ever is an error and never a score."""
    try:
        return pattern.search(text, timeout=PATIENCE) is not None
    except TimeoutError:
        message = f"expected a pattern that ends within {PATIENCE:g} s, got {pattern.pattern}"
        raise data_error("RW-K01", message, field="rule") from None


def _trimmed(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


def limited(text: str, *, any_case: bool = False) -> Pattern:
    """A pattern that somebody wrote, for an engine that knows a time limit; a ValueError says what is wrong with it."""
    import re
    import warnings

    import regex

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what a later Python may read otherwise: not what is wrong now
            re.compile(text)  # says best what is wrong
            made: Pattern = regex.compile(text, regex.IGNORECASE if any_case else 0)
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"expected a regular expression, got one that fails: {error}") from None
    return made
