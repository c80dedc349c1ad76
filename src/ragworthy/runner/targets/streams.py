"""The JSON in the body of a reply: one value, the events of a stream, or one value per line."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ragworthy.text import clip

_END = "[DONE]"
"""What OpenAI and those who speak alike send after the last event."""
_SHOWN = 80


def values_of(body: bytes, stream: str) -> list[Any]:
    """Every JSON value of a body, in order; a ValueError completes "bad reply: …".

    A service that does not stream although it was asked to gives one value.

    >>> values_of(b'data: {"a": 1}\\n\\ndata: [DONE]\\n\\n', "sse"), values_of(b'{"a": 1}\\n{"a": 2}\\n', "ndjson")
    ([{'a': 1}], [{'a': 1}, {'a': 2}])
    """
    if stream == "sse" and body.lstrip()[:1] != b"{":
        return _decoded(events_of(body.decode("utf-8", "replace")), "an event")
    if stream == "ndjson":
        return _decoded(body.decode("utf-8", "replace").split("\n"), "a line")
    try:
        return [msgspec.json.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = _hint(body)
        reason = hint or str(error).removeprefix("JSON is malformed: ")
        raise ValueError(f"expected JSON, got {_shown(body.decode('utf-8', 'replace'))} ({reason})") from None


def broken_off(body: bytes, stream: str, ended: Callable[[list[Any]], bool]) -> list[Any] | None:
    """What came of a stream that broke off, in the middle of a value or before it `ended`; None for all others.

    >>> broken_off(b'data: {"a": 1}\\n\\ndata: {"a', "sse", lambda _: True)
    [{'a': 1}]
    """
    if stream == "none" or (stream == "sse" and body.lstrip()[:1] == b"{"):
        return None
    try:
        values = values_of(body, stream)
    except ValueError:
        return _before(body, stream)
    streamed = stream == "sse" or len(values) > 1
    return values if streamed and not ended(values) and _END.encode() not in body else None


def _before(body: bytes, stream: str) -> list[Any] | None:
    """The values before a last line that is not whole."""
    whole, _, rest = body.rpartition(b"\n")
    try:
        return values_of(whole, stream) if rest.strip() else None
    except ValueError:
        return None


def _hint(body: bytes) -> str:
    """What kind of stream a body is that is not JSON."""
    if re.match(rb"\s*(?:data|event|id|retry)?:", body):
        return 'events: write stream = "sse" in [reply]'
    if re.match(rb"\s*\{[^\n]*\}\r?\n\s*\{", body):
        return 'one object per line: write stream = "ndjson" in [reply]'
    return ""


def events_of(text: str) -> list[str]:
    r"""The data of server-sent events; comments and other fields are left out.

    >>> events_of(": ping\n\nevent: x\ndata: {\"a\":\ndata: 1}\n\ndata:2\r\n\r\n")
    ['{"a":\n1}', '2']
    """
    events: list[str] = []
    data: list[str] = []
    for line in (*re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff")), ""):
        if not line and data:
            events.append("\n".join(data))
            data = []
        elif line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
    return events


def _decoded(texts: Iterable[str], what: str) -> list[Any]:
    found: list[Any] = []
    for text in texts:
        if not text.strip() or text.strip() == _END:
            continue
        try:
            found.append(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError) as error:
            reason = str(error).removeprefix("JSON is malformed: ")
            message = f"expected JSON in {what} of the stream, got {_shown(text)} ({reason})"
            raise ValueError(message) from None
    if not found:
        raise ValueError("expected a stream, got nothing")
    return found


def _shown(text: str) -> str:
    return clip(text[:400], _SHOWN) or "nothing"
