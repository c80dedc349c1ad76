"""The built-in pipeline as a target: its retrieval runs in a thread, its chat model is asked on the loop of the run.

So a question whose time is up leaves nothing behind at the endpoint: its connection is closed with it. What a thread
still does (a slow embedding endpoint) is waited for before another question takes its place.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ragworthy.errors import Problem, RagworthyError, UsageError
from ragworthy.files import sha256_of
from ragworthy.index.endpoint import TRIES
from ragworthy.pipeline import Begun, Pipeline
from ragworthy.pipeline.chat import Chat
from ragworthy.pipeline.knobs import EXTRACTIVE
from ragworthy.pipeline.structured import Task
from ragworthy.pipeline.threads import started
from ragworthy.runner.contract import Ask, Reply, checked, late

if TYPE_CHECKING:
    from ragworthy.runner.outputs import Making

Work = Callable[[], Any]


class Builtin:
    """A pipeline on an index as a target."""

    def __init__(
        self, folder: str, tuning: Path | None, *, named: str | None, retries: int, making: "Making | None" = None
    ) -> None:
        """`named` is the answerer that the command line names: only that one, of all in the knobs, may get our key."""
        self._making = making
        self.name = f"builtin:{folder}"
        self._pipeline = Pipeline(Path(folder), tuning, named=named)
        self.about = {"index_hash": self._pipeline.index_hash}
        if tuning is not None:
            self.about["tuning_sha256"] = sha256_of(tuning)
        if making is not None:  # its schema goes to the server
            self.about["definition_sha256"] = making.definition.sha256
        self._retries = retries
        self._chats: dict[str, Chat] = {}
        self._threads: set[asyncio.Future[Any]] = set()
        """What runs, whether its question is still waited for or not."""
        self._asking = self._most = 0
        """How many questions are in flight, and were at most: so many threads may run."""

    @property
    def notes(self) -> list[str]:
        """What the chat endpoints do not take, each once."""
        return [note for chat in self._chats.values() for note in chat.endpoint.notes]

    async def open(self) -> None:
        """Endpoints are opened when the first question names them."""
        self._chats = {}
        self._threads = set()
        self._asking = self._most = 0

    async def close(self) -> None:
        """Close every connection; what a thread still brings is not waited for."""
        for thread in self._threads:
            thread.cancel()
        for chat in self._chats.values():
            await chat.endpoint.close()

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """Retrieve, then extract an answer or ask the model, all within so many seconds.

        An index that no question can be answered from is no matter of this question: it raises a RagworthyError.
        """
        self._asking += 1
        self._most = max(self._most, self._asking)
        try:
            return await self._asked(ask, timeout)
        finally:
            self._asking -= 1

    async def _asked(self, ask: Ask, timeout: float) -> Reply:
        end = time.monotonic() + timeout
        begun = await self._in_thread(lambda: self._begun(ask), end)
        if begun is None:
            return Reply({}, late(timeout))
        if not isinstance(begun, Begun):
            return checked(begun)
        chat = await self._chat(begun)
        left = end - time.monotonic()
        if self._making is not None:
            return await self._written(ask, self._making, chat, begun, timeout=timeout, left=left)
        given, attempts = await self._pipeline.answered(
            begun, chat, qid=ask.qid, seed=ask.seed, timeout=timeout, left=left
        )
        reply = checked(given, attempts)
        # Of an error a message shows what the model wrote, and not our reply around it.
        return reply if reply.error is None else msgspec.structs.replace(reply, raw=reply.fields.get("raw", ""))

    async def _written(
        self, ask: Ask, making: "Making", chat: Chat, begun: Begun, *, timeout: float, left: float
    ) -> Reply:
        """What the model writes for a structured question."""
        task = Task(ask.prompt or "", making.definition)
        given, attempts = await self._pipeline.written(
            begun, chat, task, qid=ask.qid, seed=ask.seed, timeout=timeout, left=left
        )
        return making.checked(given, attempts)

    def check_knobs(self, knobs: Mapping[str, Any]) -> None:
        """Structured questions need a model: a sentence of a passage is not JSON object."""
        if self._making is not None and self._pipeline.answerer(knobs) == EXTRACTIVE:
            message = "expected a chat model for structured questions, got the extractive answerer"
            raise UsageError([Problem("RW-U17", message, self.name, "answerer")])

    def _begun(self, ask: Ask) -> Begun | dict[str, Any]:
        """The context of a question, or its reply where no model is needed."""
        try:
            begun = self._pipeline.begin(ask.q, ask.knobs)
            writes = begun.needs_model or self._making is not None  # of an empty context, too
            return begun if writes else self._pipeline.extracted(begun)
        except RagworthyError as error:
            problem = error.problems[0]
            if problem.code != "RW-I08":
                raise
            said = f"{_reason(problem.message)}: {problem.where}: {problem.message}"
            return {"error": said, "error_code": problem.code}

    async def _chat(self, begun: Begun) -> Chat:
        """The model of a question; one for all questions that name it, so that it is known what its server takes."""
        name = begun.knobs.answerer
        if name not in self._chats:
            chat = self._pipeline.chat(begun, self._retries)
            self._chats[name] = chat
            await chat.endpoint.open()
        return self._chats[name]

    async def _in_thread(self, work: Work, end: float) -> Any:
        """What comes of the work; None where it takes too long, or where threads of earlier questions do."""
        while len(self._threads) >= self._most:
            left = end - time.monotonic()
            if left <= 0:
                return None
            await asyncio.wait(self._threads, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        waiting = asyncio.wrap_future(started(work, "retrieval"))
        self._threads.add(waiting)
        waiting.add_done_callback(self._ended)
        done, _ = await asyncio.wait({waiting}, timeout=max(0.0, end - time.monotonic()))
        return waiting.result() if done else None

    def _ended(self, thread: "asyncio.Future[Any]") -> None:
        self._threads.discard(thread)
        if not thread.cancelled():
            thread.exception()  # now somebody has seen it, and nothing is logged where its question is over


def _reason(message: str) -> str:
    """The stable word for what an embedding endpoint did.

    >>> _reason("expected status 200, got status 401: no"), _reason("expected vectors, got none within 120 s")
    ('status 401', 'timeout')
    """
    for sign, reason in _REASONS.items():
        if sign in message:
            return reason
    status = re.search(r"got (?:after \d+ attempts )?(status \d{3})", message)
    return status[1] if status else "bad reply"


_REASONS = {
    f"got after {TRIES} attempts no connection": "unreachable",
    f"got after {TRIES} attempts a connection that broke": "died: the connection broke",
    "got none within": "timeout",
}
