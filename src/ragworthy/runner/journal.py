"""The journal of a run: every reply is appended the moment it is there, so that a run can go on after any end.

The first line says what is run; then one line for each finished question. A line is one system call, so that a killed
run leaves at most one torn line at the end, which the next one cuts off. Nothing is ever taken out: a question that was
asked again has two lines, and the later one counts.
"""

import os
import stat
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from ragworthy.errors import DataError, data_error, usage_error
from ragworthy.files import check_writable
from ragworthy.runner.contract import Replied, Reply
from ragworthy.runner.ended import JOURNAL as FILE
from ragworthy.runner.ended import JOURNAL_SCHEMA as SCHEMA
from ragworthy.runner.ended import Header
from ragworthy.runner.outputs import Output
from ragworthy.text import described
from ragworthy.threaded import threaded

_MARK = f'{{"schema":"{SCHEMA}"'.encode()
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
AGAIN = "the same command with --resume goes on from there"


@threaded
class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finished question, by its place in the plan."""

    n: Annotated[int, msgspec.Meta(ge=0)]
    fields: dict[str, Any] = {}
    error: str | None = None
    code: str | None = None
    e2e_ms: float
    attempts: int
    started: str
    chunks: list[dict[str, Any]] = []
    """Texts of documents that no entry before it has."""
    nothing: bool = False
    """Whether it has a list of documents with none in it."""


def entry(n: int, reply: Reply, e2e_ms: float, started: str) -> Entry:
    """A reply as the journal keeps it."""
    kept = Entry(n=n, fields=reply.fields, error=reply.error, e2e_ms=e2e_ms, attempts=reply.attempts, started=started)
    return msgspec.structs.replace(kept, code=reply.code, chunks=[*reply.chunks], nothing=_nothing(reply))


def _nothing(reply: Reply) -> bool:
    return bool(reply.how) and not reply.fields.get("retrieved_ids")


class Kind(NamedTuple):
    """What the lines of a journal hold."""

    one: str
    many: str
    check: Callable[[Entry], object]
    """Raises a ValidationError where an entry is not of this kind."""

    def counted(self, count: int) -> str:
        """So many of them."""
        return f"{count:,} {self.one if count == 1 else self.many}"


def _check_reply(one: Entry) -> None:
    if one.error is None:
        msgspec.convert(one.fields, Replied)


def _check_output(one: Entry) -> None:
    if one.error is None:
        msgspec.convert(one.fields, Output)


REPLIES = Kind("reply", "replies", _check_reply)
OUTPUTS = Kind("reply", "replies", _check_output)


class Journal:
    """The journal of one folder, held by one process at a time."""

    def __init__(self, folder: Path, header: Header, *, resume: bool, kind: Kind = REPLIES) -> None:
        self.path = folder / FILE
        self._kind = kind
        self._places: dict[int, tuple[int, int]] = {}
        self._failed: set[int] = set()
        self._size = 0
        if self.path.is_symlink() and not self.path.exists():
            message = "cannot be written: it is a link that leads to nothing"
            raise data_error("RW-F14", message, where=str(self.path))
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

    @property
    def failed(self) -> Set[int]:
        """Those of them whose reply is an error."""
        return self._failed

    def add(self, one: Entry) -> None:
        """Append one reply, which takes the place of an earlier one; where that fails nothing of it stays."""
        self._place(one, self._append(msgspec.json.encode(one) + b"\n"))

    def _place(self, one: Entry, where: tuple[int, int]) -> None:
        self._places[one.n] = where
        (self._failed.discard if one.error is None else self._failed.add)(one.n)

    def read(self, n: int) -> Entry:
        """The reply at a place of the plan."""
        start, length = self._places[n]
        os.lseek(self._handle, start, os.SEEK_SET)
        return msgspec.json.decode(os.read(self._handle, length), type=Entry)

    def safe(self) -> str:
        """What a run that ends now has not lost."""
        count = len(self._places)
        return f"{self._kind.counted(count)} {'is' if count == 1 else 'are'} safe"

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
        """Read what is there and cut off a torn line; where there is no reply yet, start again."""
        first, highest = b"", (-1, 0)
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    first = line
                    self._check_ours(line)
                if not line.endswith(b"\n"):
                    break
                if number > 1:
                    found = self._entry(line, number)
                    highest = max(highest, (found.n, number))
                    self._place(found, (self._size, len(line)))
                self._size += len(line)
        if self._places and not resume:
            message = f"expected a new folder, got one with {self._kind.counted(len(self._places))}"
            raise data_error("RW-J01", message, where=str(self.path))
        if self._places:
            self._check_same(first, header)
            self._check_places(*highest, header.asks)
        else:
            self._size = 0
        os.ftruncate(self._handle, self._size)
        if not self._size:
            self._append(msgspec.json.encode(header) + b"\n")

    def _check_ours(self, line: bytes) -> None:
        """See that a file is a journal, before anything in it is touched; a torn first line may be one."""
        torn = not line.endswith(b"\n") and _MARK.startswith(line[: len(_MARK)])
        if not line.startswith(_MARK) and not torn:
            got = described(line[:60].strip().decode("utf-8", "replace"))
            raise data_error("RW-J07", f"expected the journal of a run, got {got}", where=f"{self.path}:1")

    def _check_same(self, line: bytes, header: Header) -> None:
        """See that the journal belongs to what is to be run."""
        try:
            old = msgspec.json.decode(line, type=Header)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise data_error("RW-J07", f"expected the journal of a run, got: {error}", where=f"{self.path}:1") from None
        for field in Header.__struct_fields__:
            was, now = getattr(old, field), getattr(header, field)
            if field == "plan_sha256" and was != now:
                field, was, now = _changed(old, header) or (field, was, now)
            if field == "config_id" and was != now:
                field, was, now = _made_differently(old, header) or (field, was, now)
            if was != now and field != "settings":
                message = f"expected the run that the journal was begun with ({was}), got another ({now})"
                raise data_error("RW-J02", message, where=str(self.path), field=field)

    def _check_places(self, n: int, number: int, asks: int) -> None:
        """See that the highest place is one of the plan."""
        if n >= asks:
            message = f"expected places from 0 to {asks - 1}, got {n}"
            raise data_error("RW-J03", message, where=f"{self.path}:{number}", field="n")

    def _entry(self, line: bytes, number: int) -> Entry:
        """The reply in a line."""
        try:
            found = msgspec.json.decode(line, type=Entry)
            self._kind.check(found)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            message = f"expected a {self._kind.one}, got: {error}"
            raise data_error("RW-J03", message, where=f"{self.path}:{number}") from None
        return found

    def _append(self, line: bytes) -> tuple[int, int]:
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
            message = f"cannot be written: {reason}; {self.safe()}, {AGAIN}"
            raise data_error("RW-J05", message, where=str(self.path))
        self._size = start + len(line)
        return start, len(line)


def _made_differently(old: Header, new: Header) -> tuple[str, str, str] | None:
    """The map of a service or the prompt, where it is another than before; or what a provenance file says."""
    for what, named in (("map", "map"), ("prompt", "prompt_version")):
        was, now = old.about.get(f"{what}_sha256", "none"), new.about.get(f"{what}_sha256", "none")
        if was != now:
            names = old.about.get(named, "none"), new.about.get(named, "none")
            return what, f"{names[0]}, {was[:12]}", f"{names[1]}, {now[:12]}"
    for key in sorted(old.about.keys() | new.about.keys()):
        if key.startswith("said_") and old.about.get(key) != new.about.get(key):
            return key.removeprefix("said_"), old.about.get(key, "nothing"), new.about.get(key, "nothing")
    return None


def _changed(old: Header, new: Header) -> tuple[str, str, str] | None:
    """The first setting that both name and that differs, as it was and as it is."""
    for name, now in new.settings.items():
        if old.settings.get(name, now) != now:
            return name, old.settings[name], now
    return None


EXAMPLE = "example"
"""What stands for the target where the traces come with the starter files; a run may take their place."""


def _is_example(folder: Path) -> bool:
    """Whether the results in a folder are those that `init` wrote."""
    try:
        return bool(msgspec.json.decode((folder / "run.json").read_bytes(), type=_Ran).target == EXAMPLE)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False


class _Ran(msgspec.Struct, frozen=True):
    target: str


def check_free(folder: Path, names: tuple[str, ...]) -> None:
    """Refuse a folder that holds files of these names but no journal: they are not ours."""
    if folder.exists() and not folder.is_dir():
        raise usage_error(f"{folder}: expected a folder, got a file")
    if not (folder / FILE).exists() and not _is_example(folder):
        for name in names:
            if (folder / name).exists():
                raise usage_error(f"{folder / name}: expected a new folder, got one with this file", code="RW-U03")


def clear(folder: Path, names: tuple[str, ...]) -> None:
    """Remove the results of an earlier run: they are not those of the run that begins, however that one ends."""
    for path in (folder / name for name in names):
        try:
            if not path.is_dir():
                check_writable(path)  # never what this run has read
                path.unlink(missing_ok=True)
        except OSError as error:
            raise data_error("RW-F14", f"cannot be removed: {error.strerror}", where=str(path)) from None
