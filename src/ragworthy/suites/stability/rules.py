"""The gates of the stability suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.gates import MAX, Gate
from ragworthy.policy.packs import gates_of
from ragworthy.suites.stability import Stability

STABILITY_GATES = gates_of("stability")
ALWAYS = (Gate("stability.missing", MAX, "0"),)
"""What holds whatever else is asked for."""
REGRESSION = gates_of("regression", "stability")
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Stability, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise."""
    return STABILITY_GATES
