"""The words of the promise as types: case, evidence, summary, row, ledger, offender. All of it is plain data."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import compress
from types import MappingProxyType
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.comparison.likeness import GOLD, HELD, MADE, Made, asking, told_of, unlike
from ragworthy.metrics.causes import Steps
from ragworthy.metrics.registry import MetricName, Word
from ragworthy.names import Cause, Label, Stage
from ragworthy.report.part import Content, Frozen, Part, some_of_each
from ragworthy.rows import Rows
from ragworthy.suites.opened import Opened
from ragworthy.suites.request import Request
from ragworthy.suites.slices import Slice


class Fate(StrEnum):
    """What became of a question, or where it is in a ledger."""

    SCORED = "scored"
    REFUSED = "refused"
    MISSING = "missing"
    ERRORED = "errored"
    NOT_APPLICABLE = "not_applicable"


class Case(NamedTuple):
    """One gold item with what was established about it; or many items of which the same was established."""

    qid: str
    """Its id; empty for a case of many items."""
    facts: Any
    """What metrics look at."""
    fate: Fate
    label: Label | None
    """What became of it; None where nothing can be said."""
    stage: Stage | None = None
    """Where to look first; None where nothing is wrong."""
    why: str = ""
    slices: tuple[Slice, ...] = ()
    weight: int = 1
    """How many items it stands for."""
    rank: tuple[Any, ...] = ()
    """Its place among offenders, the worst first."""
    own: Any = None
    """What only the suite knows of it: records for offenders and rows."""
    cause: Cause | None = None
    """What went wrong with it; None where nothing did, or where nothing can be said."""
    steps: Steps | None = None
    """The steps to a right answer, where the suite can see them: for the waterfall."""
    good: Fraction | None = None
    """The share of its runs that are good, where it has several."""
    worst: Any = None
    """The facts of the run that went worst, where a case has several."""


def share_of(good: int, runs: int) -> Fraction | None:
    """The share of several runs that are good; of a single one the label says it.

    >>> share_of(1, 2), share_of(1, 1)
    (Fraction(1, 2), None)
    """
    return Fraction(good, runs) if runs > 1 else None


class Evidence(NamedTuple):
    """What the files of a suite say, before anything is judged."""

    cases: Sequence[Case]
    """Every gold item, in gold order; or a tally of them, in bounded memory."""
    records: Mapping[str, int]
    """How many records each input holds, by its role, in the order of the report."""
    counts: dict[str, int]
    settings: dict[str, Any]
    """The settings as the report has them, for comparisons with other runs."""
    own: Any = None
    """What only this suite knows of its evidence."""
    errored: tuple[tuple[int, int, str], ...] = ()
    """How many ended in an error, of how many, and of what: more than half of one kind is an outage."""
    missing: tuple[int, str] = (0, "trace")
    """How many questions nothing was recorded for, and what is missing."""
    left_out: int = 0
    """Items that are not a case, because a part of their records is missing: they are in every ledger as that."""
    invalid: tuple[str, ...] = ()
    """Why the files do not support a verdict, whatever the numbers say."""
    profile: str = "default"
    gold_sha256: str | None = None
    """The hash of the gold set that the lock is about; None where there is no gold set."""
    runs: int = 1
    """How often each question is among the cases, where all of them were asked in several runs."""
    provenance: Mapping[str, Any] = MappingProxyType({})
    """How the traces were made, as the report has it: see `suites/made.py`, and what a suite knows besides."""
    told: Mapping[str, Counter[tuple[bytes, ...]]] = MappingProxyType({})
    """How many traces say what of that, by their role, where a suite has looked at it already."""


def made_of(evidence: Evidence) -> Made:
    """How a run was made, as far as that decides what it can be compared with."""
    told = told_of({"provenance": evidence.provenance})
    return Made(evidence.gold_sha256 or "", evidence.profile, evidence.settings, told=told)


class Summary(NamedTuple):
    """The numbers: every metric of every question, and folded, for the whole and for each slice."""

    names: list[MetricName]
    values: dict[tuple[str | None, str], g.Value]
    words: Mapping[str, Sequence[Word]]
    """What each metric says of each case; nothing for metrics of all items at once."""
    own: Any = None
    """What only this suite knows of its numbers: those that they are compared with, for example."""
    rows: Rows | None = None
    """What every metric says of every question, as a report keeps it; None where there are too many."""
    rowless: str = ""
    """Why there are no rows."""


class Bound(NamedTuple):
    """What is judged: gates may depend on the evidence."""

    gates: tuple[g.Gate, ...]
    baseline: g.Baseline | None
    waivers: tuple[g.Waiver, ...]


class Step(NamedTuple):
    """The last step of a score, which is judged beside the other suites."""

    request: Request
    then: Callable[[Part], Part] = lambda part: part
    """What is said besides of the part that comes of it."""


class Found(NamedTuple):
    """Everything that a report is made from."""

    request: Request
    opened: Opened
    evidence: Evidence
    summary: Summary
    judged: list[g.Judged]
    frozen: Frozen
    against: g.Baseline | None = None
    """What it was compared with, once it is judged."""

    @property
    def cases(self) -> Sequence[Case]:
        """Every case, in gold order."""
        return self.evidence.cases

    @property
    def own(self) -> Any:
        """What only the suite knows."""
        return self.evidence.own

    def value(self, name: str) -> g.Value:
        """The value of a metric over the whole gold set."""
        return self.summary.values[None, name]

    def unmeasured_step(self) -> list[tuple[str, str]]:
        """What to do about gates that were not measured."""
        lacking = [one for one in self.judged if one.unmeasured and not one.by_errors]
        if not lacking:
            return []
        reasons = "; ".join(dict.fromkeys(f"{g.name_of(one.gate)}: {one.reason}" for one in lacking if one.reason))
        cases = f"give it cases ({reasons})" if reasons else "give it cases (see the reason beside it)"
        compared = [one for one in lacking if one.gate.op in g.AGAINST]
        if len(compared) == len(lacking) and (way := self._baseline_step(compared)):
            return [way]
        return [("a gate was not measured", f"{cases}, or {self._without()}")]

    def _baseline_step(self, lacking: Sequence[g.Judged]) -> tuple[str, str] | None:
        """What to do where nothing but the baseline is at fault; None where it is not."""
        names = ", ".join(dict.fromkeys(g.name_of(one.gate) for one in lacking))
        if why := self.request.unblessed:
            return f"nothing to compare with: {names}", why.replace(" (", ": bless this run or an earlier one (")
        if all(one.apart == GOLD for one in lacking):
            new = "ragworthy history bless RUN --by NAME --reason TEXT"
            return f"the baseline is of another gold set: {names}", f"bless a run on this gold set ({new})"
        if all(one.apart == MADE for one in lacking) and self.opened.earlier is not None:
            apart = unlike(self.opened.earlier.made, made_of(self.evidence), self.request.suite)
            held = [one.what for one in apart if one.what in HELD and one.what not in self.request.allowed]
            return f"the baseline was made in another way: {names}", asking(
                held, policy=self.request.policy is not None
            )
        return None

    def _without(self) -> str:
        """How to judge by the other gates alone."""
        if self.request.policy is not None:
            return "take it out of the policy, or mark it optional = true there"
        usual = (g.MIN, g.MAX)
        kept = [one.gate for one in self.judged if not one.unmeasured and one.gate.op in usual and not one.gate.slice]
        named = [f"{gate.metric.partition('.')[2]}={gate.threshold}" for gate in kept if gate.threshold != "0"]
        others = f"judge by the others (--gates {','.join(named)} --no-default-gates)" if named else "name another gate"
        return f"{others}, or mark it optional = true in a policy"

    def outcomes(self, outcome: str) -> list[g.Judged]:
        """The gates that ended so."""
        return [one for one in self.judged if one.outcome == outcome]


class Row(NamedTuple):
    """One question's result: a value of every metric, or why it has none."""

    qid: str
    label: str | None
    stage: str | None
    metrics: dict[str, float]
    undefined: dict[str, str]
    facts: dict[str, bool]
    own: dict[str, Any]
    """What only rows of this suite have."""
    cause: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The row as files have it; written out, because there may be a million of them."""
        return {
            "qid": self.qid,
            "label": self.label,
            "stage": self.stage,
            "cause": self.cause,
            "metrics": self.metrics,
            "undefined": self.undefined,
            "facts": self.facts,
            **self.own,
        }


class Ledger(NamedTuple):
    """Where every question went: expected = scored + refused + missing + errored + not applicable."""

    expected: int = 0
    scored: int = 0
    refused: int = 0
    missing: int = 0
    errored: int = 0
    not_applicable: int = 0

    @classmethod
    def of(cls, counts: Mapping[Fate, int]) -> "Ledger":
        """The ledger from what was counted."""
        return cls(expected=sum(counts.values()), **{fate.value: counts[fate] for fate in Fate})

    @classmethod
    def of_cases(cls, fates: Sequence[Fate], weights: Sequence[int], left_out: int) -> "Ledger":
        """The ledger from the fate of every case; what is no case at all is missing."""
        # Each fate for itself: to look up a member of an enumeration takes longer than all of this.
        counts = {fate: sum(compress(weights, [one is fate for one in fates])) for fate in Fate}
        counts[Fate.MISSING] += left_out
        return cls.of(counts)


class Offender(NamedTuple):
    """A question that pulls a gate down, with what was expected and what was answered."""

    qid: str
    label: str | None
    stage: str | None
    why: str
    question: str | None
    claim: str | None
    citations: Any
    retrieved_ids: list[str]
    gold_citations: list[str]
    own: dict[str, Any]
    """What only offenders of this suite have."""
    cause: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The offender as reports have it."""
        first = {"qid": self.qid, "label": self.label, "stage": self.stage, "cause": self.cause}
        body: dict[str, Any] = first | self._asdict()
        own: dict[str, Any] = body.pop("own")
        return body | own


class Extra(NamedTuple):
    """What only this suite says."""

    body: Mapping[str, Mapping[str, Any]] = {}
    """Keys of its own in the report, by the common key that they are before."""
    warnings: Sequence[dict[str, Any]] = ()
    steps: Sequence[tuple[str, str]] = ()
    """What a pattern means, and what to do."""
    invalid: Sequence[str] = ()
    """More reasons why there is no verdict, which come last."""
    files: Mapping[str, Content] = {}
    """What can be written besides a report, by the key of the output that is declared for it."""
    texts: Callable[[], Mapping[str, Mapping[str, Any]]] | None = None
    """Texts of each question, by its id and the name of a column, for rows as a table that people read."""
    kept: Mapping[str, Any] | None = None
    """What the receipt keeps of the facts; the hash of all rows where nothing else is said."""


def shown(cases: Sequence[Case], offends: Callable[[Case], bool], most: int) -> list[Case]:
    """The cases that are shown of those that offend: the worst first, of every label some."""
    bad = [nth for nth, case in enumerate(cases) if offends(case)]
    bad.sort(key=lambda nth: (*cases[nth].rank, nth))
    return [cases[nth] for nth in some_of_each(bad, most, lambda nth: cases[nth].label)]
