"""Ragworthy decides whether a retrieval-augmented generation pipeline may ship.

    import ragworthy as rw
    result = rw.score("answers", gold="gold.jsonl", traces="traces.jsonl")
    print(result.verdict, result.metrics["answers.precision"].value)

Everything public is in `__all__`; the rest may change.
"""

from typing import TYPE_CHECKING, Any

from ragworthy.names import VERSION as __version__

if TYPE_CHECKING:
    from ragworthy.adapters import import_file
    from ragworthy.adapters.replies import reply
    from ragworthy.api import gate, score
    from ragworthy.api_run import Ran, run
    from ragworthy.comparing.result import Comparison, compare
    from ragworthy.errors import RagworthyError
    from ragworthy.metrics.registry import metric
    from ragworthy.names import Verdict
    from ragworthy.recorders.langchain import LangChainRecorder
    from ragworthy.recorders.spans import SpanRecorder
    from ragworthy.result import Result
    from ragworthy.runner.trace_writer import TraceWriter

__all__ = [
    "Comparison",
    "LangChainRecorder",
    "RagworthyError",
    "Ran",
    "Result",
    "SpanRecorder",
    "TraceWriter",
    "Verdict",
    "__version__",
    "compare",
    "gate",
    "import_file",
    "metric",
    "reply",
    "run",
    "score",
]

_HOME = {
    "Comparison": "ragworthy.comparing.result",
    "LangChainRecorder": "ragworthy.recorders.langchain",
    "RagworthyError": "ragworthy.errors",
    "Ran": "ragworthy.api_run",
    "Result": "ragworthy.result",
    "SpanRecorder": "ragworthy.recorders.spans",
    "TraceWriter": "ragworthy.runner.trace_writer",
    "Verdict": "ragworthy.names",
    "compare": "ragworthy.comparing.result",
    "gate": "ragworthy.api",
    "import_file": "ragworthy.adapters",
    "metric": "ragworthy.metrics.registry",
    "reply": "ragworthy.adapters.replies",
    "run": "ragworthy.api_run",
    "score": "ragworthy.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import ragworthy` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'ragworthy' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
