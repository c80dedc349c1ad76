"""A question as it is matched: its terms with their weights, and what kind of thing it asks for."""

import re
from collections.abc import Callable, Collection
from functools import cache
from typing import NamedTuple

from ragworthy.index.ranking import DECIMALS
from ragworthy.index.tokens import query_terms

_NUMBER = r"""
    \d | \b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy
    |eighty|ninety|hundred|thousand|million|billion|dozen|half|third|quarter|once|twice|hourly|daily|weekly|monthly
    |yearly|zero)\b
    """
_NAME = r"(?<![.!?]\s)(?<!^)\b[A-Z]\w+ | ^\W*[A-Z]\w+\s+[A-Z]\w+"
_KINDS = {
    "number": (
        r"\bhow\ (?:many|much|long|often|far|old|big|large|fast|high|tall|deep|wide|soon|quickly|frequently|close)\b"
        r"| \b(?:what|which)\ (?:\w+\ )?(?:number|percent|percentage|rate|size|price|fee|amount|length|age|share)\b",
        _NUMBER,
    ),
    "date": (
        r"\bwhen\b | \b(?:what|which)\ (?:\w+\ )?(?:year|date|day|month|century|decade|hour|time)\b",
        _NUMBER + r"| \b(?:january|february|march|april|may|june|july|august|september|october|november|december"
        r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    ),
    "person": (r"\b(?:who|whom|whose)\b", _NAME),
    "place": (r"\bwhere\b | \b(?:what|which)\ (?:country|city|place|state|region|town|continent)\b", _NAME),
}
"""For each kind of answer the words that ask for it, and what a text must show to hold one. English only."""


@cache
def _pattern(text: str, folded: bool) -> re.Pattern[str]:
    return re.compile(text, re.VERBOSE | (re.IGNORECASE if folded else 0))


class Question(NamedTuple):
    """A question, ready to be matched."""

    text: str
    weights: dict[str, float]
    """Each term once, in the order of the question, with its weight."""
    total: float
    wants: str | None
    """number, date, person or place; None where the question does not say."""

    def coverage(self, words: Collection[str]) -> float:
        """The share of the question's weight that these words hold."""
        if not self.total:
            return 0.0
        return round(sum(weight for term, weight in self.weights.items() if term in words) / self.total, DECIMALS)

    def cue(self, text: str) -> float | None:
        """1 where the text shows the kind of thing that is asked for, 0 where not; None where nobody can say."""
        if self.wants is None:
            return None
        shown = _pattern(_KINDS[self.wants][1], self.wants in ("number", "date"))
        return 1.0 if shown.search(text) else 0.0

    def missing(self, words: Collection[str]) -> list[str]:
        """The words of the question that are not among these, as they were written, heaviest first."""
        lost = sorted((term for term in self.weights if term not in words), key=lambda term: -self.weights[term])
        written = {term: word for word in reversed(self.text.split()) for term in query_terms(word)}
        return list(dict.fromkeys(_shown(written.get(term, term), term) for term in lost))


def _shown(word: str, term: str) -> str:
    return word.strip(".,;:!?()[]{}\"'`") if word.isascii() else term


def ask(text: str, weight: Callable[[str], float]) -> Question:
    """A question with the weight of each of its terms.

    >>> question = ask("How many tides are there?", len)
    >>> question.weights, question.wants, question.coverage({"tid"}), question.missing({"many"})
    ({'many': 4, 'tid': 3}, 'number', 0.428571, ['tides'])
    """
    weights = {term: weight(term) for term in dict.fromkeys(query_terms(text))}
    lower = text.lower()
    wants = next((kind for kind, (asks, _) in _KINDS.items() if _pattern(asks, False).search(lower)), None)
    return Question(text, weights, sum(weights.values()), wants)
