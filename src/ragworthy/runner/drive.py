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
"""So many questions in a row that reach nothing show that nothing is there."""


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
        with on_signals(self.stop, signal.SIGINT, signal.SIGTERM):
            await self._target.open()
            try:
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
        if not self._stopping:
            self._record_held()

    async def _work(self, queue: Iterator[tuple[int, Ask]]) -> None:
        while not self._stopping and (following := next(queue, None)) is not None:
            n, ask = following
            started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            begun = time.perf_counter()
            reply = await self._target.ask(ask, self._timeout)
            self._take(Asked(n, reply, round((time.perf_counter() - begun) * 1000, 3), started))

    def _take(self, asked: Asked) -> None:
        """Record a reply; hold back those that reached nothing until it is known whether something is there."""
        if asked.reply.unreachable:
            self._held.append(asked)
            if len(self._held) >= (SURE if self._reached else self._sure):
                self._give_up()
            return
        self._reached = True
        self._record_held()
        self._record(asked)

    def _record_held(self) -> None:
        held, self._held = self._held, []
        for one in held:
            self._record(one)

    def _give_up(self) -> None:
        how = "questions in a row" if self._reached else "questions"
        held, self._held = self._held, []
        message = f"expected a target that can be reached, got in {len(held)} {how}: {held[0].reply.error}"
        raise data_error("RW-J06", message, where=self._target.name)


@contextmanager
def on_signals(stop: Callable[[], object], *signals: signal.Signals) -> Iterator[None]:
    """Take signals as a wish to stop, where this is the main thread."""
    loop = asyncio.get_running_loop()
    ours = threading.current_thread() is threading.main_thread() and os.name == "posix"
    for one in signals if ours else ():
        loop.add_signal_handler(one, stop)
    try:
        yield
    finally:
        for one in signals if ours else ():
            loop.remove_signal_handler(one)
