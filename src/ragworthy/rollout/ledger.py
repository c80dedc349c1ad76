"""The file of a rollout: one line a move, each sealing the line before it. Lines are only ever added."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragworthy.errors import DataError, Problem, data_error, explained, usage_error
from ragworthy.files import read_bytes, sha256_of
from ragworthy.history.entries import canonical
from ragworthy.rollout.entries import SCHEMA, Entry, sealed
from ragworthy.rollout.lawful import unlawful
from ragworthy.rollout.stages import Move, Plan
from ragworthy.text import described

USUAL = ".ragworthy/rollout.jsonl"


class Ledger(NamedTuple):
    """The moves that are in a file, and what is wrong with it."""

    path: Path
    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()
    torn: bool = False
    """Whether the last line was cut off while it was written; it is not a move."""

    @property
    def head(self) -> str:
        """The hash of the last line. Whoever knows it can tell that lines were cut off the end."""
        return self.entries[-1].hash if self.entries else ""

    @property
    def last(self) -> Entry | None:
        """The last move."""
        return self.entries[-1] if self.entries else None

    @property
    def current(self) -> tuple[Entry, ...]:
        """The moves of the last rollout."""
        starts = [nth for nth, one in enumerate(self.entries) if one.move is Move.START]
        return self.entries[starts[-1] :] if starts else ()

    @property
    def plan(self) -> Plan:
        """What the last rollout was started with."""
        plan = self.current[0].plan if self.current else None
        if plan is None:
            raise no_rollout(self.path)
        return plan


def no_rollout(path: Path) -> DataError:
    """The error where nothing was started."""
    return data_error("RW-Z01", "expected a rollout, got none: 'ragworthy rollout start' begins one", where=str(path))


# reading


def read(path: Path) -> Ledger:
    """A file with every problem that its lines show by themselves; a file that is not there has no line."""
    if not path.exists():
        return Ledger(path)
    return _parsed(path, read_bytes(path))


def _parsed(path: Path, data: bytes) -> Ledger:
    *lines, rest = data.split(b"\n")
    torn = bool(rest) and not _is_whole(rest)
    entries: list[Entry] = []
    problems: list[Problem] = []
    for nth, line in enumerate([*lines, rest] if rest and not torn else lines, 1):
        where = f"{path}:{nth}"
        try:
            entry = msgspec.json.decode(line, type=Entry)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            field, message = explained(error)
            problems.append(Problem("RW-Z02", f"expected a move of a rollout: {message}", where, field))
            continue
        problems += [Problem("RW-Z02", message, where) for message in _amiss(entries, entry, line)]
        entries.append(entry)
    return Ledger(path, tuple(entries), tuple(problems), torn)


def _is_whole(rest: bytes) -> bool:
    """Whether a last line without its line end is a whole line, or one with something after it: then it counts as any
    other does. What was cut off while it was written never is.
    """
    try:
        json.JSONDecoder().raw_decode(rest.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return True


def _amiss(before: Sequence[Entry], entry: Entry, line: bytes) -> Iterator[str]:
    """What is wrong with a line that follows others."""
    if entry.schema != SCHEMA:
        yield f'expected "{SCHEMA}", got {described(entry.schema)}'
    if sealed(entry).hash != entry.hash or canonical(entry) != line:
        yield "expected what its hash covers, got something that was changed"
    last = before[-1] if before else None
    if entry.number != len(before) + 1:
        yield f"expected move {len(before) + 1}, got {entry.number}: a line was removed, put in or moved"
    elif entry.previous != (last.hash if last is not None else ""):
        yield "expected the hash of the line before it, got another: a line was removed, put in or moved"
    elif last is not None and entry.at < last.at:
        yield f"expected a time from {last.at} on, got {entry.at}"
    yield from unlawful(before, entry)


def swapped(ledger: Ledger) -> tuple[list[Problem], list[str]]:
    """Reports and receipts that are not those that moves were made on; and those that are not here, in words."""
    problems, gone = [], []
    for nth, entry in enumerate(ledger.entries, 1):
        one = entry.evidence
        if one is None:
            continue
        path = ledger.path.parent / one.path
        if not path.is_file():
            gone.append(f"{path}: the {one.kind} of move {nth} is not here")
        elif (found := sha256_of(path)) != one.sha256:
            message = f"expected the {one.kind} of move {nth}, sha256 {one.sha256[:12]}…, got {found[:12]}…"
            problems.append(Problem("RW-Z02", message, str(path)))
    return problems, gone


# writing


def append(known: Ledger, entry: Entry) -> Entry:
    """Add a move to a file that still ends as it did when `known` was read; one of two people at once is told."""
    path = known.path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        with _held(handle):
            data = _all(handle)
            now = _parsed(path, data)
            if now.head != known.head or len(now.entries) != len(known.entries):
                raise _overtaken(now)
            made = sealed(msgspec.structs.replace(entry, number=len(now.entries) + 1, previous=now.head))
            if now.torn:
                os.ftruncate(handle, data.rfind(b"\n") + 1)
            start = b"" if now.torn or not data or data.endswith(b"\n") else b"\n"  # a whole line stays one
            os.write(handle, start + canonical(made) + b"\n")
            os.fsync(handle)
    finally:
        os.close(handle)
    return made


def _overtaken(now: Ledger) -> DataError:
    last = now.last
    by = f"{last.move} to {last.stage} by {last.by}" if last is not None else "an empty file"
    message = f"expected the rollout as it was read, got a move made meanwhile: {by}"
    return data_error("RW-Z05", message, where=str(now.path))


def _all(handle: int) -> bytes:
    pieces, place = [], 0
    while piece := os.pread(handle, 1 << 20, place):
        pieces.append(piece)
        place += len(piece)
    return b"".join(pieces)


@contextmanager
def _held(handle: int) -> Iterator[None]:
    """Hold the file for this process alone; without locks (Windows) the last look decides."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def check_signed(by: str, reason: str) -> None:
    """Refuse a move that nobody stands behind."""
    for flag, text in (("--by", by), ("--reason", reason)):
        if not text.strip():
            raise usage_error(f"{flag}: expected a text, got nothing")
