"""Everything the report of the structured suite is made from."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.definition import Definition
from ragworthy.metrics.grading import Scored
from ragworthy.names import Outcome
from ragworthy.records import Ints, StructuredGold, StructuredOutput
from ragworthy.report.part import Frozen


class Step(NamedTuple):
    """What the dev subset said before the whole set was scored."""

    verdict: str
    questions: int
    outcomes: dict[str, Outcome]


class Graded(NamedTuple):
    """Everything a report is made from."""

    qids: list[str]
    items: list[Scored]
    """What the output of each question is worth, in gold order."""
    distinct: int
    """How many different question texts there are."""
    distinct_expected: int
    outputs: int
    replaced: int
    orphans: int
    orphan_ids: list[str]
    text_ids: Ints
    """The same number for the same question text."""
    gaps: "Counter[str]"
    """How many outputs lack the context, or the paths or texts of its chunks."""
    definition: Definition
    names: list[str]
    values: dict[tuple[str | None, str], g.Value]
    judged: list[g.Judged]
    inputs: list[dict[str, Any]]
    settings: dict[str, Any]
    frozen: Frozen
    baseline_verdict: str | None
    provenance: dict[str, Any]
    lacking: list[str]
    """Required fields that the outputs do not have."""
    doubtful: list[str]
    """Versions of the question set that the outputs name and that could not be found."""
    invalid: list[str]
    step: Step | None
    slices_cut: int
    shown: Callable[[Iterable[int]], list[tuple[StructuredGold, StructuredOutput | None]]]
    """The records behind some questions, read once more."""
    most_offenders: int
