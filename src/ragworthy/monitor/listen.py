"""An HTTP server for spans (POST /v1/traces) and for /metrics, which a hostile sender can neither fill nor stop.

A connection has a few seconds for each request, a body a largest size, and all bodies together another. Where too many
connections are open, the one that has kept us waiting longest goes.
"""

import asyncio
import hmac
import ipaddress
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

from ragworthy.errors import missing_extra, usage_error
from ragworthy.monitor import protobuf
from ragworthy.monitor.otlp import JSON, MOST_BYTES, PROTOBUF, Refused, line
from ragworthy.monitor.spool import Spool
from ragworthy.monitor.times import MILLION

MOST_CONNECTIONS = 128
MOST_HELD = 24 << 20
"""So many bytes of bodies are held at a time, of all connections together."""
PATIENCE = 10.0
"""Seconds for one request, from its first byte or from the connection on."""
LINGER = 2.0
"""Seconds for what a refused sender still sends, and so many bytes of it."""
MOST_DRAINED = 16 << 20
_READ = 1 << 16
METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Reply(NamedTuple):
    """What is said to a request."""

    status: int
    kind: str = JSON
    body: bytes = b"{}"
    wait: bool = False
    """Whether to come again later."""


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int
    local: bool

    def shown(self, port: int) -> str:
        """With the port that it has in the end."""
        return f"[{self.host}]:{port}" if ":" in self.host else f"{self.host}:{port}"


def address(given: str) -> Address:
    """HOST:PORT, as it was given."""
    host, _, port = given.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isascii() or not port.isdecimal() or int(port) > 65535 or not host:
        raise usage_error(f"--listen: expected HOST:PORT, got {given}", code="RW-O05")
    if host == "localhost":
        return Address("127.0.0.1", int(port), True)
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise usage_error(f"--listen: expected an IP address or localhost, got {host}", code="RW-O05") from None
    return Address(host, int(port), local)


class Connection:
    """One sender."""

    __slots__ = ("begun", "held", "partial", "task", "working")

    def __init__(self, task: "asyncio.Task[None]") -> None:
        self.task = task
        self.begun = time.monotonic()
        self.held = 0
        """Bytes of the body that is being received."""
        self.partial = False
        """Whether a request has begun and not ended."""
        self.working = False


class Listener:
    """The server, in a thread of its own."""

    def __init__(
        self, where: Address, spool: Spool, token: str = "", metrics: Callable[[], bytes] | None = None
    ) -> None:
        try:
            import h11
        except ImportError:
            raise missing_extra("h11", "otlp", "--listen") from None
        self._h11: Any = h11
        self.where = where
        self.spool = spool
        self._token = token
        self._metrics = metrics
        self.refused: dict[int, int] = {}
        """How many requests were refused, by status."""
        self.dropped = 0
        """Connections that were closed because they were slow."""
        self._open: dict[Connection, None] = {}
        self._held = 0
        self._work = ThreadPoolExecutor(1, "ragworthy-otlp")
        self._loop = asyncio.new_event_loop()
        self._begun = threading.Event()
        self._server: asyncio.Server
        self._failed: OSError | None = None
        self.port = where.port
        self._thread = threading.Thread(target=self._run, name="ragworthy-listen", daemon=True)

    def start(self) -> None:
        """Listen; raises where the address cannot be used."""
        self._thread.start()
        self._begun.wait()
        if self._failed is not None:
            where, reason = f"{self.where.host}:{self.where.port}", self._failed.strerror or str(self._failed)
            raise usage_error(f"--listen: expected an address to listen at, got {where}: {reason}", code="RW-O05")

    def stop(self) -> None:
        """Take nothing more."""
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._work.shutdown(wait=True)

    async def _shut(self) -> None:
        self._server.close()
        open_ones = [one.task for one in self._open]
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            opening = asyncio.start_server(self._connected, self.where.host, self.where.port, limit=_READ, backlog=256)
            self._server = self._loop.run_until_complete(opening)
            self.port = self._server.sockets[0].getsockname()[1]
        except OSError as error:
            self._failed = error
            return
        finally:
            self._begun.set()
        self._loop.run_forever()
        self._loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        mine = Connection(task)
        if len(self._open) >= MOST_CONNECTIONS:
            slow = [one for one in self._open if not one.working]
            if not slow:
                writer.transport.abort()
                return
            min(slow, key=lambda one: one.begun).task.cancel()
        self._open[mine] = None
        try:
            await self._talk(reader, writer, mine)
        except (TimeoutError, asyncio.CancelledError):
            self.dropped += mine.partial
        except (OSError, self._h11.LocalProtocolError):  # it went away, or left us nothing to say
            self.dropped += mine.partial
        finally:
            del self._open[mine]
            self._held -= mine.held
            mine.held = 0
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, mine: Connection) -> None:
        h11 = self._h11
        talk = h11.Connection(h11.SERVER, max_incomplete_event_size=16 << 10)
        while True:
            mine.begun = time.monotonic()
            async with asyncio.timeout(PATIENCE):
                reply = await self._asked(talk, reader, mine)
            if reply is None:
                return
            again = reply.status == 200 and talk.their_state is h11.DONE
            await self._say(talk, writer, reply, again)
            mine.partial = False
            if not again:
                await _drained(reader, writer)
                return
            talk.start_next_cycle()

    async def _asked(self, talk: Any, reader: asyncio.StreamReader, mine: Connection) -> Reply | None:
        """The reply to the next request; None where there is none."""
        h11 = self._h11
        request, body = None, []
        try:
            while True:
                event = talk.next_event()
                if event is h11.NEED_DATA:
                    data = await reader.read(_READ)
                    mine.partial = bool(data)
                    talk.receive_data(data)
                elif isinstance(event, h11.Request):
                    request = event
                    self._allowed(request)
                elif isinstance(event, h11.Data):
                    self._hold(mine, len(event.data))
                    body.append(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage) and request is not None:
                    return await self._answer(request, b"".join(body), mine)
                else:
                    return None
        except h11.RemoteProtocolError:
            refused = Refused(400, "expected a request of HTTP/1.1, got something else")
            self.refused[400] = self.refused.get(400, 0) + 1
            return _refusal(refused, "")
        except Refused as refused:
            self.refused[refused.status] = self.refused.get(refused.status, 0) + 1
            return _refusal(refused, _header(request, b"content-type"))
        finally:
            self._held -= mine.held
            mine.held = 0

    def _hold(self, mine: Connection, size: int) -> None:
        mine.held += size
        self._held += size
        if mine.held > MOST_BYTES:
            raise Refused(413, f"expected at most {MOST_BYTES >> 20} MiB, got more")
        if self._held > MOST_HELD:
            raise Refused(503, "too much is being received; come again later")

    def _allowed(self, request: Any) -> None:
        """Refuse what is clear from the head."""
        scheme, _, given = _header(request, b"authorization").partition(" ")
        right = scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token.encode())
        if self._token and not right:
            raise Refused(401, "expected the token as Authorization: Bearer …, got none or another one")
        size = _header(request, b"content-length")
        if size and (not size.isdecimal() or int(size) > MOST_BYTES):
            raise Refused(413, f"expected at most {MOST_BYTES >> 20} MiB, got more")
        method, path = request.method.decode("latin-1"), request.target.decode("latin-1").partition("?")[0]
        wanted = {"/v1/traces": "POST", "/metrics": "GET", "/healthz": "GET"}.get(path)
        if wanted is None or (path == "/metrics" and self._metrics is None):
            raise Refused(404, "expected /v1/traces, /metrics or /healthz")
        if method != wanted:
            raise Refused(405, f"expected {wanted}, got {method}")

    async def _answer(self, request: Any, body: bytes, mine: Connection) -> Reply:
        path = request.target.decode("latin-1").partition("?")[0]
        mine.working = True
        try:
            if path == "/healthz":
                return Reply(200, "text/plain", b"ok\n")
            if path == "/metrics" and self._metrics is not None:
                text = await self._loop.run_in_executor(self._work, self._metrics)
                return Reply(200, METRICS, text)
            kind = _header(request, b"content-type").partition(";")[0].strip().lower()
            coding = _header(request, b"content-encoding").strip().lower()
            await self._loop.run_in_executor(self._work, self._kept, body, kind, coding)
            return Reply(200, kind, b"" if kind == PROTOBUF else b"{}")
        finally:
            mine.working = False

    def _kept(self, body: bytes, kind: str, coding: str) -> None:
        made = line(body, kind, coding, round(time.time() * MILLION))
        if made and not self.spool.append(made):
            raise Refused(503, "too much waits to be read; come again later")

    async def _say(self, talk: Any, writer: asyncio.StreamWriter, reply: Reply, again: bool) -> None:
        h11 = self._h11
        headers = [("Content-Type", reply.kind), ("Content-Length", str(len(reply.body)))]
        headers += [("Retry-After", "5")] if reply.wait else []
        headers += [] if again else [("Connection", "close")]
        for event in (
            h11.Response(status_code=reply.status, headers=headers), h11.Data(reply.body), h11.EndOfMessage(),
        ):  # fmt: skip
            writer.write(talk.send(event) or b"")
        async with asyncio.timeout(PATIENCE):
            await writer.drain()


async def _drained(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Throw away what is still being sent, for a while. A connection that is closed over bytes nobody read takes the
    reply with it: the sender would not learn that it was refused, and would send the same again.
    """
    if writer.can_write_eof():
        writer.write_eof()
    left = MOST_DRAINED
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            while left > 0 and (data := await reader.read(_READ)):
                left -= len(data)


def _header(request: Any, name: bytes) -> str:
    if request is None:
        return ""
    return next((value.decode("latin-1") for key, value in request.headers if key == name), "")


def _refusal(refused: Refused, kind: str) -> Reply:
    import msgspec

    wait = refused.status == 503
    if kind.startswith(PROTOBUF):
        return Reply(refused.status, PROTOBUF, protobuf.refusal(refused.why), wait)
    return Reply(refused.status, JSON, msgspec.json.encode({"message": refused.why}), wait)
