"""What a run leaves in its folder, and whether results that lie there are those of a run that has ended.

A gate looks at every folder that it reads traces from, so nothing that asks a pipeline is loaded here.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import DataError, data_error
from ragworthy.files import open_input, read_bytes, sha256_of

JOURNAL, JOURNAL_SCHEMA = "journal.jsonl", "ragworthy.journal/1"
SCHEMA = "ragworthy.run/1"
TRACES, TIMINGS, CHUNKS, SUMMARY = "traces.jsonl", "timings.jsonl", "chunks.jsonl", "run.json"
FILES = (TRACES, TIMINGS, CHUNKS, SUMMARY)
OUTPUTS = "outputs.jsonl"
"""What is written instead of traces where questions have structured answers."""
OUTPUT_FILES = (OUTPUTS, TIMINGS, SUMMARY)
DEV = f"dev/{OUTPUTS}"
"""The outputs of a dev subset, in a folder of their own: the run beside them has not ended."""
_HASHES = {TRACES: "traces_sha256", OUTPUTS: "outputs_sha256"}
"""Under which key of its summary a run has the hash of what it wrote."""
_STEP = 1 << 20


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a journal belongs to."""

    schema: str = JOURNAL_SCHEMA
    target: str
    gold_sha256: str
    config_id: str
    plan_sha256: str
    asks: int
    about: dict[str, str] = {}
    """What decides the answers of the target besides its knobs."""
    settings: dict[str, str] = {}
    """What was chosen by hand, to say what differs where the plans do."""


def made_by(summary: Mapping[str, Any]) -> str:
    """Which file a run wrote, by what it says of itself: traces, or outputs."""
    return OUTPUTS if _HASHES[OUTPUTS] in summary else TRACES


def check_beside(traces: Path, gold: Path) -> None:
    """Refuse traces when a run that has not ended, or a run over the same gold set with other traces, lies beside them.

    Only what the files say counts: the times of files change when a repository is checked out or an artifact unpacked.
    """
    folder = traces.parent
    summary = _summary(folder / SUMMARY)
    if (folder / JOURNAL).is_file():
        _check_ended(folder / JOURNAL, summary)
    key = _HASHES.get(traces.name)
    if key is not None and summary.get(key) not in (None, _hash(traces)):
        message = "expected what the run in this folder wrote, got other bytes: run again, or take another folder"
        raise data_error("RW-J08", message, where=str(traces))
    ours = made_by(summary)
    overtaken = bool(summary) and traces.name != ours and (folder / ours).is_file() and gold.is_file()
    if overtaken and summary.get("gold", {}).get("sha256") == sha256_of(gold):
        message = f"expected {ours}, which the run in this folder wrote over the same gold set, got another file"
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
