"""Which configuration of a sweep is judged: the one asked for, else the best for its use. Fast against accurate."""

from collections.abc import Collection, Mapping, Sequence, Set
from fractions import Fraction
from typing import NamedTuple

from ragworthy import gates as g
from ragworthy.errors import policy_error
from ragworthy.metrics.latency import load_name
from ragworthy.names import Outcome
from ragworthy.suites.latency import Latency
from ragworthy.suites.latency.loads import Spot, replaced_at
from ragworthy.suites.latency.rules import LATENCY_GATES, LATENCY_GUARD, default_gates
from ragworthy.suites.latency.sweep import Cell, load_order
from ragworthy.suites.request import Request

Values = Mapping[Cell, Mapping[str, g.Value]]
"""Every metric, by configuration and load."""


# the frontier


class Point(NamedTuple):
    """One configuration: how slow, how accurate, and how well it cites where the two are equal."""

    config: str
    p95: Fraction
    precision: Fraction
    chr: Fraction = Fraction(0)


def frontier(points: Sequence[Point], *, strict: bool = False) -> list[Point]:
    """The points that no other beats, in the order given.

    Usually a point is beaten by one that is no worse in both and better in one; `strict` asks for better in both.

    >>> slow, same = Point("slow", Fraction(2), Fraction(1, 2)), Point("same", Fraction(2), Fraction(1, 3))
    >>> [[one.config for one in frontier([slow, same], strict=strict)] for strict in (False, True)]
    [['slow'], ['slow', 'same']]
    """
    beats = _beats_in_both if strict else _beats
    return [one for one in points if not any(beats(other, one) for other in points)]


def _beats(one: Point, other: Point) -> bool:
    no_worse = one.p95 <= other.p95 and one.precision >= other.precision
    return no_worse and (one.p95 < other.p95 or one.precision > other.precision)


def _beats_in_both(one: Point, other: Point) -> bool:
    return one.p95 < other.p95 and one.precision > other.precision


def fastest(points: Sequence[Point], *, among: Collection[str] | None = None, strict: bool = False) -> Point | None:
    """The fastest of those that may be taken; ties: higher CHR, then the id.

    Points of the frontier come first. One that is beaten only by what may not be taken is still better than none.
    """
    free = [one for one in points if among is None or one.config in among]
    free = [one for one in frontier(points, strict=strict) if one in free] or free
    return min(free, key=lambda one: (one.p95, -one.chr, one.config), default=None)


def most_accurate(points: Sequence[Point], slowest: Fraction) -> Point | None:
    """The most accurate point that is fast enough; ties: lower P95, higher CHR, then the id."""
    free = [one for one in points if one.p95 <= slowest]
    return min(free, key=lambda one: (-one.precision, one.p95, -one.chr, one.config), default=None)


# the choice


class Choice(NamedTuple):
    """The configuration that is judged, why that one, and what would be taken for each use."""

    config: str
    why: str
    uses: dict[str, str | None]
    load: str
    """The load at which configurations were compared."""
    frontier: frozenset[Cell]
    failing: dict[Cell, list[str]]
    """The gates that each one does not hold."""


def choose(request: Request, gates: tuple[g.Gate, ...], values: Values, partly: Set[str]) -> Choice:
    """The frontier of every load, what each configuration fails, and the configuration to judge.

    Those that were asked only a part of the questions (`partly`) are not chosen: leaving out hard ones must not pay.
    """
    settings = request.settings
    strict = is_strict(settings)
    loads = list(dict.fromkeys(load for _, load in values))
    best: set[Cell] = set()
    for load in loads:
        best |= {Cell(point.config, load) for point in frontier(points(values, load), strict=strict)}
    top = max(loads, key=load_order)
    interactive = _interactive(request, gates)
    slow = {cell.config for cell in values if _failing(interactive, cell, values[cell])}
    whole = {config for config, _ in values} - partly
    comparable = [point for point in points(values, top) if point.config in whole]
    taken = {
        "interactive": fastest(comparable, among=whole - slow, strict=strict),
        "batch": most_accurate(comparable, Fraction(settings.batch_p95)),
    }
    uses = {use: point.config if point is not None else None for use, point in taken.items()}
    judged, why = _judged(request, values, uses, top, comparable)
    failing = {cell: _failing(gates, cell, values[cell]) for cell in values}
    return Choice(judged, why, uses, load_name(top), frozenset(best), failing)


def points(values: Values, load: Fraction | None) -> list[Point]:
    """The configurations measured under a load, where both axes have a number."""
    found = []
    for cell, of_cell in values.items():
        slow, right = of_cell["latency.p95"].exact, of_cell["answers.precision"].exact
        if cell.load == load and slow is not None and right is not None:
            found.append(Point(cell.config, slow, right, of_cell["answers.chr"].exact or Fraction(0)))
    return found


def _judged(
    request: Request,
    values: Values,
    uses: Mapping[str, str | None],
    top: Fraction | None,
    comparable: Sequence[Point],
) -> tuple[str, str]:
    """The configuration to judge, and why that one."""
    settings = request.settings
    there = list(dict.fromkeys(config for config, _ in values))
    if settings.configuration is not None:
        if settings.configuration not in there:
            some = ", ".join(there[:10]) + (" …" if len(there) > 10 else "")
            message = f'expected a configuration of the runs ({some}), got "{settings.configuration}"'
            raise policy_error("RW-P03", message, where=str(request.policy or ""), field="latency.configuration")
        return settings.configuration, "as asked for"
    if len(there) == 1:
        return there[0], "the only one"
    name = uses[settings.use]
    if name is not None:
        return name, f"chosen for {settings.use} use"
    point = fastest(comparable or points(values, top), strict=is_strict(settings))
    if point is not None:
        limit = "the P95 of batch use" if settings.use == "batch" else "the gates"
        return point.config, f"none meets {limit}: the fastest of the frontier"
    at_top = [config for config, load in values if load == top]
    quickest = min(at_top, key=lambda config: (values[Cell(config, top)]["latency.p95"].exact or 0, config))
    return quickest, "the fastest: accuracy was not measured"


def is_strict(settings: Latency) -> bool:
    """Whether only a point that another beats in both time and accuracy is off the frontier, as in the sources."""
    return settings.frontier == "strict" or settings.profile == "reference"


# gates


def _interactive(request: Request, gates: tuple[g.Gate, ...]) -> tuple[g.Gate, ...]:
    """The gates of interactive use: the default P95 of batch use gives way to that of interactive use."""
    batch = default_gates(request.settings._replace(use="batch"), request.given)[0]
    usual = LATENCY_GATES[0]
    return tuple(
        usual._replace(evidence=gate.evidence, kept=gate.kept)
        if gate == batch._replace(evidence=gate.evidence, kept=gate.kept)
        else gate
        for gate in gates
    )


def _failing(gates: Sequence[g.Gate], cell: Cell, values: Mapping[str, g.Value]) -> list[str]:
    """The gates that one configuration does not hold under one load, on all questions."""
    here = load_name(cell.load)
    own = []
    for gate in gates:
        spot = Spot.of(gate.slice)
        mine = spot.load == here or (spot.load is None and not replaced_at(gates, gate, here))
        if gate.op in (g.MIN, g.MAX) and spot.questions is None and mine:
            own.append(gate._replace(slice=None))
    judged = g.excuse(g.judge(tuple(own), {(None, name): value for name, value in values.items()}))
    return [one.gate.metric for one in judged if not _holds(one)]


def _holds(one: g.Judged) -> bool:
    unmeasured = one.outcome is Outcome.NOT_MEASURED and not one.unmeasured
    return unmeasured or one.outcome is Outcome.PASS


def guarded(gates: tuple[g.Gate, ...]) -> tuple[g.Gate, ...]:
    """The gates, and those of LATENCY_GUARD for which there is no gate on the same metric and operator."""
    there = {(gate.metric, gate.op) for gate in gates if gate.slice is None}
    missing = (gate for gate in LATENCY_GUARD if (gate.metric, gate.op) not in there)
    return gates + tuple(g.with_evidence(gate, gate.evidence) for gate in missing)
