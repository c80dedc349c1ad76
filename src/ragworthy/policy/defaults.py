"""The gates that hold when nobody says otherwise, suite by suite."""

from ragworthy.gates import DROP, MAX, MIN, WORSE, Gate

DEFAULT_GATES = (
    Gate("answers.precision", MIN, "0.80"),
    Gate("answers.chr", MIN, "0.75"),
    Gate("answers.under_refusal", MAX, "0.05"),
    Gate("answers.over_refusal", MAX, "0.10"),
)
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
STRUCTURED_GATES = (
    Gate("structured.score", MIN, "95"),
    Gate("structured.schema_pass_rate", MIN, "0.98"),
)
STABILITY_GATES = (Gate("stability.failing_questions", MAX, "0"),)
LATENCY_GATES = (
    Gate("latency.p95", MAX, "2000"),
    *(gate._replace(suite="latency") for gate in DEFAULT_GATES),
)
"""What a configuration must hold at every load it was asked at."""
LATENCY_GUARD = (
    Gate("latency.p95", WORSE, "0.15"),
    Gate("answers.precision", DROP, "0.02", suite="latency"),
)
"""And what it must not lose against the last release."""
AGREEMENT_GATES = (
    Gate("agreement.percent", MIN, "0.90"),
    Gate("agreement.kappa", MIN, "0.75"),
    Gate("agreement.abstain", MAX, "0.02"),
)
RATERS_GATES = (Gate("agreement.pairwise", MIN, "0.85"),)
OPERATORS_GATES = (*RATERS_GATES, Gate("agreement.operator_variance", MAX, "0.10"))
SCU_GATE = Gate("answers.scu_violations", MAX, "0")
MISSING_GATE = Gate("answers.missing", MAX, "0")
RETRIEVAL_MISSING_GATE = Gate("retrieval.missing", MAX, "0")
STRUCTURED_MISSING_GATE = Gate("structured.missing", MAX, "0")
LATENCY_ERRORS_GATE = Gate("latency.errors", MAX, "0.01", why="what fails fast is not fast")
STABILITY_MISSING_GATE = Gate("stability.missing", MAX, "0")

REGRESSION = (
    Gate("answers.precision", WORSE, "0.03"),
    Gate("answers.chr", WORSE, "0.03"),
    Gate("answers.containment", WORSE, "0.03"),
    Gate("answers.over_refusal", DROP, "0.02"),
    Gate("answers.under_refusal", DROP, "0.02"),
    LIVE_GATE,
    Gate("retrieval.precision@5", WORSE, "0.03"),
    Gate("retrieval.coverage", MIN, "0.70"),
    Gate("retrieval.coverage", WORSE, "0.03"),
    Gate("retrieval.citation_accuracy", WORSE, "0.03"),
    Gate("retrieval.delta_s_median", MAX, "0.45", review=("0.45", "0.599999")),
    Gate("retrieval.delta_s_mean", DROP, "0.05", review=("0.05", "0.099999"), optional=True),
    Gate("retrieval.token_coverage", DROP, "0.05", review=("0.05", "0.10"), optional=True),
    Gate("retrieval.collapsed", MAX, "0"),
    Gate("structured.score", WORSE, "0.03"),
    Gate("structured.schema_pass_rate", WORSE, "0.03"),
    Gate("stability.acr", WORSE, "0.03"),
    Gate("stability.refusal_rate", WORSE, "0.03"),
    *LATENCY_GUARD,
    Gate("cost.per_correct", WORSE, "0.30", optional=True),
    Gate("agreement.percent", WORSE, "0.03"),
)
"""What a change must not lose against the last accepted run: `regression = true` in a policy adds these."""
