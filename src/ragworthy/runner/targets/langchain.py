"""A Runnable of LangChain, a graph of LangGraph among them, as a target.

What it takes is read from its own input schema. What it gives back may be a text alone; then the documents are those
that its retrievers gave back and that are in the prompt, which a callback hears.
"""

import threading
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any

from ragworthy.adapters.prompted import Seen
from ragworthy.adapters.replies import Given
from ragworthy.load.values import Refused
from ragworthy.metrics.facts.near import reads_like_refusal
from ragworthy.runner.targets.advice import unfit_input
from ragworthy.runner.targets.heard import Heard, Interrupted, are_documents
from ragworthy.text import clip, trim_fold

_QUESTION = ("question", "query", "input", "q", "user_input", "user_query", "prompt", "text", "human_input")
_HISTORY = ("chat_history", "history", "messages")
_ANSWER = ("answer", "result", "response", "output_text", "output", "text")
_DOCUMENTS = ("context", "source_documents", "documents", "docs", "retrieved_documents")
_PLACEHOLDER = "root"
"""What LangChain's schema names the input of a step that does not say what it takes."""
_UNHEARD = (
    "expected what was retrieved, got a text and no retriever that was heard: "
    'give back {"answer": text, "documents": documents}'
)


class Chain:
    """A Runnable; `knobs` are the names of inputs that are given beside the question."""

    def __init__(self, runnable: Any, name: str, knobs: Iterable[str]) -> None:
        self._runnable = runnable
        self._is_graph = hasattr(runnable, "channels")
        self._names = _channels(runnable) if self._is_graph else _inputs(runnable)
        self._key = _key(self._names, name, frozenset(knobs), self._is_graph)
        self._awaits = False
        """Whether it can only be awaited; known after the first question."""
        self._replies: Counter[bool] = Counter()
        self._missing: Counter[bool] = Counter()
        self._total: Counter[bool] = Counter()
        self._one = threading.Lock()

    def __call__(self, *, qid: str, q: str, knobs: Mapping[str, Any], **_: Any) -> Given | Awaitable[Given]:
        """What it gives back, with what was retrieved for it; to be awaited where it can do nothing else."""
        asked = self._input(q, knobs)
        if self._awaits:
            return self._awaited(qid, asked)
        heard = Heard()
        try:
            given = self._runnable.invoke(asked, config=_config(heard, qid))
        except Exception as error:
            if _async_only(error):
                return self._awaited(qid, asked)
            raise Interrupted(error, heard.whatever) from error
        return self._read(given, heard)

    async def _awaited(self, qid: str, asked: Any) -> Given:
        heard = Heard()
        try:
            given = await self._runnable.ainvoke(asked, config=_config(heard, qid))
        except Exception as error:
            raise Interrupted(error, heard.whatever) from error
        self._awaits = True
        return self._read(given, heard)

    @property
    def notes(self) -> tuple[str, ...]:
        """How many of the retrieved texts was not in the prompt, and what was counted then."""
        ends = {True: "those that it holds count, in its order", False: "what the retriever gave back counts"}
        return tuple(
            f"in {number:,} replies the prompt does not hold {self._missing[sure]:,} of {self._total[sure]:,} "
            f"retrieved texts: {ends[sure]}"
            for sure, number in sorted(self._replies.items(), reverse=True)
        )

    def _count(self, seen: Seen) -> None:
        with self._one:
            if seen.missing:
                self._replies[seen.sure] += 1
                self._missing[seen.sure] += seen.missing
                self._total[seen.sure] += seen.total

    def _heard(self, heard: Heard, answer: Any) -> list[Any]:
        """What the model saw."""
        said = answer if isinstance(answer, str) else getattr(answer, "content", None)
        seen, documents = heard.seen(said if isinstance(said, str) else "")
        self._count(seen)
        return documents

    def _input(self, q: str, knobs: Mapping[str, Any]) -> Any:
        if not self._key:
            return q
        own = {name: knobs[name] for name in self._names if name in knobs}
        empty: dict[str, Any] = {name: [] for name in self._names if name in _HISTORY and not self._is_graph}
        asked = [{"role": "user", "content": q}] if self._key == "messages" else q
        return empty | own | {self._key: asked}

    def _read(self, given: Any, heard: Heard) -> Given:
        usage = heard.usage or None
        if isinstance(given, Mapping):
            name = next((key for key in _ANSWER if given.get(key) is not None), None)
            text = given[name] if name else _last_message(given.get("messages"))
            held = next((key for key in _DOCUMENTS if are_documents(given.get(key))), None)
            if text is None:
                keys = ", ".join(map(str, given))
                raise Refused(f"expected one of {', '.join(_ANSWER)}, got {clip(keys, 200) or 'nothing'}", ".answer")
            if held is not None:
                return Given(text, given[held], None, usage, None, (name or "messages", held, "citations"))
            found = self._heard(heard, text)
            return Given(text, found, None, usage, None, (name or "messages", "the retriever", "citations"))
        if are_documents(given):
            raise Refused("expected an answer, got documents: a retriever alone gives none", ".answer")
        text = given if isinstance(given, str) else getattr(given, "content", None)
        said = text if isinstance(text, str) else ""
        if not heard.retrieved and not self._is_graph and not reads_like_refusal(trim_fold(str.__str__(said))):
            raise Refused(_UNHEARD, ".documents")
        return Given(given, self._heard(heard, given), None, usage, None, ("the text", "the retriever", "citations"))


def _config(heard: Heard, qid: str) -> dict[str, Any]:
    return {"callbacks": [heard], "metadata": {"qid": qid}}


def _async_only(error: Exception) -> bool:
    """Whether a step says that it can only be awaited."""
    if isinstance(error, NotImplementedError):
        return True
    return isinstance(error, TypeError) and "ainvoke" in str(error)


def _inputs(runnable: Any) -> tuple[str, ...]:
    """The names of what a Runnable takes; none where it takes the question itself."""
    asked = getattr(runnable, "get_input_jsonschema", None)
    schema = asked() if callable(asked) else {}
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return ()
    names = schema.get("required") or schema.get("properties") or ()
    return () if list(names) == [_PLACEHOLDER] else tuple(map(str, names))


def _channels(graph: Any) -> tuple[str, ...]:
    """The names in the state of a graph; those with signs are the graph's own."""
    return tuple(name for name in map(str, graph.channels) if name.isidentifier() and not name.startswith("__"))


def _key(names: Sequence[str], where: str, knobs: frozenset[str], is_graph: bool) -> str:
    """The input that the question goes into; empty where the question is the whole input."""
    if not names:
        return ""
    left = [name for name in names if name not in knobs]
    likely = [name for name in left if name in _QUESTION]
    if is_graph and not likely and "messages" in left:
        return "messages"
    others = [name for name in left if name not in _HISTORY]
    if is_graph and len(likely) == 1:
        return likely[0]
    if _PLACEHOLDER in names and len(likely) == 1:
        return likely[0]
    if len(others) == 1 and _PLACEHOLDER not in names:
        return others[0]
    if left == ["messages"]:
        return "messages"
    call = f"invoke({{{', '.join(f'{chr(34)}{name}{chr(34)}: …' for name in names)}}})"
    raise unfit_input(where, "a chain that takes the question", f"one that takes {', '.join(names)}", call)


def _last_message(value: Any) -> Any:
    """The last thing that a graph of messages says."""
    return value[-1] if isinstance(value, list) and value else None
