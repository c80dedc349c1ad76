"""How much of the gold evidence is among the first k retrieved, as flags of a question: two for each k."""

from collections.abc import Callable, Collection

RETRIEVED = 1 << 14
TOP = 32
"""The first bit of all gold evidence in the first k, and any of it; the next k has the two after these."""
MANY = 32
"""From so many citations on, what was retrieved is looked up in a set."""


def several_tops(ks: tuple[int, ...]) -> Callable[[list[str], list[str]], int]:
    """The flags of several k, or of several gold citations."""
    tops = [(k, 1 << (TOP + 2 * i), 1 << (TOP + 2 * i + 1)) for i, k in enumerate(ks)]

    def flags_of(wanted: list[str], retrieved: list[str]) -> int:
        flags = 0
        for k, all_in, any_in in tops:
            top: Collection[str] = retrieved[:k]
            if len(wanted) >= MANY:
                top = frozenset(top)
            found = 0
            for one in wanted:
                if one in top:
                    found += 1
            if found:
                flags |= any_in if found < len(wanted) else all_in | any_in
        if flags:
            return flags | RETRIEVED
        everything: Collection[str] = retrieved if len(wanted) < MANY else frozenset(retrieved)
        for one in wanted:
            if one in everything:
                return RETRIEVED
        return 0

    return flags_of


def grouped_tops(ks: tuple[int, ...]) -> Callable[[list[list[str]], list[str]], int]:
    """The flags of evidence that several blocks may hold: of each group any block will do."""
    tops = [(k, 1 << (TOP + 2 * i), 1 << (TOP + 2 * i + 1)) for i, k in enumerate(ks)]

    def flags_of(groups: list[list[str]], retrieved: list[str]) -> int:
        flags = 0
        for k, all_in, any_in in tops:
            top = frozenset(retrieved[:k])
            found = len(groups) - sum(map(top.isdisjoint, groups))
            if found:
                flags |= any_in if found < len(groups) else all_in | any_in
        if flags:
            return flags | RETRIEVED
        everything = frozenset(retrieved)
        return 0 if all(map(everything.isdisjoint, groups)) else RETRIEVED

    return flags_of
