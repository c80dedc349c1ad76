"""Where lines of JSON come from: plain, gzip and zstd files, Parquet, or records in memory.

A source yields blocks of whole lines. A plain file can be cut into parts, each read by another process; the other
kinds are one part.
"""

import hashlib
import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from ragworthy.errors import Problem, UsageError, data_error, missing_extra, usage_error
from ragworthy.files import check_readable, open_input, sha256_of, shown_path
from ragworthy.load import unpack
from ragworthy.load.values import Refused, is_plain, plain

BLOCK = 1 << 17
LONGEST_LINE = 32 << 20
BOM = b"\xef\xbb\xbf"
_AT_ONCE = 1000
"""So many records in memory are looked at together."""
_LOOKED_AT = 16_384
_ROWS = 2048
_MOST_ROWS = 64 << 20
"""Rows of a Parquet file are looked at in large batches and unpacked in small ones, of 64 MiB or so."""
_VALUE = 64
"""What a value takes in memory, however short it is."""


class Block(NamedTuple):
    """Whole lines, and where in the (decompressed) file they start."""

    offset: int
    data: bytes


class Source(ABC):
    """An input with a role ('gold', 'trace' …) that yields blocks of whole lines."""

    splits = False
    size = 0
    """Bytes of the whole; 0 where it is not known before reading."""

    def __init__(self, role: str, label: str, given: str | None = None) -> None:
        self.role = role
        self.label = label
        """The name reports show: never an absolute path."""
        self.given = given or label
        """The name errors show: the path as it was given."""

    @abstractmethod
    def blocks(self, part: int = 0, parts: int = 1) -> Iterator[Block]:
        """The lines of one part, in order."""

    @abstractmethod
    def sha256(self) -> str:
        """The hash of the raw bytes of the whole."""

    def block_at(self, offset: int, length: int, part: int, parts: int) -> Block:
        """A block of `blocks(part, parts)` once more."""
        for block in self.blocks(part, parts):
            if block.offset == offset:
                return block
        raise data_error("RW-F16", "the input changed while it was being read", where=self.given)

    def line_after(self, offset: int) -> int:
        """The line that starts where the readable lines end."""
        line = 1
        for block in self.blocks() if offset > len(BOM) else ():
            line += block.data.count(b"\n")
            if block.offset + len(block.data) >= offset:
                break
        return line

    def lines_at(self, offsets: Iterable[int]) -> dict[int, int]:
        """The physical line, from 1, of each byte offset."""
        left = sorted(set(offsets), reverse=True)
        lines: dict[int, int] = {}
        line = 1
        for block in self.blocks() if left else ():
            while left and left[-1] < block.offset + len(block.data):
                offset = left.pop()
                lines[offset] = line + block.data.count(b"\n", 0, offset - block.offset)
            if not left:
                break
            line += block.data.count(b"\n")
        return lines | dict.fromkeys(left, line)


class FileSource(Source):
    """A file; `stamp` tells whether it changed while being read."""

    def __init__(self, role: str, path: Path) -> None:
        super().__init__(role, shown_path(path), str(path))
        self.path = path
        check_readable(path)
        self.stamp = self._stamp()
        self.size = self.stamp[0]
        self._sha256: str | None = None

    def _stamp(self) -> tuple[int, int]:
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns

    def sha256(self) -> str:
        if self._sha256 is None:  # a large file is hashed once, while other processes read it
            self._sha256 = sha256_of(self.path)
        return self._sha256

    def check_unchanged(self) -> None:
        """Raise unless the file is still the one that was opened."""
        if self._stamp() != self.stamp:
            raise data_error("RW-F16", "the file changed while it was being read", where=self.given)


class PlainFile(FileSource):
    """An uncompressed JSONL file; parts are byte ranges moved to the next line start."""

    splits = True

    def blocks(self, part: int = 0, parts: int = 1) -> Iterator[Block]:
        begin, end = self.size * part // parts, self.size * (part + 1) // parts
        with open_input(self.path) as file:
            start = _line_start(file, begin)
            stop = _line_start(file, end) if end < self.size else self.size
            file.seek(start)
            yield from _whole_lines(_reads(file, stop - start), start, self)

    def block_at(self, offset: int, length: int, part: int, parts: int) -> Block:
        with open_input(self.path) as file:
            file.seek(offset)
            return Block(offset, file.read(length))


def _line_start(file: IO[bytes], offset: int) -> int:
    """The first line start at or after an offset."""
    if offset == 0:
        return 0
    file.seek(offset - 1)
    position = offset - 1
    while chunk := file.read(BLOCK):
        found = chunk.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(chunk)
    return position


def _reads(file: IO[bytes], length: int) -> Iterator[bytes]:
    while length > 0 and (chunk := file.read(min(BLOCK, length))):
        length -= len(chunk)
        yield chunk


def _whole_lines(chunks: Iterable[bytes], offset: int, source: Source) -> Iterator[Block]:
    """Regroup chunks into blocks that end at a line end; the last block may lack one."""
    pending: list[bytes] = []
    held = 0
    first = offset == 0
    for chunk in chunks:
        if first:
            first = False
            if chunk.startswith(BOM):
                chunk = chunk[len(BOM) :]
                offset += len(BOM)
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            pending.append(chunk)
            held += len(chunk)
            if held > LONGEST_LINE:
                message = f"expected lines of at most {LONGEST_LINE >> 20} MiB, got a longer one"
                raise data_error("RW-F05", message, where=f"{source.given}:{source.line_after(offset)}")
            continue
        if pending:
            pending.append(chunk[:cut])
            data = b"".join(pending)
            pending, held = [], 0
        else:
            data = chunk[:cut] if cut < len(chunk) else chunk
        yield Block(offset, data)
        offset += len(data)
        if cut < len(chunk):
            pending.append(chunk[cut:])
            held = len(chunk) - cut
    if pending:
        yield Block(offset, b"".join(pending))


class PackedFile(FileSource):
    """A gzip or zstd file; offsets are those of the unpacked bytes."""

    def blocks(self, part: int = 0, parts: int = 1) -> Iterator[Block]:
        yield from _whole_lines(unpack.chunks(self.path, self.given), 0, self)


class ParquetFile(FileSource):
    """A Parquet file, read as the JSON lines it stands for; a line number is a row number."""

    def blocks(self, part: int = 0, parts: int = 1) -> Iterator[Block]:
        try:
            import pyarrow
        except ImportError:
            raise missing_extra("pyarrow", "parquet", f"{self.given}: reading Parquet") from None
        offset = 0
        try:
            for rows in self._rows():
                data = as_lines(rows, self.given)
                yield Block(offset, data)
                offset += len(data)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            message = f"expected a Parquet file, got: {(str(error).splitlines() or [''])[0]}"
            raise data_error("RW-F13", message, where=self.given) from None

    def _rows(self) -> Iterator[list[dict[str, Any]]]:
        """Rows, a few at a time.

        Before they are unpacked, their texts are looked at as they are stored: one long text that a thousand rows
        share takes a kilobyte in the file and a gigabyte in the memory.
        """
        from pyarrow import parquet

        stored = parquet.ParquetFile(self.path)
        columns = [stored.schema.column(nth) for nth in range(len(stored.schema))]
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        shared = parquet.ParquetFile(self.path, read_dictionary=texts)
        most = unpack.most_unpacked(self.size)
        if _VALUE * _values(stored.metadata) > most:
            raise unpack.too_much(self.given, most)
        seen = 0
        for group in range(stored.num_row_groups):
            if seen + stored.metadata.row_group(group).total_byte_size > most:
                raise unpack.too_much(self.given, most)
            rows = _ROWS
            for batch in shared.iter_batches(batch_size=_LOOKED_AT, row_groups=[group]):
                size = sum(map(unpacked_size, batch.columns))
                seen += size
                if seen > most:
                    raise unpack.too_much(self.given, most)
                rows = min(rows, max(1, batch.num_rows * _MOST_ROWS // max(size, 1)))
            for batch in stored.iter_batches(batch_size=rows, row_groups=[group]):
                yield batch.to_pylist()


def _values(metadata: Any) -> int:
    """How many values a Parquet file holds, in all columns; nulls and empty texts cost no bytes, but memory."""
    groups = (metadata.row_group(nth) for nth in range(metadata.num_row_groups))
    return sum(group.column(nth).num_values for group in groups for nth in range(group.num_columns))


def unpacked_size(array: Any) -> int:
    """How many bytes the values of an Arrow array take once every shared text is written out."""
    from pyarrow import compute, types

    kind = array.type
    if types.is_dictionary(kind):
        used = array.indices.value_counts()
        there = used.filter(used.field("values").is_valid())
        lengths = compute.binary_length(array.dictionary.take(there.field("values")))
        return compute.sum(compute.multiply(lengths.cast("int64"), there.field("counts"))).as_py() or 0
    if types.is_struct(kind):
        return sum(map(unpacked_size, array.flatten()))
    if types.is_map(kind):
        return unpacked_size(array.keys) + unpacked_size(array.items)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return unpacked_size(array.flatten())
    return int(array.nbytes)


class Memory(Source):
    """Records given as Python objects, kept as the JSON lines they stand for."""

    def __init__(self, role: str, records: Iterable[Any]) -> None:
        super().__init__(role, f"<{role}>")
        self.data = as_lines(records, self.label)
        self.size = len(self.data)

    def blocks(self, part: int = 0, parts: int = 1) -> Iterator[Block]:
        stream = io.BytesIO(self.data)
        yield from _whole_lines(_reads(stream, self.size), 0, self)

    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def as_lines(records: Iterable[Any], where: str) -> bytes:
    """Records as JSON lines; `where` names them in a message."""
    encoder = msgspec.json.Encoder()
    rest = iter(records)
    pieces: list[bytes] = []
    count = 0
    while some := list(islice(rest, _AT_ONCE)):
        pieces.append(_lines_at_once(encoder, some) or _lines_one_by_one(encoder, some, where, count))
        count += len(some)
    return b"".join(pieces)


def _lines_at_once(encoder: msgspec.json.Encoder, records: list[Any]) -> bytes:
    """The lines of records that are plain; nothing where some are not."""
    try:
        return encoder.encode_lines(records) if is_plain(records) else b""
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""


def _lines_one_by_one(encoder: msgspec.json.Encoder, records: list[Any], where: str, before: int) -> bytes:
    """The lines of records; what JSON cannot hold is refused by its record and its field."""
    lines: list[bytes] = []
    try:
        for record in records:
            lines.append(encoder.encode(plain(record)) + b"\n")
    except Refused as refused:
        place = f"{where}:{before + len(lines) + 1}"
        raise UsageError([Problem("RW-U05", refused.reason, place, refused.field)]) from None
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        told = "records nested too deeply" if isinstance(error, RecursionError) else str(error)
        place = f"{where}:{before + len(lines) + 1}"
        raise UsageError([Problem("RW-U05", f"expected what JSON can hold, got: {told}", place)]) from None
    return b"".join(lines)


def open_source(role: str, given: Any) -> Source:
    """The source behind a path, an iterable of records or a data frame."""
    if isinstance(given, (str, Path)):
        path = Path(given)
        if path.suffix in (".gz", ".zst"):
            return PackedFile(role, path)
        if path.suffix == ".parquet":
            return ParquetFile(role, path)
        return PlainFile(role, path)
    if isinstance(given, Source):
        return given
    for method in ("to_dicts", "to_pylist"):  # polars, pyarrow
        if hasattr(given, method):
            return Memory(role, getattr(given, method)())
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # pandas
        return Memory(role, given.to_dict("records"))
    if isinstance(given, Iterable) and not isinstance(given, (bytes, dict)):
        return Memory(role, given)
    raise usage_error(f"{role}: expected a path, records or a data frame, got {type(given).__name__}")
