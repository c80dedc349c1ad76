"""What a target is asked and what it may reply; every reply is checked against this and nothing else."""

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec

from ragworthy.records import Result
from ragworthy.text import clip, described
from ragworthy.wire.secret import Secrets


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
    knobs: tuple[str, ...] = ()
    """The knobs of the command line, NAME=VALUE: what they name was named by whoever runs this, and not by a file."""


LARGEST = 16 << 20
"""So many bytes a reply may have."""
TOO_LARGE = f"too large: expected at most {LARGEST >> 20} MB, got more"


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
    topk: list[Result] | None = None
    stage_ms: dict[str, Annotated[float, msgspec.Meta(ge=0)]] | None = None
    usage: dict[str, Any] | None = None
    qid: str | None = None
    """The question that is answered; the trace has it anyway."""


KEPT = ("answer_json", "retrieved_ids", "topk", "stage_ms", "usage")


def checked(given: Any, attempts: int = 1, *, qid: str | None = None) -> Reply:
    """The reply to a question, or what is wrong with it; one that names another question than `qid` is wrong.

    >>> checked({"answer_json": {"claim": "x", "citations": []}, "retrieved_ids": ["a"]}).error is None
    True
    >>> checked({"answer_json": {"claim": 4}, "retrieved_ids": []}).error
    'bad reply: answer_json.claim: expected str, got int'
    >>> checked({"answer_json": {"claim": "x"}, "retrieved_ids": [], "qid": "A1"}, qid="A2").error
    'bad reply: qid: expected "A2", got "A1"'
    >>> checked(None).error
    'bad reply: expected object, got null'
    """
    try:
        built = msgspec.to_builtins(given, order="deterministic")
        encoded = msgspec.json.encode(built)
        if len(encoded) > LARGEST:
            return Reply({}, TOO_LARGE, attempts)
        endless = _endless(built) if b"null" in encoded else ""  # as which JSON would hold it
        if endless:
            return Reply({}, f"bad reply: {endless}", attempts)
        plain = msgspec.json.decode(encoded)
        msgspec.convert(plain, Replied)
    except msgspec.ValidationError as error:
        return Reply({}, f"bad reply: {_said(error)}", attempts)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return Reply({}, f"bad reply: expected what JSON can hold, got: {_unwritable(error)}", attempts)
    wrong = _another(plain.get("qid"), qid) or _negative(plain.get("usage"))
    if wrong:
        return Reply({}, f"bad reply: {wrong}", attempts)
    return Reply({key: plain[key] for key in KEPT if plain.get(key) is not None}, None, attempts)


def _another(got: Any, qid: str | None) -> str:
    """What is wrong with the question that a reply names; one that names none may belong to any."""
    return "" if qid is None or got is None or got == qid else f"qid: expected {described(qid)}, got {described(got)}"


def _endless(reply: Any) -> str:
    """The first number of a reply that is counted or timed and is no number: infinity or NaN.

    >>> _endless({"usage": {"llm": {"cost": [1, math.inf]}}})
    'usage.llm.cost[1]: expected a finite number, got inf'
    """
    fields = reply if isinstance(reply, dict) else {}
    left = [(name, fields.get(name)) for name in ("stage_ms", "usage")]
    for place, value in left:
        if isinstance(value, float) and not math.isfinite(value):
            return f"{clip(place, 80)}: expected a finite number, got {value}"
        if isinstance(value, dict):
            left += [(f"{place}.{name}", inner) for name, inner in value.items()]
        elif isinstance(value, list):
            left += [(f"{place}[{n}]", inner) for n, inner in enumerate(value)]
    return ""


def _negative(usage: dict[str, Any] | None) -> str:
    """What is wrong with the numbers of a usage, those of its stages among them.

    >>> _negative({"model": "m", "llm": {"prompt_tokens": -4}})
    'usage.llm.prompt_tokens: expected a number from 0, got -4'
    """
    counts = dict(usage or {})
    for stage, own in (usage or {}).items():
        if isinstance(own, dict):
            counts |= {f"{stage}.{name}": count for name, count in own.items()}
    for name, count in counts.items():
        if isinstance(count, int | float) and count < 0:
            return f"usage.{clip(name, 80)}: expected a number from 0, got {described(count)}"
    return ""


def _unwritable(error: Exception) -> str:
    """Why JSON cannot hold something."""
    text = str(error)
    return "an object whose keys are texts and numbers" if "not supported between" in text else clip(text, 200)


def decoded(body: bytes, attempts: int = 1, *, qid: str | None = None, secrets: Secrets | None = None) -> Reply:
    """The reply in a text of JSON, or what is wrong with it, without secrets.

    >>> decoded(b"<html>").error
    'bad reply: expected JSON, got <html> (invalid character (byte 0))'
    """
    try:
        given = msgspec.json.decode(body)
        if not secrets:
            return checked(given, attempts, qid=qid)
        reply = checked(_without(given, secrets.masked_reply), attempts, qid=qid)
        if reply.error is None:
            return reply
        # What is wrong may be shown with what is in it: short secrets go out, too, before anything is cut.
        error = checked(_without(given, secrets.masked), attempts, qid=qid).error
        return Reply({}, error or "bad reply: expected an object of the contract, got another", attempts)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        text = body.decode("utf-8", "replace")
        told = clip((secrets.masked(text) if secrets else text)[:400], 80) or "nothing"
        return Reply({}, f"bad reply: expected JSON, got {told} ({reason})", attempts)


def _without(given: Any, hide: Callable[[str], str]) -> Any:
    """A decoded value with what is secret hidden in all its texts."""
    if isinstance(given, str):
        return hide(given)
    if isinstance(given, list):
        return [_without(one, hide) for one in given]
    if isinstance(given, dict):
        return {hide(name): _without(value, hide) for name, value in given.items()}
    return given


def sound(text: str) -> str:
    """A text as it can be written: what is no character, such as half a surrogate pair, as an escape.

    >>> sound("\\ud800 bad")
    '\\\\ud800 bad'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


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
