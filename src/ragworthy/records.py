"""The single definition of what is read (gold, traces, chunks) and of what was measured from it.

Optional fields that are never scored (`ts`, `ok`, `notes` …) are allowed in every file and skipped while reading.
"""

from array import array
from collections import Counter
from typing import Any, NamedTuple, TypeAlias

import msgspec


class Gold(msgspec.Struct, frozen=True, gc=False):
    """One gold question of the answers suite."""

    answerable: bool
    qid: str | None = None
    q_id: str | None = None
    question: str | None = None
    gold_claim_substr: list[str] | None = None
    gold_citations: list[str] | None = None
    constraints: list[str] | None = None


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What a pipeline answered. Loosely typed where a wrong type is a finding and not a fault."""

    claim: str | None = None
    citations: Any = None
    constraints_echo: Any = None


class Trace(msgspec.Struct, frozen=True, gc=False):
    """What a pipeline did for one question in one run."""

    qid: str | None = None
    q_id: str | None = None
    retrieved_ids: list[str] | None = None
    answer_json: Answer | None = None
    error: Any = None


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """A piece of the corpus with its text."""

    text: str
    chunk_id: str | None = None
    id: str | None = None


NO_ANSWER = Answer()


class SchemaOnly(msgspec.Struct, frozen=True):
    """The part of a small file that says what it is; looked at before the rest."""

    schema: str


Ints: TypeAlias = "array[int]"
Tally: TypeAlias = "Counter[tuple[int, tuple[str, ...]]]"
"""How many questions have the same flags and slices; merges exactly."""


class Flaw(NamedTuple):
    """A problem found in a record: the input it is in, the place, and what is wrong."""

    role: str
    offset: int
    code: str
    field: str
    message: str


class Note(NamedTuple):
    """An example of a mark: which question, and where it stands."""

    qid: str
    role: str
    offset: int


class Offender(NamedTuple):
    """A question that pulls the result down."""

    severity: int
    qid: str
    flags: int
    claim: str | None
    citations: Any
    retrieved_ids: list[str]
    gold_citations: list[str]
    question: str | None


class Measured(NamedTuple):
    """The facts of every question, folded; nothing is left out."""

    tally: Tally
    traces: int
    traces_replaced: int
    orphans: int
    orphan_ids: list[str]
    flaws: list[Flaw]
    flaw_count: int
    notes: dict[int, list[Note]]
    offenders: list[Offender]
    watched: dict[str, int]
    qids: list[str]
    flags: Ints


def explained(error: msgspec.MsgspecError) -> tuple[str, str]:
    """What the decoder says of a small file, as field and message.

    >>> try: msgspec.json.decode(b'{"a": {"b": "x"}}', type=dict[str, dict[str, int]])
    ... except msgspec.ValidationError as error: explained(error)
    ('[...][...]', 'expected int, got str')
    """
    text = str(error).replace("`", "")
    reason, _, place = text.partition(" - at ")
    field = place.removeprefix("key in ").removeprefix("$").removeprefix(".")
    missing = reason.removeprefix("Object missing required field ")
    if missing != reason:
        return f"{field}.{missing}".removeprefix("."), "expected a value, got nothing"
    return field, reason if reason.startswith("JSON") else reason[:1].lower() + reason[1:]
