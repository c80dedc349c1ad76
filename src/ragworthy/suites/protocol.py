"""The shape that every suite has. What differs between suites is a method here; what does not is written once.

A suite reads its files into cases (`read`). Everything after that is common: words of metrics, slices, values,
gates, ledger, rows, offenders, labels, stages, validity. See `flow` for the order, `design/suite.md` for a tour.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy import gates as g
from ragworthy.errors import policy_error, usage_error
from ragworthy.ids import natural
from ragworthy.load.sources import Source, open_source
from ragworthy.metrics.fold import best, joined, of_nothing, value_of, value_of_all
from ragworthy.metrics.registry import MetricName, Word, all_metrics, find
from ragworthy.names import Label
from ragworthy.policy.declare import Declared, Input
from ragworthy.policy.gate_text import MOST_KS
from ragworthy.report.part import Column, Frozen
from ragworthy.report.part import Part as Told
from ragworthy.rows import MOST, Rows
from ragworthy.suites.clusters import Topic, clusters_of
from ragworthy.suites.crowds import Blaming
from ragworthy.suites.damage import Damage
from ragworthy.suites.evidence import (
    Bound,
    Case,
    Evidence,
    Extra,
    Fate,
    Found,
    Ledger,
    Offender,
    Row,
    Step,
    Summary,
    made_of,
    shown,
)
from ragworthy.suites.examine import Seen, usual
from ragworthy.suites.intervals import Part, plain
from ragworthy.suites.kept import counted, rows_of, too_many
from ragworthy.suites.opened import Opened
from ragworthy.suites.parts import Reading
from ragworthy.suites.request import Progress, Request
from ragworthy.suites.rowing import ledger_of, numbers_of
from ragworthy.suites.shared import with_settings
from ragworthy.suites.slices import fields_of
from ragworthy.suites.voiced import Voiced

if TYPE_CHECKING:
    from ragworthy.report.sheet import Viewed

APART = ("tail", "spread")
"""Kinds of metrics that say how far questions are apart, of which one alone says nothing."""


class Suite(Voiced, Blaming, ABC):
    """One kind of evaluation. A suite says in `DECLARED` what it reads; here is how records become cases."""

    declared: Declared
    facts: tuple[str, ...] = ()
    """What is established about a question, as rows name it."""
    columns: tuple[Column, ...] = ()
    labels: tuple[Label, ...] = tuple(dict.fromkeys((Label.OK, Label.REFUSAL_OK, *Label)))
    """The order in which a report counts labels."""
    always: tuple[g.Gate, ...] = ()
    """Gates that hold whatever was asked for."""
    rows_are_questions: bool = True
    """Whether a row is a question of the gold set, so that two runs over it have the same ones."""

    @property
    def name(self) -> str:
        """The name of the suite."""
        return self.declared.name

    # read

    def variant(self, request: Request) -> "Suite":
        """The suite for these files: itself, or one that reads another form of them by other rules."""
        return self

    def inputs(self, request: Request) -> tuple[Input, ...]:
        """The inputs that can be there."""
        return self.declared.inputs_of(request.settings)

    def open(self, key: str, role: str, given: Any) -> Source:
        """Open an input that is read line by line."""
        return open_source(role, given)

    @abstractmethod
    def read(self, opened: Opened, request: Request, progress: Progress | None) -> Evidence:
        """Records become cases. Nothing else of a suite opens or decodes files."""

    def reading(self, opened: Opened, request: Request) -> Reading:
        """The same in two halves: what is to be read in parts, and what comes of it. Where a suite says nothing here,
        it reads in one piece (`read`), and its work cannot be cut.
        """
        raise usage_error(f"{self.name}: expected a suite whose files can be cut into parts, got one that reads whole")

    def told(self, request: Request, evidence: Evidence) -> Evidence:
        """The evidence with every setting that two runs must share: a declared one is there whoever forgets it."""
        return with_settings(self.declared, request, evidence)

    def steps(self, request: Request, score: Callable[[Request], Told]) -> Step | Told:
        """What is scored last, where steps depend on each other; or what came of them, where one was the last."""
        return Step(request)

    def during(self) -> AbstractContextManager[None]:
        """What holds while the suite is scored."""
        return nullcontext()

    # the selftest

    def in_full(self, request: Request) -> Request:
        """The request for everything that is gated, where a file may make a score stop early."""
        return request

    def damages(self, request: Request) -> tuple[Damage, ...]:
        """How a selftest can spoil the records, each way aimed at some metrics; `read` applies `request.damage`.

        A suite that names none is only given no records at all, which few gates fail on.
        """
        return ()

    # the doctor

    def suggested(self, traces: Path) -> dict[str, tuple[Any, str]]:
        """Settings that traces suggest, by their field, for a first policy; each with the reason."""
        return {}

    def to_examine(self, request: Request) -> Request:
        """The request as `doctor` scores it."""
        return self.in_full(request)

    def examined(self, request: Request, seen: Seen) -> list[str]:
        """What these files can and cannot show, as lines of text."""
        return usual(seen, self.counts_line(seen.body["counts"]))

    # summarise

    def names(self, request: Request, evidence: Evidence) -> list[MetricName]:
        """Every metric that is reported, once for each k where it has one."""
        ks = evidence.settings.get("k", ())
        found: list[MetricName] = []
        for metric in all_metrics(self.name).values():
            found += [MetricName(metric, k) for k in ks] if metric.at_k else [MetricName(metric, None)]
        return found

    def runs(self, facts: Any) -> Iterable[Any]:
        """The runs of a question, for metrics that look at one run."""
        return (facts,)

    def word(self, name: MetricName, facts: Any) -> Word:
        """What a metric says of one question, from all its runs where it looks at those; nothing if it looks at all."""
        metric = name.metric
        if metric.over == "all":
            return None
        if metric.over == "question":
            return metric.of(facts, **name.depth)  # type: ignore[no-any-return]
        words = [word for run in self.runs(facts) if (word := metric.of(run, **name.depth)) is not None]
        return joined(metric, words) if words else None

    def words(self, names: Iterable[MetricName], cases: Sequence[Case]) -> dict[str, list[Word]]:
        """What every metric says of every case."""
        return {name.id: [self.word(name, case.facts) for case in cases] for name in names if name.metric.over != "all"}

    def depths(self, request: Request) -> tuple[int, ...]:
        """Every k that is reported: those of the settings, and those that gates ask for."""
        asked = [name.k for gate in request.gates if (name := find(gate.metric, default_k=1)) and name.k]
        ks = tuple(dict.fromkeys((*getattr(request.settings, "ks", ()), *asked)))
        if len(ks) > MOST_KS:
            raise policy_error("RW-P03", f"expected at most {MOST_KS} different k, got {len(ks)}", field="k")
        return ks

    def slice_fields(self, request: Request) -> tuple[str, ...]:
        """The gold fields that cases are split by."""
        return fields_of(request)

    def own_slices(self, evidence: Evidence) -> tuple[str, ...]:
        """Fields that the suite splits by itself."""
        return ()

    def groups(self, cases: Sequence[Case]) -> dict[str | None, list[int]]:
        """The members of every slice, by their places; None is the whole."""
        found: dict[str | None, list[int]] = {None: list(range(len(cases)))}
        for nth, case in enumerate(cases):
            for name in case.slices:
                found.setdefault(name, []).append(nth)
        return found

    def within(self, case: Case, group: str | None) -> Case:
        """A case as a member of a group; of one that stands for many items only some may belong to it."""
        return case

    def value(self, name: MetricName, cases: Sequence[Case], words: Sequence[Word]) -> g.Value:
        """The value of a metric from its words."""
        return value_of(name.metric, words)

    def whole(self, name: MetricName, cases: Sequence[Case]) -> g.Value:
        """The value of a metric that looks at the facts of all questions at once."""
        facts = [case.facts for case in cases]
        return value_of_all(name.metric, name.metric.of(facts, **name.depth), len(facts))

    def adjust(self, request: Request, evidence: Evidence, summary: Summary) -> Summary:
        """The same numbers, where some of them need more than a fold."""
        return summary

    def topics(self, evidence: Evidence, cases: Sequence[Case]) -> Iterable[Topic]:
        """Where each question belongs, for those that stand or fall together: nothing is known of it."""
        return (Topic() for _ in cases)

    def times_run(self, case: Case) -> int:
        """How many runs of a question its words are the mean of."""
        return int(case.fate is not Fate.MISSING)

    def kept_rows(self, request: Request, evidence: Evidence, summary: Summary) -> Rows | str:
        """The rows of all questions as a report keeps them, or why there are none."""
        cases = evidence.cases
        if len(cases) > MOST:
            return too_many(len(cases))
        clusters = clusters_of([case.qid for case in cases], self.topics(evidence, cases)).by(request.cluster)
        return rows_of(cases, counted(summary), clusters, runs=list(map(self.times_run, cases)), own=self.votes(cases))

    def members(self, rows: Rows, group: str | None) -> list[int]:
        """The places of the rows that a number is of: those of a slice; None is the whole."""
        return [n for n, some in enumerate(rows.slices) if group in some] if group else [*range(len(rows.slices))]

    def parts(self, name: MetricName, evidence: Evidence, summary: Summary) -> list[Part]:
        """What each row adds to a number, and how much it weighs."""
        return plain(summary.rows.words[name.id]) if summary.rows is not None else []

    def votes(self, cases: Sequence[Case]) -> Mapping[str, Sequence[str | None]]:
        """What metrics of all questions at once look at, question by question: columns of rows, by name."""
        return {}

    def slice_order(self, groups: Iterable[str]) -> list[str]:
        """The slices in the order of the report."""
        return sorted(groups, key=natural)

    # judge

    def frozen(self, opened: Opened, evidence: Evidence) -> Frozen:
        """Whether the gold set is the one that was signed."""
        return opened.frozen(evidence.gold_sha256)

    def gates(self, request: Request) -> tuple[g.Gate, ...]:
        """The gates asked for, and those that always hold."""
        there = {gate.metric for gate in request.gates}
        return request.gates + tuple(gate for gate in self.always if gate.metric not in there)

    def baseline(self, opened: Opened, evidence: Evidence) -> g.Baseline | None:
        """The numbers of an earlier run, or why they cannot be compared."""
        return opened.baseline(made_of(evidence))

    def bind(self, request: Request, evidence: Evidence, summary: Summary, baseline: g.Baseline | None) -> Bound:
        """What is judged, where that depends on the evidence."""
        return Bound(self.gates(request), baseline, request.waivers)

    def an_id(self, evidence: Evidence) -> str:
        """What `must_pass` names, as messages say it."""
        return "a qid of the gold set"

    def case_of(self, evidence: Evidence, qid: str) -> Case | None:
        """A question by its id."""
        return next((case for case in evidence.cases if case.qid == qid), None)

    def again(self, evidence: Evidence, qid: str) -> Sequence[Case]:
        """The same question in further runs, where each is judged for itself."""
        return ()

    def judges_one(self, name: MetricName) -> bool:
        """Whether a metric can say of one question alone that it is as good as it can be: so there must be a best."""
        metric = name.metric
        if metric.over == "all" or metric.kind in APART:
            return False
        return metric.better == "lower" or metric.highest is not None

    def says(self, name: MetricName, case: Case, evidence: Evidence) -> bool | None:
        """What a metric says of one question alone, as yes or no: whether it is as good as it can be."""
        word: Any = self.word(name, case.facts)
        if word is None:
            return None
        return self.good(name, word) is (name.metric.better == "higher")

    def good(self, name: MetricName, word: Any) -> bool:
        """Whether a question alone is as it should be: the best there is, no step away, an accepted distance."""
        return best(name.metric, word)

    def settle(self, judged: list[g.Judged], bound: Bound, evidence: Evidence) -> list[g.Judged]:
        """The outcomes, where evidence says more than a number and a threshold."""
        return judged

    # describe

    def fate(self, name: MetricName, case: Case, word: Word, value: g.Value) -> Fate:
        """Where a question is in the ledger of a metric."""
        if case.fate in (Fate.MISSING, Fate.ERRORED):
            return case.fate
        return Fate.SCORED if word is not None else Fate.NOT_APPLICABLE

    def ledger(self, name: MetricName, found: Found) -> Ledger:
        """Where every question went, for one metric."""
        return ledger_of(self, name, found)

    def ledgers(self, found: Found) -> dict[str, Ledger]:
        """The ledger of every metric, by its id."""
        return {name.id: self.ledger(name, found) for name in found.summary.names}

    def lacks(self, word: Word, value: g.Value) -> bool:
        """Whether a question has no value of a metric: it does not count for it, or the metric has none at all."""
        return word is None or value.undefined is not None or of_nothing(word)

    def undefined(self, name: MetricName, case: Case, value: g.Value) -> str:
        """Why a question has no value of a metric."""
        return "no trace" if case.fate is Fate.MISSING else f"not among the {name.metric.cases}"

    def number(self, name: MetricName, word: Any) -> float:
        """A word as rows show it: as of the fraction, which need not be made to be divided correctly rounded."""
        return float(word[0] / word[1] if isinstance(word, tuple) else word)

    def established(self, case: Case, found: Found) -> dict[str, bool]:
        """What is known of a question, by the names of `facts`."""
        return {}

    def more(self, case: Case, found: Found) -> dict[str, Any]:
        """What the row of a question has besides, by the names of `columns`."""
        return {}

    def rows(self, found: Found) -> Iterator[Row]:
        """Every question's row, in gold order."""
        for nth, case in enumerate(found.cases):
            yield self.row(case, {name: said[nth] for name, said in found.summary.words.items()}, found)

    def numbers(
        self, names: Iterable[MetricName], case: Case, words: Mapping[str, Word], found: Found
    ) -> tuple[dict[str, float], dict[str, str]]:
        """What some metrics say of one question, and why the others say nothing."""
        return numbers_of(self, names, case, words, found)

    def row(self, case: Case, words: Mapping[str, Word], found: Found) -> Row:
        """The row of one question from what every metric says of it."""
        return self.row_of(case, *self.numbers(found.summary.names, case, words, found), found)

    def row_of(self, case: Case, metrics: dict[str, float], undefined: dict[str, str], found: Found) -> Row:
        """The same from its numbers, and why it has no others."""
        return Row(
            qid=case.qid,
            label=None if case.label is None else case.label.value,
            stage=None if case.stage is None else case.stage.value,
            cause=None if case.cause is None else case.cause.value,
            metrics=metrics,
            undefined=undefined,
            facts=self.established(case, found),
            own=self.more(case, found),
        )

    def offenders(self, found: Found, most: int) -> list[Offender]:
        """The questions that pull a gate down, worst first; of every label some are shown."""
        return [self.offender(case, found) for case in shown(found.cases, self.offends, most)]

    def offender(self, case: Case, found: Found) -> Offender:
        """One of them: what a case knows of itself, where a suite does not say more."""
        return Offender(case.qid, case.label, case.stage, case.why, None, None, [], [], [], {}, case.cause)

    def extra(self, found: Found) -> Extra:
        """What only this suite says."""
        return Extra()

    # one question

    def known(self, found: Found) -> Iterable[str]:
        """The id of every question, for whoever misspells one."""
        return (case.qid for case in found.cases)

    def items(self, found: Found, names: Sequence[str]) -> "list[Viewed]":
        """Some questions by ids that `case_of` knows, in the order asked for, each with everything known of it."""
        from ragworthy.suites.looking import with_texts

        cases = {name: self.case_of(found.evidence, name) for name in names}
        return with_texts(found, [self.item(case, found) for name in names if (case := cases[name]) is not None])

    def item(self, case: Case, found: Found) -> "Viewed":
        """One of them: what an offender shows, and what each metric says."""
        from ragworthy.suites.looking import viewed

        return viewed(case, self.said(case, found), self.offender(case, found), found)

    def said(self, case: Case, found: Found) -> Row:
        """The row of one question."""
        nth = next((nth for nth, one in enumerate(found.cases) if one.qid == case.qid), None)
        words = {} if nth is None else {name: words[nth] for name, words in found.summary.words.items()}
        return self.row(case, words, found)
