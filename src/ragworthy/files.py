"""Files on disk: whole or not at all when written, hashed and checked when read."""

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from ragworthy.errors import data_error

_HASH_BLOCK = 1 << 18


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    buffer = bytearray(_HASH_BLOCK)
    view = memoryview(buffer)
    check_readable(path)
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(view[:size])
    return digest.hexdigest()


def check_readable(path: Path) -> None:
    """Raise a DataError unless the path is a file that can be opened."""
    where = str(path)
    try:
        if path.is_dir():
            raise data_error("RW-F02", "expected a file, got a folder", where=where)
        with path.open("rb"):
            return
    except FileNotFoundError:
        raise data_error("RW-F01", "expected a file, got nothing at this path", where=where) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"expected a readable file, got: {reason}"
        raise data_error("RW-F03", message, where=where) from None


def check_regular(path: Path) -> None:
    """Refuse a pipe or a device: records are read more than once."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return  # whoever reads it says why it cannot be read
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        got = "a pipe" if stat.S_ISFIFO(mode) else "a device"
        raise data_error("RW-F18", f"expected a regular file, got {got}: save it first", where=str(path))


def read_text(path: Path) -> str:
    """A small text file as UTF-8, with the usual errors."""
    check_readable(path)
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise data_error("RW-F06", message, where=str(path)) from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    write_with(path, lambda beside: _fill(beside, data))


def _fill(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def write_with(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a file beside the target, then rename it over the target."""
    import tempfile

    beside: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
        beside = Path(name)
        write(beside)
        beside.chmod(0o666 & ~_umask())
        beside.replace(path)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise data_error("RW-F14", f"cannot be written: {reason}", where=str(path)) from None
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


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
