"""Replies without the secrets that are in them only since their parts were put together."""

from collections.abc import Callable
from typing import Any

import msgspec

from ragworthy.runner.contract import Reply
from ragworthy.wire.secret import WITHHELD, Secrets


class Hiding:
    """Hides secrets in texts, and remembers whether there were any."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self.found = False

    def __call__(self, text: str) -> str:
        masked = self._hide(text)
        self.found = self.found or masked != text
        return masked


def hidden(reply: Reply, secrets: Secrets, *, pieces: bool = False) -> Reply:
    """A reply whose every text is without secrets; `pieces`: its parts held one between them.

    The texts of the reply are masked before they are read. What is read puts some of them together, as the pieces of a
    stream, and takes something out of others, as markers: only then a secret may be there.
    """
    if not secrets:
        return reply
    hide = Hiding(secrets.masked_reply)
    fields = {name: _texts(value, hide) for name, value in reply.fields.items()}
    raw = WITHHELD if reply.raw and (pieces or hide.found) else reply.raw
    if "raw" in fields and (raw == WITHHELD or secrets.in_pieces(fields["raw"])):
        fields["raw"] = WITHHELD
    return msgspec.structs.replace(
        reply,
        fields=fields,
        error=_texts(reply.error, hide),
        raw=hide(raw),
        misfits=tuple((hide(field), hide(why)) for field, why in reply.misfits),
        places=tuple((field, hide(place)) for field, place in reply.places),
        how=hide(reply.how),
        chunks=_texts(reply.chunks, hide),
    )


def _texts(value: Any, hide: Callable[[str], str]) -> Any:
    """A value with what is secret hidden in its texts; names of fields were hidden when they were read."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list | tuple):
        return type(value)(_texts(one, hide) for one in value)
    if isinstance(value, dict):
        return {name: _texts(one, hide) for name, one in value.items()}
    return value
