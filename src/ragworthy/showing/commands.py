"""How to go on from a question: commands that work where this one was run, and no others."""

from collections.abc import Sequence
from pathlib import Path

from ragworthy.flow import Request
from ragworthy.index.found import MANIFEST
from ragworthy.metrics.registry import all_metrics
from ragworthy.report.sheet import Sheet
from ragworthy.safe import shell
from ragworthy.suites import SUITES

MOST = 3
"""Metrics that are offered for explanation."""


def commands_of(request: Request, sheet: Sheet, bad: Sequence[str]) -> list[str]:
    """What to run next: what the cause means, look at the index, fix the gold set, read what metrics mean."""
    if sheet.good:
        return []
    cause = [command("ragworthy", "explain", sheet.cause)] if sheet.cause else []
    return [*cause, *_of_index(request, sheet), *_of_gold(request, sheet), *_of_metrics(bad)]


def command(*words: str | Path) -> str:
    """Words as a shell takes them.

    >>> command("ragworthy", "show", "q 1")
    "ragworthy show 'q 1'"
    """
    return shell(map(str, words))


def _of_index(request: Request, sheet: Sheet) -> list[str]:
    corpus = request.get("corpus")
    if not isinstance(corpus, (str, Path)) or not sheet.question or not (Path(corpus) / MANIFEST).is_file():
        return []
    question = ["--", sheet.question] if sheet.question.startswith("-") else [sheet.question]
    return [command("ragworthy", "index", "search", corpus, *question)]


def _of_gold(request: Request, sheet: Sheet) -> list[str]:
    declared = SUITES[request.suite].by_role("gold")
    gold = request.get(declared.key) if declared is not None else None
    corpus = request.get("corpus")
    if not isinstance(gold, (str, Path)):
        return []
    beside = ["--corpus", str(corpus)] if isinstance(corpus, (str, Path)) else []
    definition = request.get("definition")
    shape = ["--definition", str(definition)] if definition is not None else []
    found = [command("ragworthy", "gold", "lint", gold, *beside, *shape)]
    if sheet.expected.evidence and beside:
        path = Path(gold)
        bound = path.with_name(f"{path.name.split('.')[0]}.bound.jsonl")
        found.append(command("ragworthy", "gold", "bind", gold, *beside, "-o", bound))
    return found


def _of_metrics(bad: Sequence[str]) -> list[str]:
    known = all_metrics()
    names = dict.fromkeys(name.partition("@")[0] for name in bad)
    return [command("ragworthy", "explain", name) for name in names if name in known][:MOST]
