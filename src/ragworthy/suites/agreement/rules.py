"""The gates of the agreement suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.errors import usage_error
from ragworthy.gates import Gate
from ragworthy.policy.packs import gates_of
from ragworthy.suites.agreement import Agreement

AGREEMENT_GATES = gates_of("agreement")
RATERS_GATES = gates_of("raters")
OPERATORS_GATES = gates_of("operators")
AUDIT_GATES = gates_of("audit")
"""What holds besides where somebody looked at records again; not everybody records distances."""
ALWAYS: tuple[Gate, ...] = ()
"""What holds whatever else is asked for."""
REGRESSION = gates_of("regression", "agreement")
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Agreement, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise, by the form of the votes."""
    if settings.form == "operators":
        return (*OPERATORS_GATES, *AUDIT_GATES) if given.get("audit") is not None else OPERATORS_GATES
    return RATERS_GATES if settings.form == "raters" else AGREEMENT_GATES


def check_given(given: Mapping[str, Any], spelled: Mapping[str, str]) -> None:
    """Refuse to write pairs or a spot check where there are none (an empty file would replace whatever is there), and a
    second look at records that nobody names.
    """
    for key in ("raters", "operators"):
        if given.get("pairs_out") is not None and given.get(key) is not None:
            raise usage_error(f"{spelled['pairs_out']}: expected the votes of two validators, got {spelled[key]}")
    for key in ("audit", "spot_check"):
        if given.get(key) is not None and given.get("operators") is None:
            raise usage_error(f"{spelled[key]}: expected operator records with it ({spelled['operators']}), got none")
