"""`init`."""

import argparse
from pathlib import Path

from ragworthy import starter
from ragworthy.cli.say import print
from ragworthy.errors import usage_error
from ragworthy.names import Exit

FILES = ("gold", "trace", "runs", "questions", "outputs", "provenance", "pairs", "corpus")


def init(given: argparse.Namespace) -> int:
    """Write the files to start from, or a policy for files that are there, or a stub for a pipeline."""
    named = {name: Path(path) for name in FILES if (path := getattr(given, name)) is not None}
    folder = Path(given.folder)
    if given.adapter:
        return _adapter(folder, given.adapter, named.get("gold"))
    if named:
        return _own(folder, named, given.suite)
    if given.suite:
        raise usage_error("--suite: expected files of that suite, got none: see 'ragworthy init --help'")
    laid = starter.init(Path(given.folder))
    for path in (laid.policy, laid.gold, *laid.traces):
        print(f"wrote {path}")
    where = "" if given.folder == "." else f" -c {laid.policy}"
    print(f"next: ragworthy gate{where}")
    return int(Exit.SHIP)


def _own(folder: Path, named: dict[str, Path], suite: str | None) -> int:
    """A policy for files that are there already."""
    from ragworthy.prefill import policy_for

    target = folder / "ragworthy.toml"
    if target.exists():
        raise usage_error(f"{target}: already there", code="RW-U03")
    made = policy_for(named, folder, suite=suite)
    starter.write_new({target: made.text})
    print(f"wrote {target} ({made.suite})")
    for note in made.notes:
        print(f"note: {note}")
    where = "" if folder == Path() else f" -c {target}"
    if made.suite == "answers" and "trace" not in named:
        print(f"next: ragworthy run --target MODULE:FUNCTION --gold {named['gold']} --out {folder / 'runs/latest'}")
        print("      (ragworthy init --adapter python writes such a function)")
    print(f"next: ragworthy gate{where}")
    return int(Exit.SHIP)


def _adapter(folder: Path, kind: str, gold: Path | None) -> int:
    """A stub that connects a pipeline."""
    path, target = starter.adapter(folder, kind)
    print(f"wrote {path}")
    asked = gold or folder / "gold/answers.jsonl"
    print(f"next: put your pipeline into it, then: ragworthy run --target {target} --gold {asked} --out runs/latest")
    return int(Exit.SHIP)
