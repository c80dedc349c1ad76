"""What this set of questions can show: how sure its gates are, and how many questions would make them sure.

Everything means "in four of five": the chance that is meant where nothing else is said.
"""

import math
from fractions import Fraction
from typing import NamedTuple

from ragworthy import gates as g
from ragworthy.names import Outcome
from ragworthy.proving import INTERVAL, Tested
from ragworthy.stats import cases_needed

MOST = 10_000
"""Nobody writes more questions for one gate: advice beyond it is none."""
RUNS, PAIR, ASSUMED = "runs of the baseline", "these two runs", "assumed"
"""Where the share of questions that flip comes from."""
_FLIPPED = {g.MIN: g.MAX, g.MAX: g.MIN}


class Rate(NamedTuple):
    """What cases can show of a number between 0 and some top, compared with a limit."""

    gate: g.Gate
    value: g.Value
    settled: bool
    """Whether the whole interval is on one side."""
    missed: bool
    """Whether the value is on the bad side."""
    rate: Fraction
    """What is planned with, as a share of the top: the value as it was seen, and one case more that speaks against it.
    """
    needed: int | None
    """The cases that show on which side it is; None where it is too near to the limit."""
    chance: float
    """How often as many cases as there are show it."""
    clean: int
    """The fewest cases that can show it at all: those without a bad one."""
    to_fail: int

    @property
    def cases(self) -> int:
        """How many there are, repeated ones counted once."""
        return self.value.size or 0

    @property
    def worth(self) -> int:
        """How many questions of different clusters they are worth."""
        return _worth(self.cases, self.value.deff)

    @property
    def more(self) -> int | None:
        """About how many more would show it."""
        from ragworthy.paired.power import rounded

        return None if self.needed is None else rounded(max(0, self.needed - self.cases))


class Drop(NamedTuple):
    """What cases can show of a difference: of losses, as shares of the greatest value there can be."""

    gate: g.Gate
    value: g.Value
    cases: int
    deff: float
    flips: float
    """The share of questions that change although nothing did."""
    told_by: str
    finds: float | None
    """The smallest loss that is found; None where there are too few cases for any."""
    tolerance: float | None
    gates: int
    """How many gates of the verdict compare."""
    fewest: int | None = None
    """From so many cases on two equal runs stay within the tolerance in 95 % of the pairs; None where they never do."""
    family: int | None = None
    """The same for all gates together."""
    more: int | None = None
    """About how many more cases settle what is undecided."""

    @property
    def worth(self) -> int:
        """How many questions of different clusters they are worth."""
        return _worth(self.cases, self.deff)

    @property
    def sharp(self) -> bool:
        """Whether luck alone exceeds the tolerance too often."""
        return self.tolerance is not None and (self.fewest is None or self.cases < self.fewest)


def _about(cases: float) -> int:
    """So many cases, to two digits where they are very many."""
    from ragworthy.paired.power import rounded

    return math.ceil(cases) if cases < 1_000 else rounded(cases)


def _worth(cases: int, deff: float | None) -> int:
    return max(1, math.floor(cases / (deff or 1.0) + 1e-9)) if cases else 0


# one number


def of_rate(one: g.Judged) -> Rate | None:
    """What can be shown of a gate on one number; None where it is not a rate, or where no number of cases would do."""
    gate, value = one.gate, one.value
    if gate.op not in _FLIPPED or value is None or value.exact is None or not value.size or value.interval is None:
        return None
    if not value.rate or value.den is None or one.by_errors:
        return None
    at, share = Fraction(gate.threshold), value.exact / value.top
    clean = cases_needed(gate.op, at / value.top)
    if clean is None:
        return None
    from ragworthy.paired import power

    good = share >= at / value.top if gate.op == g.MIN else share <= at / value.top
    op = gate.op if good else _FLIPPED[gate.op]
    rate = power.shrunk(op, share * value.size, value.size)
    needed = power.cases_to_show(op, at / value.top, rate)
    needed = None if needed is None else _about(needed * (value.deff or 1.0))
    low, high = value.interval
    settled = (low >= at or high < at) if gate.op == g.MIN else (high <= at or low > at)
    return Rate(
        gate,
        value,
        settled,
        not good,
        rate,
        None if needed is None or needed > MOST else needed,
        power.chance(op, at / value.top, rate, _worth(value.size, value.deff)),
        *clean,
    )


# differences


def of_drop(one: g.Judged) -> Drop | None:
    """What can be shown of a gate that compares; None where nothing is known for such a number."""
    gate, value = one.gate, one.value
    if gate.op not in g.AGAINST or value is None or value.exact is None or value.den is None or not value.rate:
        return None
    from ragworthy.paired import power

    tested = one.tested if one.tested is not None and one.tested.without is None else None
    if tested is not None and tested.square is None:
        return None
    cases = value.size or 0 if tested is None else tested.cases
    deff = value.deff or 1.0 if tested is None else tested.deff
    flips, told_by = _flips(one, tested, value.top)
    found = Drop(
        gate,
        value,
        cases,
        deff,
        flips,
        told_by,
        power.detectable(_worth(cases, deff), flips),
        _tolerance(one),
        one.family,
    )
    if found.tolerance:
        fewest, family = (power.fewest_for(found.tolerance, flips, several) for several in (1, found.gates))
        found = found._replace(fewest=_about(fewest * deff), family=_about(family * deff))
    return found if tested is None else found._replace(more=_more(one, tested, found))


def _flips(one: g.Judged, tested: Tested | None, top: int) -> tuple[float, str]:
    """The share of questions that change although nothing did, and where it comes from."""
    from ragworthy.paired import power

    if one.tested is not None and one.tested.flips is not None:
        return float(one.tested.flips), RUNS
    if tested is None or tested.square is None:
        return power.ASSUMED, ASSUMED
    return _changed(tested, top, by_chance=tested.proven), PAIR


def _changed(tested: Tested, top: int, *, by_chance: bool = False) -> float:
    """The share of questions that changed, and one more; of a proven loss only as many as went either way."""
    square = (tested.square or 0.0) / top**2
    if by_chance:
        square *= 2 * min(tested.worse, tested.better) / max(1, tested.worse + tested.better)
    return min(1.0, (tested.cases * square + 1) / (tested.cases + 2))


def _tolerance(one: g.Judged) -> float | None:
    """The loss that may be, as a share of the greatest value; None for a gate without any tolerance."""
    value, gate = one.value, one.gate
    if value is None or gate.guard:
        return None
    limit = Fraction(gate.threshold) / value.top
    if gate.op == g.WORSE:
        limit = Fraction(gate.threshold) * abs(old_value(one)) / value.top
    return float(limit)


def old_value(one: g.Judged) -> Fraction:
    """The value of the baseline; this run's where there is none yet."""
    if one.baseline is not None:
        return one.baseline
    return Fraction(0) if one.value is None or one.value.exact is None else one.value.exact


def _more(one: g.Judged, tested: Tested, found: Drop) -> int | None:
    """About how many more questions prove a loss as large as this one, or exclude one beyond the tolerance."""
    if one.outcome is not Outcome.UNDECIDED or one.lost is None or not tested.cases:
        return None
    from ragworthy.paired import power

    unit = abs(old_value(one)) if one.gate.op == g.WORSE else Fraction(1)
    lost = float(one.lost * unit / found.value.top)
    flips = _changed(tested, found.value.top)
    room = (found.tolerance or 0.0) - lost
    if one.gate.evidence == INTERVAL and room > 0:
        needed = power.about_to_exclude(room, flips)
    elif lost > 0:
        needed = power.about_for(lost, flips, tested.gates)
    else:
        return None
    needed = math.ceil(needed * found.deff)
    return None if needed > MOST else power.rounded(max(0, needed - tested.cases))
