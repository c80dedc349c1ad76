"""A folder that is replaced as a whole: whoever looks finds the old one or the new one, also after a crash.

All of it happens in a working folder of our own beside the target, `.ragworthy-build-TOKEN`:

    .ragworthy-build-TOKEN/mark    written first; says that the folder is ours, and for which target
    .ragworthy-build-TOKEN/new     what is being filled; then it becomes the target
    .ragworthy-build-TOKEN/old     where the target waits while `new` takes its place

A crash leaves the working folder. Only when it has both `old` and `new` did the crash come between the two renames:
then `standing` finds `old`, and the next replacement puts it back. Nothing without our mark is read, moved or removed,
so that a folder of somebody else is safe whatever it is called.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex

PREFIX = ".ragworthy-build-"
_NAME = re.compile(re.escape(PREFIX) + "[0-9a-f]{16}")
_LONGEST_MARK = 1024
_AT_ONCE = 16


def standing(target: Path) -> Path:
    """The folder to read: the target, or the old one where a crash left it aside."""
    home = real(target)
    if os.path.lexists(home):
        return target
    return next((work / "old" for work in _left_for(home) if _cut_off(work)), target)


def real(path: Path) -> Path:
    """Where a path leads to, links followed; unlike `Path.resolve` this does not mind links in a circle."""
    return Path(os.path.realpath(path))


@contextmanager
def replacing(target: Path, check: Callable[[], object] = lambda: None) -> Iterator[Path]:
    """An empty folder that takes the target's place when the block ends without an error.

    `check` is called right before that, and raises if what is at the target by then has to stay.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(target.parent) as alone:
        if alone:  # else these may be the folders of a build that is still at work
            for left in list(_left_for(target)):
                _tidy(left, target)
        work = target.with_name(f"{PREFIX}{token_hex(8)}")
        work.mkdir()
        try:
            (work / "mark").write_bytes(_mark(work, target))
            (work / "new").mkdir()
            yield work / "new"
            _sync_tree(work)
            _sync(target.parent)
            check()
            if os.path.lexists(target):
                target.rename(work / "old")
            (work / "new").rename(target)
            _sync(target.parent)
        finally:
            _tidy(work, target)


def _mark(work: Path, target: Path) -> bytes:
    return f"ragworthy.build/1 {work.name.removeprefix(PREFIX)} ".encode() + os.fsencode(target.name) + b"\n"


def _marked(work: Path, target: Path) -> bool:
    return _written(work) == _mark(work, target)


def _written(work: Path) -> bytes | None:
    """What is in the mark of a working folder; None where there is no such file."""
    try:
        if not (work / "mark").is_file():
            return None
        with (work / "mark").open("rb") as file:
            return file.read(_LONGEST_MARK)
    except OSError:
        return None


def _left_for(target: Path) -> Iterator[Path]:
    """The working folders that builds of this target have left beside it."""
    try:
        beside = sorted(target.parent.glob(f"{PREFIX}*"))
    except OSError:
        return
    for work in beside:
        ours = _NAME.fullmatch(work.name) and not work.is_symlink()
        if ours and (_marked(work, target) or _unfinished(work, target)):
            yield work


def _unfinished(work: Path, target: Path) -> bool:
    """Whether a crash came before the mark was whole; then there is nothing but a part of it."""
    try:
        inside = [path.name for path in work.iterdir()]
    except OSError:
        return False
    written = _written(work)
    return not inside or (inside == ["mark"] and written is not None and _mark(work, target).startswith(written))


def _cut_off(work: Path) -> bool:
    """Whether the target was moved aside and the new folder did not take its place."""
    return (work / "old").is_dir() and (work / "new").is_dir()


def _tidy(work: Path, target: Path) -> None:
    """Put an old folder back where there is none, and remove what else is ours."""
    if _cut_off(work) and not os.path.lexists(target):
        (work / "old").rename(target)
    if _marked(work, target):
        for name in ("new", "old"):
            _remove(work / name)
    with suppress(OSError):  # what somebody else has put into it stays, and the folder with it
        if {path.name for path in work.iterdir()} <= {"mark"}:
            (work / "mark").unlink(missing_ok=True)
        work.rmdir()


def _remove(folder: Path) -> None:
    """Remove a folder with all that is in it.

    A disk that discards freed blocks makes each unlink wait for milliseconds, and waits for many of them at once: one
    by one, the 11,000 files of an old index took longer than building the new one.
    """
    if sys.platform != "win32":  # which has no way to name a file by its folder's handle, safe from links put there
        with suppress(FileNotFoundError), ThreadPoolExecutor(_AT_ONCE) as pool:
            for _, _, files, handle in os.fwalk(folder):
                list(pool.map(partial(_unlink, handle), files))
    shutil.rmtree(folder, ignore_errors=True)


def _unlink(handle: int, name: str) -> None:
    with suppress(OSError):  # what cannot be removed is left, as `rmtree` leaves it
        os.unlink(name, dir_fd=handle)


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Wait until no other process replaces something in this folder; false where the system has no such locks.

    The system ends the lock with the process.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            alone = True
        except OSError:
            alone = False
        yield alone
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
