"""What one part of the outputs gives, as it is written, and how it is read."""

from array import array
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from ragworthy.load.sources import Source
from ragworthy.metrics.grading import Packed, Unpacker, pack
from ragworthy.suites.parts import Pass
from ragworthy.suites.reading import Flaws, Table
from ragworthy.suites.structured.mark import Gathered, Job, Noted, Questions, gather


class Written(NamedTuple):
    """What a part gives, in types that JSON has; equal numbers are kept once when it is read."""

    places: list[int]
    numbers: list[int]
    items: list[Packed]
    noted: list[Noted]
    orphans: dict[str, int]
    table: tuple[list[int], list[int], list[int]]
    read: int
    replaced: int


def written(part: Gathered) -> Written:
    """What a part gives, to be written or sent."""
    return Written(
        places=part.places.tolist(),
        numbers=part.numbers.tolist(),
        items=[pack(item) for item in part.items],
        noted=part.noted,
        orphans=dict(part.orphans),
        table=part.table.columns(),
        read=part.read,
        replaced=part.replaced,
    )


def gathered(given: Written) -> Gathered:
    """The same as it was."""
    unpack = Unpacker()
    return Gathered(
        places=array("q", given.places),
        numbers=array("q", given.numbers),
        items=[unpack(item) for item in given.items],
        noted=given.noted,
        orphans=Counter(given.orphans),
        table=Table.of(*given.table),
        read=given.read,
        replaced=given.replaced,
        flaws=Flaws(),
    )


def pass_of(job: Job, questions: Questions, source: Source, flaws: Flaws, sources: Mapping[str, Source]) -> Pass:
    """The reading of the outputs; `flaws` are those of the questions."""

    def stop(part: Gathered) -> None:
        Flaws([*flaws.some, *part.flaws.some], flaws.count + part.flaws.count).stop(sources)

    return Pass(
        role=source.role,
        source=source,
        work=partial(gather, job, questions),
        sound=lambda part: not part.flaws.count,
        stop=stop,
        form=Written,
        pack=written,
        unpack=gathered,
    )
