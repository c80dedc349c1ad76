"""A structured answer by a chat model: it is sent a prompt and the passages, and what it writes is kept as it came.

Nothing is asked for a second time and nothing is fixed: how often a model keeps to the form is what is measured.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ragworthy.metrics.definition import Definition, Field
from ragworthy.metrics.kinds.texts import Listed
from ragworthy.metrics.kinds.values import Enum
from ragworthy.pipeline.endpoint import Asking, Endpoint, Unanswered, Written
from ragworthy.pipeline.knobs import Knobs
from ragworthy.pipeline.prompt import FORMS

_KEPT = 2000
"""So many characters are kept of what came in place of an answer."""


class Passage(NamedTuple):
    """A chunk of the context as outputs have it."""

    chunk_id: str
    score: float
    source_path: str
    text: str


class Task(NamedTuple):
    """What all questions have in common."""

    prompt: str
    definition: Definition


def messages(task: Task, question: str, passages: Sequence[Passage]) -> list[dict[str, str]]:
    """The prompt, then the passages, each below the path of its file, and the question.

    >>> told = messages(Task("Answer.", Definition("d", ())), "Why?", [Passage("a#1", 1.0, "a.md", "It is red.")])
    >>> told[1]["content"]
    'file: a.md\\nIt is red.\\n\\nQuestion: Why?'
    """
    pieces = [f"file: {one.source_path}\n{one.text}" for one in passages]
    asked = "\n\n".join([*pieces, f"Question: {question}"])
    return [{"role": "system", "content": task.prompt}, {"role": "user", "content": asked}]


async def output(
    endpoint: Endpoint, task: Task, question: str, passages: Sequence[Passage], asked: Asking, knobs: Knobs, seed: int
) -> dict[str, Any]:
    """The reply to one question: what the model wrote, or why it wrote nothing; both with the context."""
    settings = {"temperature": knobs.temperature, "seed": seed, "max_tokens": knobs.reply_tokens}
    body = {"model": endpoint.model, "messages": messages(task, question, passages), **settings}
    known: dict[str, Any] = {"context": [one._asdict() for one in passages]}
    try:
        written = await endpoint.written(body, partial(response_format, task.definition), asked)
    except Unanswered as lost:
        raw = {"raw": endpoint.secrets.masked(lost.raw)[:_KEPT]} if lost.raw else {}
        told = {"error": endpoint.secrets.masked(lost.error), "error_code": lost.code, **raw}
        return known | told | _made(endpoint, asked, settings, knobs, None)
    return known | {"raw": written.text} | _made(endpoint, asked, settings, knobs, written)


def _made(
    endpoint: Endpoint, asked: Asking, settings: Mapping[str, Any], knobs: Knobs, written: Written | None
) -> dict[str, Any]:
    """How it was made, and what it took."""
    retrieval = {"mode": knobs.mode, "k": knobs.k, "max_tokens": knobs.max_tokens}
    meta: dict[str, Any] = {"model_id": endpoint.model, "adapter_id": "none", "retrieval": retrieval}
    if written is not None:
        meta["generation"] = {**settings, "format": written.form}
    return {"meta": meta, "usage": {"model": endpoint.model, **asked.counts}}


def response_format(definition: Definition, form: str) -> dict[str, Any] | None:
    """What makes a server hold the reply to the fields of a definition."""
    if form == "none":
        return None
    if form == "json_object":
        return {"type": "json_object"}
    strict = all(field.required for field in definition.fields)
    schema = schema_of(definition, limits=form == FORMS[0])
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": strict, "schema": schema}}


def schema_of(definition: Definition, *, limits: bool = True) -> dict[str, Any]:
    """The JSON Schema of an answer."""
    whole = _object()
    for field in definition.fields:
        place = whole
        for key in field.at[:-1]:
            place = _put(place, key, place["properties"].get(key) or _object(), needed=field.required)
        _put(place, field.at[-1], _kind(field, limits=limits), needed=field.required)
    return whole


def _put(place: dict[str, Any], key: str, schema: dict[str, Any], *, needed: bool) -> dict[str, Any]:
    place["properties"][key] = schema
    if needed and key not in place["required"]:
        place["required"].append(key)
    return schema


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties, "required": list(properties)}
    return made | {"additionalProperties": False}


_TEXT = {"type": "string"}
_SIMPLE = {"number": {"type": "number"}, "boolean": {"type": "boolean"}}


def _kind(field: Field, *, limits: bool) -> dict[str, Any]:
    rules = field.rules
    if isinstance(rules, Listed):
        most = {"maxItems": rules.limit} if limits and rules.limit else {}
        return {"type": "array", "items": _TEXT, **most}
    if isinstance(rules, Enum):
        return {"type": "string", "enum": list(rules.values)}
    if field.kind == "grounding":
        ref = _object(file=_TEXT, anchors={"type": "array", "items": _TEXT})
        return {"type": "array", "items": _object(part=_TEXT, refs={"type": "array", "items": ref})}
    return _SIMPLE.get(field.kind, _TEXT)
