"""A run beside an event loop that runs already, as in a notebook: in a thread of its own, which can be stopped."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any

from ragworthy.runner.contract import Ask, Reply, Target
from ragworthy.runner.run import Ran

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)]
_LOOK = 0.1
"""So many seconds at most pass before Ctrl-C is heard."""


def loop_runs() -> bool:
    """Whether an event loop runs in this thread: then no other can."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def signals_kept() -> Iterator[None]:
    """What the program does on signals stays as it was, whatever a run does meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.getsignal(one) for one in _SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            if handler is not None:  # else it was not set from Python, and nobody changed it
                signal.signal(one, handler)


class Stoppable:
    """A target that can be told from another thread that nobody waits for its replies any more."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._loop: asyncio.AbstractEventLoop | None = None
        self.name = target.name
        self.stopped = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    async def open(self) -> None:
        """Open it, and know the loop that it is asked on."""
        self._loop = asyncio.get_running_loop()
        await self._target.open()

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """Ask it."""
        return await self._target.ask(ask, timeout)

    async def close(self) -> None:
        """Close it."""
        self._loop = None
        await self._target.close()

    def stop(self) -> None:
        """End what is in flight; its questions have no reply."""
        self.stopped = True
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(_cancel, loop)


def _cancel(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()


def aside(target: Target, work: Callable[[Target], Ran]) -> Ran | None:
    """What the work gives, done in a thread of its own; None when somebody stopped it with Ctrl-C.

    Signals are those of whoever calls it: see `signals_kept`.
    """
    stoppable = Stoppable(target)
    done: list[Ran] = []
    raised: list[BaseException] = []
    ended = threading.Event()  # `join` takes a thread for dead once a signal interrupts it

    def do() -> None:
        try:
            done.append(work(stoppable))
        except asyncio.CancelledError:
            stoppable.stopped = True
        except BaseException as error:  # noqa: BLE001 - handed on to whoever waits
            raised.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=copy_context().run, args=(do,), daemon=True)
    if threading.current_thread() is threading.main_thread():  # a loop may have taken Ctrl-C for its own tasks
        signal.signal(signal.SIGINT, signal.default_int_handler)
    thread.start()
    try:
        while not ended.wait(_LOOK):  # a signal that another thread got is heard here only between two waits
            continue
    except KeyboardInterrupt:
        stoppable.stop()
        ended.wait()
    if raised and not stoppable.stopped:
        raise raised[0]
    return done[0] if done and not stoppable.stopped else None
