"""The gates of the agreement suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.errors import usage_error
from ragworthy.gates import MAX, MIN, WORSE, Gate
from ragworthy.suites.agreement import Agreement

AGREEMENT_GATES = (
    Gate("agreement.percent", MIN, "0.90"),
    Gate("agreement.kappa", MIN, "0.75"),
    Gate("agreement.abstain", MAX, "0.02"),
)
RATERS_GATES = (Gate("agreement.pairwise", MIN, "0.85"),)
OPERATORS_GATES = (*RATERS_GATES, Gate("agreement.operator_variance", MAX, "0.10"))
ALWAYS: tuple[Gate, ...] = ()
"""What holds whatever else is asked for."""
REGRESSION = (Gate("agreement.percent", WORSE, "0.03"),)
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Agreement, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise, by the form of the votes."""
    return {"raters": RATERS_GATES, "operators": OPERATORS_GATES}.get(settings.form, AGREEMENT_GATES)


def check_given(given: Mapping[str, Any], spelled: Mapping[str, str]) -> None:
    """Refuse to write pairs where there are none: an empty file would replace whatever is there."""
    for key in ("raters", "operators"):
        if given.get("pairs_out") is not None and given.get(key) is not None:
            raise usage_error(f"{spelled['pairs_out']}: expected the votes of two validators, got {spelled[key]}")
