"""Pipelines that make the same mistake in every reply, or work only in the thread that imported them."""

import os
import signal
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

SHELF = sqlite3.connect(":memory:")
SHELF.execute("create table chunks (id text, body text)")
SHELF.executemany("insert into chunks values (?, ?)", [("c1", "null keys are rejected"), ("c2", "a bucket has a name")])
IMPORTED_IN = threading.get_ident()


def found(question: str) -> dict[str, Any]:
    """Works with the connection made above, in the thread that made it."""
    ids = [name for (name,) in SHELF.execute("select id from chunks order by id")]
    same = threading.get_ident() == IMPORTED_IN
    return {"answer_json": {"claim": f"{question} {same}", "citations": ids[:1]}, "retrieved_ids": ids}


def foreign(question: str) -> dict[str, Any]:
    return {"answer": f"re: {question}", "sources": ["c1"]}


def mended(question: str) -> dict[str, Any]:
    """Foreign replies until a file says that it is mended."""
    return found_by_hand(question) if Path(os.environ["MENDED"]).exists() else foreign(question)


def found_by_hand(question: str) -> dict[str, Any]:
    return {"answer_json": {"claim": question, "citations": ["c1"]}, "retrieved_ids": ["c1", "c2"]}


def fails_by_question(question: str) -> dict[str, Any]:
    """Raises for questions that begin with `bad`, unless a file says that it is mended."""
    if question.startswith("bad") and not Path(os.environ["MENDED"]).exists():
        raise LookupError(f"nothing for {question}")
    time.sleep(0.01)
    return found_by_hand(question)


def always_fails(question: str) -> None:
    raise KeyError(question)


def sleeps(question: str) -> dict[str, Any]:
    if question.startswith("long"):
        time.sleep(3600)
    return found_by_hand(question)


def swallows(question: str) -> dict[str, Any]:
    """Catches whatever ends it, twice."""
    for _ in range(2 if question.startswith("long") else 0):
        try:
            time.sleep(3600)
        except BaseException:  # noqa: BLE001
            continue
    return found_by_hand(question)


def takes_the_signals(question: str) -> dict[str, Any]:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    if question.startswith("long"):
        time.sleep(0.6)
    return found_by_hand(question)


def runs_a_loop(question: str) -> dict[str, Any]:
    import asyncio

    async def later() -> dict[str, Any]:
        await asyncio.sleep(0)
        return found_by_hand(question)

    return asyncio.run(later())


def two(question: str, language: str) -> None:
    """Takes one thing too many."""


def an_id(qid: str) -> None:
    """Takes no question."""


def by_name(prompt: str, *, temperature: float = 0.0) -> dict[str, Any]:
    return found_by_hand(prompt)


class Chain:
    """Not callable, and not quite what LangChain has."""

    def invoke(self, question: str) -> str:
        return question


chain = Chain()
