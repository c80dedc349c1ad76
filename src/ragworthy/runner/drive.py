"""Ask a target many questions, some at a time, until all are asked or somebody says stop."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from ragworthy.errors import data_error
from ragworthy.runner.contract import Ask, Reply, Target

SURE = 10
"""So many questions that reach nothing, and none that does, show that nothing is there."""


class Asked(NamedTuple):
    """One question with its reply."""

    n: int
    reply: Reply
    e2e_ms: float
    started: str


Record = Callable[[Asked], None]
"""Where replies go as they come; what it raises ends the drive."""


class Driver:
    """One drive of a target: so many questions in flight, and what is known of the target so far."""

    def __init__(
        self, target: Target, record: Record, *, concurrency: int, timeout: float, stopping: Callable[[], None]
    ) -> None:
        self._target = target
        self._record = record
        self._concurrency = concurrency
        self._timeout = timeout
        self._held: list[Asked] = []
        self._reached = False
        self._sure = SURE
        self._on_stop = stopping
        self._stopping = 0
        self._workers: list[asyncio.Task[None]] = []

    def stop(self) -> None:
        """The first time: finish what is in flight; the second time: at once."""
        self._stopping += 1
        if self._stopping == 1:
            self._on_stop()
        else:
            for worker in self._workers:
                worker.cancel()

    async def drive(self, asks: Iterable[tuple[int, Ask]], count: int) -> bool:
        """Ask them all; False when it was stopped before the end."""
        self._sure = min(SURE, count)
        queue = iter(asks)
        await self._target.open()
        try:
            with self._signals():
                self._workers = [asyncio.create_task(self._work(queue)) for _ in range(min(self._concurrency, count))]
                await self._finish()
        finally:
            await self._target.close()
        return not self._stopping

    async def _finish(self) -> None:
        """Wait for every worker; the first that fails ends the others."""
        if not self._workers:
            return
        _, left = await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        for worker in left:
            worker.cancel()
        if left:
            await asyncio.wait(left)
        errors = [worker.exception() for worker in self._workers if not worker.cancelled()]
        for error in errors:
            if error is not None:
                raise error

    async def _work(self, queue: Iterator[tuple[int, Ask]]) -> None:
        for n, ask in queue:
            started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            begun = time.perf_counter()
            reply = await self._target.ask(ask, self._timeout)
            self._take(Asked(n, reply, round((time.perf_counter() - begun) * 1000, 3), started))
            if self._stopping:
                return

    def _take(self, asked: Asked) -> None:
        """Record a reply; as long as nothing was ever reached, hold back that nothing was."""
        if asked.reply.unreachable and not self._reached:
            self._held.append(asked)
            if len(self._held) >= self._sure:
                self._give_up()
            return
        self._reached = True
        held, self._held = self._held, []
        for one in (*held, asked):
            self._record(one)

    def _give_up(self) -> None:
        message = f"expected a target that can be reached, got in {len(self._held)} questions: "
        raise data_error("RW-J06", f"{message}{self._held[0].reply.error}", where=self._target.name)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Take Ctrl-C as a wish to stop, where this is the main thread."""
        loop = asyncio.get_running_loop()
        ours = threading.current_thread() is threading.main_thread() and os.name == "posix"
        if ours:
            loop.add_signal_handler(signal.SIGINT, self.stop)
        try:
            yield
        finally:
            if ours:
                loop.remove_signal_handler(signal.SIGINT)
