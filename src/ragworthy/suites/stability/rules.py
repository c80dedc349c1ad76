"""The gates of the stability suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.gates import MAX, WORSE, Gate
from ragworthy.suites.stability import Stability

STABILITY_GATES = (Gate("stability.failing_questions", MAX, "0"),)
ALWAYS = (Gate("stability.missing", MAX, "0"),)
"""What holds whatever else is asked for."""
REGRESSION = (
    Gate("stability.acr", WORSE, "0.03"),
    Gate("stability.refusal_rate", WORSE, "0.03"),
)
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Stability, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise."""
    return STABILITY_GATES
