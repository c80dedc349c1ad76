"""A target behind an HTTP address: POST JSON, JSON back.

Sent again, within the time of one question, after failures that may pass: no connection, a dropped one, 429 and 5xx.
A wrong answer is never asked for again. Redirects are not followed, proxies of the environment not used.
"""

import asyncio
import base64
import hashlib
import os
import re
import time
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import msgspec

from ragworthy.errors import missing_extra, usage_error
from ragworthy.runner.contract import LARGEST, TOO_LARGE, Ask, Options, Reply, decoded, late
from ragworthy.text import clip

_BACKOFF = 0.2
_CONNECT = 10.0
"""So many seconds a connection may take before the address counts as unreachable."""
_SHOWN = 200
_EXPECTED = "expected an address such as http://localhost:8000/ask"
_TELLING = 8
"""A secret from this length up is also hidden where a good reply repeats it: hardly an answer holds it by chance."""
_HEADER = re.compile(r"(?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]+)(?P<sign>[=:])(?P<rest>.*)", re.DOTALL)


class _Failed(NamedTuple):
    """A try that may go better a moment later."""

    error: str
    wait: float = 0.0
    unreachable: bool = False


class Http:
    """An address as a target."""

    def __init__(self, url: str, options: Options) -> None:
        parts = _parts(url)
        self.name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._retries = options.retries
        self._headers = dict(_header(text) for text in options.headers)
        self._secrets = _secrets(parts, self._headers.values())
        try:
            import httpx
        except ImportError:
            raise missing_extra("httpx", "http", "an HTTP target") from None
        self._http = httpx
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL:
            raise usage_error(f"{_EXPECTED}, got one that cannot be used") from None
        self._client: Any = None

    async def open(self) -> None:
        """Make the client; nothing is sent."""
        own = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        self._client = self._http.AsyncClient(
            headers=own | self._headers,
            timeout=self._http.Timeout(None, connect=_CONNECT),
            limits=self._http.Limits(max_connections=None, max_keepalive_connections=None),
            follow_redirects=False,
            trust_env=False,
        )

    async def close(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """Post one question, again where that may help, all within so many seconds."""
        body = msgspec.json.encode(ask.request())
        end = time.monotonic() + timeout
        attempts = 0
        try:
            async with asyncio.timeout(timeout):
                while True:
                    attempts += 1
                    given = await self._once(ask.qid, body, attempts)
                    if isinstance(given, Reply):
                        return given
                    wait = max(given.wait, _backoff(ask.qid, attempts))
                    if attempts > self._retries or time.monotonic() + wait >= end:
                        return Reply({}, given.error, attempts, given.unreachable)
                    await asyncio.sleep(wait)
        except TimeoutError:
            return Reply({}, late(timeout), attempts)

    async def _once(self, qid: str, body: bytes, attempts: int) -> Reply | _Failed:
        try:
            async with self._client.stream("POST", self._url, content=body) as answer:
                return await self._taken(answer, qid, attempts)
        except (self._http.ConnectError, self._http.ConnectTimeout) as error:
            return _Failed(f"unreachable: {self._hidden(str(error)) or type(error).__name__}", unreachable=True)
        except self._http.TransportError as error:
            return _Failed(f"died: the connection broke: {self._hidden(str(error)) or type(error).__name__}")

    async def _taken(self, answer: Any, qid: str, attempts: int) -> Reply | _Failed:
        """The reply in an answer, or why there is none."""
        status = answer.status_code
        if not 200 <= status < 300:
            text = self._hidden((await _start_of(answer)).decode("utf-8", "replace"))
            error = f"status {status}{f': {text}' if text else ''}"
            passing = status == 429 or status >= 500
            return _Failed(error, _retry_after(answer.headers)) if passing else Reply({}, error, attempts)
        coding = answer.headers.get("content-encoding", "identity")
        if coding != "identity":
            return Reply({}, f"bad reply: expected plain JSON, got it packed ({clip(coding, 40)})", attempts)
        pieces, size = [], 0
        async for piece in answer.aiter_raw():
            size += len(piece)
            if size > LARGEST:
                return Reply({}, TOO_LARGE, attempts)
            pieces.append(piece)
        reply = decoded(b"".join(pieces), attempts, qid=qid, hide=self._masked_reply if self._secrets else None)
        if reply.error is None:
            return reply
        word, colon, detail = reply.error.partition(": ")
        return reply._replace(error=f"{word}{colon}{self._masked(detail)}")

    def _hidden(self, text: str) -> str:
        return clip(self._masked(text), _SHOWN)

    def _masked(self, text: str) -> str:
        return _replaced(text, self._secrets)

    def _masked_reply(self, text: str) -> str:
        """A text of a reply, without the secrets that it cannot hold by chance."""
        return _replaced(text, [secret for secret in self._secrets if len(secret) >= _TELLING])


def _replaced(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _parts(url: str) -> SplitResult:
    """An address in its parts; what is wrong with it is said without showing it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise usage_error(f"{_EXPECTED}, got one with a wrong host or port") from None
    if not parts.hostname or port == 0 or not url.isascii() or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise usage_error(f"{_EXPECTED}, got one without a host, or with blanks or letters that must be escaped")
    return parts


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
    if not value.isascii() or not value.isprintable() or value != value.strip() or not value:
        raise usage_error(f"--header {name}: expected printable ASCII text in {variable}, got something else")
    return name, value


def _secrets(parts: SplitResult, values: Iterable[str]) -> list[str]:
    """What is never shown, the longest first: header values and their words, what the address carries."""
    found = {word for value in values for word in (value, *(one for one in value.split() if len(one) >= _TELLING))}
    if parts.username or parts.password:
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        found |= {password, base64.b64encode(f"{user}:{password}".encode()).decode(), parts.netloc.rpartition("@")[0]}
    found |= {parts.query, *(value for _, value in parse_qsl(parts.query))}
    return sorted({form for text in found - {""} for form in _written(text)}, key=lambda text: (-len(text), text))


def _written(text: str) -> set[str]:
    """A text as it may stand in an answer that is shown as it came: plain, or as JSON writes it.

    >>> sorted(_written('a/"'))
    ['a/"', 'a/\\\\"', 'a\\\\/\\\\"']
    """
    quoted = msgspec.json.encode(text).decode()[1:-1]
    return {text, quoted, quoted.replace("/", "\\/")}


def _backoff(qid: str, attempt: int) -> float:
    """Seconds before the next try: doubled each time, and up to half as much more, by the question."""
    digest = hashlib.sha256(f"{qid}:{attempt}".encode()).digest()
    share = int.from_bytes(digest[:4], "big") / (1 << 32)
    return float(_BACKOFF * 2 ** (attempt - 1) * (1 + share / 2))


def _retry_after(headers: Any) -> float:
    """Seconds that an answer asks to wait; 0 where it does not say."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return 0.0


async def _start_of(answer: Any) -> bytes:
    """The first bytes of a body, enough for a message."""
    start = b""
    async for piece in answer.aiter_raw():
        start += piece
        if len(start) >= 4 * _SHOWN:
            break
    return start[: 4 * _SHOWN]
