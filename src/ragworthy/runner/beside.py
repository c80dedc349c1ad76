"""Traces that lie in the folder of a run: whether they are what that run wrote."""

from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import DataError, data_error
from ragworthy.files import open_input, read_bytes, sha256_of
from ragworthy.runner.journal import FILE, Header
from ragworthy.runner.results import SCHEMA, SUMMARY, TRACES

_STEP = 1 << 20


def check_beside(traces: Path, gold: Path) -> None:
    """Refuse traces when a run that has not ended, or a run over the same gold set with other traces, lies beside them.

    Only what the files say counts: the times of files change when a repository is checked out or an artifact unpacked.
    """
    folder = traces.parent
    summary = _summary(folder / SUMMARY)
    if (folder / FILE).is_file():
        _check_ended(folder / FILE, summary)
    if traces.name == TRACES and summary.get("traces_sha256") not in (None, _hash(traces)):
        message = "expected what the run in this folder wrote, got other bytes: run again, or take another folder"
        raise data_error("RW-J08", message, where=str(traces))
    overtaken = bool(summary) and traces.name != TRACES and (folder / TRACES).is_file() and gold.is_file()
    if overtaken and summary.get("gold", {}).get("sha256") == sha256_of(gold):
        message = f"expected {TRACES}, which the run in this folder wrote over the same gold set, got another file"
        raise data_error("RW-J08", message, where=str(traces))


def _hash(path: Path) -> str | None:
    return sha256_of(path) if path.is_file() else None


def _summary(path: Path) -> dict[str, Any]:
    """What a finished run says of itself; nothing where there is none."""
    if not path.is_file():
        return {}
    try:
        found = msgspec.json.decode(read_bytes(path), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return found if found.get("schema") == SCHEMA and isinstance(found.get("gold", {}), dict) else {}


def _check_ended(journal: Path, summary: dict[str, Any]) -> None:
    """Refuse the results of a folder whose journal holds a run that has not ended, or another one than they are of."""
    with open_input(journal) as file:
        first = file.read(_STEP).partition(b"\n")[0]
        file.seek(0)
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_STEP), b""))
    if not first:
        raise _unfinished(journal, "no reply")
    try:
        header = msgspec.json.decode(first, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return  # not the journal of a run: a file of the user's
    if lines - 1 < header.asks:
        raise _unfinished(journal, f"{max(lines - 1, 0):,} of {header.asks:,} replies")
    if summary.get("plan_sha256") != header.plan_sha256:
        raise _unfinished(journal, "no results, or those of another run")


def _unfinished(journal: Path, got: str) -> DataError:
    message = f"expected a run that has ended, got one with {got}: end it with --resume, or take another folder"
    return data_error("RW-J08", message, where=str(journal))
