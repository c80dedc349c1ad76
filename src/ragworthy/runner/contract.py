"""What a target is asked and what it may reply; every reply is checked against this and nothing else."""

from copy import deepcopy
from typing import Any, NamedTuple, Protocol

import msgspec

from ragworthy.text import clip


class Ask(msgspec.Struct, frozen=True):
    """One question to a target, in one variation."""

    qid: str
    q: str
    seed: int = 0
    jitter: str = "none"
    knobs: dict[str, Any] = {}
    paraphrase: int = 0
    """Which wording it is; the target is not told."""

    def request(self) -> dict[str, Any]:
        """What the target is sent: a copy of its own, which it may change.

        >>> Ask("A1", "Why?").request()
        {'qid': 'A1', 'q': 'Why?', 'seed': 0, 'jitter': 'none', 'knobs': {}}
        """
        knobs = deepcopy(self.knobs)
        return {"qid": self.qid, "q": self.q, "seed": self.seed, "jitter": self.jitter, "knobs": knobs}


class Options(NamedTuple):
    """How a target is reached."""

    retries: int = 2
    """How often an HTTP request is sent again after a failure that may pass."""
    headers: tuple[str, ...] = ()
    """HTTP headers as NAME=VARIABLE: the value is read from the environment."""


LARGEST = 16 << 20
"""So many bytes a reply may have."""


class Reply(NamedTuple):
    """What came back: the fields of a trace, or why there are none."""

    fields: dict[str, Any]
    error: str | None = None
    attempts: int = 1
    unreachable: bool = False
    """Whether nothing at all could be reached: no connection, no process."""


class Target(Protocol):
    """A pipeline under test. Whatever it does wrong is a reply with an error, never an exception."""

    name: str
    """As it may be shown and written: without secrets."""

    async def open(self) -> None:
        """Get ready; raises a RagworthyError where it cannot."""

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """The reply to one question, within so many seconds."""

    async def close(self) -> None:
        """Let go of everything."""


def about(target: Target) -> dict[str, str]:
    """What decides the answers of a target besides its knobs, where that is known: the index, the tuning."""
    return dict(getattr(target, "about", {}))


class Answered(msgspec.Struct, frozen=True):
    """The answer in a reply; more keys are allowed and kept."""

    claim: str
    citations: list[str] | None = None
    constraints_echo: list[str] | None = None


class Replied(msgspec.Struct, frozen=True):
    """The shape of a reply; more keys are allowed and left out of the trace."""

    answer_json: Answered
    retrieved_ids: list[str]
    topk: list[dict[str, Any]] | None = None
    stage_ms: dict[str, float] | None = None
    usage: dict[str, Any] | None = None


KEPT = ("answer_json", "retrieved_ids", "topk", "stage_ms", "usage")


def checked(given: Any, attempts: int = 1) -> Reply:
    """The reply to a question, or what is wrong with it.

    >>> checked({"answer_json": {"claim": "x", "citations": []}, "retrieved_ids": ["a"]}).error is None
    True
    >>> checked({"answer_json": {"claim": 4}, "retrieved_ids": []}).error
    'bad reply: answer_json.claim: expected str, got int'
    >>> checked(None).error
    'bad reply: expected object, got null'
    """
    try:
        plain = msgspec.json.decode(msgspec.json.encode(msgspec.to_builtins(given, order="deterministic")))
        msgspec.convert(plain, Replied)
    except msgspec.ValidationError as error:
        return Reply({}, f"bad reply: {_said(error)}", attempts)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return Reply({}, f"bad reply: expected what JSON can hold, got: {clip(str(error), 200)}", attempts)
    return Reply({key: plain[key] for key in KEPT if plain.get(key) is not None}, None, attempts)


def decoded(body: bytes, attempts: int = 1) -> Reply:
    """The reply in a text of JSON, or what is wrong with it.

    >>> decoded(b"<html>").error
    'bad reply: expected JSON, got <html> (invalid character (byte 0))'
    """
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        got = clip(body[:400].decode("utf-8", "replace"), 80) or "nothing"
        return Reply({}, f"bad reply: expected JSON, got {got} ({reason})", attempts)
    return checked(given, attempts)


def late(timeout: float) -> str:
    """The error of a reply that did not come in time.

    >>> late(5.0)
    'timeout: no reply within 5 s'
    """
    return f"timeout: no reply within {timeout:g} s"


def reason_of(error: str) -> str:
    """The stable word an error starts with.

    >>> reason_of("status 500: oops"), reason_of("timeout: no reply within 5 s")
    ('status 500', 'timeout')
    """
    return error.partition(":")[0]


def _said(error: msgspec.ValidationError) -> str:
    reason, _, place = str(error).replace("`", "").partition(" - at ")
    field = place.removeprefix("$").removeprefix(".")
    text = reason[:1].lower() + reason[1:]
    return f"{field}: {text}" if field else text
