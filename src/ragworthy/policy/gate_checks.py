"""What must hold for every gate, whether a flag, a policy, Python or a receipt asks for it."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from ragworthy.gates import AGAINST, DROP, EACH, MAX, MIN, WORSE, Gate, name_of
from ragworthy.load.checker import Checker, closest, shown
from ragworthy.metrics import registry
from ragworthy.names import DEFAULT_K
from ragworthy.proving import ABSOLUTE, ANYTIME, DIFFERENCE, PAIRED, POINT
from ragworthy.stats import exact

EVIDENCE = ABSOLUTE
LIMITS = {MIN: "min", MAX: "max", DROP: "max_drop", WORSE: "max_worse"}
"""How a table writes each kind of limit."""
ENDLESS = 10**9
"""From here on a limit is none, where a metric has no greatest value: 11 days in milliseconds."""

Known = Mapping[str, registry.Metric] | None
"""The metrics of a suite whose fields a file defines."""


def check_once(check: Checker, gates: Iterable[Gate], path: str) -> None:
    """Two gates of one kind on the same number are an error: which of them holds? A default gate may stay besides."""
    seen: set[tuple[str, str, str | None, str | None, bool]] = set()
    for gate in gates:
        key = (gate.metric, gate.op, gate.slice, gate.suite, gate.kept)
        if key in seen:
            check.say("RW-P03", path, f"expected one gate for {name_of(gate)} {gate.op}, got two")
        seen.add(key)


def check_gate(check: Checker, gate: Gate, metric: registry.Metric, here: str) -> None:
    """Say everything that is wrong with a gate."""
    key = LIMITS.get(gate.op)
    if gate.min_n < 0:
        check.say("RW-P03", f"{here}min_n", f"expected 0 or more, got {gate.min_n}")
    if gate.evidence not in DIFFERENCE:
        check.say("RW-P03", f"{here}evidence", f"expected {' or '.join(map(shown, DIFFERENCE))}, got {gate.evidence}")
    elif gate.evidence in (PAIRED, ANYTIME) and gate.op not in AGAINST:
        what = f"{gate.evidence} with {key or 'must_pass'}, which compares nothing"
        check.say("RW-P19", f"{here}evidence", f"expected {' or '.join(map(shown, EVIDENCE))}, got {what}")
    if gate.min_effect is not None and (bad := bad_effect(gate)):
        check.say("RW-P20", f"{here}min_effect", bad)
    if gate.slice is not None and (bad := bad_slice(gate.slice)):
        check.say("RW-P03", f"{here}slice", bad)
    if gate.review is not None and (bad := bad_band(gate.review)):
        check.say("RW-P03", f"{here}review", bad)
    if key is None:
        if gate.op != EACH or not gate.must_pass:
            check.say("RW-P03", f"{here}op", f"expected {', '.join((*LIMITS, EACH))}, got {gate.op}")
        return
    if exact(gate.threshold) is None:
        check.say("RW-P03", f"{here}{key}", f"expected a number, got {gate.threshold}")
    elif not gate.guard and (bad := against(metric, gate.op) or idle_threshold(metric, gate.op, gate.threshold)):
        check.say("RW-P05", f"{here}{key}", bad)


def bad_effect(gate: Gate) -> str | None:
    """Why the least loss that may fail a gate cannot be meant."""
    effect, tolerance = exact(gate.min_effect or ""), exact(gate.threshold)
    if gate.op not in AGAINST:
        return f"expected max_drop or max_worse beside it, got {LIMITS.get(gate.op, 'must_pass')}"
    if gate.evidence == POINT:
        return f'expected evidence = "{PAIRED}" beside it, got "{POINT}", by which nothing is proven'
    if effect is None or effect < 0:
        return f"expected a number from 0 up, got {gate.min_effect}"
    if tolerance is not None and effect > tolerance:
        return f"expected at most the tolerance, {gate.threshold}, got {gate.min_effect}"
    return None


def against(metric: registry.Metric, op: str) -> str | None:
    """Why a limit is on the wrong side: it would let the worst pass and stop the best."""
    right = MIN if metric.better == "higher" else MAX
    if op in AGAINST or op == right:
        return None
    return f"expected {LIMITS[right]}, got {LIMITS[op]}: {metric.id} is better when it is {metric.better}"


def check_gates(gates: Iterable[Gate], suite: str, where: str, known: Known = None) -> None:
    """Check gates that are made already, whoever made them."""
    check = Checker(where)
    gates = tuple(gates)
    for nth, gate in enumerate(gates):
        here = f"gate[{nth}]."
        own = registry.suite_of(gate.metric)
        found = registry.find(gate.metric, default_k=DEFAULT_K, suite=own, known=known)
        if found is None or found.id != gate.metric:
            check.say("RW-P04", f"{here}metric", unknown_metric(gate.metric, suite, known))
        elif suite != (gate.suite or own) or (suite != own and own not in registry.BORROWED.get(suite, ())):
            check.say("RW-P04", f"{here}metric", f'expected a metric of {suite}, got "{gate.metric}"')
        else:
            check_gate(check, gate, found.metric, here)
    check_once(check, gates, "gate")
    check.stop()


def bad_band(review: tuple[str, ...]) -> str | None:
    """Why two texts are not a review band."""
    ends = [exact(one) for one in review]
    if len(ends) == 2 and ends[0] is not None and ends[1] is not None and ends[0] <= ends[1]:
        return None
    return f"expected [low, high], got [{', '.join(review)}]"


def bad_slice(text: str) -> str | None:
    """Why a text does not name a slice."""
    fits = "=" in text and not text.startswith("=") and not text.endswith("=")
    return None if fits else f'expected field=value, got "{text}"'


def idle_threshold(metric: registry.Metric, op: str, number: str) -> str | None:
    """Why a threshold could never fail or never pass; None when it can do both."""
    limit = Fraction(number)
    lowest, highest = metric.lowest, metric.highest
    if highest is None and limit >= ENDLESS:
        return f"{number} can never be exceeded"
    if highest == 100 and 0 < limit < 1 and op not in AGAINST:
        return f"{number} is out of scale: the metric goes from 0 to 100, write {float(100 * limit):g}"
    if op in AGAINST and limit < 0:
        return f"expected 0 or more, got {number}"
    if op == WORSE:
        share = f"max_worse = {number} is a share of the baseline: 0.15 is 15 %"
        return share if (limit >= 1 and metric.better == "higher") or limit >= 10 else None
    if op == DROP:
        return (
            f"a drop of {number} can never be exceeded" if highest is not None and limit >= highest - lowest else None
        )
    if op == MIN:
        if limit <= lowest:
            return f"min = {number} can never fail: the metric is never below {lowest}"
        if highest is not None and limit > highest:
            share = f" ({number} % is {float(limit / 100):g})" if highest == 1 and 10 <= limit <= 100 else ""
            return f"min = {number} can never pass: the metric is never above {highest}{share}"
    else:
        if highest is not None and limit >= highest:
            return f"max = {number} can never fail: the metric is never above {highest}"
        if limit < lowest:
            return f"max = {number} can never pass: the metric is never below {lowest}"
    return None


def unknown_metric(name: str, suite: str | None = None, known: Known = None) -> str:
    """The message for a metric that does not exist, with the closest names."""
    several = [one.id for one in registry.meant(name, default_k=DEFAULT_K, suite=suite, known=known)]
    several = several or [one.id for one in registry.sharing(name, suite)]
    if len(several) > 1:
        return f'expected one metric ({" or ".join(several)}), got "{name}"'
    if suite is not None and (other := registry.meant(name, default_k=DEFAULT_K, known=known)):
        told = " or ".join(f"{'' if one.id == name else f'{one.id} '}of {registry.suite_of(one.id)}" for one in other)
        return f'expected a metric of {suite}, got "{name}" ({told})'
    close = closest(name, registry.every_name(suite, known), n=3, cutoff=0.5)
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    return f'expected a metric, got "{name}"{hint}'
