"""All differences of one verdict, tested together: what is proven, is proven for the whole family of its gates."""

from collections.abc import Container, Hashable, Mapping
from typing import TypeVar

from ragworthy.differences import Difference, Flips
from ragworthy.paired.exact import evalue, fewest_bets, mcnemar, swap
from ragworthy.paired.family import e_holm
from ragworthy.paired.swaps import DRAWS, Swapped, seed_of, swap_all
from ragworthy.proving import Proving, Tested, Unerrored

Key = TypeVar("Key", bound=Hashable)
DIGITS = 9
"""So many digits of a bound are the same on every machine."""


def prove(found: Mapping[Key, Difference], proving: Proving, anytime: Container[Key] = ()) -> dict[Key, Tested]:
    """Every difference tested: those in `anytime` by e-values, which hold however often one looks, the others by
    p-values. Each kind is a family for itself, and where there are both, each has half of alpha. Where the old run has
    errors, the same difference over the questions without errors is one more member of the family.
    """
    members: dict[tuple[Key, bool], Difference] = {(key, False): one for key, one in found.items()}
    members |= {(key, True): one.unerrored.difference for key, one in found.items() if one.unerrored is not None}
    weighed = {key: one for key, one in members.items() if key[0] in anytime}
    others = {key: one for key, one in members.items() if key not in weighed}
    if weighed and others:
        proving = proving._replace(alpha=str(float(proving.alpha) / 2))
    tested = weigh(weighed, proving) | _by_swaps(others, proving)
    return {key: _with_unerrored(one, tested[key, False], tested.get((key, True))) for key, one in found.items()}


def _with_unerrored(one: Difference, tested: Tested, other: Tested | None) -> Tested:
    """A test with that of the questions without errors, which is a member of the same family."""
    if one.unerrored is None or other is None:
        return tested
    return tested._replace(unerrored=Unerrored(other, *one.unerrored[1:]))


def weigh(found: Mapping[Key, Difference], proving: Proving) -> dict[Key, Tested]:
    """Differences whose evidence may grow: the e-value of the questions that changed, adjusted for all such gates."""
    why = {key: _unweighed(one) for key, one in found.items()}
    flips = {key: one.flips.right_wrong for key, one in found.items() if one.flips is not None and not why[key]}
    adjusted = dict(zip(flips, e_holm([evalue(*one) for one in flips.values()]), strict=True))
    return {
        key: _tested(one, proving)._replace(
            evalue=adjusted.get(key),
            unweighed=why[key],
            method="e-value" if len(flips) < 2 else f"e-value, e-Holm over {len(flips)} gates",
            gates=max(1, len(flips)),
            p=mcnemar(*flips[key]) if key in flips else 1.0,
            least=fewest_bets(float(proving.alpha)),
        )
        for key, one in found.items()
    }


def _unweighed(one: Difference) -> str:
    """Why the questions that changed are not tosses of a coin; empty where they are."""
    if one.flips is None:
        return "its words are not yes or no, or several questions of one cluster changed"
    return "" if one.flips.plain else "some questions are a case of one run only"


def _by_swaps(found: Mapping[tuple[Key, bool], Difference], proving: Proving) -> dict[tuple[Key, bool], Tested]:
    """Every difference with its p-value, alone and in the family.

    Those in which nothing changed cannot be called proven, whatever chance does: they are not part of the family.
    """
    moved = {key: one for key, one in found.items() if any(one.column.values())}
    tested = {key: _tested(one, proving) for key, one in found.items()}
    if len(moved) == 1:
        ((key, only),) = moved.items()
        exact = None if only.flips is None else _exact(only.flips)
        if exact is not None:
            return tested | {key: tested[key]._replace(p=exact[0], adjusted=exact[0], method=exact[1])}
    columns, slack = [one.column for one in moved.values()], [one.slack for one in moved.values()]
    swapped = swap_all(columns, seed=seed_of(proving.seed, "swap"), slack=slack)
    gates = len({key for key, _ in moved})
    many = f"{gates} gates" if gates == len(moved) else f"{len(moved)} differences, with and without errors"
    for nth, (key, one) in enumerate(moved.items()):
        p, method = _alone(one, swapped, nth)
        family = p if len(moved) == 1 else max(p, swapped.adjusted[nth])
        more = f", step-down max-T over {many}" if len(moved) > 1 else ""
        tested[key] = tested[key]._replace(p=p, adjusted=family, method=f"{method}{more}", gates=gates)
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
        method="no cluster counts as changed" if one.moved else "nothing changed",
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
        regrouped=one.regrouped,
        counted=one.counted,
        gone=one.gone,
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
