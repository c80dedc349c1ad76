"""The longest common subsequence of two token sequences, each token near the place where it is expected.

The expected place of an old token is where the anchors before and after it put it: token 3-grams that occur once on
either side, in the same order. A token is matched within 1000 bytes of that place only, so that a common word far away
in a long block is not taken for it.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ragworthy.corpus.shingles import TOKEN_GRAM, Form

WINDOW = 1000
"""How many bytes from its expected place a token may be found."""

Pair: TypeAlias = tuple[int, int]


class Strand(NamedTuple):
    """The tokens of one or more blocks in a row, the byte at which each begins, and the number of bytes."""

    tokens: tuple[str, ...]
    starts: tuple[int, ...]
    size: int


def strand(forms: Sequence[Form]) -> Strand:
    """Blocks laid end to end."""
    if len(forms) == 1:
        return Strand(forms[0].tokens, forms[0].starts, forms[0].size)
    tokens: list[str] = []
    starts: list[int] = []
    size = 0
    for form in forms:
        tokens += form.tokens
        starts += [size + start for start in form.starts]
        size += form.size
    return Strand(tuple(tokens), tuple(starts), size)


def align(old: Strand, new: Strand) -> list[Pair]:
    """Which old token (by its number) is which new one: a longest common subsequence within the window."""
    places: dict[str, int] = defaultdict(int)
    for number, token in enumerate(new.tokens):
        places[token] |= 1 << number
    rows = [places.get(token, 0) for token in old.tokens]
    if max(old.size, new.size) > WINDOW:
        rows = [row & mask for row, mask in zip(rows, _windows(old, new), strict=True)]
    return _slid(longest(rows, len(new.tokens)), old.tokens, new.tokens)


def longest(rows: Sequence[int], width: int) -> list[Pair]:
    """The longest ascending chain of matches; bit j of row i says whether old i and new j match.

    >>> old, new = "abcbdab", "bdcaba"
    >>> rows = [sum(1 << j for j, b in enumerate(new) if a == b) for a in old]
    >>> "".join(old[i] for i, _ in longest(rows, len(new)))
    'bdab'
    """
    full = (1 << width) - 1
    steps = [full]  # a zero at bit j: the chain up to column j is longer than the chain up to the column before
    for row in rows:
        last = steps[-1]
        taken = last & row
        steps.append(((last + taken) | (last - taken)) & full)
    pairs: list[Pair] = []
    i, j = len(rows), width
    while i and j:
        bit = 1 << (j - 1)
        if steps[i] & bit:
            j -= 1
        elif not steps[i - 1] & bit:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    pairs.reverse()
    return pairs


def _slid(pairs: list[Pair], old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """The same chain with each match moved next to the one after it, where the same token is there too."""
    for k in range(len(pairs) - 2, -1, -1):
        (i, j), (next_i, next_j) = pairs[k], pairs[k + 1]
        if next_i == i + 1 and next_j > j + 1 and new[next_j - 1] == old[i]:
            pairs[k] = (i, next_j - 1)
        elif next_j == j + 1 and next_i > i + 1 and old[next_i - 1] == new[j]:
            pairs[k] = (next_i - 1, j)
    return pairs


def _windows(old: Strand, new: Strand) -> list[int]:
    """For each old token the new tokens that lie near enough to its expected place, as bits."""
    anchors = _anchors(old.tokens, new.tokens)
    befores = [i for i, _ in anchors]
    masks = []
    for number, start in enumerate(old.starts):
        at = bisect_right(befores, number)
        mask = 0
        for i, j in anchors[max(at - 1, 0) : at + 1] or [(-1, -1)]:
            shift = new.starts[j] - old.starts[i] if i >= 0 else 0
            low = bisect_left(new.starts, start + shift - WINDOW)
            high = bisect_right(new.starts, start + shift + WINDOW)
            mask |= (1 << high) - (1 << low) if high > low else 0
        masks.append(mask)
    return masks


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """The 3-grams that occur once on either side, as far as they are in the same order."""
    here, there = _once(old), _once(new)
    return in_order([(i, there[gram]) for gram, i in here.items() if gram in there])


def _once(tokens: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The 3-grams that occur once, with the number of their first token."""
    found: dict[tuple[str, ...], int] = {}
    repeated = set()
    for number in range(len(tokens) - TOKEN_GRAM + 1):
        gram = tuple(tokens[number : number + TOKEN_GRAM])
        if gram in found:
            repeated.add(gram)
        found[gram] = number
    return {gram: number for gram, number in found.items() if gram not in repeated}


def in_order(pairs: Sequence[Pair]) -> list[Pair]:
    """The longest run of pairs that ascend on both sides; no number occurs twice on one side of the input.

    >>> in_order([(0, 5), (1, 0), (2, 1), (3, 9), (4, 2)])
    [(1, 0), (2, 1), (4, 2)]
    """
    tails: list[int] = []  # the smallest right side with which a run of each length can end
    ends: list[int] = []
    before: list[int] = []
    ordered = sorted(pairs)
    for number, (_, right) in enumerate(ordered):
        length = bisect_left(tails, right)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [right]
        ends[length : length + 1] = [number]
    run: list[Pair] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        run.append(ordered[number])
        number = before[number]
    return run[::-1]
