"""How much two rankings differ, whichever is right: of a list the first k items count, each where it is first."""

import math
from bisect import bisect
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction

PERSISTENCE = 0.9
"""How likely the reader of a ranking is to go on to the next item."""
DEPTH = 10
"""How many results of two runs are compared with each other."""


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
    return tau_b(_first(a, k), _first(b, k))


def tau_b(one: Sequence[Hashable], other: Sequence[Hashable]) -> float | None:
    """Kendall's τ-b over all items of two lists, none of which holds an item twice.

    >>> tau_b("abcd", "abce")
    0.8
    """
    balance, every = _balance(one, other)
    lacking_one, lacking_other = every - len(one), every - len(other)
    # All pairs but those of two items that a list lacks, in twos.
    untied_one = every * (every - 1) - lacking_one * (lacking_one - 1)
    untied_other = every * (every - 1) - lacking_other * (lacking_other - 1)
    return 2 * balance / math.sqrt(untied_one * untied_other) if untied_one and untied_other else None


def _balance(one: Sequence[Hashable], other: Sequence[Hashable]) -> tuple[int, int]:
    """How many pairs of items two orders have the same way round, minus those that they have the other way round; and
    how many items there are.

    An item that a list lacks comes after all of it, so it pairs with those that both lists have by where it stands in
    the list that has it; it is the other way round with every item that only the other list has, and tied with those
    that only its own list has.
    """
    places = {item: rank for rank, item in enumerate(other)}
    order = [places[item] for item in one if item in places]
    both, turned, sorted_so_far = len(order), 0, list[int]()
    for place in order:
        at = bisect(sorted_so_far, place)
        turned += len(sorted_so_far) - at
        sorted_so_far.insert(at, place)
    balance = both * (both - 1) // 2 - 2 * turned - (len(one) - both) * (len(other) - both)
    for some, held in ((one, places), (other, set(one))):
        before = 0
        for item in some if len(some) > both else ():
            if item in held:
                before += 1
            else:
                balance += 2 * before - both
    return balance, len(one) + len(other) - both


def spearman(a: Sequence[Hashable], b: Sequence[Hashable], k: int) -> float | None:
    """Spearman's ρ over all items of both lists; those that a list lacks share the places after its last.

    None where it is undefined: a single item, or a list in which all items are tied.

    >>> [spearman("abc", "abc", 3), spearman("abc", "cba", 3), spearman("abcd", "abdc", 4), spearman("a", "a", 1)]
    [1.0, -1.0, 0.8, None]
    """
    one, other = _first(a, k), _first(b, k)
    items = list(dict.fromkeys((*one, *other)))
    x, y = _doubled(one, items), _doubled(other, items)
    middle = len(items) + 1  # twice the mean rank, since the ranks are doubled too
    both = sum((p - middle) * (q - middle) for p, q in zip(x, y, strict=True))
    apart = sum((p - middle) ** 2 for p in x) * sum((q - middle) ** 2 for q in y)
    return both / math.sqrt(apart) if apart else None


def _doubled(order: Sequence[Hashable], items: Iterable[Hashable]) -> list[int]:
    """Twice the rank of each item, which is whole where items share the mean of their places."""
    ranks = {item: 2 * rank for rank, item in enumerate(order, 1)}
    every = list(items)
    shared = len(order) + 1 + len(every)  # twice the mean of the places from the first after the list to the last
    return [ranks.get(item, shared) for item in every]


Measure = Callable[[Sequence[Hashable], Sequence[Hashable], int], float | None]


def alike(by: Measure, a: Sequence[Hashable], b: Sequence[Hashable], k: int) -> float:
    """How alike two orders are, by τ or ρ: 1 where they are the same, -1 where only one of them has anything."""
    one, other = _first(a, k), _first(b, k)
    return 1.0 if one == other else _told(by(one, other, k))


def alike_by_tau(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """How alike two lists are by τ, none of which holds an item twice: as `alike`, of lists that are cut already."""
    return 1.0 if one == other else _told(tau_b(one, other))


def _told(found: float | None) -> float:
    return -1.0 if found is None else found


def six(number: float) -> Fraction:
    """A number that a root went into: six places of it count.

    >>> six(1 / 3), six(-1.0), six(-1e-9)
    (Fraction(333333, 1000000), Fraction(-1, 1), Fraction(0, 1))
    """
    return Fraction(f"{number:.6f}")
