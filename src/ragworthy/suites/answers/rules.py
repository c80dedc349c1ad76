"""The gates of the answers suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.gates import MAX, MIN, Gate
from ragworthy.policy.packs import gates_of
from ragworthy.suites.answers import Answers

ON_CITATIONS = ("answers.precision", "answers.chr")
"""Metrics whose rules give way where no question has evidence, as long as nobody wrote them."""


def giving_way(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """The rules of a pack as those of a suite."""
    return tuple(gate._replace(usual=gate.metric in ON_CITATIONS) for gate in gates)


DEFAULT_GATES = giving_way(gates_of("ship"))
ALWAYS = (Gate("answers.missing", MAX, "0"),)
"""What holds whatever else is asked for."""
SCU_GATE = gates_of("ship-scu")[-1]
"""What holds where constraints are checked."""
TEXT_GATE = Gate("answers.containment", MIN, "0.80", usual=True)
"""What holds in place of precision and CHR where no question has evidence: the threshold of precision."""
REGRESSION = giving_way(gates_of("regression", "answers"))
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Answers, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise."""
    return DEFAULT_GATES
