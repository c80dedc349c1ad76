"""All differences of one verdict, tested together: what is proven, is proven for the whole family of its gates."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from ragworthy.differences import Difference, Flips
from ragworthy.paired.exact import mcnemar, swap
from ragworthy.paired.swaps import DRAWS, Swapped, seed_of, swap_all
from ragworthy.proving import Proving, Tested

Key = TypeVar("Key", bound=Hashable)
DIGITS = 9
"""So many digits of a bound are the same on every machine."""


def prove(found: Mapping[Key, Difference], proving: Proving) -> dict[Key, Tested]:
    """Every difference with its p-value, alone and in the family.

    Those in which nothing changed cannot be called proven, whatever chance does: they are no part of the family.
    """
    moved = {key: one for key, one in found.items() if any(one.column.values())}
    tested = {key: _tested(one, proving) for key, one in found.items()}
    if len(moved) == 1:
        ((key, only),) = moved.items()
        exact = None if only.flips is None else _exact(only.flips)
        if exact is not None:
            return tested | {key: tested[key]._replace(p=exact[0], adjusted=exact[0], method=exact[1])}
    swapped = swap_all([one.column for one in moved.values()], seed=seed_of(proving.seed, "swap"))
    for nth, (key, one) in enumerate(moved.items()):
        p, method = _alone(one, swapped, nth)
        family = p if len(moved) == 1 else max(p, swapped.adjusted[nth])
        more = f", step-down max-T over {len(moved)} gates" if len(moved) > 1 else ""
        tested[key] = tested[key]._replace(p=p, adjusted=family, method=f"{method}{more}", gates=len(moved))
    return tested


def _tested(one: Difference, proving: Proving) -> Tested:
    return Tested(
        alpha=float(proving.alpha),
        moved=one.moved,
        worse=one.worse,
        better=one.better,
        changed=sum(value != 0 for value in one.column.values()),
        cases=one.cases,
        clusters=one.clusters,
        method="nothing changed",
        upper=None if one.upper is None else float(f"{one.upper:.{DIGITS}g}"),
        unbounded=one.unbounded,
        only_old=one.only_old,
        only_new=one.only_new,
        square=one.square,
        deff=one.deff,
        hit=one.hit,
        felled=one.felled,
        rough=one.rough,
        errored=one.errored,
    )


def _alone(one: Difference, swapped: Swapped, nth: int) -> tuple[float, str]:
    """The p-value of one difference for itself, exact where that is known, and how it was had."""
    exact = None if one.flips is None else _exact(one.flips)
    if exact is not None:
        return exact
    what = "questions" if one.clusters == one.cases else "clusters"
    how = "all swaps" if swapped.exact else f"{DRAWS:,} swaps"
    return swapped.p[nth], f"{how} of {what}"


def _exact(flips: Flips) -> tuple[float, str] | None:
    if flips.plain:
        return mcnemar(*flips.right_wrong), "McNemar, exact"
    p = swap(flips.right_wrong, flips.counted_wrong, flips.right_counted, flips.rate)
    return None if p is None else (p, "swap of questions, exact")
