"""What is asked for, what one part of the work gives back, and what all parts give together."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.answers import Rules
from ragworthy.records import Gold, Ints, Trace
from ragworthy.suites.reading import Flaw, Reader, Table

if TYPE_CHECKING:
    from ragworthy.metrics.facts.compared import Compared

Damage = Callable[[Gold, Trace], Trace | None]
Tally: TypeAlias = "Counter[tuple[int, tuple[str, ...], Compared | None]]"
"""How many questions have the same flags, slices and comparison with a reference; merges exactly."""


Told: TypeAlias = "Counter[tuple[bytes, ...]]"
"""How many traces say what of how they were made."""


class Watched(NamedTuple):
    """What is known of one question that was asked for by its id."""

    flags: int
    compared: "Compared | None" = None


class Job(NamedTuple):
    """Everything that decides the result, the same for every part."""

    gold: Reader
    traces: Reader
    """How lines become records. Handed in, because a part knows nothing of files: it can run wherever a block of lines
    can be sent to, and a test can hand it blocks of any size.
    """
    rules: Rules
    parts: int = 1
    wide: bool = False
    """Whether every part reads all traces. In another order than the gold set nearly every trace belongs to another
    part: as strays they would all be sent through pipes and read a second time, which costs more than that each part
    reads the whole file once and keeps what is its own.
    """
    allow_gold_errors: bool = False
    slice_fields: tuple[str, ...] = ()
    watch: frozenset[str] = frozenset()
    keep_rows: bool = False
    """Whether the flags of every question are wanted, however many there are."""
    up_to: int = 0
    """They are kept anyway where the gold set has no more questions than that."""
    most_offenders: int = 10
    damage: Damage | None = None
    told: Callable[[list[Trace], bytes], Told] | None = None
    """What the traces of a block say of how they were made."""


class Strays(NamedTuple):
    """Traces that one part could not place: the last of each question, and how many came before it."""

    part: int
    qids: list[str]
    numbers: Ints
    earlier: dict[str, int]


class Joined(NamedTuple):
    """What a part knows after its first step; `span` holds the first and last id where they rise strictly, `placed`
    is the number of traces that belong to a question of this part, `questions` that of its questions.
    """

    strays: Strays
    table: Table
    span: tuple[str, str] | None
    placed: int
    questions: int


class Example(NamedTuple):
    """An example of a mark: which question, and where it stands."""

    qid: str
    role: str
    offset: int
    said: str = ""
    """What an errored trace says went wrong, or a claim that reads like a refusal."""


class Offender(NamedTuple):
    """A question that pulls the result down; they sort worst first, then by qid."""

    severity: int
    qid: str
    flags: int
    claim: str | None
    citations: Any
    retrieved_ids: list[str]
    gold_citations: list[str]
    question: str | None
    error: str | None = None
    compared: "Compared | None" = None
    expected: str = ""
    """What a right claim says, for people."""
    missing: tuple[str, ...] | None = None
    """What the claim lacks of all that it needs; None where any piece will do."""
    constraints: dict[str, Any] | None = None
    """What is locked and what was echoed and contradicted; None where nothing is broken."""


class Partial(NamedTuple):
    """What one part contributes; exactly mergeable. `claimed` marks the strays of other parts that were placed here."""

    tally: Tally
    replaced: int
    claimed: dict[int, bytearray]
    flaws: list[Flaw]
    flaw_count: int
    examples: dict[int, list[Example]]
    offenders: list[Offender]
    watched: dict[str, Watched]
    qids: list[str]
    flags: Ints
    traces: int
    compared: "dict[int, Compared]"
    """What was found of each question with a reference, by its row; empty where nobody asked for rows."""
    slices: list[tuple[str, ...]]
    """The slices of each question of `qids`; empty where nothing is split."""
    told: Told


class Measured(NamedTuple):
    """The facts of every question, folded; nothing is left out."""

    tally: Tally
    traces: int
    traces_replaced: int
    orphans: int
    orphan_ids: list[str]
    flaws: list[Flaw]
    flaw_count: int
    examples: dict[int, list[Example]]
    """The first questions that carry each mark, by its bit."""
    offenders: list[Offender]
    watched: dict[str, Watched]
    """The questions that were asked for by their id."""
    qids: list[str]
    flags: Ints
    """The flags of every question of `qids`; both are empty where nobody asked for rows."""
    compared: "dict[int, Compared]"
    """What was found of each question with a reference, by its row."""
    slices: list[tuple[str, ...]]
    """The slices of each question of `qids`; empty where nothing is split."""
    told: Told


def spoiled(facts: Callable[[Gold, Trace], int], damage: Damage) -> Callable[[Gold, Trace], int]:
    """The facts of damaged traces, for the self-test; a trace that is gone adds nothing."""

    def flags_of(gold: Gold, trace: Trace) -> int:
        damaged = damage(gold, trace)
        return 0 if damaged is None else facts(gold, damaged)

    return flags_of


class Wrong(NamedTuple):
    """What is wrong with a gold item, by its number in the block."""

    nth: int
    code: str
    field: str
    message: str


def lint_flaws(flags: list[int]) -> list[Wrong]:
    """What no answer could get right, by the flags of gold items."""
    return [
        Wrong(nth, code, field, message)
        for nth, one in enumerate(flags)
        for bit, (code, field, message) in f.LINT.items()
        if one & bit
    ]
