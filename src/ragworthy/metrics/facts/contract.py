"""The traceability contract: what every citation of an answer carries, so that somebody can follow it.

The codes are those of GlobalFixMap/Retrieval/retrieval-traceability.md, in the order of its validator. It asks for five
fields in each citation of an answer; which index, model, analyzer and revision it comes from need not be repeated in
each, and are compared where they are.
"""

from collections.abc import Sequence

from ragworthy.cited import Citation
from ragworthy.records import RetrievalTrace

OK = "ok"
EMPTY = "empty_citations"
NEEDED = ("section_id", "source_url", "offsets", "tokens")
"""What a citation carries besides its snippet_id, without which it is none."""
MEANS = {
    EMPTY: "nothing is cited",
    **{f"missing_{field}": f"a citation has no {field}" for field in NEEDED},
    "bad_offsets": "a citation ends where it begins, or before",
    "cross_section_reuse": "the citations are of several sections, and the trace does not say allow_cross_section",
    "missing_score": "neither a citation nor the result it cites has a score",
    "mismatch_index_hash": "a citation is of another index than the trace",
    "analyzer_mismatch": "a citation was analysed otherwise than the trace says, or than another citation",
}
"""Every code in the order in which they are looked for."""


def carries(citation: Citation) -> bool:
    """Whether a citation is more than an id with a range: then the contract is spoken."""
    return citation.section_id is not None or citation.source_url is not None or citation.tokens is not None


def turned_round(citation: Citation) -> bool:
    """Whether the range of a citation is none: it ends before it begins, or where it begins; [0, 0] says nothing."""
    if citation.offsets is None:
        return False
    begin, end = citation.offsets
    return begin >= end and begin > 0 and end >= 0


def finding(citations: Sequence[Citation], trace: RetrievalTrace) -> str:
    """What the validator says of the citations of one answer: the first thing that is wrong, or "ok".

    >>> whole = {"section_id": "2", "source_url": "u", "tokens": 9, "offsets": (0, 9), "score_norm": 1}
    >>> finding([Citation("a", **whole)], RetrievalTrace())
    'ok'
    >>> finding([Citation("a", **whole), Citation("b", **whole | {"section_id": "3"})], RetrievalTrace())
    'cross_section_reuse'
    """
    if not citations:
        return EMPTY
    for one in citations:
        found = _of_one(one, citations[0], trace)
        if found:
            return found
    return OK


def _is_scored(name: str, trace: RetrievalTrace) -> bool:
    """Whether the result that a citation names has a score."""
    return any(one.id == name and one.score is not None for one in trace.topk or ())


def _of_one(one: Citation, first: Citation, trace: RetrievalTrace) -> str:
    for field in NEEDED:
        counted = field == "offsets" and one.unit is not None  # there, and left out because nobody can convert it
        if getattr(one, field) in (None, "") and not counted:
            return f"missing_{field}"
    if one.offsets is not None and one.offsets[0] >= one.offsets[1]:
        return "bad_offsets"
    if one.section_id != first.section_id and not trace.allow_cross_section:
        return "cross_section_reuse"
    if one.score_raw is None and one.score_norm is None and not _is_scored(one.id, trace):
        return "missing_score"
    if None not in (one.index_hash, trace.index_hash) and one.index_hash != trace.index_hash:
        return "mismatch_index_hash"
    other = trace.analyzer if trace.analyzer is not None else first.analyzer
    return "analyzer_mismatch" if None not in (one.analyzer, other) and one.analyzer != other else ""
