"""A chat endpoint, POST {URL}/chat/completions: who may get a key, and what this server takes.

Servers differ in what they take: schemas, JSON mode, `max_tokens`, seeds. What one refuses is left out from then on,
and said once.
"""

import os
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ragworthy.pipeline.knobs import CHAT, PLAIN
from ragworthy.pipeline.prompt import FORMS
from ragworthy.text import clip
from ragworthy.threaded import threaded
from ragworthy.wire.address import parsed
from ragworthy.wire.again import may_pass, sent
from ragworthy.wire.client import Answer, Broken, Client
from ragworthy.wire.secret import key_in

KEY, OPENAI_KEY = "RAGWORTHY_CHAT_KEY", "OPENAI_API_KEY"
PERMIT = "RAGWORTHY_CHAT_URL"
"""The environment variable that names the one address to which both keys may go, whoever chose it."""
_OPENAI = "https://api.openai.com/"
MOST_BYTES = 1 << 20
RETRIES = 2
_LOOKED_AT = 8192
"""So many bytes of what is not a completion are looked at."""
_USUAL = "/v1/chat/completions"
_REFUSING = (400, 415, 422, 501)
"""Statuses of a server that does not take what a request asks for."""
_FORMAT = re.compile(r"response.?format|json.?(?:schema|object|mode)|grammar|structured|guided", re.IGNORECASE)
_UNKNOWN = re.compile(r"unsupported|not support|unknown|unrecogni[sz]ed|extra|not permitted|not allowed", re.IGNORECASE)
_CAN_GO = {"max_tokens": "max_completion_tokens", "seed": None, "temperature": None}
"""What a request can do without, and what stands for it."""


Held = Callable[[str], dict[str, Any] | None]


class Unanswered(Exception):
    """A question to which an endpoint gave no answer: `error` begins with a stable word."""

    def __init__(self, error: str, code: str, raw: str = "") -> None:
        super().__init__(error)
        self.error = error
        self.code = code
        self.raw = raw
        """What came in place of an answer, as it may be shown."""


class Written(NamedTuple):
    """What a model wrote."""

    text: str
    cut: bool
    """Whether it was stopped in the middle, for it had written as many tokens as it may."""
    form: str
    """How it was held to its form."""
    tokens: int | None = None
    """How many tokens it wrote, where the server says so."""


class Asking(msgspec.Struct):
    """One question to an endpoint, and what it took so far."""

    name: str
    """The question's id."""
    within: float
    """So many seconds it may take in all."""
    end: float
    """When they are over, by the clock that goes steadily."""
    sent: int = 0
    """How many requests were sent."""
    counts: dict[str, int] = {}
    """How many tokens were read and written."""


def asking(name: str, timeout: float, left: float | None = None) -> Asking:
    """A question that may take so long; `left`: how much of that there still is."""
    return Asking(name, timeout, time.monotonic() + (timeout if left is None else left))


class Endpoint:
    """A model behind an address. The key goes to that address only, if it may go there, and is never written."""

    def __init__(self, name: str, *, named: bool = False, retries: int = RETRIES) -> None:
        """`named`: whether the address was named by whoever runs this, and not by a file."""
        found = CHAT.fullmatch(name)
        if found is None:
            raise ValueError(PLAIN)
        self.model = found["model"]
        url = found["url"].rstrip("/")
        self.url = f"{url}/chat/completions"
        self.notes: list[str] = []
        """What this server does not take; each is said once."""
        self._keys = _keys(url, named=named)
        self._retries = retries
        self._form = 0
        self._left_out: list[str] = []
        self._awake = False
        """Whether it has answered: until then it may be loading its model."""
        try:
            address = parsed(self.url)
            self._client = Client(address, "a chat endpoint", most_bytes=MOST_BYTES, key=self._keys.sent)
        except ValueError:
            raise ValueError(PLAIN) from None
        if not address.is_plain:
            raise ValueError(PLAIN)
        self.secrets = self._client.secrets

    async def open(self) -> None:
        """Get ready; nothing is sent."""
        await self._client.open()

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def written(self, body: dict[str, Any], held: Held, asked: Asking) -> Written:
        """What the model writes; where the server refuses a form or a setting, the request is sent without it.

        `held` gives what makes a server hold a reply to a form; None where nothing does.
        """
        form, left_out = self._form, list(self._left_out)
        refused = ""
        while True:
            answer = await self._posted(_request(body, held(FORMS[form]), left_out), asked)
            if answer.status == 200:
                break
            refused = self._told(answer)
            if (setting := _unsupported(answer)) and setting not in left_out:
                left_out.append(setting)
            elif _refuses(answer) and form + 1 < len(FORMS):
                form += 1
            else:
                raise self._failed(answer)
        self._learn(form, left_out, refused)
        return self._read(answer.body, FORMS[form], asked)

    def _learn(self, form: int, left_out: list[str], refused: str) -> None:
        """Remember what the server does not take, now that it took the rest."""
        self._awake = True
        why = f" ({clip(refused, 160)})"
        if form > self._form:
            self.notes.append(f"{self.url} refuses {FORMS[self._form]}: its replies are held to {FORMS[form]}{why}")
            self._form = form
        for setting in left_out:
            if setting not in self._left_out:
                self._left_out.append(setting)
                instead = _CAN_GO[setting]
                self.notes.append(f"{self.url} refuses {setting}: {instead or 'nothing'} is sent instead{why}")

    async def _posted(self, body: bytes, asked: Asking) -> Answer:
        left = asked.end - time.monotonic()
        got, times = await sent(
            self._client,
            body,
            left,
            retries=self._retries,
            name=asked.name,
            passing=lambda one: may_pass(one) and not (isinstance(one, Answer) and _refuses(one)),
            patient=lambda one: isinstance(one, Answer) and one.status == 503 and not self._awake,
        )
        asked.sent += times
        if isinstance(got, Broken):
            raise self._lost(got, asked.within)
        return got

    def _read(self, body: bytes, form: str, asked: Asking) -> Written:
        """What is in a completion; its token counts are added up."""
        try:
            replied = msgspec.json.decode(body, type=_Completion)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            reason = clip(str(error).replace("`", ""), 120)
            raw = self._shown(body)
            raise Unanswered(f"bad reply: expected a chat completion, got: {reason}", "RW-N03", raw) from None
        if not replied.choices:
            raw = self._shown(body)
            raise Unanswered("bad reply: expected a chat completion, got one without choices", "RW-N03", raw)
        usage = replied.usage or {}
        _add(asked.counts, usage)
        tokens = usage.get("completion_tokens")
        choice = replied.choices[0]
        text = _text(choice.message.content) or choice.message.refusal or ""
        return Written(
            self.secrets.masked_reply(text),
            choice.finish_reason == "length",
            form,
            tokens if type(tokens) is int else None,
        )

    def _shown(self, body: bytes) -> str:
        """The beginning of what came back, without secrets."""
        text = body[:_LOOKED_AT].decode("utf-8", "replace")
        return self.secrets.masked(text) if len(body) <= _LOOKED_AT else self.secrets.masked_start(text)

    def _lost(self, broken: Broken, within: float) -> Unanswered:
        """What an exchange without an answer means for the question."""
        match broken.kind:
            case "late":
                return Unanswered(f"timeout: no reply within {within:g} s", "RW-N06")
            case "unreachable":
                return Unanswered(f"unreachable: {self.url}: {broken.detail}", "RW-N03")
            case "broke":
                return Unanswered(f"died: the connection broke: {broken.detail}", "RW-N03")
            case "packed" | "large":
                return Unanswered(f"bad reply: expected a plain chat completion, got {broken}", "RW-N03")

    def _failed(self, answer: Answer) -> Unanswered:
        unsent = ""
        if answer.status == 404:
            usual = "" if self.url.endswith(_USUAL) else ", and a base address mostly ends in /v1"
            told = self._told(answer).partition(": ")[2] or "nothing"
            return Unanswered(f"status 404: asked {self.url}{usual}; got: {told}", "RW-N03")
        if answer.status in (401, 403) and self._keys.withheld:
            unsent = f"; the key in {self._keys.withheld} was not sent, for this is not the address in {PERMIT}"
        return Unanswered(f"{self._told(answer)}{unsent}", "RW-N07" if answer.status in (429, 503) else "RW-N03")

    def _told(self, answer: Answer) -> str:
        """An answer that is not a success in plain words: what its JSON says, where it is JSON."""
        message = clip(self.secrets.masked(_message(answer.body)), 200)
        return f"status {answer.status}: {message}" if message else str(answer)


class _Message(msgspec.Struct, frozen=True):
    content: str | list[Any] | None = None
    refusal: str | None = None
    """What some models write in place of what was asked for."""


class _Choice(msgspec.Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


@threaded
class _Completion(msgspec.Struct, frozen=True):
    choices: list[_Choice]
    usage: dict[str, Any] | None = None


def _message(body: bytes) -> str:
    """What an error of a server says, as servers write it.

    >>> _message(b'{"error": {"message": "Loading model", "code": 503}}'), _message(b'{"detail": "no"}'), _message(b"x")
    ('Loading model', 'no', '')
    """
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    for name in ("error", "message", "detail"):
        if isinstance(found, dict):
            found = found.get(name, found)
    return found if isinstance(found, str) else ""


def _text(content: str | list[Any] | None) -> str:
    """The text of a message, which may come in parts.

    >>> _text([{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "{"}, {"type": "text", "text": "}"}])
    '{}'
    """
    if not isinstance(content, list):
        return content or ""
    texts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "".join(text for text in texts if isinstance(text, str))


def _add(counts: dict[str, int], given: dict[str, Any]) -> None:
    details = given.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    found = {name: given.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    for name, count in (found | {"cached_tokens": cached}).items():
        if type(count) is int and count >= 0:
            counts[name] = counts.get(name, 0) + count


def _request(body: dict[str, Any], held: dict[str, Any] | None, left_out: list[str]) -> bytes:
    """The bytes of a request in a form, without the settings that the server does not take."""
    made = {name: value for name, value in body.items() if name not in left_out}
    for setting in left_out:
        if instead := _CAN_GO[setting]:
            made[instead] = body[setting]
    return msgspec.json.encode(made if held is None else made | {"response_format": held})


def _refuses(answer: Answer) -> bool:
    """Whether an answer says that the server does not take the request as it is, and may take another."""
    return answer.status in _REFUSING or (answer.status == 500 and _FORMAT.search(answer.said) is not None)


def _unsupported(answer: Answer) -> str | None:
    """The setting that a server says it does not know."""
    if answer.status not in _REFUSING or not _UNKNOWN.search(answer.said) or _FORMAT.search(answer.said):
        return None
    return next((name for name in _CAN_GO if re.search(rf"\b{name}\b", answer.said)), None)


class _Keys(NamedTuple):
    """The key that goes to an address, or the variable whose key does not."""

    sent: str | None
    withheld: str = ""


def _keys(url: str, *, named: bool) -> _Keys:
    """Which key may go to an address.

    Both may go to the one address that the environment names. Ours may also go where the command line points, and the
    one of OpenAI to OpenAI. Nothing that a file names gets a key.
    """
    permitted = url == os.environ.get(PERMIT, "").strip().rstrip("/")
    may = {KEY: permitted or named, OPENAI_KEY: permitted or f"{url}/".startswith(_OPENAI)}
    for variable in may:
        if may[variable] and (key := key_in(variable)):
            return _Keys(key)
    return _Keys(None, next((variable for variable in may if os.environ.get(variable, "").strip()), ""))
