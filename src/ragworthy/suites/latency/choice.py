"""Which configuration of a sweep is judged, and by which gates: those asked for, at every load it was asked at."""

from collections.abc import Mapping, Sequence, Set
from fractions import Fraction
from typing import NamedTuple

from ragworthy import gates as g
from ragworthy.errors import policy_error
from ragworthy.metrics.cost import NOTHING_CORRECT
from ragworthy.metrics.latency import load_name
from ragworthy.names import Outcome
from ragworthy.suites.latency import Latency
from ragworthy.suites.latency.pareto import Point, fastest, frontier, most_accurate
from ragworthy.suites.latency.rules import BATCH_WHY, LATENCY_GATES, LATENCY_GUARD
from ragworthy.suites.latency.sweep import Cell, Group
from ragworthy.suites.latency.swept import Choice
from ragworthy.suites.request import Request

Values = Mapping[Cell, Mapping[str, g.Value]]


class Chosen(NamedTuple):
    """What may be taken for what, and what is judged."""

    gates: tuple[g.Gate, ...]
    frontier: frozenset[Cell]
    failing: dict[Cell, list[str]]
    choice: Choice


def choose(request: Request, groups: Mapping[Cell, Group], values: Values, partly: Set[str]) -> Chosen:
    """The frontier of every load, what each configuration fails, and the configuration to judge.

    Those that were asked only a part of the questions (`partly`) are not chosen: leaving out hard ones must not pay.
    """
    settings: Latency = request.settings
    gates = request.gates
    strict = _strict(settings)
    loads = list(dict.fromkeys(load for _, load in groups))
    best: set[Cell] = set()
    for load in loads:
        best |= {(point.config, load) for point in frontier(points(values, load), strict=strict)}
    failing = {cell: _failing(gates, cell, values[cell]) for cell in groups}
    top = max(loads, key=lambda load: (load is not None, load or 0))
    slow = {config for config, load in groups if _failing(_interactive(gates), (config, load), values[config, load])}
    whole = {config for config, _ in groups} - partly
    free = whole - slow
    comparable = [point for point in points(values, top) if point.config in whole]
    taken = {
        "interactive": fastest(comparable, among=free, strict=strict),
        "batch": most_accurate(comparable, Fraction(settings.batch_p95)),
    }
    names = {use: point.config if point is not None else None for use, point in taken.items()}
    judged, why = _judged(request, groups, values, names, top, comparable)
    return Chosen(gates, frozenset(best), failing, Choice(judged, why, names, load_name(top)))


def points(values: Values, load: Fraction | None) -> list[Point]:
    """The configurations measured under a load, where both axes have a number."""
    found = []
    for (config, one), of_cell in values.items():
        slow, right = of_cell["latency.p95"].exact, of_cell["answers.precision"].exact
        if one == load and slow is not None and right is not None:
            found.append(Point(config, slow, right, of_cell["answers.chr"].exact or Fraction(0)))
    return found


def _judged(
    request: Request,
    groups: Mapping[Cell, Group],
    values: Values,
    names: Mapping[str, str | None],
    top: Fraction | None,
    comparable: Sequence[Point],
) -> tuple[str, str]:
    """The configuration to judge, and why that one."""
    settings: Latency = request.settings
    there = list(dict.fromkeys(config for config, _ in groups))
    if settings.configuration is not None:
        if settings.configuration not in there:
            some = ", ".join(there[:10]) + (" …" if len(there) > 10 else "")
            message = f'expected a configuration of the runs ({some}), got "{settings.configuration}"'
            raise policy_error("RW-P03", message, where=str(request.policy or ""), field="latency.configuration")
        return settings.configuration, "as asked for"
    if len(there) == 1:
        return there[0], "the only one"
    name = names[settings.use]
    if name is not None:
        return name, f"chosen for {settings.use} use"
    point = fastest(comparable or points(values, top), strict=_strict(settings))
    if point is not None:
        limit = "the P95 of batch use" if settings.use == "batch" else "the gates"
        return point.config, f"none meets {limit}: the fastest of the frontier"
    at_top = [config for config, load in groups if load == top]
    quickest = min(at_top, key=lambda config: (values[config, top]["latency.p95"].exact or 0, config))
    return quickest, "the fastest: accuracy was not measured"


# gates


def _interactive(gates: tuple[g.Gate, ...]) -> tuple[g.Gate, ...]:
    """The gates of interactive use: the P95 that only batch use allows is the usual one there."""
    usual = LATENCY_GATES[0]
    return tuple(
        gate._replace(threshold=usual.threshold, why=usual.why)
        if (gate.metric, gate.op, gate.why) == (usual.metric, usual.op, BATCH_WHY)
        else gate
        for gate in gates
    )


def _failing(gates: Sequence[g.Gate], cell: Cell, values: Mapping[str, g.Value]) -> list[str]:
    """The gates that one configuration does not hold under one load."""
    here = f"load={load_name(cell[1])}"
    own = tuple(gate for gate in gates if gate.op in (g.MIN, g.MAX) and gate.slice in (None, here))
    own = tuple(gate._replace(slice=None) for gate in own if gate.slice == here or not _narrower(gate, here, gates))
    judged = g.judge(own, {(None, name): value for name, value in values.items()})
    return [one.gate.metric for one in judged if not _holds(one)]


def _holds(one: g.Judged) -> bool:
    unmeasured = one.outcome is Outcome.NOT_MEASURED and one.gate.optional
    return unmeasured or one.outcome is Outcome.PASS


def _narrower(gate: g.Gate, here: str, gates: Sequence[g.Gate]) -> bool:
    """Whether another gate says the same of one load alone."""
    return any((one.metric, one.op, one.slice) == (gate.metric, gate.op, here) for one in gates)


def guarded(gates: tuple[g.Gate, ...]) -> tuple[g.Gate, ...]:
    """The gates with what must not be lost against the last release, unless they say so themselves."""
    there = {(gate.metric, gate.op) for gate in gates if gate.slice is None}
    return gates + tuple(gate for gate in LATENCY_GUARD if (gate.metric, gate.op) not in there)


def at_every_load(
    gates: tuple[g.Gate, ...], loads: Sequence[Fraction | None], baseline: g.Baseline | None
) -> tuple[g.Gate, ...]:
    """Gates without a slice once for each load, where there are several; a gate on one load stands for itself.

    Against a baseline only loads that it has too can be held, unless it has none of them.
    """
    if len(loads) < 2:
        only = f"load={load_name(loads[0])}"
        return tuple(gate for gate in gates if gate.slice is not None or not _narrower(gate, only, gates))
    names = [f"load={load_name(load)}" for load in loads]
    known = {group for group, _ in baseline.values} if baseline is not None else set()
    shared = [name for name in names if name in known] or names
    found: list[g.Gate] = []
    for gate in gates:
        if gate.op == g.EACH or (gate.slice or "").startswith("load="):
            found.append(gate)
            continue
        here = [load for load in loads if gate.op not in g.AGAINST or f"load={load_name(load)}" in shared]
        kept = [load for load in here if gate.slice or not _narrower(gate, f"load={load_name(load)}", gates)]
        found += [gate._replace(slice=at_load(gate.slice, load)) for load in kept]
    return tuple(found)


def at_load(group: str | None, load: Fraction | None) -> str:
    """The slice of a load, or of some questions under it.

    >>> at_load(None, Fraction(5)), at_load("topic=billing", Fraction(5))
    ('load=5', 'topic=billing, load=5')
    """
    here = f"load={load_name(load)}"
    return here if group is None else f"{group}, {here}"


def waivers_at_every_load(waivers: tuple[g.Waiver, ...], gates: Sequence[g.Gate]) -> tuple[g.Waiver, ...]:
    """Waivers of gates that became several, once for each of them."""
    more = [
        waiver._replace(gate=g.name_of(gate))
        for waiver in waivers
        for gate in gates
        if waiver.gate in (g.name_of(gate._replace(slice=one)) for one in _before(gate.slice))
    ]
    there = {waiver.gate for waiver in waivers}
    return waivers + tuple(one for one in more if one.gate not in there)


def _before(group: str | None) -> list[str | None]:
    """The slice that a gate had before it was held at one load."""
    kept, _, load = (group or "").rpartition("load=")
    return [kept.removesuffix(", ") or None] if load else []


def same_load(baseline: g.Baseline | None, loads: Sequence[Fraction | None]) -> g.Baseline | None:
    """The baseline under the loads that were measured now, or why it cannot be used: it does not have them.

    What stands there without a load is of its highest one.
    """
    if baseline is None or baseline.unlike is not None:
        return baseline
    theirs = list(dict.fromkeys(group for group, _ in baseline.values if group and group.startswith("load=")))
    if len(loads) > 1:
        return baseline._replace(values=_spread(baseline.values, theirs[0])) if len(theirs) == 1 else baseline
    now = f"load={load_name(loads[0])}"
    if now in theirs:
        return baseline if now == theirs[-1] else baseline._replace(values=_narrowed(baseline.values, now))
    if not theirs and loads[0] is None:
        return baseline
    had = ", ".join(group.removeprefix("load=") for group in theirs) or load_name(None)
    return baseline._replace(unlike=f"its load was {had} requests/s, now it is {load_name(loads[0])}")


Numbers = Mapping[tuple[str | None, str], Fraction]


def _spread(values: Numbers, load: str) -> Numbers:
    """Values of one load, once more under the names that they have where there are several."""
    found = dict(values)
    found |= {(f"{group}, {load}", name): value for (group, name), value in values.items() if group and group != load}
    return found


def _narrowed(values: Numbers, load: str) -> Numbers:
    """The values of one load under the names that they have where it is the only one."""
    found: dict[tuple[str | None, str], Fraction] = {}
    for (group, name), value in values.items():
        kept, comma, rest = (group or "").rpartition(", ")
        if group == load:
            found |= {(None, name): value, (load, name): value}
        elif comma and rest == load:
            found[kept, name] = value
    return found


def nothing_correct_fails(judged: list[g.Judged], waivers: Sequence[g.Waiver]) -> list[g.Judged]:
    """A cost for each correct answer has no value when nothing was correct: its gate fails."""
    waived = {waiver.gate: waiver for waiver in waivers}
    return [
        one._replace(outcome=Outcome.FAIL, waiver=waived.get(g.name_of(one.gate)))
        if one.value is not None and one.value.undefined == NOTHING_CORRECT
        else one
        for one in judged
    ]


def _strict(settings: Latency) -> bool:
    """Whether only what is worse in both is off the frontier, as the sources have it."""
    return settings.frontier == "strict" or settings.profile == "reference"
