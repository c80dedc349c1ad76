"""What a target is asked and what it may reply; every reply is checked against this and nothing else."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

import msgspec

from ragworthy.load.values import Refused, outline, plain
from ragworthy.names import TRACED
from ragworthy.records import Result
from ragworthy.runner.misfits import endless_in, misfits_of, said_of, text_for_list
from ragworthy.runner.reported import SHOWN, code_in, error_in, kept_in, negative, raw_in, written
from ragworthy.text import clip, described
from ragworthy.threaded import threaded
from ragworthy.wire.secret import WITHHELD, Secrets, in_environment

if TYPE_CHECKING:
    from ragworthy.adapters.replies import Made, Rules
    from ragworthy.runner.outputs import Making


class Ask(msgspec.Struct, frozen=True):
    """One question to a target, in one variation."""

    qid: str
    q: str
    seed: int = 0
    jitter: str = "none"
    knobs: dict[str, Any] = {}
    paraphrase: int = 0
    """Which wording it is; the target is not told."""
    prompt: str | None = None
    """What the model is to be told; only structured questions have it."""

    def request(self) -> dict[str, Any]:
        """What the target is sent: a copy of its own, which it may change.

        >>> Ask("A1", "Why?").request()
        {'qid': 'A1', 'q': 'Why?', 'seed': 0, 'jitter': 'none', 'knobs': {}}
        """
        knobs = deepcopy(self.knobs)
        told = {"qid": self.qid, "q": self.q, "seed": self.seed, "jitter": self.jitter, "knobs": knobs}
        return told if self.prompt is None else told | {"prompt": self.prompt}


THE_QUESTION = "{q}"
"""A knob with this value is the question, for objects of frameworks."""


def asking(knobs: Mapping[str, Any]) -> frozenset[str]:
    """The names of the knobs that stand for the question.

    >>> asking({"user_text": "{q}", "language": "en"})
    frozenset({'user_text'})
    """
    return frozenset(name for name, value in knobs.items() if value == THE_QUESTION)


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
    names: frozenset[str] = frozenset()
    """The names of all knobs, those of a file too."""
    map: str | None = None
    """How an HTTP service is asked and its replies are read: a file, or the name of a bundled map."""
    asks: frozenset[str] = frozenset()
    """The knobs whose value is the question: see `asking`."""
    making: "Making | None" = None
    """What structured questions have in common; None where answers are asked for."""

    @property
    def prompt(self) -> bool:
        """Whether every request has a prompt, which the target has to take."""
        return self.making is not None and self.making.prompt is not None

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
_LOOKED_AT = 8192
"""So many bytes of a reply are looked at for that: secrets in it are hidden first."""


class Reply(msgspec.Struct, frozen=True, eq=False):
    """What came back: the fields of a trace, or an error and those fields that are known all the same."""

    fields: dict[str, Any]
    error: str | None = None
    attempts: int = 1
    unreachable: bool = False
    """Whether nothing at all could be reached: no connection, no process."""
    raw: str = ""
    """The beginning of what came back as it may be shown, or where it was raised; for messages only."""
    misfits: tuple[tuple[str, str], ...] = ()
    """Every field that does not fit, and why; empty where it is not a matter of fields."""
    sent: str = ""
    """What was sent, as it may be shown; empty where it is the request of the contract. For messages only."""
    places: tuple[tuple[str, str], ...] = ()
    """Where in what came back a field was found, by the path of a map; for messages only."""
    how: str = ""
    """How an answer with documents was read; empty where the reply named the fields of a trace itself."""
    chunks: tuple[dict[str, Any], ...] = ()
    """The texts of the documents of an answer, under the ids that the trace has."""
    code: str | None = None
    """The code of an error, where it has one."""
    reported: bool = False
    """Whether the target itself says that it is an error: it is in step, and its next reply may be good."""
    hint: str = ""
    """What helps, where the target knows that better than its error says."""
    running: Any = None
    """The future of a call that goes on although its time is up; None where nothing does."""

    def __eq__(self, other: object) -> bool:
        """Whether the same came of both; in which form it came does not matter, nor what an error kept."""
        return isinstance(other, Reply) and self._came == other._came

    __hash__ = None  # type: ignore[assignment]

    @property
    def _came(self) -> tuple[dict[str, Any], str | None, int, bool]:
        return self.fields if self.error is None else {}, self.error, self.attempts, self.unreachable


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


@threaded
class Replied(msgspec.Struct, frozen=True):
    """The shape of a reply; more keys are allowed and left out of the trace."""

    answer_json: Answered
    retrieved_ids: list[str]
    topk: list[Result] | None = None
    stage_ms: dict[str, Annotated[float, msgspec.Meta(ge=0)]] | None = None
    usage: dict[str, Any] | None = None
    qid: str | None = None
    """The question that is answered; the trace has it anyway."""
    ambiguous_ids: list[str] | None = None
    """Ids under which several texts were retrieved: nothing is scored with such."""


KEPT = ("answer_json", "retrieved_ids", "topk", "stage_ms", "usage", "ambiguous_ids", *TRACED.values())


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
    {'citations': ['a'], 'claim': '45 days.'}
    >>> checked({"error": "truncated: 512 tokens", "retrieved_ids": ["a"]}).fields
    {'retrieved_ids': ['a']}
    """
    if rules is not None and rules.instead is not None:
        other: Reply = rules.instead(given, attempts, qid)
        return other
    try:
        found = None if type(given) is dict and "answer_json" in given else _made(given, rules)
    except Refused as refused:
        return unfit(refused, attempts, getattr(given, "shown", given))
    reply = _checked(given if found is None else found.fields, attempts, qid)
    shown = given if found is None else getattr(given, "shown", given)
    fields = reply.fields | written(outline(shown, _LOOKED_AT)) if reply.misfits else reply.fields
    reply = msgspec.structs.replace(reply, fields=fields, raw=outline(shown, SHOWN))
    return reply if found is None else msgspec.structs.replace(reply, how=found.how, chunks=found.chunks)


def _made(given: Any, rules: "Rules | None") -> "Made | None":
    """The reply in an answer with documents; what reads it is loaded when it is needed."""
    from ragworthy.adapters.replies import Rules, made

    return made(given, rules or Rules())


def unfit(refused: Refused, attempts: int = 1, given: Any = None) -> Reply:
    """The reply that a part of an answer with documents does not fit."""
    misfits = ((refused.field, refused.reason),)
    fields = {} if given is None else written(outline(given, _LOOKED_AT))
    raw = "" if given is None else outline(given, SHOWN)
    return Reply(fields, f"bad reply: {refused}", attempts, raw=raw, misfits=misfits)


def _checked(given: Any, attempts: int, qid: str | None) -> Reply:
    try:
        built = _built(given)
        encoded = msgspec.json.encode(built, order="deterministic")
        if len(encoded) > LARGEST:
            return Reply({}, TOO_LARGE, attempts)
        decoded = msgspec.json.decode(encoded)
        if (told := failed(decoded, attempts, qid)) is not None:
            return told
        wrong = (endless_in(built) if b"null" in encoded else "") or text_for_list(decoded)
        if wrong:
            return Reply(kept_in(decoded), f"bad reply: {wrong}", attempts, misfits=misfits_of(decoded))
        msgspec.convert(decoded, Replied)
    except msgspec.ValidationError as error:
        return Reply(kept_in(decoded), f"bad reply: {said_of(error)}", attempts, misfits=misfits_of(decoded))
    except Refused as refused:
        return Reply({}, f"bad reply: {refused}", attempts)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return Reply({}, f"bad reply: expected what JSON can hold, got: {clip(str(error), 200)}", attempts)
    wrong = another(decoded.get("qid"), qid) or negative(decoded.get("usage"))
    if wrong:
        return Reply({}, f"bad reply: {wrong}", attempts)
    return Reply({key: decoded[key] for key in KEPT if decoded.get(key) is not None}, None, attempts)


def failed(given: Any, attempts: int, qid: str | None) -> Reply | None:
    """A reply that says itself that it is an error, with what it keeps; None for all others."""
    error = error_in(given)
    if error is None:
        return None
    if wrong := another(given.get("qid"), qid):
        return Reply({}, f"bad reply: {wrong}", attempts)
    fields = kept_in(given) | raw_in(given)
    text = in_environment().masked(error.text)
    return Reply(fields, text, attempts, reason_of(text) == "unreachable", code=error.code, reported=True)


def without_success(said: str, body: bytes, attempts: int, secrets: Secrets | None = None) -> Reply:
    """The reply in an answer that is an error by its status, which `said` begins with: its body may keep something."""
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        given = None
    if secrets:
        given = without(given, secrets.masked)
    error = error_in(given)
    code = error.code if error is not None else code_in(given)
    return Reply(kept_in(given) | raw_in(given), said, attempts, raw=said.partition(": ")[2], code=code, reported=True)


def _built(given: Any) -> Any:
    """A reply made of plain values; what is not read is left out where it is not plain."""
    if type(given) is not dict:
        return plain(given)
    built: dict[Any, Any] = {}
    for name, value in given.items():
        try:
            built[name] = plain(value)
        except Refused as refused:
            if name == "error":
                raised = isinstance(value, BaseException)
                built[name] = f"raised: {type(value).__name__}: {value}" if raised else outline(value)
            elif name in Replied.__struct_fields__ and not given.get("error"):
                raise refused.inside(f".{name}") from None
    return built


def another(got: Any, qid: str | None) -> str:
    """What is wrong with the question that a reply names; one that names none may belong to any."""
    return "" if qid is None or got is None or got == qid else f"qid: expected {described(qid)}, got {described(got)}"


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
    if secrets and secrets.in_pieces(body[: 8 * _LOOKED_AT].decode("utf-8", "replace")):
        return WITHHELD
    if secrets:
        text = secrets.masked(text) if len(body) <= _LOOKED_AT else secrets.masked_start(text)
    return clip(text, SHOWN)


def _decoded(body: bytes, attempts: int, qid: str | None, secrets: Secrets | None, rules: "Rules | None") -> Reply:
    try:
        given = msgspec.json.decode(body)
        if not secrets:
            return checked(given, attempts, qid=qid, rules=rules)
        reply = checked(without(given, secrets.masked_reply), attempts, qid=qid, rules=rules)
        if reply.error is None:
            return reply
        # What is wrong may be shown with what is in it: short secrets go out, too, before anything is cut.
        wrong = checked(without(given, secrets.masked), attempts, qid=qid, rules=rules)
        error = wrong.error or "bad reply: expected an object of the contract, got another"
        return msgspec.structs.replace(wrong, error=error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        text = body.decode("utf-8", "replace")
        told = clip((secrets.masked(text) if secrets else text)[:400], 80) or "nothing"
        kept = written(shown(body, secrets)) if told != "nothing" else {}
        return Reply(kept, f"bad reply: expected JSON, got {told} ({reason})", attempts)


def without(given: Any, hide: Callable[[str], str]) -> Any:
    """A decoded value with what is secret hidden in all its texts."""
    if isinstance(given, str):
        return hide(given)
    if isinstance(given, list):
        return [without(one, hide) for one in given]
    if isinstance(given, dict):
        return {hide(name): without(value, hide) for name, value in given.items()}
    return given


def late(timeout: float) -> str:
    """The error of a reply that did not come in time.

    >>> late(5.0)
    'timeout: no reply within 5 s'
    """
    return f"timeout: no reply within {timeout:g} s"


def reason_of(error: str, code: str | None = None) -> str:
    """The stable word an error starts with, and its code where it has one.

    >>> reason_of("status 500: oops"), reason_of("bad reply: expected JSON, got text", "RW-N04")
    ('status 500', 'bad reply RW-N04')
    """
    return error.partition(":")[0] + (f" {code}" if code else "")
