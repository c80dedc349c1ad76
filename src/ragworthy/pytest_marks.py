"""What the markers and fixtures of the pytest plugin may say, so that none is a wish that nobody hears."""

import difflib
import inspect
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any
from unittest import TestCase

from ragworthy import api
from ragworthy.api_run import run
from ragworthy.errors import Problem, RagworthyError, UsageError
from ragworthy.given import inputs_by_name, settings_by_name
from ragworthy.suites import SUITES
from ragworthy.text import clip

OF_RUN = frozenset(inspect.signature(run).parameters) - {"target", "gold", "out", "resume", "progress"}
"""Keywords of a run that a marker can set."""
_OF_SCORE = frozenset(inspect.signature(api.score).parameters) - {"suite", "given"}
_OF_MARKER = frozenset({"policy", "gold", "target", "traces", "must_pass"})
_ONE_EACH = ("ragworthy_question", "ragworthy_gates")
MARKERS = ("ragworthy", *_ONE_EACH)
_HEARS = frozenset({"ragworthy_result", *_ONE_EACH})
"""The fixtures that do what the marker `ragworthy` says."""


def check_keywords(given: Mapping[str, Any]) -> None:
    """Refuse what neither the marker nor what it calls would take."""
    suite = SUITES["answers"]
    known = {*_OF_MARKER, *OF_RUN, *_OF_SCORE, *inputs_by_name(suite), *settings_by_name(suite)}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), 1)
            meant = f": did you mean {near[0]}?" if near else ""
            message = f'expected a keyword of the marker, of rw.run or of rw.score("answers"), got {name}{meant}'
            raise UsageError([Problem("RW-U11", message, "ragworthy", name)])


def keywords(marker: Any) -> dict[str, Any]:
    """The keywords of a marker, which has nothing else."""
    for one in marker.args:
        got = clip(f'"{one}"' if isinstance(one, str) else repr(one), 80)
        write = f": write policy={got}" if isinstance(one, str) else ""
        raise UsageError([Problem("RW-U11", f"expected keywords, got {got}{write}", marker.name)])
    return dict(marker.kwargs)


def options_of(given: Any) -> dict[str, Any]:
    """What the fixture `ragworthy_options` gives: keywords of a run."""
    where = "ragworthy_options"
    if given is None:
        message = "expected keywords of rw.run, got None: does the fixture return them?"
        raise UsageError([Problem("RW-U10", message, where)])
    for name in given:
        if name not in OF_RUN:
            message = f"expected a keyword of rw.run that a session can set, got {name}"
            raise UsageError([Problem("RW-U11", message, where)])
    return dict(given)


def no_target(where: str) -> UsageError:
    """The error for a pipeline that was named and is not there."""
    does = ": does the fixture return it?" if where == "ragworthy_target" else ""
    return UsageError([Problem("RW-U10", f"expected a pipeline, got None{does}", where)])


# tests that are collected


def check(
    collector: Any, found: Sequence[Any], known: Container[str], how: Callable[[dict[str, Any]], object]
) -> list[str]:
    """What is wrong with the markers of the tests in a module or a class, in lines; nothing where all is well.

    `found` is all that the collector has; `known` are the markers that somebody made known to pytest.
    """
    tests = {one.nodeid.partition("[")[0]: one for one in found if hasattr(one, "runtest")}
    problems = {str(one): one for name, test in tests.items() for one in _wrong(name, test, known, how)}
    if not problems and _own(collector) and len(tests) == len({one.nodeid.partition("[")[0] for one in found}):
        problems |= {str(one): one for one in _unheard(collector.nodeid, list(tests.values()))}
    return UsageError(problems.values()).lines() if problems else []


def _own(node: Any) -> bool:
    return any(marker.name == "ragworthy" for marker in node.own_markers)


def _unheard(name: str, tests: Sequence[Any]) -> Iterator[Problem]:
    if tests and not any(map(_hears, tests)):
        yield Problem("RW-U12", "expected a test that does what the marker ragworthy says, got none", name)


def _hears(test: Any) -> bool:
    return not _HEARS.isdisjoint([*getattr(test, "fixturenames", ()), *(one.name for one in test.iter_markers())])


def _wrong(name: str, test: Any, known: Container[str], how: Callable[[dict[str, Any]], object]) -> Iterator[Problem]:
    ours = [marker for marker in test.iter_markers() if marker.name.startswith("ragworthy")]
    for marker in ours:
        if marker.name not in known:
            yield _misspelt(name, marker.name)
    names = {marker.name for marker in ours if marker.name in MARKERS}
    if names.isdisjoint(MARKERS):
        return
    cls = getattr(test, "cls", None)
    if names & {*_ONE_EACH} and isinstance(cls, type) and issubclass(cls, TestCase):
        message = "expected a function or a method of a class of its own, got one of unittest.TestCase"
        yield Problem("RW-U12", message, name, min(names & {*_ONE_EACH}))
    elif not _hears(test) and "ragworthy_gate" in getattr(test, "fixturenames", ()):
        message = "expected ragworthy_result, got ragworthy_gate, which is the result of the policy, not of the marker"
        yield Problem("RW-U12", message, name)
    elif not _hears(test) and _own(test):
        yield Problem("RW-U12", "expected a test that does what the marker ragworthy says, got none", name)
    else:
        yield from _said(name, test, how)


def _misspelt(name: str, marker: str) -> Problem:
    fixture = ", which is a fixture: take it as an argument" if marker == "ragworthy_gate" else ""
    return Problem("RW-U11", f"expected one of the markers {', '.join(MARKERS)}, got {marker}{fixture}", name)


def _said(name: str, test: Any, how: Callable[[dict[str, Any]], object]) -> Iterator[Problem]:
    """What the closest marker says; those of questions and gates were heard when their tests were made."""
    if "ragworthy_result" not in getattr(test, "fixturenames", ()):
        return
    try:
        marker = test.get_closest_marker("ragworthy")
        how(keywords(marker) if marker is not None else {})
    except RagworthyError as error:
        for problem in error.problems:
            yield problem._replace(where=f"{name}: {problem.where}" if problem.where else name)
