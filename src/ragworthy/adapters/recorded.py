"""What one span says: the documents it retrieved, the answer it gave, the tokens it used; and whether it lost some."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ragworthy.adapters import tokens
from ragworthy.adapters.cut import LENGTH_LIMIT, cut_in, ends_in_the_middle
from ragworthy.adapters.documents import Document, document
from ragworthy.adapters.documents import opened as json_opened
from ragworthy.adapters.shapes import answer_in, messages, strings
from ragworthy.adapters.spans import INPUT, OUTPUT, RERANKER, RETRIEVER, Span

COUNT_LIMIT = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"
_LISTED = re.compile(r"(retrieval\.documents|reranker\.output_documents)\.(\d{1,9})\.(.+)")
_WHOLE = ("reranker.output_documents", "retrieval.documents", "gen_ai.retrieval.documents")
_MESSAGE = re.compile(r"(?:llm\.output_messages\.(\d{1,9})\.message|gen_ai\.completion\.(\d{1,9}))\.(.+)")
_MESSAGES = ("llm.output_messages", "gen_ai.output.messages")
_INSIDE = (
    "documents",
    "context",
    "source_documents",
    "source_nodes",
    "nodes",
    "output",
    "outputs",
    "results",
    "chunks",
)
_TOKENS = {
    "prompt_tokens": ("llm.token_count.prompt", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "completion_tokens": ("llm.token_count.completion", "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    "total_tokens": ("llm.token_count.total", "gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
}
_COUNTED = ("langfuse.observation.usage_details", "mlflow.chat.tokenUsage", "usage")
_MODEL = ("llm.model_name", "gen_ai.response.model", "gen_ai.request.model", "langfuse.observation.model.name")
_PROMPT = ("llm.prompts", "llm.input_messages", "gen_ai.prompt", "gen_ai.input.messages")
_SOURCE = re.compile(r"(?:^|\n)Source (\d{1,6}):\r?\n")
_DEPTH = 4
_MANY = 30
"""Recorders keep 128 attributes, at most four a document, and the input is older than any: with fewer documents than
this nothing was dropped, and with more the input is there or documents are missing too.
"""


class Found(NamedTuple):
    """The documents of a span, and how it is damaged (empty where it is whole)."""

    documents: list[Document]
    damage: str = ""


def documents_of(span: Span) -> Found:
    """The documents that a span gave back, from whichever attribute holds them."""
    if "documents" not in span.known:
        span.known["documents"] = _documents_of(span)
    found: Found = span.known["documents"]
    return found


def _documents_of(span: Span) -> Found:
    listed: dict[str, dict[int, dict[str, Any]]] = {}
    for key, value in span.attributes.items():
        if key[:4] in ("retr", "rera") and (found := _LISTED.fullmatch(key)):
            listed.setdefault(found[1], {}).setdefault(int(found[2]), {})[found[3]] = value
    for name in ("reranker.output_documents", "retrieval.documents"):
        if name in listed:
            return _completed(_in_order(name, listed[name]), name, span)
    for name in _WHOLE:
        held = json_opened(span.attributes.get(name))
        if isinstance(held, list):
            return _all_of(name, [document(one) for one in held])
    output = span.first(OUTPUT)
    retrieves = span.kind in (RETRIEVER, RERANKER)
    if retrieves and ends_in_the_middle(output):
        return Found([], f"the JSON of its output is cut off ({LENGTH_LIMIT})")
    held = json_opened(output)
    return Found(_inside(held, _DEPTH) if retrieves or isinstance(held, Mapping) else [])


def _completed(found: Found, name: str, span: Span) -> Found:
    """The documents of attributes against those of the output: whether some are missing, and ids given only there."""
    listed = _list_in(json_opened(span.first(OUTPUT)), _DEPTH)
    if found.damage or not listed:
        return found
    missing = len(listed) - len(found.documents)
    if missing > 0 and all(document(one) or isinstance(one, str) for one in listed):
        return Found([], f"{missing} of {len(listed)} documents of its output are missing in {name} ({COUNT_LIMIT})")
    if missing or any(one.id for one in found.documents):
        return found
    return Found([_with_id(one, document(value)) for one, value in zip(found.documents, listed, strict=True)])


def _with_id(one: Document, other: Document | None) -> Document:
    """A document with the id that it has in the output, where that is the same text."""
    if other is None or not other.id or (one.text and other.text and one.text != other.text):
        return one
    return one._replace(id=other.id)


def _list_in(value: Any, depth: int) -> list[Any]:
    """The list of documents in an output, whatever its elements are."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 and isinstance(value[0], list) else value
    for key in _INSIDE if isinstance(value, Mapping) and depth else ():
        if isinstance(value.get(key), list | Mapping) and (found := _list_in(value[key], depth - 1)):
            return found
    return []


def _in_order(name: str, parts: Mapping[int, Mapping[str, Any]]) -> Found:
    """Documents from numbered attributes. A number that is missing was dropped: recorders number without gaps."""
    count = max(parts) + 1
    missing = count - len(parts)
    first = min(parts)
    if missing:
        where = f"the first is {name}.{first}" if first else f"{name} has holes"
        return Found([], f"{missing} of at least {count} documents are missing, {where} ({COUNT_LIMIT})")
    return _all_of(name, [document(parts[number]) for number in range(count)])


def _all_of(name: str, found: list[Document | None]) -> Found:
    """Documents in their order, where none of them has lost what names it."""
    texts = [bool(one and one.text) for one in found]
    if any(texts) and not all(texts):
        return Found([], f"{name}.{texts.index(False)} has no text and others have ({COUNT_LIMIT})")
    kept = [one for one in found if one is not None]
    if len(kept) < len(found):
        lost_here = f"{len(found) - len(kept)} of {len(found)} documents have neither id nor text"
        return Found([], f"{lost_here} ({COUNT_LIMIT})")
    return Found(kept)


def _documents(values: list[Any]) -> list[Document]:
    found = [document(one) for one in values]
    return [one for one in found if one is not None]


def _inside(value: Any, depth: int) -> list[Document]:
    """Documents in an output: a list of them, or an object that holds such a list."""
    if isinstance(value, list):
        inner = value[0] if len(value) == 1 and isinstance(value[0], list) else value
        return _documents(inner)
    if not isinstance(value, Mapping) or not depth:
        return []
    for key in _INSIDE:
        if isinstance(value.get(key), list | Mapping) and (found := _inside(value[key], depth - 1)):
            return found
    return []


class Reply(NamedTuple):
    """What a model said. `direct`: it is where answers stand, and not only in what came out of the span."""

    text: str
    direct: bool


def reply_of(span: Span) -> Reply | None:
    """The answer of a model call; a prompt builder that calls itself one has none that is direct."""
    if "reply" not in span.known:
        span.known["reply"] = _reply_of(span)
    found: Reply | None = span.known["reply"]
    return found


def _reply_of(span: Span) -> Reply | None:
    parts: dict[int, dict[str, Any]] = {}
    for key, value in span.attributes.items():
        if key[:4] in ("llm.", "gen_") and (found := _MESSAGE.fullmatch(key)):
            parts.setdefault(int(found[1] or found[2]), {})[found[3]] = value
    for number in sorted(parts, reverse=True):
        if said_here := _message_text(parts[number]):
            return Reply(said_here, direct=True)
    for name in _MESSAGES:
        said = [text for role, text in messages(json_opened(span.attributes.get(name))) if role != "tool" and text]
        if said:
            return Reply(said[-1], direct=True)
    for name in OUTPUT:
        value = span.attributes.get(name)
        if value is not None and (text := answer_in(value)):
            known = name != "output.value" or "openinference.span.kind" not in span.attributes
            return Reply(text, direct=known or span.replies)
    return None


def _message_text(fields: Mapping[str, Any]) -> str:
    if isinstance(fields.get("content"), str):
        return str(fields["content"])
    named = re.compile(r"contents\.(\d{1,9})\.message_content\.text")
    texts = {int(found[1]): value for key, value in fields.items() if (found := named.fullmatch(key))}
    return "".join(str(texts[number]) for number in sorted(texts))


def usage_of(span: Span) -> dict[str, Any]:
    """Tokens in and out, and the model, where the span says so."""
    counted = next((held for key in _COUNTED if isinstance(held := json_opened(span.attributes.get(key)), Mapping)), {})
    usage: dict[str, Any] = {}
    for name, keys in _TOKENS.items():
        values = (*(span.attributes.get(key) for key in keys), *(counted.get(key) for key in tokens.COUNT_NAMES[name]))
        count = next((whole for value in values if (whole := tokens.count(value)) is not None), None)
        if count is not None:
            usage[name] = count
    model = span.first(_MODEL)
    if usage and isinstance(model, str) and (model := str(json_opened(model))) != "unknown":
        usage["model"] = model
    return usage


def lost(span: Span) -> str:
    """How a span is damaged; empty where it is whole."""
    if span.dropped:
        return f"{span.dropped} of its attributes were dropped ({COUNT_LIMIT})"
    if cut := cut_in(span):
        return cut
    if span.kind not in (RETRIEVER, RERANKER):
        return ""
    found = documents_of(span)
    if len(found.documents) >= _MANY and span.first(INPUT) is None:  # Phoenix numbers what is left from 0
        return f"{len(found.documents)} documents and no input: the oldest attributes were dropped ({COUNT_LIMIT})"
    return found.damage


def prompt_of(span: Span) -> str:
    """Every text that a model was given; empty where the span does not hold it."""
    said = [key for key in span.attributes if key.startswith(_PROMPT)]
    keys = sorted(said, key=_natural) or [key for key in INPUT if key in span.attributes][:1]
    return "\n".join(text for key in keys for text in strings(span.attributes[key]))


def _natural(key: str) -> list[tuple[int, str]]:
    """A key by which 10 comes after 9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in key.split(".")]


def numbered_sources(span: Span) -> list[tuple[int, str]]:
    """The texts that LlamaIndex' citation engine numbers in a prompt (`Source 1:`), those of its example too."""
    found: list[tuple[int, str]] = []
    keys = ("llm.prompts", "llm.input_messages", *INPUT)
    values = [value for key, value in span.attributes.items() if key.startswith(keys)]
    texts = (text for value in values if not isinstance(value, str) or "Source 1:" in value for text in strings(value))
    for text in texts:
        marks = list(_SOURCE.finditer(text))
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        found += [(int(mark[1]), text[mark.end() : end]) for mark, end in zip(marks, ends, strict=False)]
    return found
