"""What LlamaIndex' node postprocessors left of what was retrieved: that is what the model saw."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragworthy.adapters.documents import Document, document
from ragworthy.adapters.reprs import node_id
from ragworthy.adapters.spans import RERANKER, RETRIEVER, Span, below


def last_postprocessor(spans: Mapping[str, Span], retrieval: Sequence[Span]) -> Span | None:
    """The last postprocessor after retrieval; None where a rerank came after it, or it is a part of retrieval."""
    inside = below(spans, {one for one, span in spans.items() if span.kind in (RETRIEVER, RERANKER)})
    found = [span for one, span in spans.items() if span.postprocesses and one not in inside]
    last = max(found, key=lambda span: (span.end or 0, span.start or 0), default=None)
    ranked = [span for span in retrieval if span.kind == RERANKER]
    if last is None or not retrieval or any((span.start or 0) >= (last.end or 0) > 0 for span in ranked):
        return None
    return last


def left_by(span: Span, given: Sequence[Document]) -> list[Document] | None:
    """The documents that a postprocessor gave back, known by their ids; None where that cannot be read."""
    output = span.output
    if not isinstance(output, list):
        return None
    by_id = {one.id: one for one in reversed(given) if one.id}
    found = [_one(value, by_id) for value in output]
    kept = [one for one in found if one is not None]
    return kept if len(kept) == len(found) else None


def _one(value: Any, by_id: Mapping[str, Document]) -> Document | None:
    if isinstance(value, str):
        return by_id.get(node_id(value))
    found = document(value)
    if found is None or found.id not in by_id:
        return found if found is not None and found.text else None
    held = by_id[found.id]
    return held if found.score is None else held._replace(score=found.score)
