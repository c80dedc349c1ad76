"""A target that is a Python callable, sync or async, called with keyword arguments.

Sync callables run in daemon threads, async ones on an event loop in a daemon thread of its own: one that is stuck can
neither stop the clock of the others nor keep the program from ending. What comes back is read there, too: even the text
of an exception is code of the pipeline.
"""

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from typing import Any

from ragworthy.errors import usage_error
from ragworthy.runner.contract import Ask, Reply, checked, late, sound
from ragworthy.runner.targets import guard
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
    with guard.importing():
        found, error = _attempt(lambda: _member(import_module(module), name))
    if isinstance(error, KeyboardInterrupt):
        raise error
    if error is not None:
        raise usage_error(f"{module}: expected a module that can be imported, got {_said(error)}")
    if not callable(found):
        got = "nothing" if found is None else type(found).__name__
        raise usage_error(f"{module}:{name}: expected a callable, got {got}")
    return Called(f"{module}:{name}", found)


def _member(found: Any, name: str) -> Any:
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


class Called:
    """A callable as a target."""

    def __init__(self, name: str, call: Callable[..., Any], about: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.about = dict(about or {})
        self._call = call
        self._is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
        self._loop: asyncio.AbstractEventLoop
        self._streams: guard.Streams
        self._closing = threading.Event()

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
        self._streams = guard.Streams()
        self._closing.clear()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self._loop, self._closing), daemon=True).start()

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """Call it with copies of everything, and wait for so long."""
        arguments = ask.request()
        future: Future[Reply]
        if self._is_async:
            future = asyncio.run_coroutine_threadsafe(_awaited(lambda: self._call(**arguments), ask.qid), self._loop)
        else:
            future = Future()
            future.set_running_or_notify_cancel()
            threading.Thread(target=self._in_thread, args=(arguments, ask.qid, future), daemon=True).start()
        waiting = asyncio.wrap_future(future)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=timeout)
        finally:
            waiting.cancel()
            self._streams.mend()
        if not done:
            return Reply({}, late(timeout))
        return Reply({}, "raised: CancelledError") if waiting.cancelled() else waiting.result()

    async def close(self) -> None:
        """End the event loop; what is stuck ends with the program."""
        self._closing.set()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._streams.restore()

    def _in_thread(self, arguments: dict[str, Any], qid: str, future: "Future[Reply]") -> None:
        future.set_result(_read(*_attempt(lambda: self._finished(self._call(**arguments))), qid))

    def _finished(self, given: Any) -> Any:
        """What a sync callable gave back, awaited where that is needed."""
        if not inspect.isawaitable(given):
            return given
        return asyncio.run_coroutine_threadsafe(_started(lambda: given), self._loop).result()


def _serve(loop: asyncio.AbstractEventLoop, closing: threading.Event) -> None:
    """Run the loop until we stop it, whatever a pipeline does to it; then give what is left on it a moment to end."""
    loop.set_exception_handler(lambda *_: None)
    while not closing.is_set():
        with suppress(SystemExit, KeyboardInterrupt):  # the task that raised it keeps it
            loop.run_forever()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    with suppress(SystemExit, KeyboardInterrupt):
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
    loop.close()


async def _started(call: Callable[[], Awaitable[Any]]) -> Any:
    return await call()


async def _awaited(call: Callable[[], Awaitable[Any]], qid: str) -> Reply:
    """The reply of an async callable, which has a task of its own: whatever that raises stays in it."""
    task = asyncio.ensure_future(_started(call))
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
    if task.cancelled():
        return Reply({}, "raised: CancelledError")
    error = task.exception()
    return _read(task.result() if error is None else None, error, qid)


def _read(given: Any, error: BaseException | None, qid: str) -> Reply:
    """What a call gave back or raised, as a reply."""
    if error is not None:
        return Reply({}, f"raised: {_said(error)}")
    reply, error = _attempt(lambda: checked(given, qid=qid))
    if error is not None:
        return Reply({}, f"bad reply: expected what JSON can hold, got: {_said(error)}")
    assert isinstance(reply, Reply)  # noqa: S101 - what `checked` gives
    return reply


def _attempt(work: Callable[[], Any]) -> Outcome:
    try:
        return work(), None
    except BaseException as error:  # noqa: BLE001 - whatever a pipeline raises is its reply
        return None, error


def _said(error: BaseException) -> str:
    """The name and the text of an exception, as far as they can be told and written."""
    name, _ = _attempt(lambda: sound(clip(type(error).__name__, 80)))
    text, _ = _attempt(lambda: sound(clip(str(error), 300)))
    return f"{name or 'an exception'}{f': {text}' if text else ''}"
