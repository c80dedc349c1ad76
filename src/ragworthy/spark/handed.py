"""What a task has of an input: the pieces that Spark handed to it, each at its true place in the file."""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import IO, NamedTuple

from ragworthy.load.lines import Block, Source, reads, whole_lines
from ragworthy.load.several import Several


class Named(Source):
    """A file of which only the name and the size are known."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.role, source.label, source.given)
        self.size = source.size
        self._span = source.span

    @property
    def span(self) -> int:
        return self._span

    def between(self, begin: int, end: int) -> Iterator[Block]:
        return iter(())

    def sha256(self) -> str:
        raise NotImplementedError("the driver hashes inputs")


class NamedFiles(Several):
    """The same of several files that are one input."""

    def __init__(self, several: Several) -> None:
        super().__init__(several.role, several.path, list(map(Named, several.files)))
        self.label, self.given = several.label, several.given


def name_of(source: Source) -> Source:
    """What a source is called, and how its places are shown; nothing of what it holds."""
    return NamedFiles(source) if isinstance(source, Several) else Named(source)


class Lines(Source):
    """Whole lines out of the middle of a plain file."""

    def __init__(self, data: IO[bytes], size: int, offset: int, before: int, name: Source) -> None:
        super().__init__(name.role, name.label, name.given)
        self.data, self.size = data, size
        self.offset = offset
        """Where they begin in the file."""
        self.before = before
        """How many lines of the file come before them."""

    def between(self, begin: int, end: int) -> Iterator[Block]:
        self.data.seek(0)
        yield from whole_lines(reads(self.data, self.size), self.offset, self)

    def numbered_between(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        for number, line in super().numbered_between(0, 1):
            yield self.before + number, line

    def block_at(self, offset: int, length: int, part: int, parts: int) -> Block:
        self.data.seek(offset - self.offset)
        return Block(offset, self.data.read(length))

    def line_after(self, offset: int) -> int:
        self.data.seek(0)
        return self.before + 1 + self.data.read(max(offset - self.offset, 0)).count(b"\n")

    def sha256(self) -> str:
        self.data.seek(0)
        return hashlib.sha256(self.data.read(self.size)).hexdigest()


class Piece(NamedTuple):
    """A range of one file of an input."""

    source: Source
    begin: int
    end: int
    offset: int
    """What the input adds to offsets of this file."""
    line: int
    """What it adds to its line numbers."""
    start: int
    """Where the piece begins in the input: every offset of an earlier piece is smaller."""

    def blocks(self) -> Iterator[Block]:
        """Its lines."""
        for block in self.source.between(self.begin, self.end):
            yield Block(self.offset + block.offset, block.data)

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """Its lines with their numbers."""
        for number, line in self.source.numbered_between(self.begin, self.end):
            yield self.line + number, line


class Handed(Source):
    """An input of which a task has some pieces."""

    def __init__(self, name: Source) -> None:
        super().__init__(name.role, name.label, name.given)
        self.name = name
        """Says how places of the input are shown."""
        self.pieces: Sequence[Piece] = ()

    def between(self, begin: int, end: int) -> Iterator[Block]:
        for piece in self.pieces:
            yield from piece.blocks()

    def numbered_between(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        for piece in self.pieces:
            yield from piece.numbered()

    def block_at(self, offset: int, length: int, part: int, parts: int) -> Block:
        piece = self.pieces[bisect_right(self.pieces, offset, key=attrgetter("start")) - 1]
        return Block(offset, piece.source.block_at(offset - piece.offset, length, 0, 1).data)

    def sha256(self) -> str:
        raise NotImplementedError("the driver hashes inputs")

    def at(self, line: int) -> str:
        return self.name.at(line)

    def shown(self, line: int) -> str:
        return self.name.shown(line)

    def line(self, line: int) -> str:
        return self.name.line(line)


class Held(Source):
    """An input that every task needs as a whole: the gold set."""

    def __init__(self, name: tuple[str, str, str], blocks: Iterable[Block]) -> None:
        super().__init__(*name)
        self._blocks = {block.offset: block for block in blocks}
        self.size = sum(len(block.data) for block in self._blocks.values())

    def between(self, begin: int, end: int) -> Iterator[Block]:
        yield from self._blocks.values() if begin <= 0 < end else ()

    def block_at(self, offset: int, length: int, part: int, parts: int) -> Block:
        return self._blocks[offset]

    def sha256(self) -> str:
        raise NotImplementedError("the driver hashes inputs")
