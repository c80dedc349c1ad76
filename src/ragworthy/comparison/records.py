"""A comparison as it is written: the single definition of `ragworthy.compare/1`."""

import msgspec

SCHEMA = "ragworthy.compare/1"
"""
1  first version
"""


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """One metric in both runs. A difference is b − a, in the metric's own unit and direction."""

    a: int | float | None
    """A whole number where it counts something."""
    b: int | float | None
    difference: int | float | None
    low: float | None
    """The lower end of the 95 % interval of the difference; null where there is no interval."""
    high: float | None
    p: float | None
    """Two-sided, of the paired test, not corrected for other metrics; null where there is no test."""
    fixed: int | None
    """How many questions are better by this metric."""
    broken: int | None
    """How many questions are worse by this metric."""
    better: str | None
    """Whether higher or lower is better; null where nobody knows."""
    cases: int
    """How many questions count for this metric in one run or the other."""
    clusters: int
    """How many groups of questions that stand or fall together these are."""
    method: str | None
    """mcnemar, swap (both exact), clusters (documents swapped) or exceedance."""
    holm: float | None
    """The p-value, corrected for all metrics of the suite that changed by Holm's method; null where nothing did."""
    without: str | None = None
    """Why there is no test."""


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is right in one run and wrong in the other, or in more runs of the one than of the other."""

    qid: str
    label_a: str
    label_b: str
    cause_a: str | None = None
    cause_b: str | None = None
    question: str | None = None
    claim_a: str | None = None
    """What was answered in A, where that is at hand."""
    claim_b: str | None = None
    good_a: float | None = None
    """Of several runs the share in which it is good; null where each side has one."""
    good_b: float | None = None


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared."""

    name: str
    sha256: str | None = None
    verdict: str | None = None


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Recall where only what fits into so many bytes counts, from the first result down."""

    budget: int
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    fixed: int
    broken: int


class InContext(msgspec.Struct, frozen=True, kw_only=True):
    """Two chunkings at equal bytes of context."""

    results: int
    bytes_a: int
    """How large the first results of a question are together, on average."""
    bytes_b: int
    recall: list[Context]


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """What changed in one suite."""

    metrics: dict[str, Number]
    fixed: list[Flip]
    broken: list[Flip]
    moved: list[Flip]
    """Questions that are wrong in both, in another way."""
    only_a: list[str]
    only_b: list[str]
    cases: int
    """How many questions are in both."""
    changed: int
    """Of how many of them some metric or the label says something else."""
    missing: int = 0
    """How many of the questions in both one of the runs has no trace of."""
    against: str | None = None
    """The other run, where this one is the report."""
    unlike: list[str] = []
    """Why nothing was compared."""
    notes: list[str] = []
    """What was let pass, and what to keep in mind."""
    rowless: str | None = None
    """Why only values were compared, not question by question."""
    context: InContext | None = None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, compared."""

    schema: str
    a: Side
    b: Side
    comparable: bool
    unlike: list[str]
    """Why they cannot be compared; empty when they can."""
    allow: list[str]
    """What would have to be let differ, to compare them all the same."""
    suites: dict[str, Suite]
    metrics: dict[str, Number]
    """The metrics of all suites together."""
    only_a: list[str] = []
    """Suites that only A has: of these nothing was compared."""
    only_b: list[str] = []
