"""Rankings: the best of many scores, with ties in one fixed order, and several ranked lists made one."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragworthy.ids import natural
from ragworthy.records import Chunk

DECIMALS = 6
"""Scores are rounded to this many decimals before they are compared or shown."""

Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Ranked: TypeAlias = list[tuple[int, float]]
"""Positions of chunks with their scores, best first."""


def places(chunks: Sequence[Chunk]) -> Ints:
    """The place of each chunk among equals: by section, then by id, both in natural order."""
    keys = [(natural(chunk.section_id or ""), natural(chunk.name)) for chunk in chunks]
    order = sorted(range(len(chunks)), key=keys.__getitem__)
    found = np.empty(len(chunks), dtype=np.intp)
    found[order] = np.arange(len(chunks))
    return found


def rounded(scores: Doubles) -> Doubles:
    """The scores as they are compared; a negative zero becomes zero."""
    return np.round(scores, DECIMALS) + 0.0


def at_least(scores: NDArray[np.floating], count: int, margin: float = 0.0) -> Ints:
    """The positions of the `count` highest scores and of all within `margin` of the last of them."""
    if count >= len(scores):
        return np.arange(len(scores))
    last = np.partition(scores, len(scores) - count)[len(scores) - count]
    return np.flatnonzero(scores >= last - margin)


def best(positions: Ints, scores: Doubles, place: Ints, count: int) -> Ranked:
    """The `count` best positions with their scores: score descending, then place."""
    order = np.lexsort((place[positions], -scores))[:count]
    return [(int(position), float(score)) for position, score in zip(positions[order], scores[order], strict=True)]


def unit_rows(rows: Floats) -> Floats:
    """The rows scaled to unit length; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64, casting="safe"))
    lengths[lengths == 0] = 1
    scaled: Floats = (rows / lengths[:, None]).astype(np.float32)
    return scaled


# several ranked lists made one, and where a list may be cut


K0 = 60
"""The constant of reciprocal rank fusion: how little the first ranks count above the next."""

Item = TypeVar("Item", bound=Hashable)


def _ranks(lists: Sequence[Sequence[Item]]) -> dict[Item, list[int]]:
    """The ranks, from 1, that each item has in the lists; a repeated item keeps its first."""
    ranks: dict[Item, list[int]] = {}
    for one in lists:
        for rank, item in enumerate(dict.fromkeys(one), 1):
            ranks.setdefault(item, []).append(rank)
    return ranks


def _ordered(scores: dict[Item, float], tie: Callable[[Item], Any]) -> list[tuple[Item, float]]:
    return sorted(scores.items(), key=lambda pair: (-pair[1], tie(pair[0])))


def _reciprocal(ranks: Sequence[int]) -> float:
    return sum(1 / (K0 + rank) for rank in sorted(ranks))


def _itself(item: Any) -> Any:
    return item


def rrf(lists: Sequence[Sequence[Item]], tie: Callable[[Item], Any] = _itself) -> list[tuple[Item, float]]:
    """Reciprocal rank fusion: an item scores the sum of 1 / (60 + rank) over the lists that hold it.

    >>> [(item, round(score, 6)) for item, score in rrf(["ab", "bc"])]
    [('b', 0.032522), ('a', 0.016393), ('c', 0.016129)]
    """
    return _ordered({item: _reciprocal(ranks) for item, ranks in _ranks(lists).items()}, tie)


def intersection(lists: Sequence[Sequence[Item]], tie: Callable[[Item], Any] = _itself) -> list[tuple[Item, float]]:
    """The items that every list holds, scored as by `rrf`.

    >>> [item for item, _ in intersection(["abc", "cbd"])]
    ['c', 'b']
    """
    held = {item: ranks for item, ranks in _ranks(lists).items() if len(ranks) == len(lists)}
    return _ordered({item: _reciprocal(ranks) for item, ranks in held.items()}, tie)


def union(lists: Sequence[Sequence[Item]], tie: Callable[[Item], Any] = _itself) -> list[tuple[Item, float]]:
    """The items that any list holds, by the best of their ranks: an item scores 1 / (60 + best rank).

    >>> [item for item, _ in union(["abc", "cbd"])]
    ['a', 'c', 'b', 'd']
    """
    return _ordered({item: 1 / (K0 + min(ranks)) for item, ranks in _ranks(lists).items()}, tie)


def knee(scores: Sequence[float]) -> int:
    """How many of the falling scores to keep: those before the point farthest below the line from first to last.

    All are kept where no point lies below that line, so also where there are fewer than three.

    >>> knee([10, 9.5, 9, 2, 1.9, 1.8]), knee([5, 4, 3, 2, 1]), knee([7])
    (3, 5, 1)
    """
    count = len(scores)
    if count < 3:
        return count
    step = (scores[-1] - scores[0]) / (count - 1)
    below = [scores[0] + step * at - score for at, score in enumerate(scores)]
    deepest = max(range(count), key=lambda at: (below[at], -at))
    least = 1e-9 * max(1.0, abs(scores[0]))
    return deepest if below[deepest] > least else count
