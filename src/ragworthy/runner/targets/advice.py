"""What is said of an object that cannot be asked as it is: what it lacks, and the lines to write around it."""

from typing import Any

from ragworthy.errors import Problem, UsageError
from ragworthy.text import clip

_MAKES_ENGINE = "as_query_engine"


def unknown(found: Any, name: str, where: str) -> UsageError:
    """The error for an object that is neither a callable nor of a framework that is known."""
    message = f"expected a callable, a chain, a query engine or a pipeline, got {clip(type(found).__name__, 80)}"
    advice = _lines(name)
    if callable(getattr(found, _MAKES_ENGINE, None)):
        advice = f"  engine = {name}.{_MAKES_ENGINE}()  # and --target {where}:engine"
    return UsageError([Problem("RW-J14", message, f"{where}:{name}")], advice=advice)


def unfit_input(name: str, expected: str, got: str, call: str) -> UsageError:
    """The error for an object of a framework whose inputs are not known."""
    advice = _lines(f"{name.rpartition(':')[2]}.{call}")
    return UsageError([Problem("RW-J13", f"expected {expected}, got {got}", name)], advice=advice)


def _lines(source: str) -> str:
    lines = ("import ragworthy as rw", "def answer(question):", f"    return rw.reply(text, documents)  # of {source}")
    return "\n".join(f"  {line}" for line in lines)
