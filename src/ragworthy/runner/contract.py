"""What a target is asked and what it may reply; every reply is checked against this and nothing else."""

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

import msgspec

from ragworthy.load.values import Refused, endless, outline, plain, taken_apart
from ragworthy.records import Result
from ragworthy.text import clip, described
from ragworthy.wire.secret import Secrets

if TYPE_CHECKING:
    from ragworthy.adapters.replies import Made, Rules


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
    rules: "Rules | None" = None
    """How the documents of a reply get their ids, and how its answer cites them; None: as usual."""

    @property
    def told(self) -> dict[str, str]:
        """What was asked for of that, as it was written."""
        return {} if self.rules is None else dict(self.rules.given)


LARGEST = 16 << 20
"""So many bytes a reply may have."""
TOO_LARGE = f"too large: expected at most {LARGEST >> 20} MB, got more"


SHAPE = (
    '{"answer_json": {"claim": "…", "citations": ["id", …]}, "retrieved_ids": ["id", …]}'
    ' or {"answer": "… [1]", "documents": [{"id": "…", "text": "…"}, …]}'
)
"""A reply in both its forms, as a message shows them."""
SHOWN = 400
"""So many characters of what came back are kept for a message."""
_LOOKED_AT = 8192
"""So many bytes of a reply are looked at for that: secrets in it are hidden first."""


class Reply(msgspec.Struct, frozen=True, eq=False):
    """What came back: the fields of a trace, or why there are none."""

    fields: dict[str, Any]
    error: str | None = None
    attempts: int = 1
    unreachable: bool = False
    """Whether nothing at all could be reached: no connection, no process."""
    raw: str = ""
    """The beginning of what came back as it may be shown, or where it was raised; for messages only."""
    misfits: tuple[tuple[str, str], ...] = ()
    """Every field that does not fit, and why; empty where it is not a matter of fields."""
    how: str = ""
    """How an answer with documents was read; empty where the reply named the fields of a trace itself."""

    def __eq__(self, other: object) -> bool:
        """Whether the same came of both; in which form it came does not matter."""
        return isinstance(other, Reply) and self._came == other._came

    __hash__ = None  # type: ignore[assignment]

    @property
    def _came(self) -> tuple[dict[str, Any], str | None, int, bool]:
        return self.fields, self.error, self.attempts, self.unreachable


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


def checked(given: Any, attempts: int = 1, *, qid: str | None = None, rules: "Rules | None" = None) -> Reply:
    """The reply to a question, or what is wrong with it; one that names another question than `qid` is wrong.

    An answer with documents is read by the rules first.

    >>> checked({"answer_json": {"claim": "x", "citations": []}, "retrieved_ids": ["a"]}).error is None
    True
    >>> checked({"answer_json": {"claim": 4}, "retrieved_ids": []}).error
    'bad reply: answer_json.claim: expected str, got int'
    >>> checked({"answer_json": {"claim": "x"}, "retrieved_ids": [], "qid": "A1"}, qid="A2").error
    'bad reply: qid: expected "A2", got "A1"'
    >>> checked(None).error
    'bad reply: expected object, got null'
    >>> checked({"answer": "45 days [1].", "documents": [{"id": "a", "text": "45 days."}]}).fields["answer_json"]
    {'claim': '45 days.', 'citations': ['a']}
    """
    try:
        found = None if type(given) is dict and "answer_json" in given else _made(given, rules)
    except Refused as refused:
        return unfit(refused, attempts, outline(given, SHOWN))
    reply = _checked(given if found is None else found.fields, attempts, qid)
    return msgspec.structs.replace(reply, raw=outline(given, SHOWN), how="" if found is None else found.how)


def _made(given: Any, rules: "Rules | None") -> "Made | None":
    """The reply in an answer with documents; what reads it is loaded when it is needed."""
    from ragworthy.adapters.replies import Rules, made

    return made(given, rules or Rules())


def unfit(refused: Refused, attempts: int = 1, raw: str = "") -> Reply:
    """The reply that a part of an answer with documents does not fit."""
    return Reply({}, f"bad reply: {refused}", attempts, raw=raw, misfits=((refused.field, refused.reason),))


def _checked(given: Any, attempts: int, qid: str | None) -> Reply:
    try:
        built = _built(given)
        encoded = msgspec.json.encode(built, order="deterministic")
        if len(encoded) > LARGEST:
            return Reply({}, TOO_LARGE, attempts)
        decoded = msgspec.json.decode(encoded)
        wrong = (_endless(built) if b"null" in encoded else "") or _text_for_list(decoded)
        if wrong:
            return Reply({}, f"bad reply: {wrong}", attempts, misfits=misfits_of(decoded))
        msgspec.convert(decoded, Replied)
    except msgspec.ValidationError as error:
        return Reply({}, f"bad reply: {_said(error)}", attempts, misfits=misfits_of(decoded))
    except Refused as refused:
        return Reply({}, f"bad reply: {refused}", attempts)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return Reply({}, f"bad reply: expected what JSON can hold, got: {clip(str(error), 200)}", attempts)
    wrong = _another(decoded.get("qid"), qid) or _negative(decoded.get("usage"))
    if wrong:
        return Reply({}, f"bad reply: {wrong}", attempts)
    return Reply({key: decoded[key] for key in KEPT if decoded.get(key) is not None}, None, attempts)


def _built(given: Any) -> Any:
    """A reply made of plain values; what is not read is left out where it is not plain."""
    if type(given) is not dict:
        return plain(given)
    built: dict[Any, Any] = {}
    for name, value in given.items():
        try:
            built[name] = plain(value)
        except Refused as refused:
            if name in Replied.__struct_fields__:
                raise refused.inside(f".{name}") from None
    return built


def _another(got: Any, qid: str | None) -> str:
    """What is wrong with the question that a reply names; one that names none may belong to any."""
    return "" if qid is None or got is None or got == qid else f"qid: expected {described(qid)}, got {described(got)}"


def _endless(reply: Any) -> str:
    """The first number of a reply that is counted or timed and is no number: infinity or NaN.

    >>> _endless({"usage": {"llm": {"cost": [1, float("inf")]}}})
    'usage.llm.cost[1]: expected a finite number, got inf'
    """
    fields = reply if isinstance(reply, dict) else {}
    return endless({name: fields.get(name) for name in ("stage_ms", "usage")})


LISTS = ("answer_json.citations", "answer_json.constraints_echo", "retrieved_ids")


def _text_for_list(reply: Any) -> str:
    """A text of a reply that stands where a list of texts belongs.

    >>> _text_for_list({"answer_json": {"claim": "x", "citations": "p1#2"}})
    'answer_json.citations: expected a list of texts, got a text: write ["p1#2"]'
    """
    for place in LISTS:
        found = at(reply, place)
        if isinstance(found, str):
            return f"{place}: {taken_apart(found)}"
    return ""


def at(reply: Any, place: str) -> Any:
    """What stands at a place of a reply; None where nothing does."""
    for name in place.split("."):
        reply = reply.get(name) if isinstance(reply, dict) else None
    return reply


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


def decoded(
    body: bytes,
    attempts: int = 1,
    *,
    qid: str | None = None,
    secrets: Secrets | None = None,
    rules: "Rules | None" = None,
) -> Reply:
    """The reply in a text of JSON, or what is wrong with it, without secrets.

    >>> decoded(b"<html>").error
    'bad reply: expected JSON, got <html> (invalid character (byte 0))'
    """
    return msgspec.structs.replace(_decoded(body, attempts, qid, secrets, rules), raw=shown(body, secrets))


def shown(body: bytes, secrets: Secrets | None = None) -> str:
    """The beginning of what came back, on one line and without secrets."""
    text = body[:_LOOKED_AT].decode("utf-8", "replace")
    if secrets:
        text = secrets.masked(text) if len(body) <= _LOOKED_AT else secrets.masked_start(text)
    return clip(text, SHOWN)


def _decoded(body: bytes, attempts: int, qid: str | None, secrets: Secrets | None, rules: "Rules | None") -> Reply:
    try:
        given = msgspec.json.decode(body)
        if not secrets:
            return checked(given, attempts, qid=qid, rules=rules)
        reply = checked(_without(given, secrets.masked_reply), attempts, qid=qid, rules=rules)
        if reply.error is None:
            return reply
        # What is wrong may be shown with what is in it: short secrets go out, too, before anything is cut.
        wrong = checked(_without(given, secrets.masked), attempts, qid=qid, rules=rules)
        error = wrong.error or "bad reply: expected an object of the contract, got another"
        return Reply({}, error, attempts, misfits=wrong.misfits)
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
    if text == "expected str, got int" and field.startswith(LISTS):
        text += ": write ids as texts"
    return f"{field}: {text}" if field else text


# what does not fit, field by field


_FIELDS: dict[str, tuple[Any, str]] = {
    "answer_json.claim": (str, "a text"),
    "answer_json.citations": (list[str] | None, "a list of texts"),
    "answer_json.constraints_echo": (list[str] | None, "a list of texts"),
    "retrieved_ids": (list[str], "a list of texts"),
    "topk": (list[Result] | None, "a list of objects with an id"),
    "stage_ms": (dict[str, Annotated[float, msgspec.Meta(ge=0)]] | None, "an object of numbers from 0"),
    "usage": (dict[str, Any] | None, "an object"),
    "qid": (str | None, "a text"),
}


def misfits_of(given: Any) -> tuple[tuple[str, str], ...]:
    """Every field of a value that is no reply, with what is wrong with it.

    >>> misfits_of({"answer": "X", "retrieved_ids": [4]})
    (('answer_json.claim', 'expected a text, got nothing'), ('retrieved_ids[0]', 'expected str, got int'))
    """
    if not isinstance(given, dict):
        return (("", f"expected an object, got {described(given)}"),)
    found: list[tuple[str, str]] = []
    for place, (kind, wanted) in _FIELDS.items():
        value = at(given, place)
        try:
            if place in LISTS and isinstance(value, str):
                found.append((place, taken_apart(value)))
            else:
                msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            reason, _, inner = str(error).replace("`", "").partition(" - at $")
            told = f"expected {wanted}, got nothing" if value is None else reason[:1].lower() + reason[1:]
            found.append((f"{place}{inner}", told))
    return tuple(found)
