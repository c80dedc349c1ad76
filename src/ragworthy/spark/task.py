"""What an executor does: it takes the lines of a piece together, and reads them as one process would."""

import pickle
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import DataError, MissingExtra
from ragworthy.load.lines import LONGEST_LINE
from ragworthy.load.sources import Source, file_source
from ragworthy.names import VERSION
from ragworthy.spark.handed import Handed, Lines, Piece
from ragworthy.suites.made import said_in
from ragworthy.suites.parts import encoded
from ragworthy.text import clip

PART, UNSOUND, LACKING, OTHER = "part", "unsound", "lacking", "other"
"""What became of a piece: it was read, there is something wrong with it, a package or another version is there."""
SCHEMA = "key long, size long, kind string, read binary, made binary"
_IN_MEMORY = 64 << 20
"""Longer pieces are kept on the disk of the executor while they are read."""


class Segment(NamedTuple):
    """A piece that Spark hands out: where it stands, so that every error has its line."""

    key: int
    file: int
    """Which file it is of."""
    begin: int
    """Where its first line begins in the file."""
    size: int
    """Its bytes, line ends included."""
    before: int
    """How many lines of the file come before it."""
    open_end: bool
    """Whether its last line has no line end."""
    offset: int
    """What the input adds to offsets of the file."""
    line: int
    """What it adds to line numbers."""

    @property
    def start(self) -> int:
        """Where it begins in the input."""
        return self.offset + self.begin


class Job(NamedTuple):
    """Everything that a task needs besides the lines."""

    handed: Handed
    names: list[Source]
    """Every file of the input."""
    work: Callable[[int, int, Any], Any]
    sound: Callable[[Any], bool]
    pack: Callable[[Any], Any]

    def read(self, pieces: list[Piece]) -> Any:
        """What some pieces give, as if they were the whole."""
        self.handed.pieces = pieces
        return self.work(0, 1, None)


class Sent(NamedTuple):
    """A job as it is sent to the executors."""

    name: str
    """Differs from job to job."""
    version: str
    segments: Mapping[int, Segment]
    job: bytes


_loaded: dict[str, tuple[Sent, Job]] = {}
"""The job that this process read last: it reads many pieces of one job."""


def _job_of(broadcast: Any) -> tuple[Sent, Job]:
    sent: Sent = broadcast.value
    if sent.name not in _loaded:
        _loaded.clear()
        _loaded[sent.name] = sent, pickle.loads(sent.job)  # noqa: S301 - what our own driver sent
    return _loaded[sent.name]


def lines_task(broadcast: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function for lines: the columns `value` and `key`."""

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        yield from _checked(broadcast, lambda sent, job: _of_lines(sent, job, batches), batches)

    return task


def files_task(broadcast: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function for files that are handed out whole: the columns `content` and `key`."""

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        yield from _checked(broadcast, lambda sent, job: _of_files(sent, job, batches), batches)

    return task


def _checked(broadcast: Any, read: Callable[[Sent, Job], Iterator[Any]], batches: Iterable[Any]) -> Iterator[Any]:
    """The results of a task; with another version on the executor nothing is read, and that is said."""
    version = broadcast.value.version
    if version != VERSION:
        for batch in batches:
            for key in set(batch.column("key").to_pylist()):
                yield _told(key, 0, OTHER, VERSION.encode())
        return
    yield from read(*_job_of(broadcast))


def _of_lines(sent: Sent, job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    for key, runs in groupby(_runs(batches), key=lambda run: run[0]):
        segment = sent.segments.get(key)
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as data:
            size = _spool(data, (values for _, values in runs), open_end=segment is not None and segment.open_end)
            if segment is None or size != segment.size:
                yield _told(key, size, UNSOUND)
                continue
            name = job.names[segment.file]
            lines = Lines(data, size, segment.begin, segment.before, name)
            piece = Piece(lines, 0, 1, segment.offset, segment.line, segment.start)
            yield _result(job, segment, piece)


def _runs(batches: Iterable[Any]) -> Iterator[tuple[int, list[bytes]]]:
    """Neighbouring lines of the same piece."""
    for batch in batches:
        values, place = batch.column("value"), 0
        for key, some in groupby(batch.column("key").to_pylist()):
            many = sum(1 for _ in some)
            yield key, values.slice(place, many).to_pylist()
            place += many


def _spool(data: Any, runs: Iterable[list[bytes]], *, open_end: bool) -> int:
    """Write the lines of a piece, and tell how many bytes they are."""
    size = 0
    for lines in runs:
        if max(map(len, lines)) > LONGEST_LINE:
            return -1  # the driver meets the error itself
        size += data.write(b"\n".join(lines) + b"\n")
    if open_end:
        size -= 1
        data.truncate(size)
    return size


def _of_files(sent: Sent, job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        for key, content in zip(batch.column("key").to_pylist(), batch.column("content"), strict=True):
            data, segment = content.as_buffer(), sent.segments.get(key)
            if segment is None or data.size != segment.size:
                yield _told(key, data.size, UNSOUND)
                continue
            with copied(data, job.names[segment.file]) as source:
                yield _result(job, segment, whole(source, segment))


@contextmanager
def copied(data: Any, name: Source) -> Iterator[Source]:
    """A packed file or a table on the disk of this machine, under the name that it has elsewhere."""
    with tempfile.TemporaryDirectory(prefix="ragworthy-") as folder:
        path = Path(folder) / f"file{Path(name.label).suffix}"
        with path.open("wb") as file:
            file.write(data)
        source = file_source(name.role, path)
        source.label, source.given = name.label, name.given
        yield source


def whole(source: Source, segment: Segment) -> Piece:
    """A file that is one piece."""
    return Piece(source, 0, max(source.size, 1), segment.offset, segment.line, segment.start)


def _result(job: Job, segment: Segment, piece: Piece) -> Any:
    """What a piece gives. Where something is wrong with it, the driver reads it again and meets the error itself."""
    try:
        part = job.read([piece])
        if not job.sound(part):
            return _told(segment.key, segment.size, UNSOUND)
        read, made = encoded(job.pack(part)), encoded(said_in(job.handed, 0, 1))
    except MissingExtra as error:
        return _told(segment.key, segment.size, LACKING, clip(error.lines()[0], 500).encode())
    except DataError:
        return _told(segment.key, segment.size, UNSOUND)
    return _told(segment.key, segment.size, PART, zlib.compress(read, 1), zlib.compress(made, 1))


def _told(key: int, size: int, kind: str, read: bytes = b"", made: bytes = b"") -> Any:
    import pyarrow as pa

    kinds = [("key", pa.int64()), ("size", pa.int64()), ("kind", pa.string()), ("read", pa.binary())]
    schema = pa.schema([*kinds, ("made", pa.binary())])
    row = {"key": key, "size": size, "kind": kind, "read": read, "made": made}
    return pa.RecordBatch.from_pylist([row], schema=schema)
