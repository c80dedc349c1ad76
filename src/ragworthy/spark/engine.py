"""The driver: what is read where, and what all tasks together gave."""

import io
import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from types import MethodType
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import msgspec

from ragworthy.errors import data_error
from ragworthy.load.lines import BOM, PlainFile, Source
from ragworthy.load.memory import Memory
from ragworthy.load.parquet import ParquetFile
from ragworthy.load.several import Several
from ragworthy.load.sources import PackedFile
from ragworthy.load.uri import Uri
from ragworthy.names import VERSION
from ragworthy.report.part import Voice
from ragworthy.spark.handed import Handed, Held, Named, NamedFiles, Piece, name_of
from ragworthy.spark.remote import Hadoop, RemoteFile, remote_source
from ragworthy.spark.rows import write_rows
from ragworthy.spark.session import Session, shown, work_session
from ragworthy.spark.task import LACKING, OTHER, PART, SCHEMA, Job, Segment, Sent, files_task, lines_task
from ragworthy.suites.made import Values
from ragworthy.suites.parts import Pass, Stored
from ragworthy.suites.request import Progress

_GLOB = str.maketrans({sign: f"\\{sign}" for sign in "*?[]{}\\"})
_SPECIAL = (Handed, Held, Named, NamedFiles, Memory)
"""Sources that can be sent as they are."""


class Spark:
    """Reads traces through a Spark session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._made: dict[int, Values] = {}

    def opened(self, role: str, given: Any) -> Source | None:
        """The source behind a URI; None for what this machine reads as well."""
        if not isinstance(given, Uri):
            return None
        with self.session.told():
            return remote_source(role, given, Hadoop(self.session.spark))

    def said(self, source: Source) -> Values | None:
        """What the traces say of how they were made; None of a source that was not read here."""
        return self._made.get(id(source))

    def parts(self, one: Pass, progress: Progress | None) -> list[Any] | None:
        """What every piece gives, in the order of the input; None where this machine reads it alone."""
        source = one.source
        if one.whole or not source.size or not all(map(_readable, source.parts())):
            return None
        with self.session.told():
            job = Job(Handed(name_of(source)), list(map(Named, source.parts())), one.work, one.sound, one.pack)
            packed = pickled(job, source)
            here: Job = pickle.loads(packed)  # noqa: S301 - what we have just written
            _stop_unless(one, here, [])  # what is wrong with the gold set is wrong in every part
            session = work_session(self.session.spark, source.size, len(packed))
            segments = _segments(session, source)
            sent = Sent(uuid4().hex, VERSION, {each.key: each for each in segments}, packed)
            with _meanwhile(source.sha256), shown(session, progress, source.size):
                found = _collected(session, sent, source)
        return self._taken(one, here, segments, found)

    def check_new(self, uri: str) -> None:
        """Refuse a folder that is there: nothing is replaced."""
        with self.session.told():
            there = Hadoop(self.session.spark).exists(uri)
        if there:
            raise data_error("RW-F14", "expected a new folder, got one that is there", where=uri)

    def write_rows(self, uri: str, rows: Iterable[dict[str, Any]], suites: Sequence[Voice]) -> None:
        """Rows as a folder of Parquet files that the executors write."""
        with self.session.told():
            write_rows(self.session.spark, uri, rows, suites)

    def _taken(self, one: Pass, here: Job, segments: Sequence[Segment], found: dict[int, Any]) -> list[Any]:
        rows = [(segment, _answered(segment, found, here)) for segment in segments]
        unsound = [segment for segment, row in rows if row.kind != PART]
        if unsound:
            one.source.check_unchanged()
            _stop_unless(one, here, [_piece_here(one.source, segment) for segment in unsound])
            places = ", ".join(f"{here.names[each.file].given} from byte {each.begin} on" for each in unsound[:3])
            raise data_error("RW-S05", f"expected the same from an executor as from the driver, got: {places}")
        made: Values = {}
        parts = []
        for _, row in rows:
            for key, counts in msgspec.json.decode(zlib.decompress(row.made), type=dict[str, dict[str, int]]).items():
                made.setdefault(key, Counter()).update(counts)
            stored = Stored(one.source.given, zlib.decompress(row.read))
            parts.append(one.unpack(stored.decoded(one.form, one.role)))
        self._made[id(one.source)] = made
        return parts


def _answered(segment: Segment, found: dict[int, Any], here: Job) -> Any:
    """What became of a piece. None that Spark lost may be missing from a sum."""
    row = found.get(segment.key)
    if row is None:
        message = f"expected Spark to read every part, got none from byte {segment.begin} on"
        raise data_error("RW-S05", message, where=here.names[segment.file].given)
    if row.kind == LACKING:
        raise data_error("RW-S08", f"on an executor: {bytes(row.read).decode()}")
    if row.kind == OTHER:
        raise data_error("RW-S08", f"expected version {VERSION} on every executor, got {bytes(row.read).decode()}")
    return row


def _readable(source: Source) -> bool:
    """Whether Spark can hand out a file: one of lines, or one that is packed; an array of JSON is neither."""
    return type(source) in (PlainFile, PackedFile, ParquetFile, RemoteFile)


def _plain(source: Source) -> bool:
    return isinstance(source, PlainFile) or (isinstance(source, RemoteFile) and not source.packed)


def _stop_unless(one: Pass, here: Job, pieces: list[Piece]) -> None:
    """Read some pieces on the driver, in the order of the input, and raise what is wrong with them."""
    part = here.read(pieces)
    if not here.sound(part):
        one.stop(part)


def _piece_here(source: Source, segment: Segment) -> Piece:
    """A piece as the driver reads it."""
    file = source.parts()[segment.file]
    end = segment.begin + segment.size if _plain(file) else max(file.size, 1)
    return Piece(file, segment.begin, end, segment.offset, segment.line, segment.start)


def pickled(job: Job, traces: Source) -> bytes:
    """A job as bytes. The input that Spark reads becomes what was handed to the task; others go along as a whole."""
    from pyspark import cloudpickle

    base: Any = cloudpickle.CloudPickler

    def reducer_override(pickler: Any, given: Any) -> Any:
        if given is traces:
            return _itself, (job.handed,)
        if isinstance(given, Source) and not isinstance(given, _SPECIAL):
            return Held, ((given.role, given.label, given.given), list(given.blocks()))
        if isinstance(given, MethodType):  # by its name: the object may be of another class over there
            return getattr, (given.__self__, given.__name__)
        return base.reducer_override(pickler, given)

    file = io.BytesIO()
    type("Pickler", (base,), {"reducer_override": reducer_override})(file).dump(job)
    return file.getvalue()


def _itself(given: Any) -> Any:
    return given


@contextmanager
def _meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Work of our own while the executors are busy. It is remembered; what fails, fails again where it is asked for."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work)
        yield


# which pieces there are


def _uri(source: Source) -> str:
    if isinstance(source, RemoteFile):
        return source.uri
    return f"file://{Path(source.given).absolute()}"


def _key(path: str) -> str:
    """A path as it is compared: Spark writes file:/a and file:///a, and escapes some signs in one of its columns.

    >>> _key("file:///tmp/a"), _key("file:/tmp/a"), _key("hdfs://nn:1/a")
    ('file:/tmp/a', 'file:/tmp/a', 'hdfs://nn:1/a')
    """
    scheme, _, rest = path.partition(":")
    return f"{scheme}:/{rest.lstrip('/')}" if scheme == "file" else path


def _lines_of(session: Any, files: Sequence[Source]) -> Any:
    """The lines of plain files, each with the key of its piece."""
    from pyspark.sql import functions as f

    found = session.read.option("lineSep", "\n").text([_uri(one).translate(_GLOB) for one in files])
    where = f.col("_metadata.file_path"), f.col("_metadata.file_block_start")
    return found.select(
        f.col("value").cast("binary").alias("value"),
        f.xxhash64(*where).alias("key"),
        where[0].alias("path"),
        where[1].alias("start"),
    )


def _whole_files(session: Any, files: Sequence[Source]) -> Any:
    """Files as they are, each with its key."""
    from pyspark.sql import functions as f

    found = session.read.format("binaryFile").load([_uri(one).translate(_GLOB) for one in files])
    return found.select("content", f.xxhash64("path").alias("key"), "path")


def _segments(session: Any, source: Source) -> list[Segment]:
    """Every piece that Spark hands out, in the order of the input. Lines are counted first: an error has its line."""
    from pyspark.sql import functions as f

    files = source.parts()
    shifts = source.shifts() if isinstance(source, Several) else [(0, 0)]
    nth_of = {_key(_uri(one)): nth for nth, one in enumerate(files)}

    def nth(path: str) -> int:
        return nth_of[_key(path)] if _key(path) in nth_of else nth_of[_key(unquote(path))]

    segments: list[Segment] = []
    plain, packed = _kinds(files)
    if plain:
        size = f.sum(f.octet_length("value") + 1)
        pieces = _lines_of(session, plain).groupBy("path", "start", "key")
        counted = pieces.agg(f.count("*").alias("lines"), size.alias("size")).collect()
        rows = sorted(((nth(row.path), row) for row in counted), key=lambda one: (one[0], one[1].start))
        for at, some in groupby(rows, key=lambda one: one[0]):
            segments += _of_file(files[at], at, [row for _, row in some], shifts[at])
    if packed:
        for row in _whole_files(session, packed).select("path", "key").collect():
            at = nth(row.path)
            segments.append(Segment(row.key, at, 0, files[at].size, 0, False, *shifts[at]))
    _check_there(files, segments)
    return sorted(segments, key=lambda one: (one.file, one.begin))


def _kinds(files: Sequence[Source]) -> tuple[list[Source], list[Source]]:
    """Plain files, and those that are handed out whole; what is empty holds nothing to read."""
    there = [one for one in files if one.size]
    return [one for one in there if _plain(one)], [one for one in there if not _plain(one)]


def _of_file(file: Source, nth: int, rows: Sequence[Any], shift: tuple[int, int]) -> list[Segment]:
    """The pieces of one plain file. Spark takes a byte order mark away, and does not say how the last line ends."""
    left = file.size - sum(row.size for row in rows)
    marks = {0: (0, False), -1: (0, True), len(BOM): (len(BOM), False), len(BOM) - 1: (len(BOM), True)}
    if left not in marks:
        file.check_unchanged()
        message = f"expected Spark to read {file.size} bytes, got {file.size - left}"
        raise data_error("RW-S05", message, where=file.given)
    begin, open_end = marks[left]
    before, segments = 0, []
    for at, row in enumerate(rows, start=1):
        cut = open_end and at == len(rows)
        segments.append(Segment(row.key, nth, begin, row.size - cut, before, cut, *shift))
        begin, before = begin + row.size, before + row.lines
    if isinstance(file, RemoteFile):
        file.begins = [(one.begin, one.before) for one in segments]
    return segments


def _check_there(files: Sequence[Source], segments: Sequence[Segment]) -> None:
    there = {one.file for one in segments}
    if len({one.key for one in segments}) < len(segments):
        raise data_error("RW-S05", "expected a key for each part, got one twice")
    for nth, file in enumerate(files):
        if file.size and nth not in there and file.size != len(BOM):
            message = "expected Spark to read the file, got nothing: it hides names that begin with _ or a dot"
            raise data_error("RW-S05", message, where=file.given)


def _collected(session: Any, sent: Sent, source: Source) -> dict[int, Any]:
    """What every piece gave, by its key. A task that fails is tried again by Spark; a piece that comes twice is one."""
    context = session.sparkContext
    broadcast = context.broadcast(sent)
    plain, packed = _kinds(source.parts())
    try:
        rows = []
        if plain:
            lines = _lines_of(session, plain).select("value", "key")
            rows += lines.mapInArrow(lines_task(broadcast), SCHEMA).collect()
        if packed:
            files = _whole_files(session, packed).select("content", "key")
            rows += files.mapInArrow(files_task(broadcast), SCHEMA).collect()
    finally:
        # A call that was interrupted leaves its answer in the connection, and the next call may get it as its own: what
        # ended this stays what it was, and no error of a job whose broadcast is gone takes its place.
        with suppress(Exception):
            broadcast.destroy()
    return {row.key: row for row in rows}
