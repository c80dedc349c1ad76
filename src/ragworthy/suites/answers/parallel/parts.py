"""Parts of the traces that are read apart, against the whole gold set each: by hand, or on other machines.

Processes of one machine tell each other what they could not place (`measure`). Parts that are read apart cannot, so
each has the whole gold set before it, and tells the flags of every question that it has a trace of. The last part that
has a trace of a question decides, as the last line of a file does.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ragworthy.collector import without_gc
from ragworthy.load.sources import Source
from ragworthy.metrics.facts.compared import Compared
from ragworthy.suites.answers.parallel.digest import digest
from ragworthy.suites.answers.parallel.job import Job, Measured, Strays
from ragworthy.suites.answers.parallel.measure import keeps, merge
from ragworthy.suites.answers.parallel.shard import Shard
from ragworthy.suites.parts import Pass, Tell
from ragworthy.suites.reading import Flaw, Flaws, Reader, Table


class Part(NamedTuple):
    """What one part of the traces shows."""

    rows: list[int]
    """The questions that it has a trace of, by their place in the gold set."""
    flags: list[int]
    numbers: list[int]
    """Which trace of the part counts for each of them."""
    compared: list[tuple[int, Compared]]
    orphans: list[str]
    earlier: dict[str, int]
    """How many traces of an orphan came before the last one."""
    table: tuple[list[int], list[int], list[int]]
    traces: int
    replaced: int
    flaws: list[Flaw]
    flaw_count: int


def pass_of(job: Job, source: Source, sources: Mapping[str, Source]) -> Pass:
    """The reading of one file of traces against the whole gold set."""

    def stop(part: Part) -> None:
        Flaws(part.flaws, part.flaw_count).stop({**sources, "trace": source})

    return Pass(
        role=source.role,
        source=source,
        work=partial(_read, job._replace(parts=1)),
        sound=lambda part: not part.flaw_count,
        stop=stop,
        form=Part,
    )


def _read(job: Job, part: int, parts: int, tell: Tell) -> Part:
    """One part, settled: no other has anything to say of it until all are merged."""
    shard = Shard(job._replace(traces=_of(job.traces, part, parts)), 0)
    joined = shard.join(tell)
    tables = [joined.table]
    shard.settle([], tables)
    nested = digest(shard, {}, tables, keep_rows=False)  # citations that hold objects are found there
    there = [row for row in range(len(shard.qids)) if shard.place_of(row)[1] >= 0]
    mine = set(there)
    return Part(
        rows=there,
        flags=[shard.flags[row] for row in there],
        numbers=[shard.place_of(row)[1] for row in there],
        compared=[(row, one) for row, one in shard.compared.items() if row in mine],
        orphans=joined.strays.qids,
        earlier=joined.strays.earlier,
        table=joined.table.columns(),
        traces=shard.traces,
        replaced=shard.replaced,
        flaws=nested.flaws,
        flaw_count=nested.flaw_count,
    )


def _of(traces: Reader, part: int, parts: int) -> Reader:
    """The reader of one part, as if it were the whole."""
    return traces._replace(
        blocks=lambda *_: traces.blocks(part, parts),
        block_at=lambda offset, length, *_: traces.block_at(offset, length, part, parts),
    )


def merged(job: Job, parts: Sequence[Part], meanwhile: Callable[[], None]) -> Measured:
    """What all parts show together: exactly what one process finds."""
    meanwhile()
    shard = Shard(job._replace(parts=1), 0)
    with without_gc():
        shard.read_gold()
        for nth, part in enumerate(parts):
            shard.take(nth, part.rows, part.flags, part.numbers)
            shard.compared.update(part.compared)
    shard.traces += sum(part.traces for part in parts)
    shard.replaced += sum(part.replaced for part in parts)
    tables = [Table.of(*part.table) for part in parts]
    strays = [Strays(nth, part.orphans, array("q"), part.earlier) for nth, part in enumerate(parts)]
    whole = digest(shard, {}, tables, keep_rows=keeps(job, len(shard.qids)))
    return merge([whole], strays, job.most_offenders)
