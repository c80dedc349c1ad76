"""Objects of LangChain as plain data: messages, documents, results of models, and whatever a chain was given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

_DEPTH = 12
_WIDEST = 10_000
_COUNTS = ("token_usage", "usage", "usage_metadata")


def as_data(value: Any, depth: int = _DEPTH) -> Any:
    """A value as dicts, lists, texts and numbers; what has no such form is None.

    >>> as_data({"input": "How long?", "history": (1, object())})
    {'input': 'How long?', 'history': [1, None]}
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if not depth:
        return None
    if isinstance(value, Mapping):
        return {str(key): as_data(one, depth - 1) for key, one in list(value.items())[:_WIDEST]}
    if isinstance(value, list | tuple):
        return [as_data(one, depth - 1) for one in value[:_WIDEST]]
    if hasattr(value, "content") and isinstance(getattr(value, "type", None), str):
        return {"role": value.type, "content": as_data(value.content, depth - 1)}
    if hasattr(value, "page_content"):
        return document_as_data(value)
    if callable(held := getattr(value, "to_messages", None)):
        return as_data(held(), depth - 1)
    return _made(value, depth)


def _made(value: Any, depth: int) -> Any:
    """A record of the user, or a number of NumPy."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: as_data(getattr(value, one.name), depth - 1) for one in fields(value)}
    for name in ("model_dump", "tolist"):
        if callable(call := getattr(value, name, None)) and not isinstance(value, type):
            return as_data(call(), depth - 1)
    return None


def document_as_data(found: Any, name: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """A document of LangChain; `name` gives its id."""
    own = getattr(found, "id", None) if name is None else name(found)
    metadata = getattr(found, "metadata", None)
    held = {"page_content": as_data(getattr(found, "page_content", "")), "metadata": as_data(metadata) or {}}
    return held if own is None else held | {"id": as_data(own)}


def documents_as_data(found: Sequence[Any], name: Callable[[Any], Any] | None = None) -> list[Any]:
    """The documents of a retriever; those of a class of the user's own as they can be read."""
    return [document_as_data(one, name) if hasattr(one, "page_content") else as_data(one) for one in found]


def said(response: Any) -> dict[str, Any]:
    """The answer in a result of a model: its message, or the text of one that has no messages."""
    generation = _first(response)
    message = getattr(generation, "message", None)
    if message is not None:
        return {"llm.output_messages": [{"role": "assistant", "content": as_data(getattr(message, "content", None))}]}
    text = getattr(generation, "text", None)
    return {"output.value": {"text": as_data(text)}} if isinstance(text, str) and text else {}


def usage_as_data(response: Any) -> dict[str, Any]:
    """The tokens of a call, from the message or from what the provider said of the call, and the model's name."""
    output = getattr(response, "llm_output", None)
    output = output if isinstance(output, Mapping) else {}
    message = getattr(_first(response), "message", None)
    counted = getattr(message, "usage_metadata", None)
    if not isinstance(counted, Mapping):
        counted = next((output[key] for key in _COUNTS if isinstance(output.get(key), Mapping)), {})
    held: dict[str, Any] = {"usage": as_data(dict(counted))} if counted else {}
    model = next((output[key] for key in ("model_name", "model") if isinstance(output.get(key), str)), "")
    return held | ({"llm.model_name": model} if model else {})


def _first(response: Any) -> Any:
    """The first of what a model generated."""
    generations = getattr(response, "generations", None)
    inner = generations[0] if isinstance(generations, list) and generations else None
    return inner[0] if isinstance(inner, list) and inner else None
