"""A history to look at: gates over the bundled handbook, at several commits, some better and some worse."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ragworthy
from conftest import run_cli, write_jsonl

EXAMPLES = Path(ragworthy.__file__).parent / "examples"
POLICY = """version = 1
baseline = "history:main"

[history]
eval = "eval"

[answers]
gold = "gold.jsonl"
traces = "runs/traces.jsonl"
corpus = "chunks.jsonl"

[[gate]]
metric = "answers.precision"
min = 0.80
why = "what we ship must be right"

[[gate]]
metric = "answers.precision"
max_drop = 0.02
optional = true
"""
COMMITS = ("a1" * 20, "b2" * 20, "c3" * 20, "d4" * 20)


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (EXAMPLES / name).read_text(encoding="utf-8").splitlines()]


def lay(folder: Path) -> Path:
    """A policy with its gold set and its texts; no run yet."""
    (folder / "runs").mkdir(parents=True)
    for name in ("gold.jsonl", "chunks.jsonl"):
        (folder / name).write_bytes((EXAMPLES / name).read_bytes())
    policy = folder / "ragworthy.toml"
    policy.write_text(POLICY)
    return policy


def gated(folder: Path, commit: str, worse: Sequence[int] = (), run: str = "") -> None:
    """A run of a commit in which these questions are answered as by the regressed index."""
    good, bad = records("runs/candidate.jsonl"), records("runs/regressed.jsonl")
    traces = [bad[nth] if nth in worse else one for nth, one in enumerate(good)]
    write_jsonl(folder / "runs/traces.jsonl", [one | {"note": run} for one in traces])
    kept = ("--store", folder / ".ragworthy/history.db", "--commit", commit)
    done = run_cli("gate", "-q", "-c", folder / "ragworthy.toml", *kept)
    assert done.code in (0, 1, 3, 4), done.out + done.err


def blessed(folder: Path, run: str) -> None:
    signed = ("--by", "Ada Byron", "--reason", "three runs, the middle one")
    done = run_cli("history", "bless", run, *signed, "-c", folder / "ragworthy.toml")
    assert done.code == 0, done.out + done.err


def runs_of(folder: Path) -> list[str]:
    """Oldest first."""
    done = run_cli("history", "list", "--format", "json", "-c", folder / "ragworthy.toml")
    assert done.code == 0, done.err
    return [one["run"] for one in json.loads(done.out)["runs"]]


def history(folder: Path) -> list[str]:
    """Three runs of a commit, the second one blessed, and three later commits: worse, worse still, better again."""
    lay(folder)
    for nth, worse in enumerate(((), (3,), (5, 9))):
        gated(folder, COMMITS[0], worse, run=str(nth))
    blessed(folder, runs_of(folder)[1])
    gated(folder, COMMITS[1], range(0, 72, 4))
    gated(folder, COMMITS[2], range(72))
    gated(folder, COMMITS[3], run="later")
    return runs_of(folder)
