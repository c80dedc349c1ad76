"""Shared by all tests: the command line in-process, JSONL files, the sources' own example (seed000 §1)."""

import contextlib
import gc
import io
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from places import SHARED
from ragworthy.cli.main import main
from ragworthy.history.commit import VARIABLES

# pytest loads this file as `tests.conftest`; type checkers know it as `conftest`. Both names are this module.
sys.modules.setdefault("conftest", sys.modules[__name__])

os.environ["RAGWORTHY_STORE"] = "off"  # gates keep their runs only where a test is about that: tests/history
for _name in VARIABLES:  # a gate says which commit it judged: not that of a build server
    os.environ.pop(_name, None)

for _name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):  # what is printed depends on them
    os.environ.pop(_name, None)

collect_ignore = [
    "servers/rude_callables.py",
    "frameworks/ways",
    "frameworks/inside",
    "frameworks/targets",
    "peers/inside",
    "spark/inside",
]
"""Modules that do harm when they are imported, on purpose, and those that need the frameworks or other tools."""
ABSENT = {
    "SKIPPED: ../shared": "../shared and were skipped",
    "make frameworks": "LangChain, LlamaIndex and Haystack and were skipped: make frameworks",
    "make peers": "ragas and DeepEval and were skipped: make peers",
    "make real-model": "a real language model and were skipped: make real-model",
    "no chromium": "a browser and were skipped: apt-get install chromium",
    "no Spark": "Spark and were skipped: make test, and apt-get install openjdk-17-jre-headless",
    "make browser": "axe-core and were skipped: make browser",
}
"""What a skip says, and what the last lines of a run say of all of its kind."""

Row = dict[str, Any]


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Cli = Callable[..., Done]


def run_cli(*args: object) -> Done:
    """Run one command in this process; an exit of the argument parser becomes its code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Done(code, out.getvalue(), err.getvalue())


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Rows as JSON lines; gives the path back."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def cli() -> Cli:
    return run_cli


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `data` name what they need of ../shared; where it is absent they are skipped, and say so."""
    for item in items:
        needed = [name for marker in item.iter_markers("data") for name in marker.args or (".",)]
        absent = [(Path("../shared") / name).as_posix() for name in needed if not (SHARED / name).exists()]
        if absent:
            item.add_marker(pytest.mark.skip(reason=f"SKIPPED: {', '.join(absent)} is absent"))


def pytest_collection_finish() -> None:
    """What was collected stays: the collector need not walk over it again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    """Below the list of what was skipped: how many tests need what is not here."""
    yield
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    for mark, needed in ABSENT.items():
        if count := sum(mark in one for one in skipped):
            terminalreporter.write_line(f"{count} tests need {needed}", yellow=True, bold=True)


def G1() -> Row:
    return {
        "qid": "A0001",
        "question": "Does X support null keys?",
        "answerable": True,
        "gold_claim_substr": ["rejects null keys"],
        "gold_citations": ["p1#2"],
        "constraints": ["X rejects null keys."],
    }


def G2() -> Row:
    return {
        "qid": "A0002",
        "question": "Explain Z.",
        "answerable": False,
        "gold_claim_substr": [],
        "gold_citations": [],
    }


def G3() -> Row:
    return {
        "qid": "A0003",
        "question": "What domain is allowed?",
        "answerable": True,
        "gold_claim_substr": ["only domain example.com"],
        "gold_citations": ["pB#1"],
    }


def T1() -> Row:
    return {
        "qid": "A0001",
        "q": "Does X support null keys?",
        "retrieved_ids": ["p1#1", "p1#2", "p2#1"],
        "answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]},
    }


def T2() -> Row:
    return {
        "qid": "A0002",
        "q": "Explain Z.",
        "retrieved_ids": ["p1#1", "p2#1"],
        "answer_json": {"claim": "not in context", "citations": []},
    }


def T3() -> Row:
    return {
        "qid": "A0003",
        "q": "What domain is allowed?",
        "retrieved_ids": ["pB#1", "p1#2"],
        "answer_json": {"claim": "Only domain example.com is allowed.", "citations": ["pB#1"]},
    }
