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

from ragworthy.errors import DataError
from ragworthy.runner.contract import Ask, Reply, Target
from ragworthy.runner.faults import SURE, give_up, same_fault
from ragworthy.runner.targets.callables import Called
from ragworthy.runner.targets.mainthread import MainThread


class Asked(NamedTuple):
    """One question with its reply."""

    n: int
    ask: Ask
    reply: Reply
    e2e_ms: float
    started: str


Record = Callable[[Asked], None]
"""Where replies go as they come; what it raises ends the drive."""


class Driver:
    """One drive of a target: so many questions in flight, and what is known of the target so far."""

    def __init__(
        self,
        target: Target,
        record: Record,
        *,
        concurrency: int,
        timeout: float,
        stopping: Callable[[], None],
        keep_going: bool = False,
    ) -> None:
        self._target = target
        self._record = record
        self._concurrency = concurrency
        self._timeout = timeout
        self._keep_going = keep_going
        self._held: list[Asked] = []
        self._fault: str | None = None
        """What all replies that are held have in common."""
        self._others = False
        """Whether a reply of another kind came before those that are held."""
        self._given_up: DataError | None = None
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

    def run(self, asks: Iterable[tuple[int, Ask]], count: int) -> None:
        """Ask them all, in the main thread where that is possible."""
        target = self._target
        if self._concurrency == 1 and isinstance(target, Called) and target.can_be_asked_here:
            self._run_here(target, asks, count)
        else:
            asyncio.run(self.drive(asks, count))

    def _run_here(self, target: Called, asks: Iterable[tuple[int, Ask]], count: int) -> None:
        """One after the other in this thread. No loop runs around the calls: a pipeline may run one of its own."""
        self._sure = min(SURE, count)
        asyncio.run(target.open())
        try:
            with MainThread(self.stop) as here:
                for n, ask in asks:
                    if self._stopping or self._given_up:
                        break
                    started, begun = _now(), time.perf_counter()
                    reply = target.ask_here(ask, self._timeout, here)
                    if self._stopping < 2:  # else it was cut short
                        self._take(Asked(n, ask, reply, _ms_since(begun), started))
            self._end()
        finally:
            asyncio.run(target.close())

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
        self._end()

    def _end(self) -> None:
        if self._given_up is not None:
            raise self._given_up
        self._record_held()

    async def _work(self, queue: Iterator[tuple[int, Ask]]) -> None:
        while not (self._stopping or self._given_up) and (following := next(queue, None)) is not None:
            n, ask = following
            started, begun = _now(), time.perf_counter()
            reply = await self._target.ask(ask, self._timeout)
            self._take(Asked(n, ask, reply, _ms_since(begun), started))

    def _take(self, asked: Asked) -> None:
        """Record a reply; hold those back that make the same mistake until it is known whether all do."""
        fault = None if self._keep_going else _fault(asked.reply)
        if fault is None or fault != self._fault:
            self._others = self._others or self._fault is not None or fault is None
            self._record_held(all_of_them=True)
        self._fault = fault
        if fault is None:
            self._record(asked)
        elif self._given_up is None:
            self._hold(asked)

    def _hold(self, asked: Asked) -> None:
        """Hold a reply back; when there are enough of them, ask no more, and let what is in flight finish."""
        self._held.append(asked)
        enough = self._sure if asked.reply.unreachable and not self._others else SURE
        if len(self._held) >= enough:
            held, self._held = self._held, []
            self._given_up = give_up(self._target.name, [(one.ask, one.reply) for one in held], others=self._others)
            if asked.reply.unreachable:
                raise self._given_up

    def _record_held(self, *, all_of_them: bool = False) -> None:
        """Record what is held; what reached nothing is asked again by the next run where somebody stopped this one."""
        held, self._held = self._held, []
        for one in held:
            if all_of_them or not self._stopping or not one.reply.unreachable:
                self._record(one)


def _fault(reply: Reply) -> str | None:
    return "unreachable" if reply.unreachable else same_fault(reply.error)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ms_since(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 3)


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
