"""A callback of LangChain that writes a trace for every run of a chain. Nothing of LangChain is needed to import it."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragworthy.adapters.replies import DocId
from ragworthy.adapters.saw import WORKER
from ragworthy.adapters.spans import CHAIN, LLM, RETRIEVER, Span
from ragworthy.recorders.objects import as_data, documents_as_data, said, usage_as_data
from ragworthy.recorders.sink import Gold, Marker, Recorder, Sink, adopted, attempted, observing
from ragworthy.runner.targets.heard import worker

_MOST_OPEN = 10_000
_DONE = 10_000


class _Tree:
    """The runs below one that nothing is around."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.spans: dict[str, Span] = {}
        self.broken = ""


class LangChainRecorder(Recorder):
    """Writes one trace for each run that no other run is around, into a file of JSON lines.

        with rw.LangChainRecorder("runs/staging/traces.jsonl") as recorder:
            chain.invoke({"input": question}, config={"callbacks": [recorder], "metadata": {"qid": "H001"}})

    Many runs at once, `batch`, threads and async chains are fine. It never raises into the chain: `summary` says what
    was written and what was not.
    """

    raise_error = False
    run_inline = True
    """In async chains too: the order of events is kept, and they are quickly dealt with."""
    ignore_llm = ignore_retry = ignore_chain = ignore_agent = ignore_retriever = ignore_chat_model = False
    ignore_custom_event = True

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """A handler that is a subclass of LangChain's own where that is installed: configurations check for it."""
        made: Self = object.__new__(adopted(cls, "langchain_core.callbacks", "BaseCallbackHandler"))
        return made

    def __init__(
        self,
        path: str | Path,
        *,
        doc_id: DocId = None,
        marker: Marker = None,
        gold: Gold = None,
        chunks: str | Path | None = None,
        answer: str = "model",
        append: bool = True,
    ) -> None:
        self._name: Callable[[Any], Any] | None = doc_id if callable(doc_id) else None
        rule = "id" if callable(doc_id) else doc_id
        self._sink = Sink(
            "langchain", path, doc_id=rule, marker=marker, gold=gold, chunks=chunks, answer=answer, append=append
        )
        self._trees: dict[str, _Tree] = {}
        """The tree of every run that is open, by the run's id."""
        self._done: dict[str, None] = {}
        """The latest runs that have ended, so that a step that comes too late is known as such."""
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file. Runs that have not ended are errors of their questions."""
        with self._lock:
            trees = {tree.root: (tree, list(tree.spans.values())) for tree in self._trees.values()}
            self._trees.clear()
        for tree, spans in trees.values():
            self._sink.give_up(tree.root, spans, "the recorder was closed before the run ended")
        self._sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # what LangChain calls

    @observing
    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        """A chain begins."""
        self._begin(CHAIN, more, lambda: {"input.value": _named(inputs)})

    @observing
    def on_chain_end(self, outputs: Any, **more: Any) -> None:
        """A chain has ended; one that streams knows its input only now."""
        given = more.get("inputs")
        self._end(more, lambda: {"output.value": _named(outputs, "output")} | _late_input(given))

    @observing
    def on_tool_start(self, serialized: Any, input_str: Any, **more: Any) -> None:
        """A tool begins."""
        self._begin(CHAIN, more, lambda: {"input.value": _named(input_str)})

    @observing
    def on_tool_end(self, output: Any, **more: Any) -> None:
        """A tool has ended."""
        self._end(more, lambda: {"output.value": _named(output, "output")})

    @observing
    def on_retriever_start(self, serialized: Any, query: Any, **more: Any) -> None:
        """A retrieval begins."""
        self._begin(RETRIEVER, more, lambda: {"input.value": {"query": as_data(query)}})

    @observing
    def on_retriever_end(self, documents: Sequence[Any], **more: Any) -> None:
        """Documents were found."""
        self._end(more, lambda: {"output.value": {"documents": documents_as_data(documents, self._name)}})

    @observing
    def on_llm_start(self, serialized: Any, prompts: Sequence[Any], **more: Any) -> None:
        """A model is asked, with texts."""
        self._begin(LLM, more, lambda: _prompt(prompts, more))

    @observing
    def on_chat_model_start(self, serialized: Any, messages: Sequence[Any], **more: Any) -> None:
        """A model is asked, with messages."""
        self._begin(LLM, more, lambda: _prompt(messages, more))

    @observing
    def on_llm_end(self, response: Any, **more: Any) -> None:
        """A model has answered."""
        self._end(more, lambda: said(response) | usage_as_data(response))

    @observing
    def on_chain_error(self, error: BaseException, **more: Any) -> None:
        """A chain failed."""
        self._fail(error, more)

    @observing
    def on_tool_error(self, error: BaseException, **more: Any) -> None:
        """A tool failed."""
        self._fail(error, more)

    @observing
    def on_retriever_error(self, error: BaseException, **more: Any) -> None:
        """A retrieval failed."""
        self._fail(error, more)

    @observing
    def on_llm_error(self, error: BaseException, **more: Any) -> None:
        """A model failed."""
        self._fail(error, more)

    def on_llm_new_token(self, *_: Any, **__: Any) -> None:
        """Nothing: the whole answer comes at the end."""

    def on_text(self, *_: Any, **__: Any) -> None:
        """Nothing to record."""

    def on_retry(self, *_: Any, **__: Any) -> None:
        """Nothing: what counts is how it ended."""

    def on_agent_action(self, *_: Any, **__: Any) -> None:
        """Nothing: its tools and models are runs of their own."""

    def on_agent_finish(self, *_: Any, **__: Any) -> None:
        """Nothing: the run around it says what came out."""

    def on_custom_event(self, *_: Any, **__: Any) -> None:
        """Nothing to record."""

    # how runs become trees

    def _begin(self, kind: str, more: Mapping[str, Any], read: Callable[[], dict[str, Any]]) -> None:
        run, parent = str(more["run_id"]), str(more.get("parent_run_id") or "")
        metadata = _metadata(more.get("metadata"))
        name = str(more.get("name") or "")
        with self._lock:
            tree = self._trees.get(parent)
            late = tree is None and parent in self._done
            if tree is None:
                parent, tree = "", _Tree(run)
            if not late:
                self._trees[run] = tree
            over = next(iter(self._trees.values())) if len(self._trees) > _MOST_OPEN else None
        if late:
            self._sink.late(name)
            return
        if over is not None:
            self._drop(over)
        above = tree.spans.get(parent)
        alone = above is None or above.metadata("qid") != metadata.get("qid", "")
        # Steps inside others repeat what went in; only where a question begins it is read.
        read = read if kind != CHAIN or alone else dict
        kind = "" if kind == CHAIN and above is None and metadata.get("qid") else kind
        held, wrong = attempted(read)
        tree.broken = tree.broken or wrong
        attributes = (held or {}) | {"metadata": metadata} | ({WORKER: worker()} if kind == RETRIEVER else {})
        span = Span(tree.root, run, parent, name, kind, time.time_ns(), None, attributes)
        with self._lock:
            tree.spans[run] = span

    def _end(self, more: Mapping[str, Any], read: Callable[[], dict[str, Any]], status: str = "") -> None:
        run = str(more["run_id"])
        with self._lock:
            tree = self._trees.pop(run, None)
            self._forget(run)
        span = tree.spans.get(run) if tree is not None else None
        if tree is None or span is None:
            self._sink.late(str(more.get("name") or "a run that began before"))
            return
        span.end = max(time.time_ns(), span.start or 0)
        span.status = status
        if span.kind in (RETRIEVER, LLM) or "input.value" in span.attributes:
            held, wrong = attempted(read)
            tree.broken = tree.broken or wrong
            span.attributes |= held or {}
        if run == tree.root:
            self._finish(tree)

    def _fail(self, error: BaseException, more: Mapping[str, Any]) -> None:
        self._end(more, dict, f"raised: {type(error).__name__}: {error}".rstrip(": "))

    def _finish(self, tree: _Tree) -> None:
        with self._lock:
            for run in tree.spans:
                self._trees.pop(run, None)
                self._forget(run)
            spans = list(tree.spans.values())
        self._sink.finish(spans, tree.broken)

    def _forget(self, run: str) -> None:
        self._done[run] = None
        if len(self._done) > _DONE:
            del self._done[next(iter(self._done))]

    def _drop(self, tree: _Tree) -> None:
        with self._lock:
            gone = [run for run, held in self._trees.items() if held is tree]
            for run in gone:
                del self._trees[run]
                self._forget(run)
            spans = list(tree.spans.values())
        self._sink.give_up(tree.root, spans, f"more than {_MOST_OPEN:,} runs were open")


def _metadata(given: Any) -> dict[str, Any]:
    """The qid that travels with a run."""
    qid = given.get("qid") if isinstance(given, Mapping) else None
    return {"qid": str(qid)} if isinstance(qid, str | int) and not isinstance(qid, bool) else {}


def _named(value: Any, key: str = "input") -> Any:
    """A value as data, under a name where it has none."""
    held = as_data(value)
    return held if isinstance(held, dict) else {key: held}


def _late_input(given: Any) -> dict[str, Any]:
    return {} if given is None else {"input.value": _named(given)}


def _flat(given: Sequence[Any]) -> list[Any]:
    """Prompts, or the messages of prompts, as one list."""
    return [one for some in given for one in (some if isinstance(some, list | tuple) else [some])]


def _prompt(given: Sequence[Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """What a model is asked, and the model's name."""
    held: dict[str, Any] = {"openinference.span.kind": "LLM"}
    held["llm.input_messages"] = [as_data(one.content if hasattr(one, "content") else one) for one in _flat(given)]
    params, metadata = more.get("invocation_params"), more.get("metadata")
    names = [metadata.get("ls_model_name")] if isinstance(metadata, Mapping) else []
    names += [params.get("model_name"), params.get("model")] if isinstance(params, Mapping) else []
    model = next((str(name) for name in names if name), "")
    return held | ({"llm.model_name": model} if model else {})
