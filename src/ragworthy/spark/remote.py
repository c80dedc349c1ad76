"""Files that Spark can read and this machine cannot: the driver looks at single places of them through Hadoop.

What needs the whole of such a file here (its text on a page, say) copies it to a temporary folder first.
"""

import atexit
import hashlib
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from ragworthy.errors import data_error
from ragworthy.files import RECORDS
from ragworthy.load.lines import Block, Source
from ragworthy.load.several import Several
from ragworthy.load.sources import file_source
from ragworthy.load.unpack import SUFFIXES, most_unpacked
from ragworthy.load.uri import Uri

_AT_ONCE = 16 << 20
_TABLE = 1 << 50
"""More than the offsets of a Parquet file need, whose row groups only the executors see."""


class Hadoop:
    """The file systems of Hadoop, through the JVM of the driver."""

    def __init__(self, session: Any) -> None:
        self._jvm = session.sparkContext._jvm
        self._conf = session.sparkContext._jsc.hadoopConfiguration()

    def files(self, uri: Uri) -> list[Any]:
        """The status of every file that a URI stands for, in the order of their names."""
        path = self._jvm.org.apache.hadoop.fs.Path(uri.text)
        with _explained(uri.text):
            system = path.getFileSystem(self._conf)
            found = list(system.globStatus(path) or ())
            statuses = [one for each in found for one in self._inside(system, each)]
        if not found:
            raise data_error("RW-F01", "expected a file, got nothing at this URI", where=uri.text)
        if not statuses:
            raise data_error("RW-F02", f"expected a folder of records ({', '.join(RECORDS)}), got none", where=uri.text)
        return sorted(statuses, key=lambda one: str(one.getPath()).split("/"))

    def _inside(self, system: Any, status: Any) -> Iterator[Any]:
        if status.isFile():
            yield status
            return
        root, walk = str(status.getPath()), system.listFiles(status.getPath(), True)
        while walk.hasNext():
            one = walk.next()
            names = str(one.getPath()).removeprefix(root).strip("/").split("/")
            if not any(name.startswith((".", "_")) for name in names):
                if not names[-1].endswith(RECORDS):
                    got = f"expected a folder of records ({', '.join(RECORDS)}), got {'/'.join(names)} in it"
                    raise data_error("RW-F02", f"{got}: name the files by a pattern", where=root)
                yield one

    def exists(self, uri: str) -> bool:
        """Whether there is anything at a URI."""
        path = self._jvm.org.apache.hadoop.fs.Path(uri)
        with _explained(uri):
            return bool(path.getFileSystem(self._conf).exists(path))

    def status(self, path: str) -> Any:
        """The status of one file."""
        found = self._jvm.org.apache.hadoop.fs.Path(path)
        return found.getFileSystem(self._conf).getFileStatus(found)

    def sha256(self, path: str) -> str:
        """The hash of a file, worked out in the JVM."""
        stream = self._stream(path)
        try:
            return str(self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    def read(self, path: str, begin: int, size: int) -> bytes:
        """Some bytes of a file."""
        stream = self._stream(path)
        try:
            stream.seek(begin)
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream, size))
        finally:
            stream.close()

    def copy(self, path: str, target: Path) -> None:
        """Copy a file to this machine."""
        found = self._jvm.org.apache.hadoop.fs.Path(path)
        here = self._jvm.org.apache.hadoop.fs.Path(target.as_uri())
        found.getFileSystem(self._conf).copyToLocalFile(False, found, here, True)

    def _stream(self, path: str) -> Any:
        found = self._jvm.org.apache.hadoop.fs.Path(path)
        return found.getFileSystem(self._conf).open(found)


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """What Hadoop cannot find or read, as an error of ours."""
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        reason = str(error.java_exception.getMessage() or error.java_exception.getClass().getSimpleName())
        code = "RW-S10" if "ClassNotFoundException" in reason or "No FileSystem for scheme" in reason else "RW-F03"
        raise data_error(code, f"expected a readable file, got: {reason.splitlines()[0]}", where=where) from None


class RemoteFile(Source):
    """A file behind a URI."""

    def __init__(self, role: str, label: str, hadoop: Hadoop, status: Any) -> None:
        self.uri = str(status.getPath())
        super().__init__(role, label, self.uri)
        self._hadoop = hadoop
        self.stamp = (int(status.getLen()), int(status.getModificationTime()))
        self.size = self.stamp[0]
        self.begins: Sequence[tuple[int, int]] = ()
        """Where pieces of it begin, and how many lines come before each: known once Spark has counted them."""

    @property
    def packed(self) -> bool:
        """Whether it can only be read as a whole."""
        return self.uri.endswith((*SUFFIXES, ".parquet"))

    @property
    def splits(self) -> bool:
        return not self.packed

    @property
    def span(self) -> int:
        if self.uri.endswith(".parquet"):
            return _TABLE
        return most_unpacked(self.size) + 1 if self.packed else self.size + 1

    @cached_property
    def _here(self) -> Source:
        """A copy of it on this machine, for as long as the process lives."""
        folder = Path(tempfile.mkdtemp(prefix="ragworthy-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = folder / self.uri.rpartition("/")[2]
        with _explained(self.given):
            self._hadoop.copy(self.uri, path)
        source = file_source(self.role, path)
        source.label, source.given = self.label, self.given
        return source

    def between(self, begin: int, end: int) -> Iterator[Block]:
        return self._here.between(begin, end)

    @cached_property
    def _sha256(self) -> str:
        with _explained(self.given):
            return self._hadoop.sha256(self.uri)

    def sha256(self) -> str:
        return self._sha256

    def check_unchanged(self) -> None:
        with _explained(self.given):
            status = self._hadoop.status(self.uri)
        if (int(status.getLen()), int(status.getModificationTime())) != self.stamp:
            raise data_error("RW-F16", "the file changed while it was being read", where=self.given)

    def bytes_at(self, begin: int, size: int) -> bytes:
        """Some of its bytes."""
        with _explained(self.given):
            return self._hadoop.read(self.uri, begin, size)

    def block_at(self, offset: int, length: int, part: int, parts: int) -> Block:
        if self.packed:
            return self._here.block_at(offset, length, part, parts)
        return Block(offset, self.bytes_at(offset, length))

    def lines_at(self, offsets: Iterable[int]) -> dict[int, int]:
        if self.packed or not self.begins:
            return self._here.lines_at(offsets)
        return {offset: self._line_at(offset) for offset in offsets}

    def _line_at(self, offset: int) -> int:
        begin, line = self.begins[bisect_right(self.begins, offset, key=lambda one: one[0]) - 1]
        for start in range(begin, offset, _AT_ONCE):
            line += self.bytes_at(start, min(_AT_ONCE, offset - start)).count(b"\n")
        return line + 1


class RemoteFiles(Several):
    """The files of a folder or a pattern behind a URI."""

    def __init__(self, role: str, uri: Uri, hadoop: Hadoop, files: Sequence[RemoteFile]) -> None:
        super().__init__(role, Path(uri.label), files)
        self.label, self.given = uri.label, uri.text
        self._uri, self._hadoop = uri, hadoop

    def sha256(self) -> str:
        if self._sha256 is None:
            told = ((one.sha256(), one.label.partition("/")[2]) for one in self.files)
            self._sha256 = hashlib.sha256("".join(f"{sha}  {name}\n" for sha, name in told).encode()).hexdigest()
        return self._sha256

    def check_unchanged(self) -> None:
        for one in self.files:
            one.check_unchanged()
        if len(self._hadoop.files(self._uri)) != len(self.files):
            raise data_error("RW-F16", "the files changed while they were being read", where=self.given)


def remote_source(role: str, uri: Uri, hadoop: Hadoop) -> Source:
    """The source behind a URI."""
    found = hadoop.files(uri)
    if len(found) == 1 and str(found[0].getPath()).rpartition("/")[2] == uri.label:
        return RemoteFile(role, uri.label, hadoop, found[0])
    paths = [str(one.getPath()).split("/") for one in found]
    shared = next((nth for nth, names in enumerate(zip(*paths, strict=False)) if len(set(names)) > 1), 0)
    root = min(shared, *(len(path) - 1 for path in paths))
    labels = [f"{uri.label}/{'/'.join(path[root:])}" for path in paths]
    return RemoteFiles(role, uri, hadoop, [RemoteFile(role, *one) for one in _each(labels, hadoop, found)])


def _each(labels: Sequence[str], hadoop: Hadoop, found: Sequence[Any]) -> Iterator[tuple[str, Hadoop, Any]]:
    for label, status in zip(labels, found, strict=True):
        yield label, hadoop, status
