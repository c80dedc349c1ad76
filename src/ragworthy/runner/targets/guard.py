"""What a pipeline that runs in our process must not do to the rest of it.

A pipeline may do what it likes with its own question. It may not end the program with a code of its choice, close our
streams or take away our stack: the questions after it would be lost, and nobody would be told.

Why no process that watches over the run: it would see every end, but Ctrl-C, kill and the terminal would then reach the
watcher and not the run, and the question that ends the program would end it again after every --resume. What gets past
this guard (a crash in an extension, exec) leaves a journal and no results; a `cmd:` target is safe from it.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, TextIO

_exit = os._exit
_set_limit = sys.setrecursionlimit
_STREAMS = {"stdout": 1, "stderr": 2}


class Exited(BaseException):
    """A pipeline tried to end the program. No Exception, so that it does not catch this itself."""


class _Guard:
    """Stands in for two functions of the system, once the first pipeline is imported."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._limit = sys.getrecursionlimit()
        self._hosting = False

    def exit(self, status: int) -> NoReturn:
        """Refuse to end the program, unless the main thread or a forked child asks: there no pipeline runs."""
        ours = threading.current_thread() is threading.main_thread() and not self._hosting
        if ours or os.getpid() != self._process:
            _exit(status)
        raise Exited(f"os._exit({status})")

    def set_limit(self, limit: int, /) -> None:
        """Let a pipeline have a deeper stack than ours, but not a shallower one: the limit holds for all threads."""
        _set_limit(max(limit, self._limit))

    @contextmanager
    def hosting(self) -> Iterator[None]:
        """While a pipeline is imported, or called there, it runs in the main thread."""
        self._hosting = True
        try:
            yield
        finally:
            self._hosting = False


@contextmanager
def hosting() -> Iterator[None]:
    """Run code of a pipeline in this thread, guarded.

    The guard stays for as long as the program runs: a pipeline that is stuck goes on.
    """
    guard = getattr(os._exit, "__self__", None)
    if not isinstance(guard, _Guard):
        guard = _Guard()
        os._exit = guard.exit
        sys.setrecursionlimit = guard.set_limit
    with guard.hosting():
        yield


class Streams:
    """stdout and stderr as they were before the first question."""

    def __init__(self) -> None:
        self._kept: dict[str, TextIO] = {name: getattr(sys, name) for name in _STREAMS}

    def mend(self) -> None:
        """Put back a stream that was closed or taken away; one that was replaced may be so for a moment."""
        for name in _STREAMS:
            stream = getattr(sys, name)
            if getattr(stream, "closed", False) or not hasattr(stream, "write"):
                self._put_back(name)

    def restore(self) -> None:
        """Put back both."""
        for name in _STREAMS:
            self._put_back(name)

    def _put_back(self, name: str) -> None:
        if self._kept[name] is not None and self._kept[name].closed:
            self._kept[name] = _opened(name, self._kept[name])
        setattr(sys, name, self._kept[name])


def _opened(name: str, closed: TextIO) -> TextIO:
    """A closed stream again; its file is still open, unless that was closed by its number."""
    try:
        return open(_STREAMS[name], "w", encoding=closed.encoding, errors=closed.errors, closefd=False)
    except OSError:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123
