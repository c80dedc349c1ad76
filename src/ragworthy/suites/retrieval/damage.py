"""What a selftest does to the traces of the retrieval suite; each damage gets what is wanted and a trace."""

import msgspec

from ragworthy.metrics.facts.wanted import Wanted
from ragworthy.records import Result, RetrievalTrace
from ragworthy.suites.damage import Damage, dropped

_FAR = 999_999
"""A section that no document has."""
_DISTANCES = tuple(
    name for name in RetrievalTrace.__struct_fields__ if name.startswith("delta_s") and "model" not in name
)
_OF_CITATIONS = (
    "coverage", "citation_accuracy", "citation_exact", "anchor_distance", "delta_s_median", "delta_s_p90",
    "delta_s_mean",
)  # fmt: skip
_OF_RUNS = ("triplet_rate", "convergence", "collapsed")
_OF_NEGATIVES = ("negatives", "negative_first")
_OF_RANKS = ("precision", "recall", "hit", "ndcg", "mrr", "anchor_hit", "token_coverage")


def damages() -> tuple[Damage, ...]:
    """Every damage."""
    return (
        Damage("every trace dropped", _ids("missing"), dropped),
        Damage("every citation moved", _ids(*_OF_CITATIONS), _moved),
        Damage("every run made to cite a section of its own", _ids(*_OF_RUNS), _scattered),
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


def _scattered(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    place = f"{(trace.paraphrase or 0) + 1}.{(trace.seed or 0) + 1}"
    return _cites(trace, f"S.{_FAR}.{place}.p.Bk001")


def _negatives_first(wanted: Wanted, trace: RetrievalTrace) -> RetrievalTrace:
    first = [Result(name) for name in sorted(wanted.negatives)]
    kept = [one for one in trace.topk or [] if one.id not in wanted.negatives]
    return msgspec.structs.replace(trace, topk=first + kept, **dict.fromkeys(_DISTANCES))
