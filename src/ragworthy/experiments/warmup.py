"""Which questions warm a pipeline up: others than those that are measured, so that no cache knows these already."""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any, NamedTuple

import msgspec

from ragworthy.runner.contract import Ask


class WarmUp(NamedTuple):
    """What each cell asks first."""

    asks: tuple[Ask, ...]
    measured: int
    """How many of them are measured later, too, because the gold set has no others."""


def warm_up(count: int, measured: Sequence[Ask], others: Sequence[Ask]) -> WarmUp:
    """So many questions that are not measured; where these do not suffice, the ones that are measured last.

    >>> asks = [Ask(name, "?") for name in "ABCDE"]
    >>> [ask.qid for ask in warm_up(3, asks[:2], asks[2:]).asks]
    ['C', 'D', 'E']
    >>> few = warm_up(3, asks[:4], asks[4:])
    >>> [ask.qid for ask in few.asks], few.measured
    (['D', 'C', 'E'], 2)
    """
    new = list(others[:count])
    again = list(islice(cycle(reversed(measured)), count - len(new))) if measured else []
    return WarmUp((*again, *new), len(again))


def with_knobs(asks: Sequence[Ask], knobs: dict[str, Any]) -> list[Ask]:
    """Questions as a configuration asks them."""
    return [msgspec.structs.replace(ask, knobs=knobs) for ask in asks]
