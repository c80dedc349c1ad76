"""The built-in guarded pipeline: retrieve, answer from what was found, cite it, echo its rules, or refuse."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.ids import stable
from ragworthy.index.ranking import Floats
from ragworthy.names import REFUSAL
from ragworthy.pipeline import extract, retrieve
from ragworthy.pipeline.asked import Question
from ragworthy.pipeline.chat import Chat, Said
from ragworthy.pipeline.endpoint import RETRIES, asking
from ragworthy.pipeline.extract import Scored
from ragworthy.pipeline.knobs import EXTRACTIVE, Knobs, read
from ragworthy.pipeline.retrieve import Found
from ragworthy.pipeline.shelf import Shelf
from ragworthy.pipeline.structured import Passage, Task, output
from ragworthy.pipeline.threads import started
from ragworthy.pipeline.tuning import load
from ragworthy.pipeline.units import locked
from ragworthy.records import Chunk

__all__ = ["Attempt", "Begun", "Pipeline"]

_SHOWN = 5
TIMEOUT = 60.0
"""So many seconds a question may take that nobody gave another time."""


class Attempt(NamedTuple):
    """What the extractive answerer would say if it never refused."""

    score: float
    claim: str
    citations: list[str]


class _Retrieved(NamedTuple):
    """A question and its context."""

    question: Question
    vector: Floats | None
    context: list[Found]

    @property
    def chunks(self) -> list[Chunk]:
        return [one.chunk for one in self.context]


class _Clock:
    """How long each stage took, in milliseconds."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.stages[stage] = round((now - self._since) * 1000, 3)
        self._since = now


class Begun(NamedTuple):
    """A question for which the context is there, and an answer is not."""

    knobs: Knobs
    clock: _Clock
    got: _Retrieved

    @property
    def needs_model(self) -> bool:
        """Whether a chat model is to be asked; it is not about an empty context."""
        return self.knobs.answerer != EXTRACTIVE and bool(self.got.context)


class Pipeline:
    """Answers questions from an index. May be called from several threads; the same question gets the same reply."""

    def __init__(self, index: Path, tuning: Path | None = None, *, named: str | None = None) -> None:
        """`named` is the answerer that the command line names: only that one, of all in the knobs, may get our key."""
        self._named = named
        self._shelf = Shelf(index)
        self._tuned = load(tuning, self.index_hash) if tuning is not None else None

    def __call__(
        self, *, qid: str, q: str, seed: int = 0, jitter: str = "none", knobs: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The reply to one question; `seed` goes to a chat endpoint, `jitter` changes nothing."""
        begun = self.begin(q, knobs)
        if not begun.needs_model:
            return self.extracted(begun)
        return self.asked(begun, self.chat(begun), qid=qid, seed=seed)

    def asked(self, begun: Begun, chat: Chat, *, qid: str, seed: int = 0, timeout: float = TIMEOUT) -> dict[str, Any]:
        """The reply with a model that is opened for this question alone."""

        async def one() -> dict[str, Any]:
            await chat.endpoint.open()
            try:
                return (await self.answered(begun, chat, qid=qid, seed=seed, timeout=timeout))[0]
            finally:
                await chat.endpoint.close()

        # In a thread of its own: where a loop is already running, as in a notebook, none can be started.
        return started(lambda: asyncio.run(one()), "chat").result()

    def begin(self, q: str, knobs: Mapping[str, Any] | None = None) -> Begun:
        """The context for a question."""
        clock = _Clock()
        chosen = self._knobs(knobs or {})
        return Begun(chosen, clock, self._retrieve(q, chosen, clock))

    def extracted(self, begun: Begun) -> dict[str, Any]:
        """The reply without a model: a sentence of the context, or the refusal."""
        if begun.knobs.answerer == EXTRACTIVE:
            claim, citations = self._extract(begun.got, begun.knobs)
            usage: dict[str, Any] = {"model": EXTRACTIVE, "attempts": 1}
        else:
            claim, citations = REFUSAL, []
            usage = {"model": self.chat(begun).endpoint.model, "attempts": 0}
        return self._reply(begun, claim, citations, usage)

    def chat(self, begun: Begun, retries: int = RETRIES) -> Chat:
        """The model that is to be asked."""
        name = begun.knobs.answerer
        return Chat(name, named=name == self._named, retries=retries)

    async def answered(
        self, begun: Begun, chat: Chat, *, qid: str, seed: int, timeout: float, left: float | None = None
    ) -> tuple[dict[str, Any], int]:
        """The reply with a model that is open, and how many requests that took; `left`: what is left of the time."""
        asked = asking(qid, timeout, left)
        got = begun.got
        said = await chat.answer(got.question.text, got.chunks, asked, seed=seed, knobs=begun.knobs)
        if said.error:
            return self._error(begun, said), said.sent
        return self._reply(begun, said.claim, said.citations, said.usage), said.sent

    async def written(
        self, begun: Begun, chat: Chat, task: Task, *, qid: str, seed: int, timeout: float, left: float
    ) -> tuple[dict[str, Any], int]:
        """The reply to a structured question with a model that is open, and how many requests that took."""
        asked = asking(qid, timeout, left)
        paths = self._shelf.paths
        passages = [
            Passage(chunk.name, one.score, paths.get(chunk.doc_id or "", ""), chunk.text)
            for one, chunk in zip(begun.got.context, begun.got.chunks, strict=True)
        ]
        got = await output(chat.endpoint, task, begun.got.question.text, passages, asked, begun.knobs, seed)
        begun.clock.lap("llm")
        got["meta"]["index_version"] = self.index_hash
        return got | ({"stage_ms": begun.clock.stages} if begun.knobs.timings else {}), asked.sent

    def _reply(self, begun: Begun, claim: str, citations: list[str], usage: dict[str, Any]) -> dict[str, Any]:
        begun.clock.lap("llm")
        cited = [chunk for chunk in begun.got.chunks if chunk.name in citations]
        echo = self._locked(cited, begun.knobs)
        answer = {"claim": claim, "citations": citations, "constraints_echo": echo}
        begun.clock.lap("guard")
        return {"answer_json": answer, **_known(begun, usage)}

    def _error(self, begun: Begun, said: Said) -> dict[str, Any]:
        """The reply where there is no answer: why, and all that is known."""
        begun.clock.lap("llm")
        told = {"error": said.error, "error_code": said.code, **_known(begun, said.usage)}
        return told | {"raw": said.raw} if said.raw else told

    def attempt(self, q: str, knobs: Mapping[str, Any] | None = None) -> Attempt:
        """The best extractive answer and its score, whatever the threshold is; score 0 where nothing was found."""
        got = self._retrieve(q, self._knobs(knobs or {}), _Clock())
        best = self._best(got)
        if best is None:
            return Attempt(0.0, REFUSAL, [])
        return Attempt(best.score, extract.claim(self._shelf, got.question, best), [best.chunk.name])

    def explain(self, q: str, knobs: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Why the extractive answerer answers or refuses: terms, chunks, sentences, threshold, decision."""
        chosen = self._knobs(knobs or {})
        if chosen.answerer != EXTRACTIVE:
            raise ValueError(f"answerer: expected {EXTRACTIVE}, which can be explained, got {chosen.answerer}")
        got = self._retrieve(q, chosen, _Clock())
        found = extract.ranked(self._shelf, got.question, got.vector, got.chunks)
        best = found[0] if found else None
        threshold, origin = self._threshold(chosen)
        claim, citations = self._extract(got, chosen)
        return {
            "question": q,
            "terms": {term: round(weight, 6) for term, weight in got.question.weights.items()},
            "wants": got.question.wants,
            "mode": retrieve.mode_of(self._shelf, chosen),
            "context": [_result(one) for one in got.context],
            "weights": extract.WEIGHTS,
            "sentences": [self._shown(one) for one in found[:_SHOWN]],
            "threshold": threshold,
            "threshold_from": origin,
            "refused": extract.refuses(best, threshold),
            "why": extract.reason(got.question, best, self._shelf.parts(best.chunk) if best else None, threshold),
            "claim": claim,
            "citations": citations,
        }

    @property
    def index_hash(self) -> str:
        """The hash of the index that is asked."""
        return self._shelf.index.manifest.index_hash

    def answerer(self, knobs: Mapping[str, Any]) -> str:
        """What answers with these knobs."""
        return self._knobs(knobs).answerer

    def holds(self, name: str) -> bool:
        """Whether the index has a chunk with this id, in whatever revision."""
        return stable(name) in self._shelf.names

    def _knobs(self, given: Mapping[str, Any]) -> Knobs:
        return read(given, self._tuned.knobs if self._tuned is not None else None)

    def _threshold(self, chosen: Knobs) -> tuple[float, str]:
        """The threshold in force and where it comes from."""
        if chosen.threshold is not None:
            return chosen.threshold, "knob"
        return (self._tuned.threshold, "tuned") if self._tuned is not None else (extract.THRESHOLD, "default")

    def _retrieve(self, q: str, chosen: Knobs, clock: _Clock) -> _Retrieved:
        shelf = self._shelf
        question = shelf.ask(q)
        found = retrieve.search(shelf, q, chosen)
        vector = shelf.embedded(q) if retrieve.mode_of(shelf, chosen) != "bm25" else None
        clock.lap("retrieval")
        if chosen.rerank_depth:
            found = retrieve.rerank(shelf, question, vector, found, chosen.rerank_depth)
        context = retrieve.cut(found, chosen)
        clock.lap("rerank")
        return _Retrieved(question, vector, context)

    def _best(self, got: _Retrieved) -> Scored | None:
        found = extract.ranked(self._shelf, got.question, got.vector, got.chunks)
        return found[0] if found else None

    def _extract(self, got: _Retrieved, chosen: Knobs) -> tuple[str, list[str]]:
        best = self._best(got)
        if best is None or extract.refuses(best, self._threshold(chosen)[0]):
            return REFUSAL, []
        return extract.claim(self._shelf, got.question, best), [best.chunk.name]

    def _locked(self, chunks: Sequence[Chunk], chosen: Knobs) -> list[str]:
        """The rules of the sections that these chunks are in."""
        if not chosen.constraints:
            return []
        return locked(one for chunk in chunks for one in self._shelf.section(chunk))

    def _shown(self, one: Scored) -> dict[str, Any]:
        text = self._shelf.parts(one.chunk).units[one.place].text
        return {"id": one.chunk.name, "score": one.score, "features": one.features, "text": text}


def _known(begun: Begun, usage: dict[str, Any]) -> dict[str, Any]:
    """What a reply tells whether there is an answer or not."""
    chunks = begun.got.chunks
    known: dict[str, Any] = {
        "retrieved_ids": [chunk.name for chunk in chunks],
        "topk": [_result(one) for one in begun.got.context],
    }
    if begun.knobs.timings:
        known["stage_ms"] = begun.clock.stages
    return known | {"usage": usage | {"context_tokens": sum(map(retrieve.tokens_of, chunks))}}


def _result(one: Found) -> dict[str, Any]:
    chunk = one.chunk
    shown: dict[str, Any] = {"id": chunk.name, "score": one.score, "type": chunk.type or "prose"}
    if chunk.offsets is not None:
        shown["offsets"] = list(chunk.offsets)
    return shown
