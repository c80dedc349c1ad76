"""What the engine is asked to do, how it reads, and what one part of the work gives back."""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ragworthy.metrics.facts.answers import Rules
from ragworthy.records import Flaw, Gold, Ints, Note, Offender, Tally, Trace

Damage = Callable[[Gold, Trace], Trace | None]


class Reader(NamedTuple):
    """How the engine reads: given by the caller, so that it does not depend on where lines come from."""

    blocks: Callable[[int, int], Iterator[Any]]
    block_at: Callable[[int, int, int, int], Any]
    decoder: Callable[[], Any]
    offsets: Callable[[Any], list[int]]


class Job(NamedTuple):
    """Everything that decides the result, the same for every part."""

    gold: Reader
    traces: Reader
    rules: Rules
    parts: int = 1
    wide: bool = False
    """Whether every part reads all traces: the way for traces in another order than the gold set."""
    allow_gold_errors: bool = False
    slice_fields: tuple[str, ...] = ()
    watch: frozenset[str] = frozenset()
    keep_rows: bool = False
    most_offenders: int = 10
    damage: Damage | None = None


class Table:
    """Where the blocks of one part begin, so that a record can be read once more by its number."""

    def __init__(self) -> None:
        self.offsets: Ints = array("q")
        self.lengths: Ints = array("q")
        self.firsts: Ints = array("q")

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


class Strays(NamedTuple):
    """Traces that one part could not place: the last of each question, and how many came before it."""

    part: int
    qids: list[str]
    numbers: Ints
    earlier: dict[str, int]


class Joined(NamedTuple):
    """What a part knows after its first step; `span` holds the first and last id where they rise strictly, `placed`
    is the number of traces that belong to a question of this part.
    """

    strays: Strays
    table: Table
    span: tuple[str, str] | None
    placed: int


class Partial(NamedTuple):
    """What one part contributes; exactly mergeable. `claimed` marks the strays of other parts that were placed here."""

    tally: Tally
    replaced: int
    claimed: dict[int, bytearray]
    flaws: list[Flaw]
    flaw_count: int
    notes: dict[int, list[Note]]
    offenders: list[Offender]
    watched: dict[str, int]
    qids: list[str]
    flags: Ints
    traces: int
