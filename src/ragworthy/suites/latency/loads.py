"""A gate holds at every load: gates, waivers and the baseline, each with the load that it is about.

The rule, for a configuration that was asked at several loads: a gate that names no load becomes one for each of them,
`topic=billing` too, which becomes `topic=billing, load=5` and so on. A gate on all questions at one load takes the
place of the general one there. A waiver goes the same way as its gate. With one load gates keep their names.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.latency import load_name
from ragworthy.policy.packs import rule_of

_LOAD = "load="
Numbers = Mapping[tuple[str | None, str], Fraction]


class Spot(NamedTuple):
    """What a number is of: all questions or a slice of them, under one load or under whichever there is."""

    questions: str | None
    """A slice of the questions; None for all of them."""
    load: str | None
    """The name of a load; None where none is named."""

    @classmethod
    def of(cls, written: str | None) -> "Spot":
        """What the slice of a gate or of a report names.

        >>> Spot.of("topic=billing, load=5"), Spot.of("load=5"), str(Spot("topic=billing", "5"))
        (Spot(questions='topic=billing', load='5'), Spot(questions=None, load='5'), 'topic=billing, load=5')
        """
        before, _, last = (written or "").rpartition(", ")
        if last.startswith(_LOAD):
            return cls(before or None, last.removeprefix(_LOAD))
        return cls(written, None)

    def __str__(self) -> str:
        return ", ".join([*filter(None, [self.questions]), *(f"{_LOAD}{load}" for load in [self.load] if load)])


def replaced_at(gates: Sequence[g.Gate], gate: g.Gate, load: str) -> bool:
    """Whether a gate on all questions at one load takes the place of this one there."""
    mine = (gate.metric, gate.op, Spot(None, load))
    return any((one.metric, one.op, Spot.of(one.slice)) == mine for one in gates)


def gates_at(gates: Sequence[g.Gate], loads: Sequence[str], baseline: g.Baseline | None) -> tuple[g.Gate, ...]:
    """Every gate once for each load; one that names a load, or questions that must pass, stays as it is.

    Against a baseline only loads that it has too can be held, unless it has none of them.
    """
    theirs = set(_loads_of(baseline)) if baseline is not None else set()
    shared = [load for load in loads if load in theirs] or loads
    found: list[g.Gate] = []
    for gate in gates:
        spot = Spot.of(gate.slice)
        if gate.op == g.EACH or spot.load is not None:
            found.append(gate._replace(over=_general(gates, gate, spot)))
            continue
        for load in shared if gate.op in g.AGAINST else loads:
            if spot.questions is None and replaced_at(gates, gate, load):
                continue
            found.append(gate if len(loads) == 1 else gate._replace(slice=str(Spot(spot.questions, load))))
    return tuple(found)


def _general(gates: Sequence[g.Gate], gate: g.Gate, spot: Spot) -> str | None:
    """The rule of a pack for all loads whose place a gate on one load takes."""
    if gate.op == g.EACH or spot.questions is not None:
        return None
    packed = (one for one in gates if one.pack and (one.metric, one.op, one.slice) == (gate.metric, gate.op, None))
    first = next((one for one in packed if one.threshold != gate.threshold), None)
    return None if first is None else f"{rule_of(first)} of the pack {first.pack}"


def waivers_at(waivers: tuple[g.Waiver, ...], gates: Sequence[g.Gate]) -> tuple[g.Waiver, ...]:
    """Waivers of gates that became several, once for each of them."""
    there = {waiver.gate for waiver in waivers}
    general = {
        g.name_of(gate): g.name_of(gate._replace(slice=spot.questions))
        for gate in gates
        if (spot := Spot.of(gate.slice)).load is not None
    }
    more = [
        waiver._replace(gate=name)
        for waiver in waivers
        for name, of in general.items()
        if waiver.gate == of and name not in there
    ]
    return waivers + tuple(more)


# the baseline


def baseline_at(baseline: g.Baseline | None, loads: Sequence[str]) -> g.Baseline | None:
    """The baseline under the loads that were measured now, or why it cannot be used: it does not have them.

    What is there without a load is of its highest one.
    """
    if baseline is None or baseline.unlike is not None:
        return baseline
    theirs = _loads_of(baseline)
    if len(loads) > 1:
        return baseline._replace(values=_spread(baseline.values, theirs[0])) if len(theirs) == 1 else baseline
    now = loads[0]
    if now in theirs:
        return baseline if now == theirs[-1] else baseline._replace(values=_narrowed(baseline.values, now))
    had = ", ".join(theirs) or load_name(None)
    if had == now:
        return baseline
    return baseline._replace(unlike=f"its load was {had} requests/s, now it is {now}")


def _loads_of(baseline: g.Baseline) -> list[str]:
    """The loads that a baseline has numbers of, in its order."""
    spots = dict.fromkeys(Spot.of(group) for group, _ in baseline.values)
    return [spot.load for spot in spots if spot.questions is None and spot.load is not None]


def _spread(values: Numbers, load: str) -> Numbers:
    """A baseline with one load, as if it had several: its slices are there a second time, with the load named."""
    found = dict(values)
    for (group, name), value in values.items():
        spot = Spot.of(group)
        if spot.questions is not None and spot.load is None:
            found[str(Spot(spot.questions, load)), name] = value
    return found


def _narrowed(values: Numbers, load: str) -> Numbers:
    """A baseline with several loads, as if it had only this one: what is of this load is there without it."""
    found: dict[tuple[str | None, str], Fraction] = {}
    for (group, name), value in values.items():
        spot = Spot.of(group)
        if spot.load == load:
            found[spot.questions, name] = value
            if spot.questions is None:
                found[group, name] = value
    return found
