"""The gates of the retrieval suite."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragworthy.errors import usage_error
from ragworthy.gates import DROP, MAX, Gate
from ragworthy.names import DEFAULT_K
from ragworthy.policy.packs import gates_of
from ragworthy.suites.retrieval import LIVE_RUN, TREC, Retrieval

if TYPE_CHECKING:
    from ragworthy.metrics.registry import MetricName

*_REACHED, LIVE_GATE = gates_of("canary")
RETRIEVAL_GATES = tuple(_REACHED)
"""What a new index must reach before it takes any traffic, and what it must not lose against the index in use."""
COMPARED = ("recall", "hit", "ndcg")
"""What a new index is compared by, where nobody says otherwise: it must find as much, as high up."""
ALWAYS = (Gate("retrieval.missing", MAX, "0"),)
"""What holds whatever else is asked for."""
REGRESSION = gates_of("regression", "retrieval")
"""What a change must not lose against the last accepted run."""


IDLE = ("corpus", "live_corpus", "redirects", "slices", "lock")
"""What cannot be looked at in TREC files."""


def check_given(given: Mapping[str, Any], spelled: Mapping[str, str]) -> None:
    """Refuse a mixture of TREC files and others, and what cannot be looked at in them."""
    trec = [given.get(key) is not None for key in TREC]
    if not any((*trec, given.get(LIVE_RUN) is not None)):
        return
    if not all(trec) or any(given.get(key) is not None for key in ("gold", "traces", "live")):
        words = " and ".join(spelled[key] for key in ("gold", "traces")), " and ".join(spelled[key] for key in TREC)
        raise usage_error(f"expected {words[0]}, or {words[1]}, got a mixture")
    for key in IDLE:
        value = given.get(key)
        if value is not None and not (isinstance(value, (str, list, tuple)) and not value):
            raise usage_error(f"{spelled[key]}: TREC files hold ids and ranks only")


def default_gates(settings: Retrieval, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """What holds when nobody says otherwise: the gates of the canary, and not worse than the index in use; or the
    latter alone where that is asked for. A TREC run alone has no gates.
    """
    if any(given.get(key) is not None for key in TREC):
        return against_live(settings) if given.get(LIVE_RUN) is not None else ()
    if given.get("live") is None:
        return RETRIEVAL_GATES
    if settings.against_live:
        return against_live(settings)
    return (*RETRIEVAL_GATES, LIVE_GATE._replace(threshold=settings.max_drop))


OPTIONAL = ("live", "before", "probes", "orders", "claims", "payload")
"""What a metric may need that most files do not have."""


ASKED_FOR = (
    "retrieval.anchor_coverage",
    "retrieval.delta_s_far",
    "retrieval.delta_s_unstable",
    "retrieval.flip_rate",
    "retrieval.lambda_split",
)
"""What is measured only where a gate names it: other metrics, the bands and the marks say nearly the same."""


def reported(every: "Sequence[MetricName]", gates: Sequence[Gate], there: Mapping[str, bool]) -> "list[MetricName]":
    """The metrics of a report: those that need something rare only where it is there, or where a gate names them."""
    asked = {gate.metric for gate in gates}
    lacking = {need for need in OPTIONAL if not there.get(need)}
    usual = (name for name in every if name.metric.needs not in lacking and name.id not in ASKED_FOR)
    kept = {name.id for name in usual} | asked
    return [name for name in every if name.id in kept]


def depth_of(ks: Sequence[int]) -> int:
    """The k that is compared: the usual one where it is measured, else the largest."""
    return DEFAULT_K if DEFAULT_K in ks else max(ks)


def against_live(settings: Retrieval) -> tuple[Gate, ...]:
    """Not worse than the index in use."""
    k = depth_of(settings.ks)
    return tuple(Gate(f"retrieval.{name}@{k}", DROP, settings.max_drop) for name in COMPARED)
