"""Where lines of JSON come from: files, several files together, or records in memory.

A source yields blocks of whole lines. Where files can be cut into parts, each part is read by another process.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ragworthy.errors import data_error, usage_error
from ragworthy.files import files_of
from ragworthy.load import unpack
from ragworthy.load.lines import BLOCK as BLOCK
from ragworthy.load.lines import BOM as BOM
from ragworthy.load.lines import LONGEST_LINE as LONGEST_LINE
from ragworthy.load.lines import Block as Block
from ragworthy.load.lines import FileSource as FileSource
from ragworthy.load.lines import PlainFile as PlainFile
from ragworthy.load.lines import Source as Source
from ragworthy.load.lines import whole_lines
from ragworthy.load.uri import Uri


class PackedFile(FileSource):
    """A gzip or zstd file; offsets are those of the unpacked bytes."""

    @property
    def span(self) -> int:
        return unpack.most_unpacked(self.size) + 1

    def between(self, begin: int, end: int) -> Iterator[Block]:
        if begin <= 0 < end:
            yield from whole_lines(unpack.chunks(self.path, self.given), 0, self)


def open_source(role: str, given: Any) -> Source:
    """The source behind a path, an iterable of records or a data frame."""
    if isinstance(given, (str, Path)):
        path = Path(given)
        if (several := files_of(path)) is not None:
            from ragworthy.load.several import Several

            return Several(role, path, [file_source(role, one) for one in several])
        return file_source(role, path)
    if isinstance(given, Source):
        return given
    from ragworthy.load.memory import Memory

    if isinstance(given, Uri):
        raise data_error("RW-S06", "expected a path on this machine, got a URI", where=given.text)
    for method in ("to_dicts", "to_pylist"):  # polars, pyarrow
        if hasattr(given, method):
            return Memory(role, getattr(given, method)())
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # pandas
        return Memory(role, given.to_dict("records"))
    if isinstance(given, Iterable) and not isinstance(given, (bytes, dict)):
        return Memory(role, given)
    raise usage_error(f"{role}: expected a path, records or a data frame, got {type(given).__name__}")


def file_source(role: str, path: Path) -> FileSource:
    """The source that a single file is, by its suffix."""
    if path.suffix in unpack.SUFFIXES:
        return PackedFile(role, path)
    if path.suffix != ".parquet":
        return PlainFile(role, path)
    from ragworthy.load.parquet import ParquetFile

    return ParquetFile(role, path)
