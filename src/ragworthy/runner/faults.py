"""What is wrong with a target as a whole: the same mistake in every reply, and what it should reply instead."""

import re

import msgspec

from ragworthy.codes import CATALOGUE
from ragworthy.errors import DataError, Problem
from ragworthy.runner.contract import SHAPE, Ask, Reply, reason_of
from ragworthy.text import clip
from ragworthy.wire.secret import in_environment

SURE = 10
"""So many replies in a row with the same mistake show that the mistake is in the target, not in the questions."""


def same_fault(error: str | None) -> str | None:
    """What two errors have in common when they are the same mistake; None for those that may pass, or belong to one
    question alone.

    >>> same_fault("bad reply: retrieved_ids[3]: expected str, got int") == same_fault(
    ...     "bad reply: retrieved_ids[0]: expected str, got null")
    True
    >>> same_fault("raised: KeyError: 'Q17'"), same_fault("status 404: no such page"), same_fault("status 429: later")
    ('raised: KeyError', 'status 4xx', None)
    """
    reason, _, rest = (error or "").partition(": ")
    if reason == "bad reply":
        return f"bad reply: {_VARYING.sub('#', rest.partition(', got ')[0])}"
    if reason == "raised":
        return f"raised: {rest.partition(':')[0]}"
    if reason == "died":
        return f"died: {_VARYING.sub('#', rest)}"
    return "status 4xx" if re.fullmatch(r"status 4\d\d", reason) and reason not in _PASSING else None


_PASSING = ("status 408", "status 425", "status 429")
_BUSY = (*_PASSING, "status 502", "status 503", "status 504")
"""Statuses of a server that may answer a moment later."""
_VARYING = re.compile(r'"[^"]*"|\d+')
"""What differs between two errors that are the same mistake: texts and numbers."""


def give_up(name: str, ask: Ask, reply: Reply, *, count: int, others: bool) -> DataError:
    """The error that ends a run whose target makes the same mistake again and again; `others` came before."""
    error = clip(in_environment().masked(reply.error or ""), 300)
    how = f"{count} questions{' in a row' if others else ''}"
    reason = reason_of(reply.error or "")
    if reply.unreachable:
        message = f"expected a target that can be reached, got in {how}: {error}"
        return DataError([Problem("RW-J06", message, name)])
    if reason == "timeout":
        return DataError([Problem("RW-J23", f"expected replies in time, got in the first {how}: {error}", name)])
    if reason in _BUSY:
        message = f"expected a target that answers, got in {how}, each asked several times: {error}"
        return DataError([Problem("RW-J24", message, name)])
    message = f"expected replies that can be read, got in {how}: {error}"
    return DataError([Problem("RW-J09", message, name)], advice="\n".join(_shown(ask, reply)))


def _shown(ask: Ask, reply: Reply) -> list[str]:
    """What a person needs to see of a reply that cannot be used, and what it should be."""
    error = reply.error or ""
    reason = reason_of(error)
    raw = clip(in_environment().masked(reply.raw), 300)
    lines = [f"  asked: {clip(msgspec.json.encode(ask.request()).decode(), 300)}"]
    if raw and reason == "raised":
        lines.append(f"  raised at: {raw}")
    elif raw:
        lines.append(f"  got: {raw}")
    if reason == "bad reply" and not reply.reported:
        lines.append(f"  wanted: {SHAPE}")
    return [*lines, f"  {hint}"] if (hint := hint_of(error, reply.code)) else lines


def hint_of(error: str, code: str | None = None) -> str:
    """What helps with an error that many meet, or that has a code of ours; nothing for others."""
    if code in CATALOGUE:
        return CATALOGUE[code].do
    return next((hint for sign, hint in _HINTS.items() if sign in error), "")


_HINTS = {
    "status 401": "A key is sent with --header Authorization=VARIABLE, which names an environment variable.",
    "status 403": "A key is sent with --header Authorization=VARIABLE, which names an environment variable.",
    "status 404": "Nothing answers under this path: look at the end of the address.",
    "status 405": "The address is asked with POST.",
    "can only be used in that same thread": "With --concurrency 1 a callable is called in the main thread.",
    "different thread": "With --concurrency 1 a callable is called in the main thread.",
}
