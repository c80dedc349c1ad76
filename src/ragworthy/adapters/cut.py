"""Whether values of a trace were cut while they were recorded: the SDK keeps the first N characters of each."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ragworthy.adapters.documents import opened
from ragworthy.adapters.spans import OUTPUT, RERANKER, RETRIEVER, Span

LENGTH_LIMIT = "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"
_FEW = 3
"""So many values of the same length, none longer, are not chance."""
_SHORTEST = 16
_STARTS = re.compile(r'\s*(\{\s*"|\[\s*[\[{"])')
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|["{}\[\]]', re.DOTALL)
_NUMBER = re.compile(r"\.\d+(?=\.|$)")
_ALWAYS = ("metadata", "llm.invocation_parameters", "llm.prompt_template.variables", "mlflow.spanInputs",
           "mlflow.spanOutputs", "traceloop.entity.input", "traceloop.entity.output")  # fmt: skip
_MIME = {"input.value": "input.mime_type", "output.value": "output.mime_type"}


def ends_in_the_middle(value: Any) -> bool:
    """Whether a text starts as JSON and stops before that is closed.

    >>> ends_in_the_middle('{"a": ["b", "c'), ends_in_the_middle('{"a": NaN}'), ends_in_the_middle('["a"] is a list')
    (True, False, False)
    """
    if not isinstance(value, str) or not _STARTS.match(value) or not isinstance(opened(value), str):
        return False
    depth = 0
    for token in _TOKENS.finditer(value):
        sign = token[0]
        if sign == '"':
            return True
        depth += (sign in ("{", "[")) - (sign in ("}", "]"))
        if not depth:
            return False
    return True


def cut_in(span: Span) -> str:
    """Which value of a span stops in the middle; empty where none does.

    Only what its recorder writes as JSON: a model may stop in the middle of its own.
    """
    for key, value in span.attributes.items():
        if _is_json(key, span) and ends_in_the_middle(value):
            return f"the JSON of {key} is cut off after {len(value)} characters ({LENGTH_LIMIT})"
    return ""


def _is_json(key: str, span: Span) -> bool:
    if key in _ALWAYS or key.endswith(".document.metadata"):
        return True
    if key in OUTPUT and span.kind in (RETRIEVER, RERANKER):
        return True
    return key in _MIME and span.attributes.get(_MIME[key]) == "application/json"


def cut_alike(spans: Iterable[Span]) -> str:
    """Whether several values of a trace have the same length and none is longer; empty where that is not so.

    Pieces of a corpus may all have one length, so the documents of a list count once; so do equal texts.
    """
    longest = 0
    places: dict[tuple[str, str], str] = {}
    for span in spans:
        for key, value in _texts(span.attributes):
            if len(value) < max(longest, _SHORTEST):
                continue
            if len(value) > longest:
                longest, places = len(value), {}
            plain = _NUMBER.sub("", key)
            places[("" if plain != key else span.id, plain)] = value
    if len(set(places.values())) < _FEW:
        return ""
    names = ", ".join(sorted({key for _, key in places})[:_FEW])
    return f"{len(places)} values end after exactly {longest} characters ({names}): they were cut off ({LENGTH_LIMIT})"


def _texts(attributes: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for key, value in attributes.items():
        if isinstance(value, str) and not key.endswith((".id", "_id")):
            yield key, value
