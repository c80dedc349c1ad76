"""Work in a daemon thread: the program can end without it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Made = TypeVar("Made")


def started(work: Callable[[], Made], name: str) -> "Future[Made]":
    """What will come of the work, or of its failure; it has begun, and is not stopped when nobody waits any more."""
    future: Future[Made] = Future()
    future.set_running_or_notify_cancel()

    def settle() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it
            future.set_exception(error)

    threading.Thread(target=settle, name=name, daemon=True).start()
    return future
