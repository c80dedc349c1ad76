"""Files on disk: the one place that opens inputs and the one that writes outputs.

What is opened must be a regular file, and is remembered until the command ends. What is written appears whole or not
at all, never instead of something that was read, and never instead of a device or a pipe.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import takewhile
from pathlib import Path
from typing import IO

from ragworthy.errors import DataError, data_error, usage_error

LARGEST_TEXT = 64 << 20
"""So many bytes a file may have that is read in one piece: a policy, a lock, a pack, a receipt, an earlier report."""
RECORDS = (".jsonl", ".ndjson", ".gz", ".zst", ".parquet")
"""How files of records end; in a folder of them nothing else may be."""
_HASH_BLOCK = 1 << 18
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""O_NONBLOCK: should a pipe take the place of the file between two looks, opening it must not wait for a writer."""


class Read:
    """What was read: the hash of files read in one piece, and which file on the disk each name led to."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int], str] = {}
        self._hashes: dict[str, str] = {}

    def note(self, path: Path, status: os.stat_result, sha256: str | None = None) -> None:
        """Remember a file."""
        self._places[status.st_dev, status.st_ino] = str(path)
        if sha256 is not None:
            self._hashes[os.path.realpath(path)] = sha256

    def sha256(self, path: Path) -> str | None:
        """The hash of the bytes that were read in one piece, should the file have changed since."""
        return self._hashes.get(os.path.realpath(path))

    def forget(self, path: Path) -> None:
        """What is at a path was rewritten: the hash of what was read there is that of an earlier file."""
        self._hashes.pop(os.path.realpath(path), None)

    def check_free(self, path: Path, status: os.stat_result) -> None:
        """Refuse to write where something was read."""
        if (status.st_dev, status.st_ino) in self._places:
            raise usage_error(f"{path}: expected a new file, got one that is read")


_READ: ContextVar[Read | None] = ContextVar("read", default=None)


@contextmanager
def remembering(read: Read | None = None) -> Iterator[Read]:
    """Remember every file that is read in this block; inside another such block the outer one goes on."""
    outer = _READ.get()
    if outer is not None and read is None:
        yield outer
        return
    mine = Read() if read is None else read
    token = _READ.set(mine)
    try:
        yield mine
    finally:
        _READ.reset(token)


def note_paths(read: Read, given: Iterable[object]) -> None:
    """Remember files that were named, read or not: whoever names one as an input does not want it replaced."""
    for one in given:
        if isinstance(one, tuple):
            note_paths(read, one)
        elif isinstance(one, (str, Path)):
            with suppress(OSError, ValueError):  # whoever opens it says what is wrong
                read.note(Path(one), Path(one).stat())


# inputs


def open_input(path: Path) -> IO[bytes]:
    """The bytes of a regular file, unbuffered."""
    check_regular(path)
    try:
        file = open(os.open(path, _OPEN), "rb", buffering=0)  # noqa: SIM115, PTH123 - handed on
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        file.close()
        raise _no_file(path, status.st_mode)
    if (read := _READ.get()) is not None:
        read.note(path, status)
    return file


def files_of(path: Path) -> list[Path] | None:
    """The files that a folder or a pattern (`logs/*.jsonl`) stands for, in the order of their names; None for a file.

    Names that begin with a dot or an underscore are those of markers (`_SUCCESS`), not of records.
    """
    if os.path.isdir(path):  # noqa: PTH112 - says no where it may not look
        found = sorted(_walked(path), key=lambda one: one.relative_to(path).parts)
        odd = next((one for one in found if not one.name.endswith(RECORDS)), None)
        if odd is not None and any(one.name.endswith(RECORDS) for one in found):
            got = f"expected a folder of records ({', '.join(RECORDS)}), got {odd.relative_to(path)} in it"
            raise data_error("RW-F02", f"{got}: name the files by a pattern", where=str(path))
        return found if found and odd is None else None
    if not _has_magic(str(path)) or os.path.lexists(path):
        return None
    from glob import glob

    found = sorted(map(Path, glob(str(path), recursive=True)), key=lambda one: one.parts)  # noqa: PTH207 - as it was typed
    if not found:
        raise data_error("RW-F01", "expected files, got a pattern that fits none", where=str(path))
    return found


def _walked(folder: Path) -> Iterator[Path]:
    for name, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [one for one in folders if not one.startswith((".", "_"))]
        yield from (Path(name) / one for one in files if not one.startswith((".", "_")))


def _has_magic(name: str) -> bool:
    """What `glob.has_magic` says: most names are no patterns, and need none of it."""
    return any(sign in name for sign in "*?[")


def _root(path: Path) -> Path:
    """The folder that names of several files are relative to: the part of a pattern before its first star."""
    return path if path.is_dir() else Path(*takewhile(lambda one: not _has_magic(one), path.parts))


def check_regular(path: Path) -> None:
    """Raise a DataError unless the path leads to a regular file: records are read more than once."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(mode):
        raise _no_file(path, mode)


def check_readable(path: Path) -> None:
    """Raise a DataError unless the path leads to a regular file that can be opened."""
    open_input(path).close()


def _unreadable(path: Path, error: OSError | ValueError) -> DataError:
    where = str(path)
    if isinstance(error, FileNotFoundError):
        return data_error("RW-F01", "expected a file, got nothing at this path", where=where)
    reason = getattr(error, "strerror", None) or str(error)
    return data_error("RW-F03", f"expected a readable file, got: {reason}", where=where)


def _no_file(path: Path, mode: int) -> DataError:
    if stat.S_ISDIR(mode):
        return data_error("RW-F02", "expected a file, got a folder", where=str(path))
    return data_error("RW-F18", f"expected a regular file, got {_kind(mode)}: save it first", where=str(path))


def _kind(mode: int) -> str:
    names = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((name for is_one, name in names if is_one(mode)), "a device")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes; of the bytes that were read where it was read in one piece.

    That of several files is the one of what `sha256sum` prints of them, in the order of their names.
    """
    if (read := _READ.get()) is not None and (known := read.sha256(path)) is not None:
        return known
    if (several := files_of(path)) is not None:
        names = ((sha256_of(one), one.relative_to(_root(path)).as_posix()) for one in several)
        return hashlib.sha256("".join(f"{digest}  {name}\n" for digest, name in names).encode()).hexdigest()
    digest = hashlib.sha256()
    buffer = bytearray(_HASH_BLOCK)
    view = memoryview(buffer)
    with open_input(path) as file:
        while size := file.readinto(buffer):  # type: ignore[attr-defined]
            digest.update(view[:size])
    return digest.hexdigest()


def read_bytes(path: Path, *, limit: int = LARGEST_TEXT) -> bytes:
    """A small file in one piece; its hash is remembered, so that what is pinned is what was read."""
    with open_input(path) as file:
        status = os.fstat(file.fileno())
        data = b"" if status.st_size > limit else _up_to(file, limit + 1)
    if len(data) > limit or status.st_size > limit:
        got = max(status.st_size, len(data))
        message = f"expected a file of at most {limit >> 20} MiB, got {got:,} bytes"
        raise data_error("RW-F19", message, where=str(path))
    if (read := _READ.get()) is not None:
        read.note(path, status, hashlib.sha256(data).hexdigest())
    return data


def _up_to(file: IO[bytes], size: int) -> bytes:
    """So many bytes of an unbuffered file, which may hand out fewer at a time."""
    pieces: list[bytes] = []
    while size > 0 and (piece := file.read(min(size, 1 << 20))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def read_text(path: Path, *, limit: int = LARGEST_TEXT) -> str:
    """A small text file as UTF-8, with the usual errors."""
    try:
        return read_bytes(path, limit=limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise data_error("RW-F06", message, where=str(path)) from None


# outputs


def write_whole(path: Path, data: bytes, *, renews: bool = False) -> None:
    """Write a file so that it appears whole or not at all; `renews` says that it may be one that was read."""
    write_with(path, lambda beside: _fill(beside, data), renews=renews)


def _fill(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def write_with(path: Path, write: Callable[[Path], None], *, renews: bool = False) -> None:
    """Let `write` fill a file beside the target, then rename it over the target.

    A link is followed, so that the file it leads to is replaced and not the link. What is there and is a device or a
    pipe (`/dev/null`, `>(less)`) gets the bytes written into it and stays what it is.
    """
    import tempfile

    beside: Path | None = None
    try:
        status = check_writable(path, renews=renews)
        streams = status is not None and not stat.S_ISREG(status.st_mode)
        # For a device the bytes are made elsewhere: nothing of ours is to be in /dev, even for a moment.
        target = Path(os.path.realpath(path))
        folder = Path(tempfile.gettempdir()) if streams else target.parent
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=folder)
        os.close(handle)
        beside = Path(name)
        write(beside)
        if streams:
            _stream(beside, path)
        else:
            beside.chmod(0o666 & ~_umask())
            _sync(beside)
            beside.replace(target)
            if (read := _READ.get()) is not None:
                read.forget(target)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise data_error("RW-F14", f"cannot be written: {reason}", where=str(path)) from None
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def check_writable(path: Path, *, renews: bool = False) -> os.stat_result | None:
    """Refuse a path that must not be written to; gives what is there, None for a new file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise data_error("RW-F14", f"cannot be written: {reason}", where=str(path)) from None
    if (read := _READ.get()) is not None and not renews:
        read.check_free(path, status)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISCHR(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
        reason = os.strerror(errno.EISDIR) if stat.S_ISDIR(status.st_mode) else f"it is {_kind(status.st_mode)}"
        raise data_error("RW-F14", f"cannot be written: {reason}", where=str(path))
    return status


def check_inside(path: Path, folder: Path, what: str) -> None:
    """Refuse a path that nobody typed (a policy names it) when it, or a link on the way, leads out of the folder."""
    real, home = Path(os.path.realpath(path)) if "\0" not in str(path) else None, os.path.realpath(folder)
    if real is None or not real.is_relative_to(home) or ".git" in real.relative_to(home).parts:
        message = f"{path}: expected {what} inside {folder}, got a path that leads out of it"
        raise usage_error(message, code="RW-U03")


def check_ours(path: Path, marks: Callable[[bytes], bool]) -> None:
    """Refuse to replace a file that nobody named on the command line, unless its first bytes show that it is ours."""
    if path.is_symlink() and not path.exists():
        raise usage_error(
            f"{path}: expected a new file, or one of ours, got a link that leads to nothing", code="RW-U03"
        )
    if path.is_file():
        with path.open("rb") as file:
            if marks(file.read(_HASH_BLOCK)):
                return
        raise usage_error(f"{path}: expected a new file, or one of ours, got another file", code="RW-U03")


def _stream(source: Path, target: Path) -> None:
    """Write the bytes of a file into a device or a pipe; a pipe that nobody reads is an error, not a wait."""
    handle = os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    os.set_blocking(handle, True)
    with source.open("rb") as data, open(handle, "wb") as stream:  # noqa: PTH123 - a handle has no path
        while piece := data.read(_HASH_BLOCK):
            stream.write(piece)


def _sync(path: Path) -> None:
    """Have the bytes on the disk before the name is: after a power cut the old file is there, or the whole new one."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


def shown_path(path: Path) -> str:
    """The path as reports show it: relative to the working folder, never absolute."""
    if not path.is_absolute():
        return path.as_posix()
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.name
