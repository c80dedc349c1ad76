"""Callables to drive: good, late, broken and rude ones."""

import asyncio
import functools
import sys
import time
from typing import Any

SEEN: list[dict[str, Any]] = []


def good(*, qid: str, q: str, seed: int, jitter: str, knobs: dict[str, Any]) -> dict[str, Any]:
    return {"answer_json": {"claim": f"{q} {seed} {jitter}", "citations": [qid]}, "retrieved_ids": [qid]}


async def good_async(**asked: Any) -> dict[str, Any]:
    await asyncio.sleep(0.01)
    return good(**asked)


def gives_awaitable(**asked: Any) -> Any:
    return good_async(**asked)


class Pipeline:
    async def __call__(self, **asked: Any) -> dict[str, Any]:
        return await good_async(**asked)


pipeline = Pipeline()


def sleepy(**asked: Any) -> dict[str, Any]:
    """Late by what the id says, so that replies come in another order than the questions."""
    time.sleep((sum(map(ord, asked["qid"])) * 37 % 23) / 1000)
    return good(**asked)


def stuck(**asked: Any) -> None:
    time.sleep(3600)


async def stuck_async(**asked: Any) -> None:
    await asyncio.sleep(3600)


async def blocking_async(**asked: Any) -> None:
    time.sleep(30)


async def stubborn(**asked: Any) -> None:
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


def raises(**asked: Any) -> None:
    raise ValueError("no index\nhere")


async def raises_async(**asked: Any) -> None:
    raise LookupError


def stops(**asked: Any) -> None:
    raise StopIteration


def exits(**asked: Any) -> None:
    sys.exit(3)


async def exits_async(**asked: Any) -> None:
    raise KeyboardInterrupt


async def cancels(**asked: Any) -> None:
    raise asyncio.CancelledError


def nothing(**asked: Any) -> None:
    return None


def numbers(**asked: Any) -> Any:
    return {"answer_json": {"claim": "x"}, "retrieved_ids": ["a"], "stage_ms": {"llm": float("nan")}}


def unwritable(**asked: Any) -> Any:
    return {"answer_json": {"claim": "x", "more": object()}, "retrieved_ids": []}


def half_a_pair(**asked: Any) -> Any:
    return {"answer_json": {"claim": "\ud800"}, "retrieved_ids": []}


def mutates(**asked: Any) -> dict[str, Any]:
    SEEN.append({"k": asked["knobs"]["k"], "deep": list(asked["knobs"]["deep"]["list"])})
    reply = good(**asked)
    asked["knobs"]["k"] = 99
    asked["knobs"]["deep"]["list"].append("more")
    return reply


def wants_less(*, qid: str, q: str) -> None:
    """Does not take what the contract hands over."""


def _takes_places(call: Any) -> Any:
    """A decorator that looks like what it wraps and takes something else."""

    @functools.wraps(call)
    async def wrapper(*args: Any) -> Any:
        return call(*args)

    return wrapper


disguised = _takes_places(good)
not_callable = 4
