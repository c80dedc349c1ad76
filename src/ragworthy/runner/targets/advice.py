"""What is said of an object that cannot be asked as it is: what it lacks, and the lines to write around it."""

import inspect
from collections.abc import Callable
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


def unimportable(message: str, where: str, place: str) -> UsageError:
    """The error for code that cannot be imported: at which of its lines, or where it was looked for."""
    looked = "looked for in the working folder and where Python looks: is the name right, and the environment?"
    advice = f"  raised at: {place}" if place else f"  {looked}"
    return UsageError([Problem("RW-U01", f"{where}: {message}")], advice=advice, hint=lambda _: "")


def unnamed(name: str, where: str, module: Any, is_known: Callable[[Any], bool]) -> UsageError:
    """The error for a name that a module does not have; those that could be meant are listed.

    These are functions of the module's own, and objects that are known to be of a framework.
    """
    listed = [
        one
        for one, value in vars(module).items()
        if not one.startswith("_") and (_is_own(value, module) or (not isinstance(value, type) and is_known(value)))
    ]
    several = f"  it has {clip(', '.join(listed), 400)}" if listed else "  it has nothing that could be asked"
    problem = Problem("RW-U01", f"{where}:{name}: expected a callable, got nothing")
    return UsageError([problem], advice=several, hint=lambda _: "")


def _is_own(value: Any, module: Any) -> bool:
    return inspect.isroutine(value) and getattr(value, "__module__", None) == module.__name__


def unfit_input(name: str, expected: str, got: str, call: str) -> UsageError:
    """The error for an object of a framework whose inputs are not known."""
    advice = _lines(f"{name.rpartition(':')[2]}.{call}")
    return UsageError([Problem("RW-J13", f"expected {expected}, got {got}", name)], advice=advice)


def _lines(source: str) -> str:
    lines = ("import ragworthy as rw", "def answer(question):", f"    return rw.reply(text, documents)  # of {source}")
    return "\n".join(f"  {line}" for line in lines)
