"""The gates of the latency suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.gates import DROP, MAX, WORSE, Gate
from ragworthy.suites.answers.rules import DEFAULT_GATES
from ragworthy.suites.latency import Latency

BATCH_WHY = "what batch use allows"
LATENCY_GATES = (
    Gate("latency.p95", MAX, "2000"),
    *(gate._replace(suite="latency") for gate in DEFAULT_GATES),
)
"""What a configuration must hold at every load it was asked at."""
LATENCY_GUARD = (
    Gate("latency.p95", WORSE, "0.15"),
    Gate("answers.precision", DROP, "0.02", suite="latency", usual=True),
)
"""And what it must not lose against the last release."""
ALWAYS = (Gate("latency.errors", MAX, "0.01", why="what fails fast is not fast"),)
"""What holds whatever else is asked for."""
REGRESSION = (*LATENCY_GUARD, Gate("cost.per_correct", WORSE, "0.30", optional=True))
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Latency, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise; batch use allows more time."""
    if settings.use != "batch":
        return LATENCY_GATES
    return (LATENCY_GATES[0]._replace(threshold=settings.batch_p95, why=BATCH_WHY), *LATENCY_GATES[1:])
