"""The gates of the latency suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.gates import MAX, Gate
from ragworthy.policy.packs import gates_of
from ragworthy.suites.answers.rules import giving_way
from ragworthy.suites.latency import Latency

BATCH_WHY = "what batch use allows"
*_SHIP, _P95 = giving_way(gates_of("latency"))
LATENCY_GATES = (_P95, *_SHIP)
"""What a configuration must hold at every load it was asked at."""
LATENCY_GUARD = giving_way(gates_of("latency-guard"))
"""And what it must not lose against the last release."""
ALWAYS = (Gate("latency.errors", MAX, "0.01", why="what fails fast is not fast"),)
"""What holds whatever else is asked for."""
REGRESSION = giving_way(gates_of("regression", "latency"))
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Latency, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise; batch use allows more time."""
    if settings.use != "batch":
        return LATENCY_GATES
    return (LATENCY_GATES[0]._replace(threshold=settings.batch_p95, why=BATCH_WHY), *LATENCY_GATES[1:])
