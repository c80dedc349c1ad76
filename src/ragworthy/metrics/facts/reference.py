"""A claim against a reference of a sentence or more: how many words they share, and which details the claim states."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from ragworthy.metrics.facts.answers import CLAIM, ERRORED, REFUSED
from ragworthy.metrics.facts.compared import Compared
from ragworthy.metrics.facts.details import Details, contradicts, details_of, stated, stated_by
from ragworthy.metrics.facts.languages import UNSPACED, has_articles, normal
from ragworthy.metrics.facts.pieces import has_pieces
from ragworthy.records import Gold, Trace
from ragworthy.text import compiled

_ARTICLES = frozenset(("a", "an", "the"))


def tokens(text: str, *, articles: bool = True) -> list[str]:
    """The words of a text as SQuAD's script compares them; single characters where a script has no spaces.

    Lower case; ASCII punctuation vanishes, other punctuation and symbols part words; articles vanish, where there are
    any.

    >>> tokens("The U.S. paid $1,000 – a “record”."), tokens("RCEP包括10国。", articles=False)
    (['us', 'paid', '1000', 'record'], ['rcep', '包', '括', '10', '国'])
    """
    text = compiled(r"[!-/:-@\[-`{-~]").sub("", normal(text).lower())
    if not text.isascii():
        text = "".join(" " if unicodedata.category(sign)[0] in "PS" else sign for sign in text)
        text = compiled(UNSPACED).sub(r" \g<0> ", text)
    return [word for word in text.split() if not (articles and word in _ARTICLES)]


def f1(claim: str, reference: str) -> Fraction:
    """Twice the words in common over the words of both, each word as often as it stands.

    >>> f1("It is kept for 30 days", "Backups are kept for 30 days.")  # 4 in common, 6 and 6 words
    Fraction(2, 3)
    """
    articles = has_articles(claim, reference)
    ours, theirs = tokens(claim, articles=articles), tokens(reference, articles=articles)
    if not ours or not theirs:
        return Fraction(ours == theirs)
    common = (Counter(ours) & Counter(theirs)).total()
    return Fraction(2 * common, len(ours) + len(theirs))


def references_of(gold: Gold) -> tuple[str, ...]:
    """The references of a question: any of them will do."""
    given = gold.gold_reference
    return (given,) if isinstance(given, str) else tuple(given or ())


def compare(gold: Gold, claim: str | None) -> Compared:
    """A claim against the references of a question, each metric with the one that suits it best.

    Without a claim (a refusal, an error, no trace) both metrics are 0, and the details are still counted.

    >>> item = Gold(answerable=True, gold_reference="Backups are kept for 30 days in Dublin.")
    >>> compare(item, "They are kept for 30 days.")
    Compared(num=5, den=7, stated=1, details=2, contradicted=False, alone=True)
    """
    references, alone = references_of(gold), not has_pieces(gold)
    known = [one for one in map(_details, references) if one.wanted]
    if claim is None or not claim.strip():
        return Compared(0, 1, 0, len(known[0].wanted) if known else 0, False, alone)
    best = max((f1(claim, one) for one in references), default=Fraction(0))
    stated, details, contradicted = _best(known, claim)
    return Compared(best.numerator, best.denominator, stated, details, contradicted, alone)


@lru_cache(maxsize=4096)
def _details(reference: str) -> Details:
    return details_of(reference)


def _best(known: Sequence[Details], claim: str) -> tuple[int, int, bool]:
    """What a claim states of the details of one reference: of the one of which it states most."""
    if not known:
        return 0, 0, False
    said = stated_by(claim)
    found = [(stated(one, said), len(one.wanted), contradicts(one, said)) for one in known]
    return max(found, key=lambda one: Fraction(0 if one[2] else one[0], one[1]))


def compared_by(gold: Gold, trace: Trace, flags: int) -> Compared:
    """The claim of a trace against the references of its question; an error and a refusal make no claim."""
    answer = trace.answer_json
    made = answer is not None and flags & CLAIM and not flags & (REFUSED | ERRORED)
    return compare(gold, answer.claim if made and answer is not None else None)
