"""Objects of frameworks as targets: a chain of LangChain, an engine of LlamaIndex, a pipeline of Haystack.

Nothing of a framework is imported: an object is known by the methods that it has. What cannot be known for sure is an
error that says which lines to write instead of a guess.
"""

import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from ragworthy.adapters.replies import Given
from ragworthy.errors import Problem, UsageError
from ragworthy.runner.contract import Options

Asked = Given | Awaitable[Given]
"""What an object of a framework gives back, at once or later."""
_RUNNABLE = ("invoke", "ainvoke", "batch")
_ENGINE = ("query", "aquery")
_CHAT = ("chat", "achat", "reset")
_PIPELINE = ("run", "inputs", "outputs", "add_component")


def framework_call(found: Any, name: str, options: Options) -> Callable[..., Asked] | None:
    """What to call for a question where an object is one of a framework; None for others, functions among them."""
    if isinstance(found, type) or inspect.isroutine(found):
        return None
    if options.prompt and is_known(found):
        message = "expected a target that takes a prompt, got an object of a framework, which has its own"
        raise UsageError([Problem("RW-U16", message, name)])
    if _has(found, _RUNNABLE):
        from ragworthy.runner.targets.langchain import Chain

        return _filled(Chain(found, name, _beside(found, options)), options)
    if _has(found, _PIPELINE):
        from ragworthy.runner.targets.haystack import Pipeline

        return _filled(Pipeline(found, name, options.names, options.asks), options)
    if _has(found, _ENGINE):
        return Engine(found)
    return ChatEngine(found) if _has(found, _CHAT) else None


def is_known(found: Any) -> bool:
    """Whether an object is one of a framework that can be asked."""
    return any(_has(found, names) for names in (_RUNNABLE, _PIPELINE, _ENGINE, _CHAT))


def _has(found: Any, names: tuple[str, ...]) -> bool:
    return all(callable(getattr(found, name, None)) for name in names)


def _beside(found: Any, options: Options) -> frozenset[str]:
    """The inputs of a chain that do not take the question; where a knob says which does, no other of a graph does."""
    if not options.asks:
        return options.names
    return (options.names | frozenset(map(str, getattr(found, "channels", ())))) - {min(options.asks)}


def _filled(call: Callable[..., Asked], options: Options) -> Callable[..., Asked]:
    """The same, with the question instead of every knob that stands for it."""
    if not options.asks:
        return call

    def filled(*, q: str, knobs: dict[str, Any], **rest: Any) -> Asked:
        return call(q=q, knobs=knobs | dict.fromkeys(options.asks & knobs.keys(), q), **rest)

    return filled


class Engine:
    """A query engine of LlamaIndex."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __call__(self, *, q: str, **_: Any) -> Given:
        """What it answers, with the nodes that it answered from."""
        return response_of(self._engine.query(q))


class ChatEngine:
    """A chat engine of LlamaIndex. It has one memory, so questions wait for each other and each begins without any."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._one = threading.Lock()

    def __call__(self, *, q: str, **_: Any) -> Given:
        """What it answers to a question that nothing was said before."""
        with self._one:
            return response_of(self._engine.chat(q, chat_history=[]))


def response_of(response: Any) -> Given:
    """A response of LlamaIndex; one that streams is read to its end."""
    if not isinstance(getattr(response, "response", None), str) and callable(getattr(response, "get_response", None)):
        response = response.get_response()
    nodes = list(getattr(response, "source_nodes", None) or ())
    return Given(response, nodes, names=("the response", "source_nodes", "citations"))
