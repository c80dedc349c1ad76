"""A gate keeps its run by itself: in the store, and in the folder of the last report where the policy names one."""

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ragworthy.comparison.likeness import told_of
from ragworthy.files import check_inside, check_ours, write_whole
from ragworthy.history.sealing import HEAD, PREVIOUS, STORE
from ragworthy.history.taken import gold_of
from ragworthy.names import REPORT_SCHEMA
from ragworthy.safe import json_text

if TYPE_CHECKING:
    from ragworthy.history.store import Added, Store

LAST, REPORT, LINES = "last_report.json", "report.md", "history.jsonl"
"""The last run for programs, the last run for people, and every run, one line each."""


def line_of(added: "Added") -> str:
    """What is said of a run that was kept."""
    nth = added.attempt.number
    on = "this gold set and commit" if added.attempt.commit else "this gold set, commit unknown"
    said = f"attempt {nth} on {on}" if added.new else f"kept before, as attempt {nth} on {on}"
    return f"history: run {added.run} ({said})"


# the folder of the last report


def eval_files(policy: Path, folder: str) -> list[Path]:
    """The files in the folder that a policy names; they stay inside the policy's and replace nothing but our own."""
    home = policy.parent / folder
    paths = [home / name for name in (LAST, REPORT, LINES)]
    for path, mark in zip(paths, (REPORT_SCHEMA.encode(), b"Ragworthy: ", b'"run":'), strict=True):
        check_inside(path, policy.parent, "the folder of the last report")
        check_ours(path, partial(_is_ours, mark))
    return paths


def _is_ours(mark: bytes, data: bytes) -> bool:
    return not data or mark in data


def line_place(folder: str) -> str:
    """How the ledger names the file that got a line, from the folder of the policy on."""
    return PurePosixPath(folder, LINES).as_posix()


def write_eval(
    paths: Sequence[Path], report: Mapping[str, Any], markdown: str, entry: Mapping[str, Any] | None
) -> None:
    """The last report, for programs and for people, and a line that is added to those of all runs; none for a run that
    has one.
    """
    last, told, lines = paths
    write_whole(last, json_text(report).encode())
    write_whole(told, markdown.encode())
    if entry is not None:
        append(lines, entry)


def entry_of(report: Mapping[str, Any], added: "Added", at: str, previous: str | None) -> dict[str, Any]:
    """The line of a run, as far as it is known when the run is kept; `previous` is the hash of the line before it."""
    attempt = added.attempt
    numbers = {
        name: {key: one.get(key) for key in ("num", "den", "value")}
        for body in report["suites"].values()
        for name, one in body["metrics"].items()
    }
    return {
        "run": added.run,
        "at": at,
        "commit": attempt.commit or None,
        "made": {suite: told for suite, body in report["suites"].items() if (told := told_of(body))},
        "gold_sha256": gold_of(report) or None,
        "gates_sha256": report["provenance"].get("policy", {}).get("sha256"),
        "verdict": report["verdict"],
        "pass": report["verdict"] == "SHIP",
        "attempt": attempt.number,
        "baseline": None,
        "metrics": numbers,
        PREVIOUS: previous,
    }


def blessing_of(run: str, at: str, told: Mapping[str, str], previous: str | None) -> dict[str, Any]:
    """The line of a blessing."""
    return {
        "run": run,
        "at": at,
        "baseline": told["name"],
        "by": told["by"],
        "reason": told["reason"],
        PREVIOUS: previous,
    }


def with_ledger(entry: Mapping[str, Any], store: "Store") -> dict[str, Any]:
    """A line with the hashes of the ledger by then, the first and the last: with them, what is removed is found."""
    return {**entry, STORE: store.root(), HEAD: store.head()}


def append(path: Path, entry: Mapping[str, Any]) -> None:
    """Add a line; what is there is never changed. A line that was cut off stays, and the new one begins a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    if path.exists():
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                data = b"\n" + data
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
