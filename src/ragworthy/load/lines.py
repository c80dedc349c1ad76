"""Lines of JSON in blocks, wherever they come from; and plain files, which can be cut into parts."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from ragworthy.errors import data_error
from ragworthy.files import check_readable, open_input, sha256_of, shown_path

BLOCK = 1 << 17
LONGEST_LINE = 32 << 20
BOM = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole lines, and where in the (decompressed) file they start."""

    offset: int
    data: bytes


class Source(ABC):
    """An input with a role ('gold', 'trace' …) that yields blocks of whole lines."""

    size = 0
    """Bytes of the whole; 0 where it is not known before reading."""

    def __init__(self, role: str, label: str, given: str | None = None) -> None:
        self.role = role
        self.label = label
        """The name reports show: never an absolute path."""
        self.given = given or label
        """The name errors show: the path as it was given."""

    @property
    def splits(self) -> bool:
        """Whether it can be cut into parts; all of another source is its first part."""
        return False

    @property
    def span(self) -> int:
        """All offsets are below this."""
        return self.size + 1

    def blocks(self, part: int = 0, parts: int = 1) -> Iterator[Block]:
        """The lines of one part, in order: those that start in its share of the bytes."""
        yield from self.between(*self.share(part, parts))

    def share(self, part: int, parts: int) -> tuple[int, int]:
        """The range of bytes of one part."""
        return self.size * part // parts, self.size * (part + 1) // parts if parts > 1 else max(self.size, 1)

    @abstractmethod
    def between(self, begin: int, end: int) -> Iterator[Block]:
        """The lines of a range of its bytes, in order. What cannot be cut belongs to the range with its first byte."""

    @abstractmethod
    def sha256(self) -> str:
        """The hash of the raw bytes of the whole."""

    def parts(self) -> "Sequence[Source]":
        """The files that it is made of, where it is several."""
        return (self,)

    def check_unchanged(self) -> None:  # noqa: B027 - records in memory stay as they are
        """Raise unless it is still what was opened."""

    # places, as people read them

    def at(self, line: int) -> str:
        """A line with the path as it was given, as errors show it."""
        return f"{self.given}:{line}"

    def shown(self, line: int) -> str:
        """A line with the path as reports show it."""
        return f"{self.label}:{line}"

    def line(self, line: int) -> str:
        """A line where it is clear which input is meant."""
        return str(line)

    def numbered(self, part: int = 0, parts: int = 1) -> Iterator[tuple[int, bytes]]:
        """Every line of one part that is not blank, with its number in the whole."""
        yield from self.numbered_between(*self.share(part, parts))

    def numbered_between(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        """The same of a range of its bytes."""
        number = sum(block.data.count(b"\n") for block in self.between(0, begin)) if begin > 0 else 0
        for block in self.between(begin, end):
            if block.data.isspace():  # padding: a line at a time it would take minutes
                number += block.data.count(b"\n")
                continue
            for line in lines_of(block.data):
                number += 1
                if not line.isspace():
                    yield number, line

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

    @property
    def splits(self) -> bool:
        return True

    def between(self, begin: int, end: int) -> Iterator[Block]:
        with open_input(self.path) as file:
            start = _line_start(file, begin)
            stop = _line_start(file, end) if end < self.size else self.size
            file.seek(start)
            yield from whole_lines(reads(file, stop - start), start, self)

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


def reads(file: IO[bytes], length: int) -> Iterator[bytes]:
    while length > 0 and (chunk := file.read(min(BLOCK, length))):
        length -= len(chunk)
        yield chunk


def whole_lines(chunks: Iterable[bytes], offset: int, source: Source) -> Iterator[Block]:
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


def lines_of(data: bytes) -> list[bytes]:
    """Lines at \\n only; `bytes.splitlines` would also cut at a lone \\r."""
    pieces = data.split(b"\n")
    last = pieces.pop()
    return [piece + b"\n" for piece in pieces] + ([last] if last else [])
