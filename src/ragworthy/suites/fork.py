"""Large work: in several processes at once, one for each part with a pipe to each."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

SMALL = 16 << 20
"""Below this many bytes a second process costs more than it saves."""


def processes(asked: int | None, size: int, splits: bool, weight: int = 1) -> int:
    """How many processes the work is worth: what was asked for, else one for each core when the files are large.

    `weight` is how many times as long a byte takes as one of an answer.

    Only Linux forks safely, and forked processes agree on the hash of a text; elsewhere one process does the work.
    """
    if not splits or size * weight < SMALL or sys.platform != "linux":
        return 1
    return asked if asked is not None else len(os.sched_getaffinity(0))


@contextmanager
def workers(work: Callable[[int, Any], None], parts: int) -> Iterator[list[Any]]:
    """Run `work(part, pipe)` for each part, each in a process of its own; they are gone when the block is left.

    A worker that fails sends `failed`; whoever leads them does the work again and meets the same error itself.
    """
    import multiprocessing

    context: Any = multiprocessing.get_context("fork")
    pipes: list[Any] = []
    started: list[Any] = []
    ended = False
    try:
        with _uninterrupted():
            for part in range(parts):
                ours, theirs = context.Pipe()
                pipes.append(ours)
                worker = context.Process(target=_run, args=(work, part, theirs, pipes), daemon=True)
                worker.start()
                started.append(worker)
                theirs.close()
        yield pipes
        ended = True
    finally:
        for pipe in pipes:
            pipe.close()
        for worker in started:
            if not ended:
                worker.terminate()
            worker.join(timeout=10)


def _run(work: Callable[[int, Any], None], part: int, pipe: Any, parents: list[Any]) -> None:
    for end in parents:
        end.close()  # inherited; while they are open here, the end of the parent would go unnoticed
    try:
        work(part, pipe)
    except Exception:  # noqa: BLE001 - the parent does the work again and meets the same error itself
        tell(pipe, "failed")
    os._exit(0)  # the memory goes back at once; taking a million objects apart would be noticed


def tell(pipe: Any, what: str) -> None:
    """Tell the parent, unless it has gone or no longer listens."""
    with suppress(OSError):
        pipe.send((what, None))


def answer(pipe: Any, wanted: str, progress: Callable[[int], None] | None) -> Any:
    """The next answer of a worker; EOFError where it failed or was killed."""
    while True:
        kind, value = pipe.recv()
        if kind == "failed":
            raise EOFError
        if kind == wanted:
            return value
        if kind != "progress":
            raise UnexpectedError(kind)
        if progress is not None:
            progress(value)


class UnexpectedError(Exception):
    """A worker says something else than it was asked for."""


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back: no worker is started unnoticed, and workers inherit the block, so that only we are told."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
