"""The gates of the answers suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.gates import DROP, MAX, MIN, WORSE, Gate
from ragworthy.suites.answers import Answers

DEFAULT_GATES = (
    Gate("answers.precision", MIN, "0.80", usual=True),
    Gate("answers.chr", MIN, "0.75", usual=True),
    Gate("answers.under_refusal", MAX, "0.05"),
    Gate("answers.over_refusal", MAX, "0.10"),
)
ALWAYS = (Gate("answers.missing", MAX, "0"),)
"""What holds whatever else is asked for."""
SCU_GATE = Gate("answers.scu_violations", MAX, "0")
"""What holds where constraints are checked."""
TEXT_GATE = Gate("answers.containment", MIN, "0.80", usual=True)
"""What holds in place of precision and CHR where no question has evidence: the threshold of precision."""
REGRESSION = (
    Gate("answers.precision", WORSE, "0.03", usual=True),
    Gate("answers.chr", WORSE, "0.03", usual=True),
    Gate("answers.containment", WORSE, "0.03"),
    Gate("answers.over_refusal", DROP, "0.02"),
    Gate("answers.under_refusal", DROP, "0.02"),
    Gate("answers.good", DROP, "1", min_effect="0", optional=True, why="no broad drop, whatever it is in"),
)
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Answers, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise."""
    return DEFAULT_GATES
