"""How much is repeated: `make soak` repeats all of it, `make test` a part.

Only repetition may depend on this: more cases made by chance, more kills, more of the same kind. Every behaviour is
tested by both.
"""

import os

SOAK = os.environ.get("RAGWORTHY_SOAK", "") not in ("", "0")


def examples(most: int, part: int = 4, least: int = 25) -> int:
    """How many examples Hypothesis makes: all in a soak, otherwise the given part of them, but not fewer than `least`.

    >>> examples(300) in (75, 300)
    True
    """
    return most if SOAK else max(most // part, min(most, least))
