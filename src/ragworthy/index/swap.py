"""A folder that is replaced as a whole: whoever looks finds the old one or the new one, also after a crash.

The new folder is filled beside the old one as `.NAME.new`. Then the old one becomes `.NAME.old`, the new one takes its
place, and the old one is removed. A crash between the two renames leaves `.NAME.old`, which `standing` finds and the
next replacement puts back.
"""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

_AT_ONCE = 16


def _new(target: Path) -> Path:
    return target.with_name(f".{target.name}.new")


def _old(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def standing(target: Path) -> Path:
    """The folder to read: the target, or the old one where a crash left it aside."""
    return _old(target) if not target.exists() and _old(target).is_dir() else target


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """An empty folder that takes the target's place when the block ends without an error."""
    new, old = _new(target), _old(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(target.parent):
        _tidy(target)
        new.mkdir()
        try:
            yield new
            _sync_tree(new)
            if target.exists():
                target.rename(old)
            new.rename(target)
            _sync(target.parent)
        finally:
            _tidy(target)


def _tidy(target: Path) -> None:
    """Put an old folder back where there is none, and remove what else an earlier build left."""
    new, old = _new(target), _old(target)
    if old.is_dir() and not target.exists():
        old.rename(target)
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process replaces something in this folder; the system ends the lock with the process."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sync_tree(folder: Path) -> None:
    """Have everything in the folder written to the disk; the disk takes many files at once faster than one by one."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(_sync, [*folder.rglob("*"), folder]))


def _sync(path: Path) -> None:
    """Have the system write the file or folder to the disk; folders cannot be written so on every system."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
