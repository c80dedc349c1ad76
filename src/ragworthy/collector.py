"""When the collector of cycles rests: where many objects and no cycles are made, it would look at them in vain."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_owned: list[bool] = []
"""Whether this process is ours, and ends with its command."""


def begin() -> None:
    """Start the collector that `ragworthy.__main__` stopped. Code that is loaded stays until the end, so there is
    nothing to be found in it, now or at the end.
    """
    _owned.append(True)
    gc.freeze()
    gc.enable()


@contextmanager
def without_gc() -> Iterator[None]:
    """Millions of small objects without cycles, and the collector as it was afterwards."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if _owned:
                # All that was made is as if it had been looked at: else the first look after this goes over everything.
                # Only here: what is moved like this does not count for the next whole look, and a process that lives
                # on would keep its garbage.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
