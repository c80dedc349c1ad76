"""What a model saw of the documents of some retrieval spans: those of the outermost ones, as its prompt holds them."""

from collections.abc import Mapping, Sequence

from ragworthy.adapters.documents import Document
from ragworthy.adapters.prompted import Call, Seen, beside, cites, outermost, seen
from ragworthy.adapters.recorded import documents_of, prompt_of
from ragworthy.adapters.spans import LLM, RERANKER, RETRIEVER, Span, below

WORKER = "ragworthy.worker"
"""The attribute under which a recorder writes the thread or task that a step ran in."""


def without_nested(spans: Mapping[str, Span], found: Sequence[Span]) -> list[Span]:
    """Retrievals without those that ran inside another one although they are not steps below it."""
    if len(found) < 2:
        return list(found)
    kept = outermost([_call(span) for span in found], {one: span.name for one, span in spans.items()})
    return [span for n, span in enumerate(found) if n in set(kept)]


def as_the_model_saw(
    spans: Mapping[str, Span], retrieval: Sequence[Span], lists: Sequence[Sequence[Document]], answer: str
) -> tuple[Seen, list[Document]]:
    """The documents that count, of one list for each retrieval or of one for all; raises Undecided."""
    prompts = _prompts(spans)
    names = {one: span.name for one, span in spans.items()}
    apart = len(lists) > 1 and (bool(prompts) or cites(answer))
    side_by_side = apart and beside(
        [_call(span) for span in retrieval], [_above(span, spans) for span in retrieval], names
    )
    found = seen([[one.text for one in some] for some in lists], prompts, answer, side_by_side=side_by_side)
    return found, [lists[n][m] for n, m in found.picks]


def _call(span: Span) -> Call:
    texts = [one.text for one in documents_of(span).documents]
    start = span.start or 0
    return Call(span.parent, start, max(span.end or 0, start), texts, str(span.attributes.get(WORKER, "")))


def _prompts(spans: Mapping[str, Span]) -> list[str]:
    """What models were asked outside retrieval, in the order of time."""
    aside = below(spans, {one for one, span in spans.items() if span.kind in (RETRIEVER, RERANKER)})
    calls = [span for one, span in spans.items() if span.kind == LLM and one not in aside]
    inner = below(spans, {span.id for span in calls})
    outer = sorted((span for span in calls if span.id not in inner), key=lambda span: (span.start or 0, span.end or 0))
    return [prompt for span in outer if (prompt := prompt_of(span))]


def _above(span: Span, spans: Mapping[str, Span]) -> list[str]:
    found: list[str] = []
    while span.parent in spans and span.parent not in found:
        found.append(span.parent)
        span = spans[span.parent]
    return found
