"""What a selftest does to the traces of the retrieval suite; each damage gets what is wanted and a trace."""

import msgspec

from ragworthy.metrics.facts.said import claims_of
from ragworthy.metrics.facts.wanted import Wanted
from ragworthy.records import Cited, Result, RetrievalTrace
from ragworthy.suites.damage import Damage, dropped

_FAR = 999_999
"""A section that no document has."""
_DISTANCES = tuple(
    name for name in RetrievalTrace.__struct_fields__ if name.startswith("delta_s") and "model" not in name
)
_OF_CITATIONS = (
    "coverage", "citation_accuracy", "citation_exact", "citation_precision", "citation_recall", "anchor_distance",
    "delta_s_median", "delta_s_p90", "delta_s_mean", "delta_s_within", "delta_s_unstable", "delta_s_far",
    "identical_citations",
)  # fmt: skip
_OF_CITING = ("cite_first", "traceable")
_OF_RUNS = ("triplet_rate", "convergence", "lambda_rate", "collapsed")
_OF_ORDERS = ("rank_tau", "rank_rho")
_OF_PROBES = ("delta_s_topk_median", "delta_s_topk_p90", "delta_s_top1_within")
_OF_NEGATIVES = ("negatives", "negative_first")
_OF_RANKS = ("precision", "recall", "hit", "ndcg", "mrr", "anchor_hit", "token_coverage", "rerank_uplift")


def damages() -> tuple[Damage, ...]:
    """Every damage."""
    return (
        Damage("every trace dropped", _ids("missing"), dropped),
        Damage("every citation moved", _ids(*_OF_CITATIONS), _moved),
        Damage("every citation taken away", _ids(*_OF_CITING), _uncited),
        Damage("every run made to cite a section of its own", _ids(*_OF_RUNS), _scattered),
        Damage("every wording made to cite a section of its own", _ids("lambda_split"), _divided),
        Damage("every run made to return other blocks", _ids(*_OF_ORDERS), _replaced),
        Damage("everything retrieved made as far as can be", _ids(*_OF_PROBES), _removed),
        Damage("every hard negative put first", _ids(*_OF_NEGATIVES), _negatives_first),
        Damage("everything retrieved thrown away", _ids(*_OF_RANKS), _emptied),
    )


def _ids(*names: str) -> tuple[str, ...]:
    return tuple(f"retrieval.{name}" for name in names)


def _emptied(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    return msgspec.structs.replace(trace, topk=[], **dict.fromkeys(_DISTANCES))


def _cites(trace: RetrievalTrace, name: str) -> RetrievalTrace:
    return msgspec.structs.replace(trace, answer_citations=[name], answer=None, answer_json=None)


def _moved(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    return _cites(trace, f"S.{_FAR}.p.Bk001")


def _uncited(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    said = next((claim for claim in claims_of(trace) if claim.strip()), "an answer")
    return msgspec.structs.replace(trace, answer_citations=[], answer=Cited(claim=said), answer_json=None)


def _scattered(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    place = f"{(trace.paraphrase or 0) + 1}.{(trace.seed or 0) + 1}"
    return _cites(trace, f"S.{_FAR}.{place}.p.Bk001")


def _divided(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    return _cites(trace, f"S.{_FAR}.{(trace.paraphrase or 0) + 1}.p.Bk001")


def _replaced(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    place = f"{(trace.paraphrase or 0) + 1}.{(trace.seed or 0) + 1}"
    other = [Result(f"S.{_FAR}.{place}.p.Bk{nth:03d}") for nth in range(max(2, len(trace.topk or [])))]
    return msgspec.structs.replace(trace, topk=other, **dict.fromkeys(_DISTANCES))


def _removed(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    far = [1.0] * len(trace.distances or ())
    return msgspec.structs.replace(trace, **{**dict.fromkeys(_DISTANCES), "delta_s": far or None})


def _negatives_first(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    first = [Result(name) for name in sorted(wanted.negatives)]
    kept = [one for one in trace.topk or [] if one.id not in wanted.negatives]
    return msgspec.structs.replace(trace, topk=first + kept, **dict.fromkeys(_DISTANCES))
