"""A callback of LangChain that hears what retrievers gave back, what models were asked, and what they used."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from ragworthy.adapters.prompted import Call, Seen, beside, outermost, seen
from ragworthy.adapters.replies import usage_of
from ragworthy.adapters.shapes import parts_text
from ragworthy.adapters.tokens import together


class Interrupted(Exception):
    """A chain that raised, and what it had retrieved until then."""

    def __init__(self, error: Exception, documents: list[Any]) -> None:
        super().__init__(str(error))
        self.error = error
        self.documents = documents


def are_documents(value: Any) -> bool:
    """Whether a value is a list of documents."""
    return isinstance(value, list | tuple) and all(hasattr(one, "page_content") for one in value)


class _Retrieval:
    """A call of a retriever."""

    def __init__(self, parent: Any, start: int) -> None:
        self.parent = parent
        self.worker = worker()
        self.start = start
        self.end: int | None = None
        self.documents: list[Any] = []

    @property
    def call(self) -> Call:
        """The call without its documents."""
        texts = [one.page_content for one in self.documents]
        return Call(str(self.parent), self.start, self.end or self.start, texts, self.worker)


class Heard:
    """The callback. It answers to every event: LangChain calls what a handler has, and asks what it ignores."""

    raise_error = False
    run_inline = True

    def __init__(self) -> None:
        self._parents: dict[Any, Any] = {}
        self._names: dict[str, str] = {}
        self._retrievals: dict[Any, _Retrieval] = {}
        self._lists: list[tuple[Any, list[Any]]] = []
        """Lists of documents that other steps gave back since."""
        self._prompts: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._clock = 0
        self._one = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("ignore_"):
            return name == "ignore_custom_event"
        if name.startswith("on_"):
            return self._begun if name.endswith("_start") else _nothing
        raise AttributeError(name)

    def _begun(self, *_: Any, run_id: Any = None, parent_run_id: Any = None, name: Any = None, **__: Any) -> None:
        with self._one:
            self._parents[run_id] = parent_run_id
            self._names[str(run_id)] = str(name or "")

    def _now(self) -> int:
        self._clock += 1
        return self._clock

    def on_retriever_start(self, *_: Any, run_id: Any = None, parent_run_id: Any = None, **__: Any) -> None:
        """A retrieval begins."""
        self._begun(run_id=run_id, parent_run_id=parent_run_id)
        with self._one:
            self._retrievals[run_id] = _Retrieval(parent_run_id, self._now())

    def on_retriever_end(self, documents: Any, *, run_id: Any = None, **_: Any) -> None:
        """Documents were found."""
        with self._one:
            held = self._retrievals.setdefault(run_id, _Retrieval(self._parents.get(run_id), self._clock))
            held.documents = list(documents)
            held.end = self._now()

    def on_chain_end(self, outputs: Any, *, run_id: Any = None, **_: Any) -> None:
        """A step gave something back: documents, where it ranks or picks them."""
        if are_documents(outputs) and outputs:
            with self._one:
                self._lists.append((run_id, list(outputs)))

    def on_llm_start(self, _: Any, prompts: Sequence[Any], *, run_id: Any = None, **more: Any) -> None:
        """A model is asked, with texts."""
        self._asked("\n".join(map(str, prompts)), run_id, more.get("parent_run_id"))

    def on_chat_model_start(self, _: Any, messages: Sequence[Any], *, run_id: Any = None, **more: Any) -> None:
        """A model is asked, with messages."""
        said = [getattr(one, "content", "") for some in messages for one in some]
        texts = [one if isinstance(one, str) else parts_text(one) or "" for one in said]
        self._asked("\n".join(texts), run_id, more.get("parent_run_id"))

    def _asked(self, prompt: str, run: Any, parent: Any) -> None:
        """Keep a prompt, unless it is a part of a retrieval."""
        self._begun(run_id=run, parent_run_id=parent)
        here = worker()
        with self._one:
            within = any(one.end is None and one.worker == here for one in self._retrievals.values())
            if not within and not self._inside(run):
                self._prompts.append(prompt)

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
    def retrieved(self) -> bool:
        """Whether any retriever gave something back."""
        return any(one.end is not None for one in self._retrievals.values())

    @property
    def whatever(self) -> list[Any]:
        """Everything that the outermost retrievers gave back, the first to begin first."""
        return [one for held in self._outer().values() for one in held.documents]

    def seen(self, answer: str) -> tuple[Seen, list[Any]]:
        """What the model saw: what the outermost retrievers gave back, or a later step made of it, and the prompt."""
        outer = self._outer()
        later = self._later([held.documents for held in outer.values()])
        lists = [held.documents for held in outer.values()] if later is None else [later]
        calls = [held.call for held in outer.values()]
        above = [self._above(run) for run in outer]
        found = seen(
            [[one.page_content for one in some] for some in lists],
            self._prompts,
            answer,
            side_by_side=later is None and beside(calls, above, self._names),
        )
        return found, [lists[n][m] for n, m in found.picks]

    def _outer(self) -> dict[Any, _Retrieval]:
        runs = [run for run, one in self._retrievals.items() if one.end is not None and not self._inside(run)]
        calls = [self._retrievals[run].call for run in runs]
        return {runs[n]: self._retrievals[runs[n]] for n in outermost(calls, self._names)}

    def _later(self, lists: Sequence[Sequence[Any]]) -> list[Any] | None:
        """The last list that a step made of all that was retrieved."""
        texts = [{one.page_content for one in found} for found in lists]
        known: set[str] = set().union(*texts)
        run: Any
        last: list[Any]
        for run, last in reversed(self._lists):
            held = {one.page_content for one in last}
            if not self._inside(run) and held <= known and all(held & one for one in texts):
                return last
        return None

    def _above(self, run: Any) -> list[str]:
        found = []
        while (run := self._parents.get(run)) is not None:
            found.append(str(run))
        return found

    def _inside(self, run: Any) -> bool:
        """Whether a step is a part of a retrieval."""
        while (run := self._parents.get(run)) is not None:
            if run in self._retrievals:
                return True
        return False


def worker() -> str:
    """The task or thread that something runs in."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return f"thread {threading.get_ident()}" if task is None else f"task {id(task)}"


def _nothing(*_: Any, **__: Any) -> None:
    """What is not listened to."""
