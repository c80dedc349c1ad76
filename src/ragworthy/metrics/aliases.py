"""The names that the sources give to metrics. A metric is found by them wherever one is named; reports use its id."""

import re
import unicodedata

ALIASES: dict[str, tuple[str, ...]] = {
    # seed000, seed003, seed004; ProblemMap ops/live_monitoring_rag.md exports the last ones
    "answers.precision": ("Precision (answered)", "rag_precision_shipped"),
    "answers.chr": ("CHR", "Citation Hit Rate", "rag_citation_hit_rate"),
    "answers.chr_ceiling": ("CHR",),
    "answers.under_refusal": ("Under-refusal", "Under-refusal rate"),
    "answers.over_refusal": ("Over-refusal", "Over-refusal rate"),
    "answers.recall": ("Recall",),
    "answers.scu": ("SCU",),
    "answers.scu_violations": ("SCU violations",),
    "answers.containment": ("Claim containment",),
    # seed001
    "retrieval.precision": ("P", "Precision"),
    "retrieval.recall": ("R", "Recall"),
    "retrieval.anchor_hit": ("Anchor hit",),
    "retrieval.coverage": ("Coverage",),
    "retrieval.citation_accuracy": ("Citation accuracy",),
    "retrieval.citation_exact": ("citation_exact@30",),
    "retrieval.citation_precision": ("Citation precision",),
    "retrieval.citation_recall": ("Citation recall",),
    "retrieval.lambda_rate": ("λ_q_rate",),
    "retrieval.rank_tau": ("Kendall τ", "τ"),
    "retrieval.rank_rho": ("Spearman ρ", "ρ"),
    "retrieval.anchor_distance": ("anchor_proximity", "Anchor proximity"),
    "retrieval.delta_s_median": ("ΔS_med", "ΔS_median", "ΔS median"),
    "retrieval.delta_s_p90": ("ΔS_p90", "ΔS_90"),
    "retrieval.delta_s_mean": ("ΔS_mean",),
    "retrieval.delta_s_top1_within": ("ΔS(question, top1)",),
    "retrieval.convergence": ("convergence_rate",),
    "retrieval.flip_rate": ("λ_state_seq",),
    "retrieval.negatives": ("neg",),
    "retrieval.negative_first": ("neg_first",),
    # seed002
    "structured.score": ("eval_score_avg",),
    "structured.schema_pass_rate": ("schema_pass_rate",),
    "structured.detailed_description": ("detailed_description_f1",),
    "structured.predicted_questions": ("predicted_questions_f1",),
    "structured.original_evidence": ("original_evidence_score",),
    "structured.grounding": ("grounding_avg",),
    # eval_semantic_stability.md, eval_cross_agent_consistency.md, eval_operator_guidelines.md
    "stability.acr": ("ACR",),
    "stability.cghc": ("CGHC",),
    "stability.css": ("CSS",),
    "stability.ned50": ("NED50", "NED₅₀"),
    "stability.rcr": ("RCR",),
    "stability.scu_consistency": ("SCU-Cons", "scu_cons"),
    "stability.iaa": ("I-AA",),
    "agreement.percent": ("PA", "Percent Agreement"),
    "agreement.kappa": ("κ", "Cohen's κ", "cohen_kappa"),
    "agreement.abstain": ("ABSTAIN rate",),
    "agreement.fleiss": ("Fleiss κ", "fleiss_kappa"),
    "agreement.operator_variance": ("annotation_variance",),
    "agreement.audit_reproducibility": ("Audit reproducibility",),
    # eval_latency_vs_accuracy.md, eval_cost_reporting.md
    "latency.p50": ("P50",),
    "latency.p90": ("P90",),
    "latency.p95": ("P95", "P95 (E2E)"),
    "latency.p99": ("P99",),
    "latency.tail": ("Tail amplification",),
    "cost.per_correct": ("cost_per_correct",),
    "cost.token_efficiency": ("Token efficiency",),
}
"""By the id of the metric, each name as the page writes it; the case, spaces and hyphens do not matter."""

_LAMBDA = (
    "retrieval.lambda_rate",
    "retrieval.lambda_split",
    "retrieval.convergence",
    "retrieval.triplet_rate",
    "retrieval.collapsed",
    "retrieval.flip_rate",
)
SHARED: dict[str, tuple[str, ...]] = {
    "ΔS": ("retrieval.delta_s_", "latency.delta_s_", "agreement.delta_s_"),
    "λ_observe": _LAMBDA,
    "λ": _LAMBDA,
}
"""Names of the sources that several metrics share, by how their ids begin: a gate must say which."""

_SPOILT = {"\u2206": "Δ", "Î”": "Δ", "Î»": "λ", "Îº": "κ"}
"""Signs that look the same, or were read in another encoding, as some of those pages were."""
_BETWEEN = re.compile(r"[^\w@.]+")


def folded(name: str) -> str:
    """A name with what does not matter made the same.

    >>> folded("Under-refusal rate"), folded("NED₅₀"), folded("Precision (answered)"), folded("Î”S_med")
    ('under_refusal_rate', 'ned50', 'precision_answered', 'δs_med')
    """
    for wrong, right in _SPOILT.items():
        name = name.replace(wrong, right)
    return _BETWEEN.sub("_", unicodedata.normalize("NFKC", name).casefold()).strip("_")
