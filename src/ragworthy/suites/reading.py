"""How suites read large files: in blocks of whole lines, with the problems collected on the way."""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.load.decode import Decoder, Record, record_offsets
from ragworthy.load.sources import Source
from ragworthy.records import Ints
from ragworthy.suites.request import Progress

MOST_FLAWS = 100
"""So many problems are kept with their place; the rest are counted."""


class Flaw(NamedTuple):
    """A problem found in a record: the input it is in, the place, and what is wrong."""

    role: str
    offset: int
    code: str
    field: str
    message: str


NAMELESS = "expected a non-empty string, got nothing"
"""What is said of a record without an id, RW-T01."""


def nameless(where: str) -> Problem:
    """A trace or a run without an id."""
    return Problem("RW-T01", NAMELESS, where, "qid")


def stranger(qid: str, where: str) -> Problem:
    """A run of a question that the gold set does not have."""
    return Problem("RW-T11", f'expected a qid of the gold set, got "{qid}"', where, "qid")


def records_at(
    source: Source, kind: type[Record], wanted: Iterable[int], lines: Iterable[tuple[int, bytes]] | None = None
) -> Iterator[tuple[int, Record]]:
    """The records of some lines once more, with their numbers, in the order of the file: one pass, and only these are
    decoded. `lines` are those of a source whose records are not its own lines.
    """
    left, decoder = set(wanted), Decoder(kind)
    for number, line in (source.numbered() if lines is None else lines) if left else ():
        if number in left:
            record = decoder.read(line, 0)
            if record is not None:
                yield number, record
                left.discard(number)
            if not left:
                return
    if left:
        raise data_error("RW-F16", "the input changed while it was being read", where=source.given)


class Reader(NamedTuple):
    """How lines become records. Handed to what measures, so that this knows nothing of files and can run anywhere a
    block of lines can be sent to: in another process today, on another machine when there is one.
    """

    blocks: Callable[[int, int], Iterator[Any]]
    block_at: Callable[[int, int, int, int], Any]
    decoder: Callable[[], Any]
    offsets: Callable[[Any], list[int]]


def reader(source: Source, kind: type) -> Reader:
    """How the records of a source are read."""
    return Reader(source.blocks, source.block_at, partial(Decoder, kind), partial(record_offsets, kind))


class Table:
    """Where the blocks of one part begin, so that a record can be read once more by its number."""

    def __init__(self) -> None:
        self.offsets: Ints = array("q")
        self.lengths: Ints = array("q")
        self.firsts: Ints = array("q")

    @classmethod
    def of(cls, offsets: Iterable[int], lengths: Iterable[int], firsts: Iterable[int]) -> "Table":
        """A table from its columns."""
        table = cls()
        table.offsets, table.lengths, table.firsts = (array("q", one) for one in (offsets, lengths, firsts))
        return table

    def columns(self) -> tuple[list[int], list[int], list[int]]:
        """Its columns, to be written."""
        return self.offsets.tolist(), self.lengths.tolist(), self.firsts.tolist()

    def enter(self, block: Any, first: int) -> None:
        """Note a block and the number of its first record."""
        self.offsets.append(block.offset)
        self.lengths.append(len(block.data))
        self.firsts.append(first)

    def pick(self, reader: Reader, part: int, parts: int, numbers: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """Records once more, as (number, record), block by block."""
        decoder = reader.decoder()
        for at, wanted in self._by_block(numbers):
            block = reader.block_at(self.offsets[at], self.lengths[at], part, parts)
            records = decoder.records(block)
            for number in wanted:
                yield number, records[number - self.firsts[at]]

    def places(self, reader: Reader, part: int, parts: int, numbers: Iterable[int]) -> dict[int, int]:
        """The byte offset of each record."""
        found: dict[int, int] = {}
        for at, wanted in self._by_block(numbers):
            block = reader.block_at(self.offsets[at], self.lengths[at], part, parts)
            offsets = reader.offsets(block)
            for number in wanted:
                found[number] = offsets[number - self.firsts[at]]
        return found

    def _by_block(self, numbers: Iterable[int]) -> list[tuple[int, list[int]]]:
        by_block: dict[int, list[int]] = {}
        for number in numbers:
            by_block.setdefault(bisect_right(self.firsts, number) - 1, []).append(number)
        return sorted(by_block.items())


def told(progress: Progress | None, total: int) -> Any:
    """A function that takes how much was read since the last call."""
    if progress is None:
        return None
    read = 0

    def tell(size: int) -> None:
        nonlocal read
        read += size
        progress(read, total)

    return tell


class Flaws:
    """Problems of the input, the first ones with their place."""

    def __init__(self, some: Iterable[Flaw] = (), count: int = 0) -> None:
        self.some = list(some)
        self.count = count

    def add(self, role: str, offset: int, code: str, field: str, message: str) -> None:
        """Note a problem."""
        self.count += 1
        if len(self.some) < MOST_FLAWS:
            self.some.append(Flaw(role, offset, code, field, message))

    def stop(self, sources: Mapping[str, Source], advice: str = "") -> None:
        """Raise what is wrong, each with its line; `sources` by the role that a flaw names."""
        if self.count:
            raise DataError(list(self._problems(sources)), self.count, advice)

    def _problems(self, sources: Mapping[str, Source]) -> Iterator[Problem]:
        for flaw in self.some[:MOST_PROBLEMS]:
            source = sources[flaw.role]
            line = source.lines_at([flaw.offset])[flaw.offset]
            yield Problem(flaw.code, flaw.message, source.at(line), flaw.field)
