"""A target that is a process: one JSON line in, one JSON line out. It is started again when it dies."""

import asyncio
import os
import shlex
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from ragworthy.errors import usage_error
from ragworthy.runner.contract import LARGEST, TOO_LARGE, Ask, Options, Reply, decoded, late
from ragworthy.text import clip, sound, visible
from ragworthy.wire.secret import check_without_keys

if TYPE_CHECKING:
    from ragworthy.adapters.replies import Rules

USUAL = Options()
_TAIL = 4096
"""So many bytes of what it last wrote to stderr are kept."""
_GRACE = 2.0
"""So many seconds a process has to end by itself once its input is closed."""


class Command:
    """A command as a target: a process for each question in flight, kept for the next one."""

    def __init__(self, line: str, options: Options = USUAL) -> None:
        check_without_keys(line, "cmd")
        self._rules = options.rules
        self.about = options.told
        self.name = f"cmd:{line}"
        try:
            self._words = shlex.split(line)
        except ValueError as error:
            raise usage_error(f"cmd:{line}: expected a command, got: {error}") from None
        if not self._words:
            raise usage_error("cmd: expected a command, got nothing")
        self._idle: list[_Process] = []

    async def open(self) -> None:
        """Nothing yet: processes start when they are needed."""

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """Hand one line to a process and take one line back; a process that failed is not used again."""
        process: _Process | None = None
        good = False
        try:
            async with asyncio.timeout(timeout):
                process = await self._process()
                reply = await process.ask(ask)
            good = reply.error is None or reply.reported
            return reply
        except TimeoutError:
            return Reply({}, late(timeout))
        except OSError as error:
            reason = error.strerror or str(error)
            return Reply({}, sound(f"unreachable: {self._words[0]} cannot be started: {reason}"), unreachable=True)
        finally:
            if process is not None and good:
                self._idle.append(process)
            elif process is not None:
                await process.kill()

    async def close(self) -> None:
        """Close every input, wait a moment, then kill what is left."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(process.end() for process in idle))

    async def _process(self) -> "_Process":
        """A process that waits for a question; one that died, or said more than it was asked, is replaced."""
        while self._idle:
            process = self._idle.pop()
            if process.in_step():
                return process
            await process.kill()
        started = await asyncio.create_subprocess_exec(
            *self._words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LARGEST,
            start_new_session=True,  # Ctrl-C is for us: what is in flight may be finished
        )
        return _Process(started, self._rules)


class _Process:
    """One running process, with a reader for each of its streams."""

    def __init__(self, started: asyncio.subprocess.Process, rules: "Rules | None") -> None:
        self._process = started
        self._rules = rules
        self._lines: asyncio.Queue[bytes | Reply | None] = asyncio.Queue(maxsize=2)
        self._tail = b""
        self._readers = (asyncio.create_task(self._read_replies()), asyncio.create_task(self._read_complaints()))

    def in_step(self) -> bool:
        """Whether it lives and has said nothing since its last reply."""
        return self._process.returncode is None and self._lines.empty()

    async def ask(self, ask: Ask) -> Reply:
        """One line in, one line out."""
        line = msgspec.json.encode(ask.request()) + b"\n"
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        with suppress(ConnectionError):  # it is dying: the end of its output says so
            self._process.stdin.write(line)
            await self._process.stdin.drain()
        reply = await self._lines.get()
        if reply is None:
            return Reply({}, await self._obituary())
        if not isinstance(reply, bytes):
            return reply
        return decoded(reply.rstrip(b"\r\n"), qid=ask.qid, rules=self._rules)

    async def _read_replies(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        while True:
            try:
                line = await self._process.stdout.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                if _is_whole(end.partial):
                    await self._lines.put(end.partial)
                await self._lines.put(None)
                return
            except asyncio.LimitOverrunError:
                await self._lines.put(Reply({}, TOO_LARGE))
                return
            await self._lines.put(line)

    async def _read_complaints(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 - a pipe was asked for
        while chunk := await self._process.stderr.read(1 << 16):
            self._tail = (self._tail + chunk)[-_TAIL:]

    async def _obituary(self) -> str:
        code = await self._process.wait()
        with suppress(TimeoutError):  # a grandchild may hold the stream open
            await asyncio.wait_for(asyncio.shield(self._readers[1]), _GRACE)
        ending = f"exit code {code}" if code >= 0 else f"signal {-code}"
        said = [line for line in self._tail.decode("utf-8", "replace").splitlines() if line.strip()]
        last = f": {visible(clip(said[-1], 200))}" if said else ""
        return f"died: {ending}{last}"

    async def end(self) -> None:
        """Let it end by itself; kill it when it does not."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _GRACE)
        await self.kill()

    async def kill(self) -> None:
        """Kill it and everything it started."""
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        for reader in self._readers:
            reader.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()
        # A grandchild may hold its streams open, and asyncio closes them for nobody.
        transport = self._process._transport  # type: ignore[attr-defined]
        for stream in (1, 2):
            transport.get_pipe_transport(stream).close()
        await self._process.wait()
        transport.close()


def _is_whole(last: bytes) -> bool:
    """Whether what a process wrote before it ended is JSON that only lacks the end of its line."""
    try:
        msgspec.json.decode(last)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
