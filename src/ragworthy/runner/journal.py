"""The journal of a run: every reply is appended the moment it is there, so that a run can go on after any end.

The first line says what is run; then one line for each finished question. A line is one system call, so that a killed
run leaves at most one torn line at the end, which the next one cuts off.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ragworthy.errors import DataError, data_error, usage_error
from ragworthy.runner.contract import Reply
from ragworthy.text import described

SCHEMA = "ragworthy.journal/1"
FILE = "journal.jsonl"
_MARK = f'{{"schema":"{SCHEMA}"'.encode()
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
AGAIN = "the same command with --resume goes on from there"


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a journal belongs to."""

    schema: str = SCHEMA
    target: str
    gold_sha256: str
    config_id: str
    plan_sha256: str
    asks: int
    about: dict[str, str] = {}
    """What decides the answers of the target besides its knobs."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finished question, by its place in the plan."""

    n: Annotated[int, msgspec.Meta(ge=0)]
    fields: dict[str, Any] = {}
    error: str | None = None
    e2e_ms: float
    attempts: int
    started: str


def entry(n: int, reply: Reply, e2e_ms: float, started: str) -> Entry:
    """A reply as the journal keeps it."""
    return Entry(n=n, fields=reply.fields, error=reply.error, e2e_ms=e2e_ms, attempts=reply.attempts, started=started)


class Journal:
    """The journal of one folder, held by one process at a time."""

    def __init__(self, folder: Path, header: Header, *, resume: bool) -> None:
        self.path = folder / FILE
        self._places: dict[int, tuple[int, int]] = {}
        self._size = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, _FLAGS, 0o666)
        except OSError as error:
            raise data_error("RW-F14", f"cannot be written: {error.strerror}", where=str(self.path)) from None
        try:
            self._lock()
            self._open(header, resume)
        except DataError:
            os.close(self._handle)
            raise

    @property
    def done(self) -> Mapping[int, tuple[int, int]]:
        """The places of the plan that have a reply, with where it stands."""
        return self._places

    def add(self, one: Entry) -> None:
        """Append one reply; where that fails nothing of it stays."""
        self._places[one.n] = self._append(msgspec.json.encode(one) + b"\n", len(self._places))

    def read(self, n: int) -> Entry:
        """The reply at a place of the plan."""
        start, length = self._places[n]
        os.lseek(self._handle, start, os.SEEK_SET)
        return msgspec.json.decode(os.read(self._handle, length), type=Entry)

    def close(self) -> None:
        """Have everything written to the disk, and let others in."""
        try:
            os.fsync(self._handle)
        except OSError as error:
            raise data_error("RW-J05", f"cannot be written: {error.strerror}", where=str(self.path)) from None
        finally:
            os.close(self._handle)

    def _lock(self) -> None:
        """Hold the file for this process alone; the system lets go of it when the process ends."""
        if not stat.S_ISREG(os.fstat(self._handle).st_mode):
            raise data_error("RW-F14", "cannot be written: expected a file, got a device", where=str(self.path))
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            message = "expected a folder of its own, got one in which another run is at work"
            raise data_error("RW-J04", message, where=str(self.path)) from None

    def _open(self, header: Header, resume: bool) -> None:
        """Read what is there and cut off a torn line; where there is no reply yet, start anew."""
        first = b""
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    first = line
                    self._check_ours(line)
                if not line.endswith(b"\n"):
                    break
                if number > 1:
                    self._places.setdefault(self._number(line, number), (self._size, len(line)))
                self._size += len(line)
        if self._places and not resume:
            message = f"expected a new folder, got one with {len(self._places):,} replies"
            raise data_error("RW-J01", message, where=str(self.path))
        if self._places:
            self._check_same(first, header)
        else:
            self._size = 0
        os.ftruncate(self._handle, self._size)
        if not self._size:
            self._append(msgspec.json.encode(header) + b"\n", 0)

    def _check_ours(self, line: bytes) -> None:
        """See that a file is a journal, before anything in it is touched; a torn first line may be one."""
        torn = not line.endswith(b"\n") and _MARK.startswith(line[: len(_MARK)])
        if not line.startswith(_MARK) and not torn:
            got = described(line[:60].strip().decode("utf-8", "replace"))
            raise data_error("RW-J03", f"expected the journal of a run, got {got}", where=f"{self.path}:1")

    def _check_same(self, line: bytes, header: Header) -> None:
        """See that the journal belongs to what is to be run."""
        try:
            old = msgspec.json.decode(line, type=Header)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise data_error("RW-J03", f"expected the journal of a run, got: {error}", where=f"{self.path}:1") from None
        for field in Header.__struct_fields__:
            was, now = getattr(old, field), getattr(header, field)
            if was != now:
                message = f"expected the run that the journal was begun with ({was}), got another ({now})"
                raise data_error("RW-J02", message, where=str(self.path), field=field)
        if max(self._places) >= header.asks:
            message = f"expected places from 0 to {header.asks - 1}, got {max(self._places)}"
            raise data_error("RW-J03", message, where=str(self.path), field="n")

    def _number(self, line: bytes, number: int) -> int:
        """The place in the plan that a line belongs to."""
        where = f"{self.path}:{number}"
        try:
            return msgspec.json.decode(line, type=Entry).n
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise data_error("RW-J03", f"expected a reply, got: {error}", where=where) from None

    def _append(self, line: bytes, safe: int) -> tuple[int, int]:
        """Write a line at the end, whole or not at all; gives its place."""
        start = self._size
        try:
            written = os.write(self._handle, line)
            reason = "the disk is full" if written < len(line) else ""
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
        if reason:
            with suppress(OSError):  # what stays of a torn line is cut off when the run goes on
                os.ftruncate(self._handle, start)
            message = f"cannot be written: {reason}; {safe:,} replies are safe, {AGAIN}"
            raise data_error("RW-J05", message, where=str(self.path))
        self._size = start + len(line)
        return start, len(line)


def check_free(folder: Path, names: tuple[str, ...]) -> None:
    """Refuse a folder that holds files of these names but no journal: they are not ours."""
    if folder.exists() and not folder.is_dir():
        raise usage_error(f"{folder}: expected a folder, got a file")
    if not (folder / FILE).exists():
        for name in names:
            if (folder / name).exists():
                raise usage_error(f"{folder / name}: expected a new folder, got one with this file", code="RW-U03")
