"""How much two rankings of the same question differ, without knowing which one is right. Pure functions.

A list counts up to its first `k` items; a repeated item counts where it stands first.
"""

import math
from collections.abc import Hashable, Sequence
from itertools import combinations

PERSISTENCE = 0.9
"""How likely the reader of a ranking is to go on to the next item."""


def _first(items: Sequence[Hashable], k: int) -> list[Hashable]:
    if k < 1:
        raise ValueError(f"expected k of at least 1, got {k}")
    return list(dict.fromkeys(items))[:k]


def jaccard(a: Sequence[Hashable], b: Sequence[Hashable], k: int) -> float:
    """Shared items of the first k ÷ all items of the first k; 1 for two empty lists.

    >>> jaccard("abcd", "abxy", 4)
    0.3333333333333333
    """
    one, other = set(_first(a, k)), set(_first(b, k))
    return len(one & other) / len(one | other) if one or other else 1.0


def rbo(a: Sequence[Hashable], b: Sequence[Hashable], p: float = PERSISTENCE, k: int = 10) -> float:
    """Rank-biased overlap, extrapolated from the first k: agreement at each depth, weighted by p to the depth.

    Where one list is shorter, its agreement at its end is taken to go on. 1 for two empty lists.

    >>> round(rbo("abc", "acb", k=3), 6)
    0.955
    """
    if not 0 < p < 1:
        raise ValueError(f"expected p between 0 and 1, got {p}")
    short, long = sorted((_first(a, k), _first(b, k)), key=len)
    if not long:
        return 1.0
    if not short:
        return 0.0
    s, n = len(short), len(long)
    shared = _overlaps(short, long)
    terms = [shared[d] / d * p**d for d in range(1, n + 1)]
    terms += [shared[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1)]
    ending = ((shared[n] - shared[s]) / n + shared[s] / s) * p**n
    return min(1.0, (1 - p) / p * math.fsum(terms) + ending)


def _overlaps(short: list[Hashable], long: list[Hashable]) -> list[int]:
    """How many items both lists hold in their first 0, 1, 2 … items, up to the end of the longer one."""
    return [len(set(short[:depth]) & set(long[:depth])) for depth in range(len(long) + 1)]


def kendall_tau_b(a: Sequence[Hashable], b: Sequence[Hashable], k: int) -> float | None:
    """Kendall's τ-b over all items of both lists; those that a list lacks share the rank after its last.

    None where it is undefined: a single item, or a list in which all items are tied.

    >>> [kendall_tau_b("abcd", "abce", 4), kendall_tau_b("abc", "xyz", 3), kendall_tau_b("a", "a", 1)]
    [0.8, -0.75, None]
    """
    one = {item: rank for rank, item in enumerate(_first(a, k))}
    other = {item: rank for rank, item in enumerate(_first(b, k))}
    ranks = [(one.get(item, len(one)), other.get(item, len(other))) for item in {**one, **other}]
    balance = untied_one = untied_other = 0
    for (x, y), (v, w) in combinations(ranks, 2):
        balance += _sign(x - v) * _sign(y - w)
        untied_one += x != v
        untied_other += y != w
    return balance / math.sqrt(untied_one * untied_other) if untied_one and untied_other else None


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
