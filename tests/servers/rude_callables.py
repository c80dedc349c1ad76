"""Pipelines that do to their process what no pipeline should. What they do is in the question."""

import asyncio
import contextlib
import io
import multiprocessing
import os
import sys
import threading
import time
from datetime import datetime, timedelta, tzinfo
from os import _exit
from typing import Any


def good(asked: dict[str, Any]) -> dict[str, Any]:
    return {"qid": asked["qid"], "answer_json": {"claim": "y"}, "retrieved_ids": []}


class Speechless(Exception):
    def __str__(self) -> str:
        time.sleep(3600)
        return ""


class Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")


class Odd(Exception, metaclass=Nameless):
    """Not even its name can be told."""


class Nowhere(tzinfo):
    """Code of the pipeline that runs when its reply is written."""

    def utcoffset(self, when: datetime | None) -> timedelta:
        raise LookupError("no such place")

    dst = utcoffset

    def tzname(self, when: datetime | None) -> str:
        return "nowhere"


def surrogate() -> None:
    raise ValueError("\ud800 bad")


def file_name() -> None:
    os.stat(os.fsdecode(b"/no-such-folder/\xff.txt"))


def speechless() -> None:
    raise Speechless


def odd() -> None:
    raise Odd("but it speaks")


def nowhere() -> Any:
    return {"answer_json": {"claim": "y", "at": datetime(2024, 1, 1, tzinfo=Nowhere())}, "retrieved_ids": []}


def ends() -> None:
    os._exit(0)


def ends_by_another_name() -> None:
    _exit(0)


def ends_whatever() -> None:
    with contextlib.suppress(Exception):
        os._exit(0)


def ends_in_a_thread() -> None:
    thread = threading.Thread(target=os._exit, args=(0,))
    threading.excepthook = lambda _: None
    thread.start()
    thread.join()


def ends_a_child() -> None:
    """Which is its right."""
    child = os.fork()
    if child == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def ends_a_process() -> None:
    process = multiprocessing.get_context("fork").Process(target=os.getpid)
    process.start()
    process.join()
    assert process.exitcode == 0


def closes_stdout() -> None:
    sys.stdout.close()


def closes_both() -> None:
    sys.stdout.close()
    sys.stderr.close()


def takes_stdout() -> None:
    sys.stdout = None


def takes_both() -> None:
    sys.stdout = sys.stderr = object()


def keeps_stdout() -> None:
    sys.stdout = io.StringIO()


def closes_by_number() -> None:
    os.close(1)


def little_stack() -> None:
    sys.setrecursionlimit(60)


def much_stack() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    assert sys.getrecursionlimit() == 5000
    sys.setrecursionlimit(before)


async def stops_the_loop() -> None:
    asyncio.get_running_loop().stop()


async def exits_in_a_callback() -> None:
    asyncio.get_running_loop().call_soon(sys.exit)
    await asyncio.sleep(0.05)


async def exits_in_a_task() -> None:
    await asyncio.create_task(asyncio.to_thread(sys.exit, 3))


async def cancels_all() -> None:
    for task in asyncio.all_tasks():
        task.cancel()


async def ends_async() -> None:
    os._exit(0)


def ask(**asked: Any) -> Any:
    found = globals().get(asked["q"])
    return good(asked) if found is None else found() or good(asked)


async def ask_async(**asked: Any) -> Any:
    found = globals().get(asked["q"])
    if found is not None:
        await found()
    return good(asked)
