"""Log files: which ones are meant, and their lines from any place on. What packs and tables hold is read as lines too.

A log is known by the bytes that were read of it, up to the first 64 KiB: it stays the same log when it is renamed,
packed, or read again tomorrow, and two logs that begin with the same lines are two as soon as they differ.
"""

import glob
import hashlib
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from ragworthy.errors import data_error
from ragworthy.files import open_input
from ragworthy.load.sources import BOM, LONGEST_LINE, Block, open_source

READ = 1 << 18
HEAD = 1 << 16
"""So many bytes tell a log from others."""
START = 1 << 12
"""So many of them are compared with the file each time something is read, to see whether it was cut and rewritten."""
_NAMED = re.compile(r"\.(?:jsonl|ndjson|json|log)(?:\.\d+)?(?:\.gz|\.zst)?$|\.parquet$")
_GLOB = re.compile(r"[*?\[]")


def found(given: Sequence[str | Path], *, growing: bool = False) -> list[Path]:
    """The files that paths, folders and patterns name, in order, each once; where they grow, one may be missing yet."""
    paths: dict[str, Path] = {}
    for one in given:
        text = str(one)
        if os.path.isdir(text):  # noqa: PTH112 - a text with any sign in it
            there = [path for path in Path(text).rglob("*") if _NAMED.search(path.name) and path.is_file()]
        elif _GLOB.search(text) and not os.path.lexists(text):
            there = [Path(path) for path in glob.glob(text, recursive=True) if Path(path).is_file()]  # noqa: PTH207
        elif growing and not os.path.lexists(text):
            continue
        else:
            there = [Path(text)]
        if not there and not growing:
            raise data_error("RW-F01", "expected log files, got nothing at this path", where=text)
        for path in sorted(there):
            paths.setdefault(os.path.realpath(path), path)
    return list(paths.values())


def same(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same place."""
    return os.path.realpath(one) == os.path.realpath(other)


class Log:
    """The lines of one file, block by block. `whole` says that the end of the file is the end of its last line."""

    def __init__(self, path: Path, *, whole: bool) -> None:
        self.path = path
        self.whole = whole
        self.packed = path.suffix in (".gz", ".zst", ".parquet")
        self.offset = 0
        self.start = b""
        """The first bytes as they were when they were looked at."""
        self.cut = False
        """Whether the file no longer begins with them."""
        self._file: IO[bytes] | None = None
        self._blocks: Iterator[Block] | None = None
        self._step = READ

    def head(self) -> bytes:
        """The first bytes, as many as tell a log from others, of what is read, whatever its name leads to by now."""
        if self.packed:
            data = b""
            for block in open_source("log", self.path).blocks():
                data += block.data
                if len(data) >= HEAD:
                    break
            return data[:HEAD]
        if self._file is not None:
            return os.pread(self._file.fileno(), HEAD + len(BOM), 0).removeprefix(BOM)[:HEAD]
        with open_input(self.path) as file:
            return os.pread(file.fileno(), HEAD + len(BOM), 0).removeprefix(BOM)[:HEAD]

    def first(self, head: bytes) -> bytes:
        """The first line of a head, or its beginning; empty while it has no end."""
        line, end, _ = head.partition(b"\n")
        return line if end or self.whole or len(head) >= HEAD else b""

    def seek(self, offset: int) -> None:
        """Go on at a place where a block ended."""
        self.offset = offset
        self._blocks = None

    def open(self) -> None:
        """Hold the file that the path leads to now, whatever it leads to later."""
        if not self.packed and self._file is None:
            self._file = open_input(self.path)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
        self._file = self._blocks = None

    def _status(self) -> os.stat_result:
        """Of the file that is open: it may have another name by now."""
        return os.fstat(self._file.fileno()) if self._file is not None else self.path.stat()

    def size(self) -> int:
        """How long it is; -1 where it is gone."""
        try:
            return self._status().st_size
        except OSError:
            return -1

    def age(self) -> float:
        """Seconds since it changed; endless where it is gone."""
        try:
            return time.time() - self._status().st_mtime
        except OSError:
            return math.inf

    def place(self) -> tuple[int, int] | None:
        """Device and inode: which file it is; None where it is gone."""
        try:
            status = self._status()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def is_at(self, path: Path) -> bool:
        """Whether a path leads to this very file."""
        try:
            one, other = self._status(), path.stat()
        except OSError:
            return False
        return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)

    def read(self) -> Block | None:
        """The next block of whole lines; None at the end, where more may come later."""
        block = self._unpacked() if self.packed else self._plain()
        if block is not None:
            self.offset = block.offset + len(block.data)
        return block

    def _plain(self) -> Block | None:
        if self._file is None:
            self._file = open_input(self.path)
        if self._changed(self._file.fileno()):
            if self.whole:
                raise data_error("RW-F16", "the file changed while it was being read", where=str(self.path))
            self.cut = True
            return None
        while True:
            self._file.seek(self.offset)
            data = self._file.read(self._step)
            offset = self.offset
            if not offset and data.startswith(BOM):
                data, offset = data[len(BOM) :], len(BOM)
            cut = data.rfind(b"\n") + 1
            if cut:
                self._step = READ
                return Block(offset, data[:cut])
            if len(data) + len(BOM) < self._step:
                return Block(offset, data) if data and self.whole else None
            if self._step > LONGEST_LINE:
                message = f"expected lines of at most {LONGEST_LINE >> 20} MiB, got a longer one"
                raise data_error("RW-F05", message, where=str(self.path))
            self._step *= 4

    def _changed(self, file: int) -> bool:
        """Whether the file begins with other bytes than before: it was cut, or its name leads to another one by now."""
        begun = os.pread(file, START + len(BOM), 0).removeprefix(BOM)[:START]
        if not begun.startswith(self.start):
            return True
        self.start = begun[: max(len(self.start), self.offset)]
        return False

    def _unpacked(self) -> Block | None:
        if self._blocks is None:
            self._blocks = open_source("log", self.path).blocks()
        for block in self._blocks:
            if block.offset + len(block.data) <= self.offset:
                continue
            if block.offset >= self.offset:
                return block
            return Block(self.offset, block.data[self.offset - block.offset :])
        return None


def identity(first: bytes) -> str:
    """What logs with this first line are kept under."""
    return hashlib.sha256(first).hexdigest()[:32]


class Print(NamedTuple):
    """What a log is known by: how many of its first bytes were read, up to 64 KiB, and their hash."""

    length: int = 0
    digest: str = ""


class Head:
    """The first bytes that were read of a log, as their print needs them.

    >>> Head(b"a").print() == Head().add(b"a").print(), Head().print()
    (True, Print(length=0, digest=''))
    """

    __slots__ = ("_seen", "length")

    def __init__(self, data: bytes = b"") -> None:
        self.length = 0
        self._seen = hashlib.sha256()
        self.add(data)

    def add(self, data: bytes) -> "Head":
        """More was read; what is beyond 64 KiB does not matter."""
        if self.length < HEAD:
            data = data[: HEAD - self.length]
            self._seen.update(data)
            self.length += len(data)
        return self

    def print(self) -> Print:
        """What the log is known by."""
        return Print(self.length, self._seen.hexdigest()) if self.length else Print()


def longest(head: bytes, prints: Mapping[str, Print]) -> list[str]:
    """The names whose prints the first bytes of a file begin with, the longest alone.

    >>> known = {"one": Head(b"a").print(), "two": Head(b"ab").print(), "new": Print(), "other": Head(b"abcd").print()}
    >>> longest(b"abc", known)
    ['two']
    """
    found: list[str] = []
    seen, done = hashlib.sha256(), 0
    for length in sorted({one.length for one in prints.values() if 0 < one.length <= len(head)}):
        seen.update(head[done:length])
        done, digest = length, seen.hexdigest()
        found = [name for name, one in prints.items() if one == (length, digest)] or found
    return found
