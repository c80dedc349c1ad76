"""Earlier runs: how numbers move over them, and the store that keeps them.

The database is imported where a store is opened, and not before.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ragworthy.history.drift import declines as declines
from ragworthy.history.drift import drift as drift
from ragworthy.history.drift import slope as slope
from ragworthy.history.drift import variation as variation
from ragworthy.history.entries import Attempt as Attempt
from ragworthy.history.entries import Blessing as Blessing
from ragworthy.history.entries import Run as Run
from ragworthy.history.entries import broken_attempts as broken_attempts
from ragworthy.history.entries import next_attempt as next_attempt
from ragworthy.history.places import Place as Place
from ragworthy.history.places import find_place as find_place
from ragworthy.history.taken import gold_of as gold_of

if TYPE_CHECKING:
    from ragworthy.history.store import Store


def open_store(
    where: str | Path | Place, *, create: bool = True, now: Callable[[], str] | None = None, reads: bool = False
) -> "Store":
    """Open a store: a path, postgresql://…, or what `find_place` found. `create` makes a file that is not there, and
    one that only `reads` changes nothing at all.
    """
    from ragworthy.history import store

    return store.open_store(where, create=create, now=now or store.clock, reads=reads)
