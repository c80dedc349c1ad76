"""What a suite contributes to a report."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from ragworthy import gates as g


class Frozen(NamedTuple):
    """The state of the gold set: unlocked, frozen, broken, or unfrozen (broken, and scored on purpose)."""

    state: str
    reason: str
    """Why it is broken; or why it cannot have a lock, where it is unlocked and that is nothing to warn of."""


class Table(NamedTuple):
    """A table that only one suite has."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    lines: tuple[str, ...] = ()
    """What is said below it."""
    last: bool = False
    """Whether it stands behind the slices."""


class Column(NamedTuple):
    """A column that only rows of one suite have."""

    name: str
    kind: str
    """int, bool, text, json or counts."""


class Voice(Protocol):
    """What a suite says to people besides its metrics, from the body of its report alone, and what its rows hold."""

    reference_note: str
    shows_undefined: bool
    facts: tuple[str, ...]
    columns: tuple[Column, ...]

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many questions there were, and what became of them."""

    def lines(self, body: dict[str, Any]) -> list[str]:
        """Lines of its own."""

    def tables(self, body: dict[str, Any]) -> list[Table]:
        """Tables of its own."""


Voices = Callable[[str], Voice]
"""The voice of a suite by its name; handed in, because renderers stand below the suites."""


class Part(NamedTuple):
    """What one suite contributes to the report and to the receipt."""

    suite: str
    body: dict[str, Any]
    judged: list[g.Judged]
    invalid: list[str]
    """Why the evidence cannot carry a verdict."""
    steps: list[dict[str, str]]
    provenance: dict[str, Any]
    rows: Callable[[], Iterator[dict[str, Any]]]
    evidence: dict[str, Any]
    """What the receipt keeps of the facts."""
    files: Mapping[str, Callable[[], bytes]] = {}
    """What can be written besides the report, by a name of the suite's own."""
