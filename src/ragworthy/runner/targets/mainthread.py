"""Calls in the main thread, for pipelines that hold what belongs to one thread: a connection of sqlite3, a GPU handle.

Another thread cannot interrupt such a call. A signal can: an alarm raises an exception inside the call when its time is
up, and so does the second Ctrl-C. Code that does not come back to Python meanwhile (a long computation of an extension)
is not interrupted; its reply counts as late once it is there.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from ragworthy.runner.contract import Reply, late

_AGAIN = 1.0
"""So many seconds after the first alarm the next one comes: a pipeline may have caught it."""
SAME = 1.0
"""A SIGTERM within so many seconds of another is the same one: `timeout` signals the process, then its whole group."""
_STOP = (signal.SIGINT, signal.SIGTERM)


def possible() -> bool:
    """Whether calls in the main thread can have a time limit here."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


class Cut(BaseException):
    """What ends a call: its time is up, or somebody wants to stop. No Exception, so that pipelines do not catch it."""


class MainThread:
    """The main thread while it runs a pipeline; `stop` hears of Ctrl-C and SIGTERM."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._process = os.getpid()
        self._inside = False
        self._late = False
        self._signals = 0
        self._last = float("-inf")
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._before = {one: signal.getsignal(one) for one in (*_STOP, signal.SIGALRM)}
        self._listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, before in self._before.items():
            signal.signal(one, signal.SIG_DFL if before is None else before)

    def within(self, timeout: float, work: Callable[[], Reply]) -> Reply:
        """What the work gives, or that it took too long."""
        self._listen()  # the call before may have changed it
        self._late = False
        end = time.monotonic() + timeout
        self._inside = True
        signal.setitimer(signal.ITIMER_REAL, timeout, _AGAIN)
        try:
            reply = work()
        except Cut:
            reply = Reply({}, late(timeout))
        finally:
            self._inside = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        return Reply({}, late(timeout)) if self._late or time.monotonic() > end else reply

    def _listen(self) -> None:
        for one in _STOP:
            signal.signal(one, self._asked_to_stop)
        signal.signal(signal.SIGALRM, self._time_is_up)

    def _time_is_up(self, number: int, frame: FrameType | None) -> None:
        if self._inside and os.getpid() == self._process:
            self._late = True
            raise Cut

    def _asked_to_stop(self, number: int, frame: FrameType | None) -> None:
        """The first time: finish this call; the second time: cut it; the third time: end, whatever it does."""
        again = number == signal.SIGTERM and time.monotonic() - self._last < SAME
        self._last = time.monotonic() if number == signal.SIGTERM else self._last
        if again and os.getpid() == self._process:
            return
        self._signals += 1
        if os.getpid() != self._process or self._signals > 2:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        with suppress(RuntimeError, ValueError, OSError):  # the pipeline may be in the middle of writing a line
            self._stop()
        if self._signals == 2 and self._inside:
            raise Cut
