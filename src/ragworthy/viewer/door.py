"""What is let in, and with which headers answers leave. Every request comes by here, and no page checks again.

A browser can be made to ask this server by any page that it has open. So a request must name this server as its host
(or another site's name could be pointed here), a form must carry the sign that only a page of ours has, and must come
from one. Everything has a largest size, and no query is ever written to the log.
"""

import asyncio
import ipaddress
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from ragworthy.safe import tell
from ragworthy.viewer.sessions import Sessions, is_visit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LONGEST_PATH, LONGEST_QUERY, LONGEST_VALUE = 1_024, 4_096, 1_000
"""Bytes of an address, and characters of one value."""
MOST_VALUES = 30
LARGEST_HEAD, LARGEST_BODY = 16 << 10, 32 << 10
PATIENCE = 10.0
"""Seconds for the body of a form."""
FORM = "application/x-www-form-urlencoded"
LOGIN = "/login"
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Refused(Exception):
    """A request that is not answered."""

    def __init__(self, status: int, why: str, *, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(why)
        self.status, self.why, self.more = status, why, tuple(more)


class Visit(NamedTuple):
    """What pages know of a request besides its address."""

    id: str
    sign: str
    """What a form on the page has to carry."""
    fields: dict[str, str]
    """What a form said; empty for everything else."""
    guarded: bool
    """Whether a token is needed."""


class Rules(NamedTuple):
    """Whom the door knows."""

    sessions: Sessions
    hosts: frozenset[str]
    """The names of this server, in lower case."""
    any_address: bool
    """Whether a request may name it by any IP address: where it listens on all of them."""
    scripts: str
    """The hashes of the scripts on its pages."""


class Door:
    """An ASGI application around another."""

    def __init__(self, inner: App, rules: Rules, page: Callable[[int, str], bytes]) -> None:
        """`page` makes a plain page of a status and a sentence."""
        self.inner, self.rules, self.page = inner, rules, page
        self._headers = (
            *HEADERS,
            (b"content-security-policy", POLICY.format(scripts=rules.scripts).encode()),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever becomes of it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        begun, answer = time.monotonic(), _Answer(send, self._headers)
        try:
            await self._admitted(scope, receive, answer)
        except Refused as refused:
            await answer.whole(refused.status, self.page(refused.status, refused.why), refused.more)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is one line here, and no traceback anywhere
            _log_defect(error)
            await answer.whole(500, self.page(500, "a defect of ragworthy: the terminal that it runs in says which"))
        took = 1000 * (time.monotonic() - begun)
        path = self.rules.sessions.masked(scope["path"])[:200]
        tell(f"{scope['method']} {path} {answer.status} {took:.0f} ms")  # never with its query, nor with the token

    async def _admitted(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        headers = _Headers(scope["headers"])
        self._check_address(scope, headers)
        sessions = self.rules.sessions
        given = headers.cookie(sessions.name)
        visit = given if is_visit(given) else ""
        bearer = self._shows_token(headers, scope)
        inside = not sessions.guarded or bearer or sessions.is_open(visit)
        if not inside and scope["path"] != LOGIN:
            if scope["method"] != "GET":
                raise Refused(401, "expected the token, or a visit that has shown it, got neither")
            raise Refused(303, "expected the token", more=((b"location", LOGIN.encode()),))
        if not visit:
            visit = sessions.fresh()
            answer.set_cookie(sessions.name, visit)
        fields: dict[str, str] = {}
        if scope["method"] == "POST":
            fields = await self._form(scope, headers, receive, given)
        scope["visit"] = Visit(visit, sessions.sign(visit), fields, sessions.guarded and inside)
        scope["answer"] = answer
        await self.inner(scope, _empty, answer)

    def _shows_token(self, headers: "_Headers", scope: Scope) -> bool:
        """Whether the token is in a header."""
        sessions = self.rules.sessions
        scheme, _, shown = headers.one("authorization").partition(" ")
        if not sessions.guarded or scheme.lower() != "bearer":
            return False
        if not heard(sessions, scope, shown):
            raise Refused(401, "expected the token as Authorization: Bearer …, got another one")
        return True

    def _check_address(self, scope: Scope, headers: "_Headers") -> None:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEAD:
            raise Refused(431, f"expected headers of at most {LARGEST_HEAD >> 10} KiB")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            allow = ((b"allow", b"GET, HEAD, POST"),)
            raise Refused(405, "expected GET, HEAD or POST", more=allow)
        hosts = headers.every("host")
        if len(hosts) != 1 or not self._is_here(hosts[0]):
            raise Refused(421, "expected a request to this server by its own name: --allow-host adds one")
        if len(scope["raw_path"]) > LONGEST_PATH or len(scope["query_string"]) > LONGEST_QUERY:
            raise Refused(414, f"expected an address of at most {LONGEST_PATH + LONGEST_QUERY:,} bytes")
        for _, value in _pairs(scope["query_string"]):
            _check_value(value)
        if not scope["path"].isprintable():
            raise Refused(404, "there is no such page")
        if scope["method"] != "POST" and (
            headers.one("content-length") not in ("", "0") or headers.has("transfer-encoding")
        ):
            raise Refused(413, f"expected {scope['method']} without a body")

    def _is_here(self, host: str) -> bool:
        name, bracket, port = host.lower().partition("]") if host.startswith("[") else (host.lower(), "", "")
        if not bracket:
            name, colon, number = name.partition(":")
            port = colon + number
        if port and not (port[:1] == ":" and port[1:].isascii() and port[1:].isdecimal()):
            return False
        name = name.removeprefix("[").removesuffix(".")
        if name in self.rules.hosts:
            return True
        if not self.rules.any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    async def _form(self, scope: Scope, headers: "_Headers", receive: Receive, visit: str) -> dict[str, str]:
        """What a form says, once it is certain that it is one of ours."""
        site, origin = headers.one("sec-fetch-site"), headers.one("origin")
        mine = f"{scope['scheme']}://{headers.one('host')}"
        # a page without a referrer says "null" as its origin, also to its own server: then the other header decides
        if site not in ("", "same-origin") or origin.lower() not in ("", "null", mine.lower()):
            raise Refused(403, "expected a form of this server, got one of another page")
        if headers.one("content-type").partition(";")[0].strip().lower() != FORM:
            raise Refused(415, f"expected {FORM}")
        size = headers.one("content-length")
        if size and (not size.isascii() or not size.isdecimal() or int(size[:9]) > LARGEST_BODY):
            raise _too_large()
        body = await _body(receive)
        fields = dict(_pairs(body))
        for value in fields.values():
            _check_value(value, lines=True)
        if not is_visit(visit) or not self.rules.sessions.is_signed(visit, fields.pop("sign", "")):
            raise Refused(403, "expected a form of this visit: load the page again, and send it from there")
        return fields


def heard(sessions: Sessions, scope: Scope, token: str) -> bool:
    """Whether a token is the right one; whoever tries too many has to wait."""
    address = str((scope.get("client") or ("",))[0])
    if sessions.is_guessing(address):
        raise Refused(429, "too many wrong tokens: try again in a minute", more=((b"retry-after", b"60"),))
    if sessions.is_token(token.strip()):
        return True
    sessions.refuse(address)
    return False


class _Headers:
    """The headers of a request."""

    def __init__(self, given: Iterable[tuple[bytes, bytes]]) -> None:
        self._given = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in given]

    def every(self, name: str) -> list[str]:
        return [value for key, value in self._given if key == name]

    def one(self, name: str) -> str:
        return next(iter(self.every(name)), "")

    def has(self, name: str) -> bool:
        return bool(self.every(name))

    def cookie(self, name: str) -> str:
        """The value of a cookie; of several of one name the first."""
        pairs = (part.strip().partition("=") for line in self.every("cookie") for part in line.split(";"))
        return next((value for key, _, value in pairs if key == name), "")


class _Answer:
    """Where an answer leaves: with the headers that every one has, and with what is to be remembered."""

    def __init__(self, send: Send, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        self._send, self._headers = send, headers
        self._cookies: list[tuple[bytes, bytes]] = []
        self.status = 0

    def set_cookie(self, name: str, value: str) -> None:
        """Let the browser keep a visit: no script sees it, and no other site's page sends it along."""
        self._cookies = [(b"set-cookie", f"{name}={value}; Path=/; HttpOnly; SameSite=Strict".encode())]

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            ours = {name for name, _ in self._headers}
            rest = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in ours]
            message = {**message, "headers": [*rest, *self._headers, *self._cookies]}
        await self._send(message)

    async def whole(self, status: int, body: bytes, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """A whole answer, unless one has begun. Nothing more is read of such a request, so the connection ends."""
        if self.status:
            return
        size = str(len(body)).encode()
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", size), (b"connection", b"close")]
        self._cookies = []
        await self({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
        await self({"type": "http.response.body", "body": body})


async def _empty() -> Message:
    """What was to be read was read."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def _body(receive: Receive) -> bytes:
    """A body within its largest size and its time."""
    pieces, size = [], 0
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Refused(400, "expected a whole form")
                pieces.append(message.get("body", b""))
                size += len(pieces[-1])
                if size > LARGEST_BODY:
                    raise _too_large()
                if not message.get("more_body", False):
                    return b"".join(pieces)
    except TimeoutError:
        raise Refused(408, f"expected a whole form within {PATIENCE:.0f} seconds") from None


def _too_large() -> Refused:
    return Refused(413, f"expected a form of at most {LARGEST_BODY >> 10} KiB")


def _pairs(data: bytes) -> list[tuple[str, str]]:
    """Names and values; of each name the last one counts."""
    try:
        text = data.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_VALUES)
    except ValueError:
        raise Refused(400, f"expected at most {MOST_VALUES} values in UTF-8, got something else") from None


def _check_value(value: str, *, lines: bool = False) -> None:
    if len(value) > LONGEST_VALUE:
        raise Refused(
            414 if not lines else 413, f"expected values of at most {LONGEST_VALUE:,} characters, got a longer one"
        )
    if any(sign < " " or sign == "\x7f" for sign in value if not (lines and sign in "\r\n\t")):
        raise Refused(400, "expected text, got control characters")


def _log_defect(error: Exception) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code if trace is not None else None
    place = f" in {code.co_name} ({code.co_filename.rpartition('/')[2]}:{trace.tb_lineno})" if code and trace else ""
    tell(f"a defect of ragworthy: {type(error).__name__}: {' '.join(str(error).split())[:300]}{place} [RW-X70]")
    sys.stderr.flush()
