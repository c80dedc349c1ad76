"""Ask a target many questions, some at a time, until all are asked or somebody says stop."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Protocol

from ragworthy.runner.contract import Ask, Target
from ragworthy.runner.faults import SURE
from ragworthy.runner.streak import Asked as Asked
from ragworthy.runner.streak import Clock, Streak
from ragworthy.runner.targets.callables import Called
from ragworthy.runner.targets.mainthread import SAME, MainThread

_TICK = 0.1
"""So many seconds at most pass until a wait notices that somebody says stop."""
Record = Callable[[Asked], None]
"""Where replies go as they come; what it raises ends the drive."""


class Pace(Protocol):
    """What says when the next question may leave, and whether any may at all."""

    def admit(self) -> float | None:
        """0 where one may leave now; else the seconds to wait before looking again; None where none may any more."""


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
        again: bool = False,
        pace: Pace | None = None,
    ) -> None:
        """With `again`, what failed because the target was away is asked once more when the others are done."""
        self._pace = pace
        self._target = target
        self._record = record
        self._concurrency = concurrency
        self._timeout = timeout
        self._keep_going = keep_going
        self._again = again
        self._streak: Streak
        self._on_stop = stopping
        self._stopping = 0
        self._workers: list[asyncio.Task[None]] = []
        self.left_running = 0
        """How many calls went on long after their time was up, and were left to themselves."""

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
        if self._concurrency == 1 and isinstance(target, Called) and target.can_be_asked_here and self._pace is None:
            self._run_here(target, asks, count)
        else:
            asyncio.run(self.drive(asks, count))

    def _begin(self, count: int) -> None:
        self._streak = Streak(
            self._target.name,
            self._record,
            again=self._again,
            keep_going=self._keep_going,
            patience=self._timeout,
            sure=min(SURE, count),
        )

    def _next(self, queue: Iterator[tuple[int, Ask]]) -> tuple[int, Ask] | None:
        """The next question; those that are asked once more come last."""
        if self._stopping or self._streak.given_up:
            return None
        following = next(queue, None)
        if following is None and not self._streak.later:
            self._streak.ask_held_again()
        if following is None and self._streak.later:
            following = self._streak.later.pop(0)
        return following

    def _run_here(self, target: Called, asks: Iterable[tuple[int, Ask]], count: int) -> None:
        """One after the other in this thread. No loop runs around the calls: a pipeline may run one of its own."""
        self._begin(count)
        queue = iter(asks)
        asyncio.run(target.open())
        try:
            with MainThread(self.stop) as here:
                while (following := self._next(queue)) is not None:
                    n, ask = following
                    clock = Clock()
                    reply = target.ask_here(ask, self._timeout, here)
                    if self._stopping < 2:  # else it was cut short
                        self._streak.take(clock.asked(n, ask, reply))
                    end = time.monotonic() + self._streak.pause()
                    while not self._stopping and (left := end - time.monotonic()) > 0:
                        time.sleep(min(left, _TICK))
            self._streak.end(stopped=bool(self._stopping))
        finally:
            asyncio.run(target.close())

    async def drive(self, asks: Iterable[tuple[int, Ask]], count: int) -> bool:
        """Ask them all; False when it was stopped before the end."""
        self._begin(count)
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
        self._streak.end(stopped=bool(self._stopping))

    async def _work(self, queue: Iterator[tuple[int, Ask]]) -> None:
        running: Future[object] | None = None
        while (following := self._next(queue)) is not None:
            if running is not None:
                await self._give_back(running)
            if self._stopping or self._streak.given_up or not await self._admitted():
                return
            n, ask = following
            clock = Clock()
            reply = await self._target.ask(ask, self._timeout)
            running = reply.running
            self._streak.take(clock.asked(n, ask, reply))
            await self._wait(self._streak.pause(), lambda: False)

    async def _admitted(self) -> bool:
        """Whether a question may leave, now that its time has come; the wait is not part of anyone's time."""
        while self._pace is not None and (wait := self._pace.admit()) != 0:
            if wait is None or self._stopping:
                return False
            await self._wait(wait, lambda: False)
        return not self._stopping

    async def _give_back(self, running: "Future[object]") -> None:
        """Wait until a call ends whose time is up, for no longer than that time again: its place stays taken.

        A call in a thread cannot be ended, and with another one in its place more would run than were asked for.
        """
        await self._wait(self._timeout, running.done)
        self.left_running += not (running.done() or self._stopping)

    async def _wait(self, seconds: float, over: Callable[[], bool]) -> None:
        """Wait so long, or until it is over, or somebody says stop."""
        end = time.monotonic() + seconds
        while not (over() or self._stopping) and (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, _TICK / 5))


@contextmanager
def on_signals(stop: Callable[[], object], *signals: signal.Signals) -> Iterator[None]:
    """Take signals as a wish to stop, where this is the main thread; SIGTERM again at once is the same wish."""
    loop = asyncio.get_running_loop()
    ours = threading.current_thread() is threading.main_thread() and os.name == "posix"
    last = float("-inf")

    def asked(one: signal.Signals) -> None:
        nonlocal last
        again = one == signal.SIGTERM and time.monotonic() - last < SAME
        last = time.monotonic() if one == signal.SIGTERM else last
        if not again:
            stop()

    for one in signals if ours else ():
        loop.add_signal_handler(one, asked, one)
    try:
        yield
    finally:
        for one in signals if ours else ():
            loop.remove_signal_handler(one)
