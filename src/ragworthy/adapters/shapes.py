"""The question or the answer inside what went into a step or came out of it, in the shapes that frameworks use."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragworthy.adapters.documents import opened
from ragworthy.adapters.reprs import answer_text

_QUESTION = ("question", "query", "user_input", "input", "q", "query_str", "user_query", "prompt", "user_message")
_ANSWER = (
    "answer", "response", "result", "output", "output_text", "reply", "claim", "text", "content", "completion",
    "replies", "generations", "choices", "messages", "message", "outputs", "answers", "parts", "kwargs", "data",
)  # fmt: skip
_USER = ("user", "human")
_ASSISTANT = ("assistant", "ai", "model", "bot")
_ROLES = {*_USER, *_ASSISTANT, "system", "tool", "function", "developer"}
_REPR = re.compile(r"<?[A-Z][A-Za-z0-9_.]*\([a-z_]+=")
_DEPTH = 8
_MOST = 2000


def question_in(value: Any) -> str:
    """The question in an input: text, the last message of a user, or the shallowest field that is called like one.

    >>> question_in({"data": {"retriever": {"query": "How long?"}}, "include_outputs_from": None})
    'How long?'
    """
    level: list[Any] = [opened(value)]
    looked = 0
    while level and looked < _MOST:
        below: list[Any] = []
        for one in level:
            looked += 1
            if looked == 1 and isinstance(one, str):
                return one.strip()
            if asked := _asked(one):
                return asked
            below += _inside(one)
        level = below[:_MOST]
    return ""


def _asked(value: Any) -> str:
    if isinstance(value, Mapping):
        for key in _QUESTION:
            found = value.get(key)
            if isinstance(found, str) and found.strip() and not isinstance(inner := opened(found), Mapping | list):
                return str(inner).strip()
    asked = [text for role, text in messages(value) if role in _USER and text.strip()]
    return asked[-1].strip() if asked else ""


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        inner: list[Any] = [one for key, one in value.items() if key not in ("metadata", "tags", "serialized")]
    else:
        inner = value if isinstance(value, list) else []
    for one in inner:
        one = opened(one)
        if isinstance(one, Mapping | list):
            yield one


def messages(value: Any) -> list[tuple[str, str]]:
    """Messages of a chat with their roles; empty where a value is none."""
    if not isinstance(value, list):
        value = [value]
    return [found for one in value[:_MOST] if (found := _message(one))]


def _message(value: Any) -> tuple[str, str] | None:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) for one in value):
        return (value[0], value[1]) if value[0] in _ROLES else None
    if not isinstance(value, Mapping):
        return None
    inner = value.get("kwargs") or value.get("message")
    if isinstance(inner, Mapping) and "content" in inner:  # LangChain's JSON, OpenAI's choices, OpenInference
        value = inner
    value = {str(key).removeprefix("message."): one for key, one in value.items()}
    role = value.get("role") or value.get("type")
    content = next((value[key] for key in ("content", "parts", "contents") if value.get(key)), None)
    if not isinstance(role, str) or role.lower() not in _ROLES:
        return None
    return role.lower(), content if isinstance(content, str) else parts_text(content)


def parts_text(value: Any) -> str:
    """The text of content that comes in parts."""
    texts: list[str] = []
    for part in value[:_MOST] if isinstance(value, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            part = {str(key).removeprefix("message_content."): one for key, one in part.items()}
            inner = part.get("message_content")
            part = inner if isinstance(inner, Mapping) else part
            text = part.get("text", part.get("content"))
            texts += [text] if isinstance(text, str) and part.get("type", "text") in ("text", "output_text") else []
    return "".join(texts)


def answer_in(value: Any, depth: int = _DEPTH) -> str | None:
    """The answer in an output; None where its shape is not known.

    >>> answer_in({"input": "q", "context": [], "answer": "45 days [1]"})
    '45 days [1]'
    >>> answer_in({"generations": [[{"text": "45 days"}]]}), answer_in({"documents": []})
    ('45 days', None)
    """
    if isinstance(value, str):
        inner = opened(value)
        if isinstance(inner, str):
            return answer_text(inner) if _REPR.match(inner) else inner
        held = answer_in(inner, depth - 1) if isinstance(inner, Mapping | list) else None
        # JSON of a shape that nobody knows is the answer where an answer stands, but not where anything may come out.
        return value if held is None and depth < _DEPTH else held
    if depth <= 0:
        return None
    if isinstance(value, list):
        return _of_list(value, depth)
    if not isinstance(value, Mapping):
        return None
    for key in _ANSWER:
        if value.get(key) is not None and (found := answer_in(_plain(value[key]), depth - 1)) is not None:
            return found
    return None


def last_answer_in(value: Any) -> str | None:
    """The answer in what a pipeline of Haystack gave back: by component, and the last that says something counts.

    >>> last_answer_in({"gen": {"replies": ["45 days."]}, "guard": {"text": "I refuse."}, "ret": {"documents": []}})
    'I refuse.'
    """
    value = opened(value)
    if not isinstance(value, Mapping) or not value or not all(isinstance(one, Mapping) for one in value.values()):
        return None
    found = (
        answer_in({key: one for key, one in part.items() if key != "meta"}) for part in reversed([*value.values()])
    )
    return next((one for one in found if one is not None), None)


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | list | Mapping) else None


def _of_list(value: Sequence[Any], depth: int) -> str | None:
    said = messages(list(value))
    if said:
        mine = [text for role, text in said if role in _ASSISTANT and text]
        return mine[-1] if mine else None
    if text := parts_text(value) if not isinstance(value[0] if value else None, str) else "":
        return text
    return answer_in(_plain(value[0]), depth - 1) if value else None


def strings(value: Any, depth: int = _DEPTH) -> Iterator[str]:
    """Every text inside a value, with JSON text opened."""
    value = opened(value)
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from strings(one, depth - 1)
