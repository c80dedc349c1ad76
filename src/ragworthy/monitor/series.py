"""The names under which live numbers are exported: those of the sources where they have one.

Everything is a counter or a histogram, so that a sum over many exporters is right: a share is two counters, and a
percentile is compared with its limit through a bucket that ends exactly there.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from ragworthy.live.minutes import unit_of
from ragworthy.live.rules import RULES, At, Condition, HowManyFrom, ShareBelow

_MS = 1000


class Counted(NamedTuple):
    """A field as two counters: the sum of its values, and how many records have one."""

    total: str
    cases: str
    about: str


class Spread(NamedTuple):
    """A field as a histogram."""

    name: str
    about: str
    bounds: tuple[Fraction, ...]
    """In the unit of the export: shares as they are, times in seconds."""


REQUESTS = "rag_request_count"
RETRIEVALS = "retriever_qps"
HIT_RATE = "rag_citation_hit_rate"
PRECISION = "rag_precision_shipped"
UNDER = "rag_under_refusal_count"
API_ERRORS = "llm_api_error"
REFUSED = "rag_records_refused"
HASHES = "rag_index_hash_records"
FIRING = "ragworthy_alert_firing"
CLOCK = "ragworthy_last_minute_timestamp_seconds"
SLICE_TOTAL, SLICE_CASES = "rag_slice_value", "rag_slice_cases"

COUNTED = {
    "diverged": Counted("rag_lambda_flip_count", "rag_lambda_flip_cases", "Triplets of wordings that diverge"),
    "accurate": Counted("rag_citation_accurate_count", "rag_citation_accurate_cases", "Accurate first citations"),
    "tau": Counted("rag_rerank_tau_loss", "rag_rerank_tau_cases", "1 - tau between consecutive top tens"),
    "cited": Counted("rag_citation_hit_count", "rag_citation_hit_cases", "Answers whose citations hit"),
    "error": Counted("rag_error_count", REQUESTS, "Errors"),
    "empty": Counted("retriever_empty_result_count", REQUESTS, "Questions for which nothing was retrieved"),
    "unauthorised": Counted(API_ERRORS, REQUESTS, "Errors of the model's API by status"),
    "valid": Counted("rag_citation_valid_count", "rag_citation_valid_cases", "Answers with valid citations only"),
    "refused": Counted("rag_refusal_count", "rag_refusal_cases", "Refusals"),
    "near_refused": Counted("rag_near_refusal_count", "rag_near_refusal_cases", "Answers that read like refusals"),
}
"""Fields whose sum is wanted; of zeros and ones it is their number. τ can be negative, which no counter may be."""

_SECONDS = ("0.05", "0.1", "0.25", "0.5", "1", "1.5", "2", "2.5", "5", "10", "30", "60")
_SPREAD: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "coverage": ("rag_coverage", "Coverage of answers", ("0.25", "0.5", "0.8", "0.9", "1")),
    "delta_s": (
        "rag_delta_s",
        "Semantic distance of the chosen citation",
        ("0.1", "0.2", "0.3", "0.4", "0.5", "0.7", "1", "2"),
    ),
    "retrieve_ms": ("rag_retrieve_latency_seconds", "Time to retrieve", _SECONDS),
    "reason_ms": ("rag_reason_latency_seconds", "Time to reason", _SECONDS),
    "e2e_ms": ("rag_e2e_latency_seconds", "Time from question to answer", _SECONDS),
}

NOT_EXPORTED = {
    "retriever_retrieved_docs_count": "minutes do not keep how many documents a record lists",
    "vectorstore_index_load_time_seconds": "the vector store exports it",
    "vectorstore_memory_bytes": "the vector store exports it",
    "vectorstore_indexed_docs_total": "the vector store exports it",
    "llm_api_rate_limited_total": "live records do not tell a rate limit from another error",
    "queue_backlog_count": "the queue exports it",
}
"""Names of the sources for what no live record says."""


def scale(field: str) -> int:
    """How many units of a minute are 1 in the export: times become seconds.

    >>> scale("e2e_ms"), scale("delta_s")
    (1000000, 1000000)
    """
    return unit_of(field) * (_MS if field.endswith("_ms") else 1)


def edge(condition: Condition, baseline: Mapping[str, Fraction]) -> Fraction | None:
    """The bucket bound that a condition on single values or on a percentile needs; None where it needs none.

    Values are whole units. So "below 0.70" is "at most 0.699999", and a bucket, which includes its bound, is exact.
    """
    statistic, unit = condition.statistic, Fraction(1, scale(condition.field))
    if isinstance(statistic, ShareBelow | HowManyFrom):
        return statistic.limit - unit
    if not isinstance(statistic, At):
        return None
    limit = Fraction(condition.limit)
    if condition.times_baseline:
        if condition.field not in baseline:
            return None
        limit *= baseline[condition.field]
    limit /= _MS if condition.field.endswith("_ms") else 1
    # "at least" must leave the limit itself above the bound; between two whole units the next lower one is as good.
    units = limit / unit
    below = units - 1 if condition.sign == ">=" and units.denominator == 1 else Fraction(units.__floor__())
    return below * unit


def spreads(baseline: Mapping[str, Fraction] | None = None) -> dict[str, Spread]:
    """The histograms by field, with a bound at each limit of a rule.

    >>> [str(bound) for bound in spreads()["coverage"].bounds]
    ['1/4', '1/2', '699999/1000000', '4/5', '9/10', '1']
    """
    found = {}
    for field, (name, about, texts) in _SPREAD.items():
        bounds = {Fraction(text) for text in texts}
        for rule in RULES:
            for condition in rule.conditions:
                limit = edge(condition, baseline or {}) if condition.field == field else None
                bounds |= {limit} if limit is not None else set()
        found[field] = Spread(name, about, tuple(sorted(bounds)))
    return found


def le(bound: Fraction) -> str:
    """A bound as a label.

    >>> le(Fraction(2)), le(Fraction("0.699999"))
    ('2.0', '0.699999')
    """
    return str(float(bound))
