"""What fits into a context of so many bytes: results from the top whose texts together are no larger. The first one
always counts.
"""

from collections.abc import Callable, Sequence

BUDGETS = (2000, 4000)
"""Bytes of context that are compared."""
DEEPEST = 100
"""So many results are looked at; more hardly ever fit."""
UNLIKE = 1.25
"""From this ratio on the results of two indexes are of different size."""
SHOWN = 5


def fitting(names: Sequence[str], size: Callable[[str], int], budget: int) -> list[str]:
    """The results from the top that fit into a context; the first always does.

    >>> fitting(["a", "b", "c"], {"a": 1500, "b": 400, "c": 200}.__getitem__, 2000)
    ['a', 'b']
    >>> fitting(["a", "b"], {"a": 2500, "b": 1}.__getitem__, 2000)
    ['a']
    """
    kept: list[str] = []
    used = 0
    for name in names:
        used += size(name)
        if kept and used > budget:
            break
        kept.append(name)
    return kept
