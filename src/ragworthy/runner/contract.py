"""What a target is asked and what it may reply; every reply is checked against this and nothing else."""

from collections.abc import Callable
from copy import deepcopy
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec

from ragworthy.records import Result
from ragworthy.text import clip, described


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
        encoded = msgspec.json.encode(msgspec.to_builtins(given, order="deterministic"))
        if len(encoded) > LARGEST:
            return Reply({}, TOO_LARGE, attempts)
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


def decoded(
    body: bytes, attempts: int = 1, *, qid: str | None = None, hide: Callable[[str], str] | None = None
) -> Reply:
    """The reply in a text of JSON, or what is wrong with it; `hide` takes secrets out of a text.

    >>> decoded(b"<html>").error
    'bad reply: expected JSON, got <html> (invalid character (byte 0))'
    """
    try:
        given = msgspec.json.decode(body)
        return checked(given if hide is None else _without(given, hide), attempts, qid=qid)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        shown = body.decode("utf-8", "replace") if hide is None else hide(body.decode("utf-8", "replace"))
        return Reply({}, f"bad reply: expected JSON, got {clip(shown[:400], 80) or 'nothing'} ({reason})", attempts)


def _without(given: Any, hide: Callable[[str], str]) -> Any:
    """A decoded value with what is secret hidden in all its texts."""
    if isinstance(given, str):
        return hide(given)
    if isinstance(given, list):
        return [_without(one, hide) for one in given]
    if isinstance(given, dict):
        return {hide(name): _without(value, hide) for name, value in given.items()}
    return given


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
