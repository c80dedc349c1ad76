"""Parquet files, read as the JSON lines that they stand for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragworthy.errors import data_error, missing_extra
from ragworthy.load import unpack
from ragworthy.load.lines import Block, FileSource
from ragworthy.load.memory import as_lines

_LOOKED_AT = 16_384
_ROWS = 2048
_MOST_ROWS = 64 << 20
"""Rows of a Parquet file are looked at in large batches and unpacked in small ones, of 64 MiB or so."""
_GROUP = 1 << 40
"""The JSON of a row group takes fewer bytes than this."""
_VALUE = 64
"""What a value takes in memory, however short it is."""


class ParquetFile(FileSource):
    """A Parquet file; a line number is a row number. It is cut between row groups.

    The JSON of a row group has a range of offsets to itself, so that a group can be read without those before it.
    """

    def __init__(self, role: str, path: Path) -> None:
        super().__init__(role, path)
        self._groups: int | None = None
        self._unpacked: dict[int, int] = {}
        """The bytes of each row group that was read."""

    @property
    def groups(self) -> int:
        """How many row groups there are."""
        if self._groups is None:
            with self._told():
                self._groups = int(self._metadata().num_row_groups)
        return self._groups

    @property
    def splits(self) -> bool:
        return self.groups > 1

    @property
    def span(self) -> int:
        return (self.groups + 1) * _GROUP

    def between(self, begin: int, end: int) -> Iterator[Block]:
        for nth in range(self.groups):
            if begin <= self.size * nth // self.groups < end:
                yield from self._blocks(nth)

    def block_at(self, offset: int, length: int, part: int, parts: int) -> Block:
        for block in self._blocks(offset // _GROUP):
            if block.offset == offset:
                return block
        raise data_error("RW-F16", "the input changed while it was being read", where=self.given)

    def _blocks(self, group: int) -> Iterator[Block]:
        offset = group * _GROUP
        with self._told():
            for rows in self._rows(group):
                data = as_lines(rows, self.given)
                yield Block(offset, data)
                offset += len(data)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What Arrow cannot read, in our words."""
        try:
            import pyarrow
        except ImportError:
            raise missing_extra("pyarrow", "parquet", f"{self.given}: reading Parquet") from None
        try:
            yield
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            message = f"expected a Parquet file, got: {(str(error).splitlines() or [''])[0]}"
            raise data_error("RW-F13", message, where=self.given) from None

    def _metadata(self) -> Any:
        """What the end of the file says of it, looked at before anything is unpacked."""
        from pyarrow import parquet

        stored = parquet.ParquetFile(self.path).metadata
        most = unpack.most_unpacked(self.size)
        groups = (stored.row_group(nth).total_byte_size for nth in range(stored.num_row_groups))
        if _VALUE * _values(stored) > most or sum(groups) > most:
            raise unpack.too_much(self.given, most)
        return stored

    def _rows(self, group: int) -> Iterator[list[dict[str, Any]]]:
        """The rows of a group, a few at a time.

        Before they are unpacked, their texts are looked at as they are stored: one long text that a thousand rows
        share takes a kilobyte in the file and a gigabyte in the memory.
        """
        from pyarrow import parquet

        stored = parquet.ParquetFile(self.path)
        columns = [stored.schema.column(nth) for nth in range(len(stored.schema))]
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        shared = parquet.ParquetFile(self.path, read_dictionary=texts)
        most = unpack.most_unpacked(self.size)
        rows, seen = _ROWS, 0
        for batch in shared.iter_batches(batch_size=_LOOKED_AT, row_groups=[group]):
            size = sum(map(unpacked_size, batch.columns))
            seen += size
            self._unpacked[group] = max(seen, self._unpacked.get(group, 0))
            if sum(self._unpacked.values()) > most:
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
