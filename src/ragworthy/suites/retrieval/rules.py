"""The gates of the retrieval suite."""

from collections.abc import Mapping
from typing import Any

from ragworthy.gates import DROP, MAX, MIN, WORSE, Gate
from ragworthy.suites.retrieval import TREC, Retrieval

RETRIEVAL_GATES = (
    Gate("retrieval.coverage", MIN, "0.70"),
    Gate("retrieval.citation_accuracy", MIN, "0.95"),
    Gate("retrieval.delta_s_median", MAX, "0.40"),
    Gate("retrieval.delta_s_p90", MAX, "0.55"),
    Gate("retrieval.triplet_rate", MIN, "0.95"),
    Gate("retrieval.collapsed", MAX, "0"),
)
"""What a new index must reach before it takes any traffic."""
LIVE_GATE = Gate("retrieval.recall@5", DROP, "0.02")
"""And what it must not lose against the index in use."""
ALWAYS = (Gate("retrieval.missing", MAX, "0"),)
"""What holds whatever else is asked for."""
REGRESSION = (
    LIVE_GATE,
    Gate("retrieval.precision@5", WORSE, "0.03"),
    Gate("retrieval.coverage", MIN, "0.70"),
    Gate("retrieval.coverage", WORSE, "0.03"),
    Gate("retrieval.citation_accuracy", WORSE, "0.03"),
    Gate("retrieval.delta_s_median", MAX, "0.45", review=("0.45", "0.599999")),
    Gate("retrieval.delta_s_mean", DROP, "0.05", review=("0.05", "0.099999"), optional=True),
    Gate("retrieval.token_coverage", DROP, "0.05", review=("0.05", "0.10"), optional=True),
    Gate("retrieval.collapsed", MAX, "0"),
)
"""What a change must not lose against the last accepted run."""


def default_gates(settings: Retrieval, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise; of ids and ranks alone nothing is asked."""
    if any(given.get(key) is not None for key in TREC):
        return ()
    return RETRIEVAL_GATES + ((LIVE_GATE,) if given.get("live") is not None else ())
