"""A target behind an HTTP address: POST JSON, JSON back.

Sent again, within the time of one question, after failures that may pass: no connection, a dropped one, 429 and 5xx.
A wrong answer is never asked for again.
"""

import base64
import binascii
import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from ragworthy.errors import usage_error
from ragworthy.runner.contract import LARGEST, TOO_LARGE, Ask, Options, Reply, decoded, late, without_success
from ragworthy.runner.hidden import hidden
from ragworthy.wire.address import parsed, telling
from ragworthy.wire.again import may_pass, sent
from ragworthy.wire.client import Answer, Broken, Client
from ragworthy.wire.secret import TELLING, sendable

_EXPECTED = "expected an address such as http://localhost:8000/ask"
_HEADER = re.compile(r"(?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]+)(?P<sign>[=:])(?P<rest>.*)", re.DOTALL)


class How(NamedTuple):
    """How requests are sent, besides what the command line says."""

    method: str = "POST"
    headers: Mapping[str, str] = {}
    secrets: tuple[str, ...] = ()
    """What of the requests is never shown."""


PLAIN = How()


class Asked(NamedTuple):
    """One request."""

    body: bytes
    url: str | None = None
    """Where it goes; the address of the target where it is None."""


class Http:
    """An address as a target."""

    def __init__(self, url: str, options: Options, how: How = PLAIN) -> None:
        self._retries = options.retries
        self._rules = options.rules
        self.about = options.told
        given = dict(_header(text) for text in options.headers)
        named = {name.lower() for name in given}
        headers = {name: value for name, value in how.headers.items() if name.lower() not in named} | given
        secrets = [*how.secrets, *(secret for value in headers.values() for secret in _secrets(value))]
        try:
            address = parsed(url)
            self._client = Client(
                address, "an HTTP target", most_bytes=LARGEST, headers=headers, secrets=secrets, method=how.method
            )
        except ValueError as error:
            raise usage_error(f"{_EXPECTED}, {error}") from None
        self.name = address.shown
        self._hint = _refused([*headers, *(["Authorization"] if address.authorization else [])])

    async def open(self) -> None:
        """Nothing is sent yet."""
        await self._client.open()

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """Post one question, again where that may help, all within so many seconds."""
        body, url = self._asked(ask)
        got, attempts = await sent(
            self._client, body, timeout, retries=self._retries, name=ask.qid, url=url, passing=self._may_pass
        )
        if isinstance(got, Broken):
            return _without_answer(got, timeout, attempts)
        return self._taken(got, ask, attempts)

    def _asked(self, ask: Ask) -> Asked:
        """What is sent."""
        return Asked(msgspec.json.encode(ask.request()))

    def _may_pass(self, got: Answer | Broken) -> bool:
        """Whether the same request may go better a moment later."""
        return may_pass(got)

    def _read(self, body: bytes, ask: Ask, attempts: int) -> Reply:
        """The reply in the body of a good answer, or what is wrong with it."""
        secrets = self._client.secrets
        return hidden(decoded(body, attempts, qid=ask.qid, secrets=secrets, rules=self._rules), secrets)

    def _taken(self, answer: Answer, ask: Ask, attempts: int) -> Reply:
        """The reply in an answer, or why there is none."""
        if answer.is_success:
            return self._read(answer.body, ask, attempts)
        secrets = self._client.secrets
        reply = hidden(without_success(str(answer), answer.body, attempts, secrets), secrets)
        return msgspec.structs.replace(reply, hint=self._hint) if answer.status in (401, 403) else reply


def _without_answer(broken: Broken, timeout: float, attempts: int) -> Reply:
    """What an exchange that gave no answer means for the question."""
    match broken.kind:
        case "late":
            return Reply({}, late(timeout), attempts)
        case "unreachable":
            return Reply({}, f"unreachable: {broken.detail}", attempts, unreachable=True)
        case "broke":
            return Reply({}, f"died: the connection broke: {broken.detail}", attempts)
        case "packed":
            return Reply({}, f"bad reply: expected plain JSON, got it packed ({broken.detail})", attempts)
        case "large":
            return Reply({}, TOO_LARGE, attempts)


def _refused(headers: Iterable[str]) -> str:
    """What helps where the service does not let in a request with these headers; nothing where there are none.

    >>> _refused(["Accept", "X-Api-Key"]).partition(":")[0], _refused(["Accept"])
    ('The header X-Api-Key was sent, and the service does not take it', '')
    """
    names = [name for name in dict.fromkeys(headers) if name.lower() != "accept"]
    if not names:
        return ""
    sent = f"header{'' if len(names) == 1 else 's'} {', '.join(names)} {'was' if len(names) == 1 else 'were'} sent"
    look = 'look at its name, and at the value of its variable (a token mostly begins with "Bearer ")'
    return f"The {sent}, and the service does not take it: {look}."


def _header(text: str) -> tuple[str, str]:
    """The name and value of a header given as NAME=VARIABLE; what may be a value is not shown."""
    found = _HEADER.fullmatch(text)
    name, sign, variable = (found["name"], found["sign"], found["rest"]) if found else ("", "", "")
    if sign != "=" or not variable:
        flag = f"--header {name}" if name else "--header"
        raise usage_error(f"{flag}: expected NAME=VARIABLE, the name of a header and of an environment variable")
    value = os.environ.get(variable)
    if value is None:
        expected = "expected the name of an environment variable that is set"
        raise usage_error(f"--header {name}: {expected}, got one that is not")
    if not sendable(value.strip()):
        raise usage_error(f"--header {name}: expected printable ASCII text in {variable}, got something else")
    return name, value.strip()


def _secrets(value: str) -> set[str]:
    """What of a header is never shown: its value, the longer words and settings in it, what is packed in a Basic one.

    >>> sorted(_secrets("Bearer sk-12345")), sorted(_secrets("session=abcdefgh; a=b"))
    (['Bearer sk-12345', 'sk-12345'], ['abcdefgh', 'session=abcdefgh;', 'session=abcdefgh; a=b'])
    >>> sorted(_secrets("Basic bWU6c2VjcmV0"))
    ['Basic bWU6c2VjcmV0', 'bWU6c2VjcmV0', 'me', 'me:secret', 'secret']
    """
    words = value.split()
    settings = [word.strip(";,").partition("=")[2].strip('"') for word in words]
    found = {value, *(word for word in (*words, *settings) if len(word) >= TELLING)}
    scheme, _, packed = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            userinfo = base64.b64decode(packed, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return found
        user, _, password = userinfo.partition(":")
        found |= {userinfo, *telling(user, password)} - {""}
    return found
