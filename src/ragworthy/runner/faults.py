"""What is wrong with a target as a whole: the same mistake in every reply, and what it should reply instead."""

import re
from collections.abc import Sequence

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
    if reason in ("died", "error in reply"):
        return f"{reason}: {_VARYING.sub('#', rest)}"
    if reason == "truncated":
        return reason
    status = re.fullmatch(r"status ([34])\d\d", reason)
    return f"status {status[1]}xx" if status and reason not in _PASSING else None


_PASSING = ("status 408", "status 425", "status 429")
_BUSY = (*_PASSING, "status 502", "status 503", "status 504")
"""Statuses of a server that may answer a moment later."""
_VARYING = re.compile(r'"[^"]*"|\d+')
"""What differs between two errors that are the same mistake: texts and numbers."""


def give_up(name: str, ask: Ask, reply: Reply, *, qids: Sequence[str], others: bool = False) -> DataError:
    """The error that ends a run whose target makes the same mistake again and again; `others` came before.

    `qids` has the question of each try: some are asked twice, or under several seeds.
    """
    error = clip(in_environment().masked(reply.error or ""), 300)
    row = " in a row" if others else ""
    questions = len(set(qids))
    many = "1 question" if questions == 1 else f"{questions} questions"
    how = f"{many}{row}" if questions == len(qids) else f"{len(qids)} tries{row} at {many}"
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
    return DataError([Problem("RW-J09", message, name)], advice="\n".join(_shown(name, ask, reply)))


def _shown(name: str, ask: Ask, reply: Reply) -> list[str]:
    """What a person needs to see of a reply that cannot be used, and what it should be."""
    error = reply.error or ""
    reason = reason_of(error)
    raw = clip(in_environment().masked(reply.raw), 300)
    asked = in_environment().masked(reply.sent) or msgspec.json.encode(ask.request()).decode()
    lines = [f"  asked: {clip(asked, 300)}"]
    if raw and reason == "raised":
        lines.append(f"  raised at: {raw}")
    elif raw:
        lines.append(f"  got: {raw}")
    if reason == "bad reply" and not reply.sent and not reply.reported and reply.code not in OF_OUTPUTS:
        lines.append(f"  wanted: {SHAPE}")
    return [*lines, f"  {hint}"] if (hint := hint_of(error, reply, name, raw)) else lines


OF_OUTPUTS = ("RW-Q11", "RW-Q13")
"""Codes of replies to structured questions that do not fit; what they should be is in the catalogue."""


def code_of(field: str, code: str | None = None) -> str:
    """The code of a field that does not fit: one of the contract, or one that a map reads."""
    if code in OF_OUTPUTS:
        return code or ""
    return "RW-J18" if field.startswith("reply.") else "RW-J10"


def hint_of(error: str, reply: Reply, target: str, raw: str) -> str:
    """What helps with an error that many meet, that has a code of ours, or with what came back; nothing for others."""
    if reply.code in CATALOGUE:
        return CATALOGUE[reply.code].do
    if reply.hint:
        return reply.hint
    mapped = bool(reply.sent)
    if not mapped and target.startswith("http") and (name := looks_like(error, raw)):
        return f"This looks like a service for --map {name} (docs/http.md): ragworthy explain map {name}"
    hints = _HINTS | _MAPPED if mapped else _HINTS
    return next((hint for sign, hint in hints.items() if sign in error), "")


def looks_like(error: str, raw: str) -> str | None:
    """The bundled map of which a reply, or the request that a service misses, has the shape.

    >>> looks_like("bad reply: x", '{"id": "1", "choices": [{"index": 0, "message": {"content": "x"}}]}')
    'openai'
    >>> looks_like("status 422", '{"detail": [{"loc": ["body", "question"], "msg": "Field required"}]}')
    'ask'
    """
    reason = reason_of(error)
    if reason == "bad reply":
        return next((name for sign, name in _REPLIES if re.search(sign, raw)), None)
    if reason in ("status 400", "status 422"):
        return next((name for sign, name in _WANTED if re.search(sign, raw)), None)
    return None


_REPLIES = (
    (r'"choices"\s*:.*"context"\s*:.*"citations"', "azure"),
    (r'"(?:citations|search_results)"\s*:.*"choices"\s*:', "perplexity"),
    (r'"choices"\s*:|"object"\s*:\s*"chat\.completion', "openai"),
    (r'"object"\s*:\s*"response"', "openai-responses"),
    (r'"output"\s*:\s*\{.*"(?:answer|context)"|"output"\s*:.*"run_id"', "langserve"),
    (r'"message"\s*:\s*\{.*"done"\s*:|"created_at"\s*:.*"done"\s*:', "ollama"),
    (r'"finish_reason"\s*:.*"message"\s*:\s*\{|"message"\s*:\s*\{.*"citations"\s*:', "cohere"),
    (r'"(?:answer|response|result)"\s*:\s*"', "ask"),
)
"""What a reply has that a bundled map reads; the first that is there counts."""
_WANTED = (
    (r"\bmessages\b", "openai"),
    (r"\bmodel\b", "openai"),
    (r"\binput\b.{0,40}(?:[Ff]ield required|missing|required)", "langserve"),
    (r"\b(?:question|query|prompt|text)\b", "ask"),
)
"""What a service says that it misses."""
_MAPPED = {
    "the stream ended without": "If this was the whole stream, done in [reply] names what never comes: docs/http.md.",
    "status 404": "An address with a path is taken as it is; a map adds its own path only to one without.",
    "status 405": 'The map says how it is asked: method = "POST" or "GET" in [request].',
    "status 422": "The service does not take the body that the map sends: compare the line above with its API.",
    "status 400": "The service does not take the body that the map sends: compare the line above with its API.",
}


_HINTS = {
    "redirects are not followed": "Give the address that it points to as --target, if you trust it with your key.",
    "status 401": "A key is sent with --header Authorization=VARIABLE, which names an environment variable.",
    "status 403": "A key is sent with --header Authorization=VARIABLE, which names an environment variable.",
    "status 404": "Nothing answers under this path: look at the end of the address.",
    "status 405": "The address is asked with POST; a map can say GET: --map (docs/http.md).",
    "can only be used in that same thread": "With --concurrency 1 a callable is called in the main thread.",
    "different thread": "With --concurrency 1 a callable is called in the main thread.",
}
