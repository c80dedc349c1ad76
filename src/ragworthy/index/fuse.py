"""Several ranked lists made one, and where a list may be cut."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

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
