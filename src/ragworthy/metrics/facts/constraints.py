"""Locked constraints: whether an answer echoes them, and whether its claim contradicts them."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, Protocol

from ragworthy.errors import data_error

LOCK, CLAIM = 500, 5_000
"""So many characters of a lock and of a claim are looked at by a rule that compares them."""

# What an answer shows of its locked constraints, as flags of its question: `answers.py` shares out the bits.
KEPT = 1 << 10
NOT_ECHOED = 1 << 55
"""The echo is not the set of locked constraints."""
CONTRADICTED = 1 << 56
"""The claim says the opposite of one of them."""
UNRULED = 1 << 57
"""One of them is nothing that any rule knows, so that nobody looks for its opposite."""
OVER_ECHOED = 1 << 58
"""The echo has all of them, and more."""

PATIENCE = 2.0
"""So many seconds a pattern of a rule pack may take for one text."""


class Pattern(Protocol):
    """A regular expression with a limit on the time it takes."""

    @property
    def pattern(self) -> str:
        """Its text."""

    @property
    def groupindex(self) -> Mapping[str, int]:
        """Its named groups."""

    def search(self, text: str, /, *, timeout: float) -> object:
        """The first match; a TimeoutError after so many seconds."""


class Rule(NamedTuple):
    """A rule of a pack: where the first pattern matches a lock, the second must not match the claim."""

    locked: Pattern
    claim: Pattern
    joined: bool = False
    """Whether the second looks at the lock and the claim, a line for each."""
    name: str = ""
    """What it is called where it fires: its pack and what it looks for."""


Contradictions = tuple[Rule, ...]
"""The rules of packs."""


def echoes(locked: list[str], echo: object) -> bool:
    """Whether an echo equals the locked constraints as a set of trimmed texts."""
    said = _echoed(echo)
    return said is not None and said == set(map(_trimmed, locked))


def _echoed(echo: object) -> set[str] | None:
    """What an echo holds; None where it is not a list of texts."""
    if not isinstance(echo, list) or not all(isinstance(one, str) for one in echo):
        return None
    return set(map(_trimmed, echo))


def constraint_flags(locked: list[str], echo: object, claim: str, contradictions: Contradictions) -> int:
    """Whether an answer keeps its locked constraints; where it does not, in which ways."""
    broken = 0
    if not echoes(locked, echo):
        over = (_echoed(echo) or set()) > set(map(_trimmed, locked))
        broken = NOT_ECHOED | OVER_ECHOED if over else NOT_ECHOED
    if contradicted(locked, claim, contradictions):
        broken |= CONTRADICTED
    return broken or KEPT


def contradicted(locked: list[str], claim: str, contradictions: Contradictions) -> bool:
    """Whether some rule matches a locked constraint and the claim, both lower-cased."""
    return bool(contradictions) and next(against(locked, claim, contradictions), None) is not None


def against(locked: Iterable[str], claim: str, contradictions: Contradictions) -> Iterator[tuple[str, str]]:
    """The constraints that a claim contradicts, each with the name of the rule that says so."""
    said = _line(claim)
    for lock in locked:
        line = _line(lock)
        yield from ((lock, rule.name) for rule in _known(contradictions, line) if _fires(rule, line, said))


def unruled(locked: Iterable[str], contradictions: Contradictions) -> bool:
    """Whether there are rules, and one of the constraints is nothing that any of them knows."""
    return bool(contradictions) and not all(_known(contradictions, _line(lock)) for lock in locked)


@lru_cache(maxsize=4096)
def _known(contradictions: Contradictions, lock: str) -> Contradictions:
    """The rules that know a lock. The same locks are in many questions."""
    return tuple(rule for rule in contradictions if _matches(rule.locked, lock))


def _fires(rule: Rule, lock: str, claim: str) -> bool:
    return _matches(rule.claim, f"{lock[:LOCK]}\n{claim[:CLAIM]}" if rule.joined else claim)


def _line(text: str) -> str:
    """A text as rules see it: in lower case, on one line."""
    return " ".join(text.lower().splitlines())


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
