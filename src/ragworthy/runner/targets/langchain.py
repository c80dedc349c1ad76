"""A Runnable of LangChain, a graph of LangGraph among them, as a target.

What it takes is read from its own input schema. What it gives back may be a text alone; then the documents are those
that its retrievers gave back, which a callback hears.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragworthy.adapters.replies import Given, usage_of
from ragworthy.adapters.tokens import together
from ragworthy.load.values import Refused
from ragworthy.metrics.facts.near import reads_like_refusal
from ragworthy.runner.targets.advice import unfit_input
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

    def __call__(self, *, qid: str, q: str, knobs: Mapping[str, Any], **_: Any) -> Given:
        """What it gives back, with what was retrieved for it."""
        heard = Heard()
        config = {"callbacks": [heard], "metadata": {"qid": qid}}
        return self._read(self._runnable.invoke(self._input(q, knobs), config=config), heard)

    def _input(self, q: str, knobs: Mapping[str, Any]) -> Any:
        if not self._key:
            return q
        own = {name: knobs[name] for name in self._names if name in knobs}
        empty: dict[str, Any] = {name: [] for name in self._names if name in _HISTORY and not self._is_graph}
        asked = [{"role": "user", "content": q}] if self._key == "messages" else q
        return empty | own | {self._key: asked}

    def _read(self, given: Any, heard: "Heard") -> Given:
        usage = heard.usage or None
        if isinstance(given, Mapping):
            name = next((key for key in _ANSWER if given.get(key) is not None), None)
            text = given[name] if name else _last_message(given.get("messages"))
            held = next((key for key in _DOCUMENTS if _are_documents(given.get(key))), None)
            if text is None:
                keys = ", ".join(map(str, given))
                raise Refused(f"expected one of {', '.join(_ANSWER)}, got {clip(keys, 200) or 'nothing'}", ".answer")
            if held is not None:
                return Given(text, given[held], None, usage, None, (name or "messages", held, "citations"))
            return Given(text, heard.documents, None, usage, None, (name or "messages", "the retriever", "citations"))
        if _are_documents(given):
            raise Refused("expected an answer, got documents: a retriever alone gives none", ".answer")
        text = given if isinstance(given, str) else getattr(given, "content", None)
        said = text if isinstance(text, str) else ""
        if not heard.retrieved and not self._is_graph and not reads_like_refusal(trim_fold(str.__str__(said))):
            raise Refused(_UNHEARD, ".documents")
        return Given(given, heard.documents, None, usage, None, ("the text", "the retriever", "citations"))


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


def _are_documents(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(hasattr(one, "page_content") for one in value)


def _last_message(value: Any) -> Any:
    """The last thing that a graph of messages says."""
    return value[-1] if isinstance(value, list) and value else None


class Heard:
    """A callback that hears what retrievers gave back and what models used.

    It answers to every event: LangChain calls what a handler has, and asks each handler what it ignores.
    """

    raise_error = False
    run_inline = True

    def __init__(self) -> None:
        self.retrieved: list[tuple[Any, list[Any]]] = []
        """What each retriever gave back, in the order in which they ended."""
        self._parents: dict[Any, Any] = {}
        self._retrievers: set[Any] = set()
        self._lists: list[tuple[Any, list[Any]]] = []
        """Lists of documents that other steps gave back since."""
        self._calls: list[dict[str, Any]] = []
        self._one = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("ignore_"):
            return name == "ignore_custom_event"
        if name.startswith("on_"):
            return self._begun if name.endswith("_start") else _nothing
        raise AttributeError(name)

    def _begun(self, *_: Any, run_id: Any = None, parent_run_id: Any = None, **__: Any) -> None:
        with self._one:
            self._parents[run_id] = parent_run_id

    def on_retriever_start(self, *_: Any, run_id: Any = None, parent_run_id: Any = None, **__: Any) -> None:
        """A retrieval begins."""
        self._begun(run_id=run_id, parent_run_id=parent_run_id)
        with self._one:
            self._retrievers.add(run_id)

    def on_retriever_end(self, documents: Any, *, run_id: Any = None, **_: Any) -> None:
        """Documents were found."""
        with self._one:
            self.retrieved.append((run_id, list(documents)))

    def on_chain_end(self, outputs: Any, *, run_id: Any = None, **_: Any) -> None:
        """A step gave something back: documents, where it ranks or picks them."""
        if _are_documents(outputs) and outputs:
            with self._one:
                self._lists.append((run_id, list(outputs)))

    def on_llm_end(self, response: Any, **_: Any) -> None:
        """A model has answered."""
        generations = getattr(response, "generations", None) or [[]]
        message = getattr(generations[0][0], "message", None) if generations[0] else None
        with self._one:
            self._calls.append(usage_of(message))

    @property
    def usage(self) -> dict[str, Any]:
        """The tokens of all model calls together."""
        return together(self._calls)

    @property
    def documents(self) -> list[Any]:
        """What the model saw: the lists of the outermost retrievers, or what a later step made of them."""
        outer = [found for run, found in self.retrieved if not self._inside(run)]
        texts = [{one.page_content for one in found} for found in outer]
        known: set[str] = set().union(*texts)
        run: Any
        last: list[Any]
        for run, last in reversed(self._lists):
            seen = {one.page_content for one in last}
            if not self._inside(run) and seen <= known and sum(bool(seen & one) for one in texts) == len(texts):
                return last
        return [one for found in outer for one in found]

    def _inside(self, run: Any) -> bool:
        """Whether a step is a part of a retrieval."""
        while (run := self._parents.get(run)) is not None:
            if run in self._retrievers:
                return True
        return False


def _nothing(*_: Any, **__: Any) -> None:
    """What is not listened to."""
