"""Everything that is known of one question in one suite, as plain data; `sheet_text` and `sheet_markdown` show it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy.names import VERSION

SCHEMA = "ragworthy.show/1"


class Passage(msgspec.Struct, frozen=True):
    """A piece of the corpus that is gold, was retrieved, or is cited."""

    id: str
    rank: int | None = None
    """Where it is among what was retrieved, from 1; null where it was not retrieved."""
    gold: bool = False
    cited: bool = False
    text: str | None = None
    """Null where no corpus has it, or none is known."""

    @property
    def marks(self) -> str:
        """What is to be said of it, in words."""
        lost = "not retrieved" if self.rank is None else ""
        return ", ".join(filter(None, ("gold" * self.gold, "cited" * self.cited, lost)))


class Expected(msgspec.Struct, frozen=True):
    """What a right answer looks like."""

    refusal: bool = False
    """Whether the question has no answer, so that a refusal is right."""
    text: str = ""
    """The gold text in words, as reports have it."""
    evidence: list[str] = []
    """Texts and places that the gold set names as evidence."""
    ids: list[str] = []
    """The gold ids."""


class Answered(msgspec.Struct, frozen=True):
    """What came out of the pipeline."""

    claim: str | None = None
    matches: list[tuple[int, int]] = []
    """Where gold text is in the claim: begin and end, in characters."""
    has: list[str] = []
    """What the claim has of all that it needs."""
    lacks: list[str] = []
    citations: Any = None
    error: str | None = None


class Earlier(msgspec.Struct, frozen=True):
    """What became of the question in an earlier run."""

    run: str
    when: str
    label: str | None
    cause: str | None = None


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """One question in one suite."""

    suite: str
    qid: str
    good: bool
    """Whether it is as it should be."""
    label: str | None = None
    stage: str | None = None
    cause: str | None = None
    why: str = ""
    question: str | None = None
    expected: Expected = Expected()
    answer: Answered | None = None
    passages: list[Passage] = []
    """Gold ones that were not retrieved, then those that were by rank, then others that are cited."""
    remarks: list[str] = []
    runs: list[dict[str, Any]] = []
    """Every run or vote, with the same keys each."""
    metrics: dict[str, float] = {}
    undefined: dict[str, str] = {}
    """Why a metric says nothing of this question."""
    own: dict[str, Any] = {}
    """What only this suite has."""
    notes: list[str] = []
    """What could not be shown, and how to get it."""
    past: list[Earlier] = []
    commands: list[str] = []
    """How to go on: commands that work where this one was run."""


class Viewed(NamedTuple):
    """A sheet, and the view of it that only one suite has."""

    sheet: Sheet
    view: Callable[[str, bool], str] | None = None
    """What replaces question, answer and runs, as "text" or "markdown"; with colours or without."""

    def having(self, **more: Any) -> "Viewed":
        """The same with more in its sheet."""
        return self._replace(sheet=msgspec.structs.replace(self.sheet, **more))


class Tool(msgspec.Struct, frozen=True):
    """The program that wrote it."""

    name: str
    version: str


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What `ragworthy show --format json` prints."""

    schema: str = SCHEMA
    tool: Tool = Tool("ragworthy", VERSION)
    source: str
    """Where the questions come from: a policy, files, a receipt, a report."""
    questions: list[Sheet]
    not_shown: list[str] = []
    """Suites that could not be looked into, each with the reason."""


def as_dict(page: Page) -> dict[str, Any]:
    """The page as JSON has it."""
    built: dict[str, Any] = msgspec.to_builtins(page)
    return built


class Style(NamedTuple):
    """How sheets are shown."""

    full: bool = False
    """Whether texts are shown whole."""
    colour: bool = False
    width: int = 100
    """Columns that lines stay within."""


def passages_of(
    gold: Sequence[str], cited: Sequence[str], retrieved: Sequence[str], texts: "dict[str, str] | None" = None
) -> list[Passage]:
    """Every piece that has to do with a question: gold that was not retrieved, then by rank, then what else is cited.

    >>> [(one.id, one.rank, one.marks) for one in passages_of(["a", "c"], ["a", "x"], ["b", "a"])]
    [('c', None, 'gold, not retrieved'), ('b', 1, ''), ('a', 2, 'gold, cited'), ('x', None, 'cited, not retrieved')]
    """
    ranks: dict[str, int] = {}
    for rank, name in enumerate(retrieved, 1):
        ranks.setdefault(name, rank)
    known = texts or {}
    return [
        Passage(name, ranks.get(name), name in gold, name in cited, known.get(name))
        for name in dict.fromkeys((*(name for name in gold if name not in ranks), *retrieved, *cited))
    ]
