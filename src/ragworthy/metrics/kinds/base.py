"""What every kind of field can do."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol

from ragworthy.metrics.context import Context
from ragworthy.text import letters, nfkc

NONE, ALL = Fraction(0), Fraction(1)


class Match(NamedTuple):
    """What a field is worth, and the counts behind it."""

    score: Fraction
    counts: tuple[int, ...] = ()
    thin: bool = False
    """Whether it rests on a very short text that is in a much longer one."""


class Detail(NamedTuple):
    """One line of a comparison: what was expected, what was got (either may be lacking), and why it counts or not."""

    good: bool
    expected: str | None
    got: str | None
    note: str = ""


class Kind(Protocol):
    """What every kind of field can do."""

    def wrong(self, value: Any) -> str | None:
        """What is wrong with the value of an answer: 'expected …, got …', or None."""

    def unfit(self, value: Any) -> str | None:
        """What is wrong with the value of a gold item, which must also be able to match; or None."""

    def compare(self, expected: Any, got: Any, context: Context) -> Match:
        """What an answer is worth."""

    def details(self, expected: Any, got: Any, context: Context) -> list[Detail]:
        """What matched what."""


Form = Literal["exact", "nfkc", "folded", "letters"]
FORMS: dict[str, Callable[[str], str]] = {
    "exact": lambda text: text,
    "nfkc": nfkc,
    "folded": lambda text: nfkc(text).casefold(),
    "letters": letters,
}
"""How text is made comparable before it is compared."""
