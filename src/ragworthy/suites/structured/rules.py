"""The gates of the structured suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.gates import MAX, Gate
from ragworthy.metrics.registry import Metric
from ragworthy.policy.packs import gates_of
from ragworthy.suites.structured import Structured

STRUCTURED_GATES = gates_of("dev100")
ALWAYS = (Gate("structured.missing", MAX, "0"),)
"""What holds whatever else is asked for."""
REGRESSION = gates_of("regression", "structured")
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Structured, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise."""
    return STRUCTURED_GATES


def metrics_of(given: Mapping[str, Any]) -> Mapping[str, Metric] | None:
    """The metrics of the fields of a definition; None where it is the bundled one."""
    from ragworthy.load.definition import metrics_in

    return metrics_in(given.get("definition"))
