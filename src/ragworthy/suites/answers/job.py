"""What the engine is asked to do, how it reads, and what one part of the work gives back."""

from collections.abc import Callable
from typing import NamedTuple

from ragworthy.metrics.facts.answers import Rules
from ragworthy.records import Flaw, Gold, Ints, Note, Offender, Tally, Trace
from ragworthy.suites.reading import Reader, Table

Damage = Callable[[Gold, Trace], Trace | None]


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
