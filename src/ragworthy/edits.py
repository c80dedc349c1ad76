"""How alike two texts are, sign by sign, where rapidfuzz may not be installed: the same numbers, more slowly.

Both counts keep one bit for each sign of one text and go through the other once (Myers 1999, Hyyrö 2003 and 2004).
Python's integers are as wide as the text, so there are no words of 64 bits to carry between.
"""

from collections.abc import Callable, Iterable
from functools import cache


def distance(one: str, other: str) -> int:
    """The edit distance (Levenshtein): signs to add, remove or exchange.

    >>> distance("kitten", "sitting"), distance("", "ab")
    (3, 2)
    """
    return _fastest()(one, other)


@cache
def _fastest() -> Callable[[str, str], int]:
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        return plain_distance
    return Levenshtein.distance


def nearest(text: str, others: Iterable[str], *, most: int, least: float) -> list[str]:
    """Of other texts those spelled most like this one, best first; the first of equals comes first.

    >>> nearest("A1", ["B7", "A11", "A2"], most=2, least=0.5)
    ['A11', 'A2']
    """
    scored = [(ratio(text, other), other) for other in others]
    return [other for score, other in sorted(scored, key=lambda one: -one[0]) if score >= least][:most]


def ratio(one: str, other: str) -> float:
    """The signs that two texts share in the same order, as a share of all signs of both.

    >>> ratio("abcd", "bce"), ratio("", "")
    (0.5714285714285714, 1.0)
    """
    signs = len(one) + len(other)
    return 2 * _shared(one, other) / signs if signs else 1.0


def plain_distance(one: str, other: str) -> int:
    """The same as `distance`, without another package."""
    short, long = sorted((one, other), key=len)
    if not short:
        return len(long)
    places = _places(long)
    whole, last = (1 << len(long)) - 1, 1 << (len(long) - 1)
    found, more, less = len(long), whole, 0  # bits: where the column of the table rises, and where it falls
    for sign in short:
        same = places.get(sign, 0)
        down = same | less
        across = (((same & more) + more) ^ more) | same
        rises, falls = less | ~(across | more), more & across
        if rises & last:
            found += 1
        elif falls & last:
            found -= 1
        rises, falls = (rises << 1) | 1, falls << 1
        more, less = (falls | ~(down | rises)) & whole, rises & down & whole
    return found


def _shared(one: str, other: str) -> int:
    """The length of the longest common subsequence."""
    places, whole = _places(one), (1 << len(one)) - 1
    left = whole
    for sign in other:
        taken = left & places.get(sign, 0)
        left = ((left + taken) | (left - taken)) & whole
    return len(one) - left.bit_count()


def _places(text: str) -> dict[str, int]:
    """Where each sign is, as bits."""
    found: dict[str, int] = {}
    for nth, sign in enumerate(text):
        found[sign] = found.get(sign, 0) | (1 << nth)
    return found
