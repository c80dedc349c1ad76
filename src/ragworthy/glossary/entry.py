"""What the glossary knows of a word."""

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What sort of word it is, in the order of the page."""

    VERDICT = "verdict"
    OUTCOME = "outcome of a gate"
    LABEL = "label of a question"
    CAUSE = "cause"
    STAGE = "stage"
    FATE = "fate of a question"
    FAILURE = "failure of a structured answer"
    WORD = "word"


class Entry(NamedTuple):
    """A word with its meaning."""

    name: str
    """As reports write it."""
    kind: Kind
    means: str
    """One plain sentence."""
    example: str
    """The same with numbers."""
    do: str = ""
    """What to do about it; empty where nothing is wrong."""
    also: tuple[str, ...] = ()
    """Other spellings under which it is found."""
    see: tuple[str, ...] = ()
    """Metrics, commands and words that belong to it: what `explain` knows, or a page of docs/."""
