"""The acts of the demo, each scored and written; what is printed of them is the command's matter."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ragworthy import flow, receipts, starter
from ragworthy.corpus.migration import table_bytes
from ragworthy.files import write_whole
from ragworthy.gold import commands
from ragworthy.index import build as indexing
from ragworthy.index.store import open_index
from ragworthy.names import DEFAULT_MODEL, Cause
from ragworthy.policy.read import load_policy
from ragworthy.report import receipt
from ragworthy.runner.retrieve import How, traces, wordings, write_traces
from ragworthy.suites import SUITES

EVERY = 3
"""Each third answer gets the planted defect."""
SUFFIXES = ("html", "md", "json", "xml")
RELEASE, DEFECT, SHADOW = "candidate", "defect", "shadow"
GATE = """
[[gate]]
metric = "answers.precision"
max_drop = 0.02
why = "no worse than the release"
"""
"""What holds besides, where there is a release to compare with."""
Told = Callable[[str], None]


class Act(NamedTuple):
    """One release that was judged."""

    name: str
    """What its files begin with."""
    run: flow.Run
    requests: Sequence[flow.Request]
    files: Sequence[Path]
    """The reports and the receipt."""


class Planted(NamedTuple):
    """The same release with a defect."""

    act: Act
    answers: int
    """How many answers have it."""
    qid: str
    """A question that it broke, the shortest one."""


def lay(folder: Path) -> None:
    """Write the bundled example, with its gold set frozen."""
    laid = starter.demo(folder)
    commands.freeze(laid.gold, signers=["demo"], reason="the bundled gold set", now="2026-01-01T00:00:00Z")


def release(folder: Path, name: str = RELEASE) -> Act:
    """Gate the recorded run of a release."""
    return _gated(folder, name)


def defect(folder: Path) -> Planted:
    """Gate the release again, after a defect was planted into its answers; the release is the baseline."""
    count = _plant(folder)
    policy = (folder / f"{RELEASE}.toml").read_text(encoding="utf-8").replace(f"runs/{RELEASE}", f"runs/{DEFECT}")
    first = f'version = 1\nbaseline = "{RELEASE}.report.json"   # each question is compared with the release\n'
    write_whole(folder / f"{DEFECT}.toml", (policy.replace("version = 1\n", first, 1) + GATE).encode())
    act = _gated(folder, DEFECT)
    offenders = [one for one in act.run.report["suites"]["answers"]["offenders"] if one["cause"] == Cause.OUT_OF_SCOPE]
    return Planted(act, count, min(offenders, key=lambda one: len(one["claim"]) + len(one["question"]))["qid"])


def _plant(folder: Path) -> int:
    """Let every third answer cite the chunk behind the one that it used, as a counter does that begins at one instead
    of nought; tells how many do.
    """
    known = {json.loads(line)["chunk_id"] for line in _lines(folder / "chunks.jsonl")}
    lines, answers, planted = [], 0, 0
    for line in _lines(folder / f"runs/{RELEASE}.jsonl"):
        trace = json.loads(line)
        cited = trace["answer_json"]["citations"]
        answers += bool(cited)
        if cited and answers % EVERY == 0:
            planted += 1
            trace["answer_json"]["citations"] = [_next(chunk, known) for chunk in cited]
        lines.append(json.dumps(trace, ensure_ascii=False))
    write_whole(folder / f"runs/{DEFECT}.jsonl", ("\n".join(lines) + "\n").encode())
    return planted


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _next(chunk: str, known: set[str]) -> str:
    """The chunk behind a chunk; behind the last one of a document, its first.

    >>> _next("buckets#2", {"buckets#1", "buckets#2", "buckets#3"}), _next("buckets#3", set())
    ('buckets#3', 'buckets#1')
    """
    document, _, number = chunk.rpartition("#")
    after = f"{document}#{int(number) + 1}"
    return after if after in known else f"{document}#1"


def shadow(folder: Path, tell: Told) -> Act:
    """Build the index in use and a new one, ask both the same questions, and compare."""
    laid = starter.shadow(folder)
    for name, docs in (("live", laid.live_docs), ("shadow", laid.shadow_docs)):
        tell(f"building the {name} index")
        indexing.build(docs, folder / "index" / name, dense=DEFAULT_MODEL)
        tell(f"asking the {name} index")
        asked = wordings(laid.all_questions)
        write_traces(folder / f"runs/{name}.jsonl", traces(open_index(folder / "index" / name), asked, How()))
    tell("comparing both")
    table = indexing.redirects(folder / "index/live", folder / "index/shadow")
    write_whole(folder / "redirects.json", table_bytes(table))
    return _gated(folder, SHADOW)


def _gated(folder: Path, name: str) -> Act:
    requests = flow.from_policy(load_policy(folder / f"{name}.toml", SUITES, today=None), keep_rows=True)
    run = flow.score_all(requests)
    return Act(name, run, requests, write(folder, name, run, requests))


def write(folder: Path, name: str, run: flow.Run, requests: Sequence[flow.Request]) -> list[Path]:
    """Every report of a run, and its receipt."""
    files = [folder / f"{name}.report.{suffix}" for suffix in SUFFIXES]
    for path in files:
        flow.write(path, run)
    proof = folder / f"{name}.receipt.json"
    receipt.write(proof, receipts.make(run, requests, folder))
    return [*files, proof]
