"""One request to an address and its answer, within a time and a size."""

import asyncio
import os
import socket
import ssl
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from functools import lru_cache
from typing import Any, Literal, NamedTuple
from urllib.parse import urljoin

from ragworthy.errors import missing_extra, usage_error
from ragworthy.names import VERSION
from ragworthy.text import clip
from ragworthy.wire.address import Address, parsed
from ragworthy.wire.secret import WITHHELD, Secrets

_CONNECT = 10.0
"""So many seconds a connection may take before the address counts as unreachable."""
_START = 1 << 14
"""So many bytes of an answer without success are read, for a message."""
_SHOWN = 200
_MOVED = (301, 302, 303, 307, 308)
"""Statuses that point elsewhere. A key goes to the address that was named, and nowhere else."""
_OWN = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": f"ragworthy/{VERSION}",
}

Kind = Literal["unreachable", "broke", "late", "packed", "large"]
_GOT: dict[Kind, str] = {
    "unreachable": "no connection: {}",
    "broke": "a connection that broke: {}",
    "late": "none within {}",
    "packed": "it packed ({})",
    "large": "more than {} bytes",
}


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    """The whole body; where the status is not 2xx only a short one, and nothing of a longer one."""
    said: str
    """What an answer whose status is not 2xx says, without secrets and on one line; empty otherwise."""

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    def __str__(self) -> str:
        return f"status {self.status}{f': {self.said}' if self.said else ''}"


class Broken(Exception):
    """An exchange without an answer. Its text completes "expected a reply, got …" and holds no secret."""

    def __init__(self, kind: Kind, detail: str) -> None:
        super().__init__(_GOT[kind].format(detail))
        self.kind = kind
        self.detail = detail


class Client:
    """Requests to one address, with what they need to be let in.

    `open`, `post` and `close` belong to one event loop, and connections are kept between requests. `post_and_wait` is
    for callers without one: it opens and closes by itself.
    """

    def __init__(
        self,
        address: Address,
        purpose: str,
        *,
        most_bytes: int,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
        method: str = "POST",
    ) -> None:
        """`key` is sent as a bearer token; `secrets` are those in the headers. A ValueError is about the address."""
        try:
            import httpx
        except ImportError:
            raise missing_extra("httpx", "http", purpose) from None
        self._http = httpx
        self.secrets = Secrets([*address.secrets, *secrets, key or ""])
        self._headers = httpx.Headers(_OWN)
        self._headers.update(headers)
        authorization = f"Bearer {key}" if key else address.authorization
        if authorization:
            self._headers["Authorization"] = authorization
        try:
            self._url = httpx.URL(address.url)
        except httpx.InvalidURL:
            raise ValueError("got one that cannot be used") from None
        self._most_bytes = most_bytes
        self._method = method
        # An http address needs no certificates: loading them takes longer than the request.
        self._trust = _trusted() if self._url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._kept: Any = None

    async def open(self) -> None:
        """Get ready; nothing is sent."""
        self._kept = self._transport()

    async def close(self) -> None:
        """Close every connection."""
        if self._kept is not None:
            await self._kept.aclose()

    async def post(self, body: bytes, timeout: float, url: str | None = None) -> Answer:
        """The answer to one request, within so many seconds from now to its last byte; raises Broken.

        `url` is another path or query at the same host.
        """
        return await self._exchange(self._kept, body, timeout, url)

    def post_and_wait(self, body: bytes, timeout: float) -> Answer:
        """The same for callers that are not async, on a connection of its own.

        It runs in a thread of its own, too: where a loop is already running, as in a notebook, none can be started.
        """
        future: Future[Answer] = Future()
        threading.Thread(target=_run, args=(self._posted(body, timeout), future), daemon=True).start()
        return future.result()

    async def _posted(self, body: bytes, timeout: float) -> Answer:
        async with self._transport() as transport:
            return await self._exchange(transport, body, timeout)

    def _transport(self) -> Any:
        """What httpx sends with, without the client around it.

        That one reads proxies from the environment, keeps cookies, unpacks bodies, and logs whole addresses.
        """
        limits = self._http.Limits(max_connections=None, max_keepalive_connections=None)
        return self._http.AsyncHTTPTransport(verify=self._trust, limits=limits)

    async def _exchange(self, transport: Any, body: bytes, timeout: float, url: str | None = None) -> Answer:
        request = self._http.Request(
            self._method,
            url or self._url,
            headers=self._headers,
            content=body or None,
            extensions={"timeout": {"connect": _CONNECT, "read": None, "write": None, "pool": None}},
        )
        try:
            async with asyncio.timeout(timeout):
                answer = await transport.handle_async_request(request)
                try:
                    return await self._taken(answer, str(request.url))
                finally:
                    await answer.aclose()
        except TimeoutError:
            raise Broken("late", f"{timeout:g} s") from None
        except (self._http.ConnectError, self._http.ConnectTimeout, UnicodeError) as error:
            raise Broken("unreachable", self._shown(_reason(error))) from None
        except (self._http.TransportError, OSError) as error:
            raise Broken("broke", self._shown(_reason(error))) from None

    async def _taken(self, answer: Any, asked: str) -> Answer:
        """The body of an answer: all of it, or where it is not a success as much as a message needs."""
        status: int = answer.status_code
        coding = answer.headers.get("content-encoding", "").strip()
        packed = coding.lower() not in ("", "identity")
        if not 200 <= status < 300:
            body, said = (b"", "") if packed else await self._start_of(answer)
            moved = self._moved(asked, answer.headers.get("location", "")) if status in _MOVED else ""
            return Answer(status, answer.headers, body, moved or said)
        if packed:
            raise Broken("packed", clip(self.secrets.masked(coding), 40))
        pieces, size = [], 0
        async for piece in answer.aiter_raw():
            size += len(piece)
            if size > self._most_bytes:
                raise Broken("large", f"{self._most_bytes:,}")
            pieces.append(piece)
        return Answer(status, answer.headers, b"".join(pieces), "")

    def _moved(self, asked: str, location: str) -> str:
        """What an answer says that points elsewhere: where to, without secrets and without what may be one there."""
        try:
            place = parsed(urljoin(asked, location)).shown if location else "nowhere"
        except ValueError:
            place = "an address that cannot be read"
        return f"redirects are not followed, and this one points to {self._shown(place)}"

    async def _start_of(self, answer: Any) -> tuple[bytes, str]:
        """A short body, or nothing of a longer one; and what a message shows of it."""
        start = b""
        async for piece in answer.aiter_raw():
            start += piece
            if len(start) > _START:
                text = start[:_START].decode("utf-8", "replace")
                return b"", clip(WITHHELD if self.secrets.in_pieces(text) else self.secrets.masked_start(text), _SHOWN)
        return start, clip(self.secrets.masked_body(start.decode("utf-8", "replace")), _SHOWN)

    def _shown(self, text: str) -> str:
        """A text as it may be shown: secrets first, then its length, else half a secret would stay."""
        return clip(self.secrets.masked(text), _SHOWN)


def _run(work: Coroutine[Any, Any, Answer], future: "Future[Answer]") -> None:
    """Hand over what comes of the work as soon as it is there: tidying up the loop may take longer."""

    async def handed() -> None:
        task = asyncio.ensure_future(work)
        await asyncio.wait({task})
        if error := task.exception():
            future.set_exception(error)
        else:
            future.set_result(task.result())

    asyncio.run(handed())


def _reason(error: BaseException) -> str:
    """Why an exchange failed: what the system said, or else the library."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError | socket.gaierror):
            return cause.strerror or str(cause)
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno)
    return str(error) or type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error.__context__


def _trusted() -> ssl.SSLContext:
    """The certificates to trust: those that SSL_CERT_FILE and SSL_CERT_DIR name, else the usual ones."""
    return _trusting(os.environ.get("SSL_CERT_FILE") or None, os.environ.get("SSL_CERT_DIR") or None)


@lru_cache(maxsize=4)
def _trusting(file: str | None, folder: str | None) -> ssl.SSLContext:
    if file is None and folder is None:
        import certifi

        file = certifi.where()
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise usage_error(f"SSL_CERT_FILE: expected a file of certificates, got: {reason}") from None
