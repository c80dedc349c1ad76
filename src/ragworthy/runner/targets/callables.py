"""A target that is a Python callable, sync or async, called with keyword arguments.

Sync callables run in daemon threads, async ones on an event loop in a daemon thread of its own: one that is stuck can
neither stop the clock of the others nor keep the program from ending.
"""

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from importlib import import_module
from typing import Any

from ragworthy.errors import usage_error
from ragworthy.runner.contract import Ask, Reply, checked, late
from ragworthy.text import clip

Outcome = tuple[Any, BaseException | None]
"""What a call gave back, or what it raised."""
_GRACE = 1.0
"""So many seconds an async call has to end once it is cancelled."""


def imported(module: str, name: str) -> "Called":
    """The callable of a module; the working folder is looked in first."""
    here = os.getcwd()  # noqa: PTH109 - sys.path holds texts
    if here not in sys.path:
        sys.path.insert(0, here)
    found, error = _attempt(lambda: import_module(module))
    if isinstance(error, KeyboardInterrupt):
        raise error
    if error is not None:
        raise usage_error(f"{module}: expected a module that can be imported, got {_said(error)}")
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        got = "nothing" if found is None else type(found).__name__
        raise usage_error(f"{module}:{name}: expected a callable, got {got}")
    return Called(f"{module}:{name}", found)


class Called:
    """A callable as a target."""

    def __init__(self, name: str, call: Callable[..., Any], about: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.about = dict(about or {})
        self._call = call
        self._is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
        self._loop: asyncio.AbstractEventLoop

    async def open(self) -> None:
        """See that it takes the arguments of the contract, and start the loop for what has to be awaited."""
        try:
            takes: inspect.Signature | None = inspect.signature(self._call)
        except ValueError:
            takes = None  # it does not tell; the first question will
        try:
            if takes is not None:
                takes.bind(**Ask("", "").request())
        except TypeError as error:
            message = f"expected a callable that takes qid, q, seed, jitter and knobs, got one with: {error}"
            raise usage_error(f"{self.name}: {message}") from None
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self._loop,), daemon=True).start()

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """Call it with copies of everything, and wait for so long."""
        arguments = ask.request()
        if self._is_async:
            future = asyncio.run_coroutine_threadsafe(_awaited(lambda: self._call(**arguments)), self._loop)
        else:
            future = Future()
            future.set_running_or_notify_cancel()
            threading.Thread(target=self._in_thread, args=(arguments, future), daemon=True).start()
        waiting = asyncio.wrap_future(future)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=timeout)
        finally:
            waiting.cancel()
        if not done:
            return Reply({}, late(timeout))
        if waiting.cancelled():
            return Reply({}, "raised: CancelledError")
        error = waiting.exception()
        given = None
        if error is None:
            given, error = waiting.result()
        return checked(given, qid=ask.qid) if error is None else Reply({}, f"raised: {_said(error)}")

    async def close(self) -> None:
        """End the event loop; what is stuck ends with the program."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _in_thread(self, arguments: dict[str, Any], future: "Future[Outcome]") -> None:
        future.set_result(_attempt(lambda: self._finished(self._call(**arguments))))

    def _finished(self, given: Any) -> Any:
        """What a sync callable gave back, awaited where that is needed."""
        if not inspect.isawaitable(given):
            return given
        found, error = asyncio.run_coroutine_threadsafe(_awaited(lambda: given), self._loop).result()
        if error is not None:
            raise error
        return found


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, then give what is left on it a moment to end."""
    loop.set_exception_handler(lambda *_: None)
    loop.run_forever()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
    loop.close()


async def _awaited(call: Callable[[], Awaitable[Any]]) -> Outcome:
    """Await a call; what would end the loop is kept, all else the future keeps."""
    try:
        return await call(), None
    except (SystemExit, KeyboardInterrupt) as error:
        return None, error


def _attempt(work: Callable[[], Any]) -> Outcome:
    try:
        return work(), None
    except BaseException as error:  # noqa: BLE001 - whatever a pipeline raises is its reply
        return None, error


def _said(error: BaseException) -> str:
    name = clip(type(error).__name__, 80)
    text, _ = _attempt(lambda: clip(str(error), 300))
    return f"{name}: {text}" if text else name
