"""The rows of the latency suite: a question of the judged configuration under one load is a row.

Its key is the id of the question, with the load where one was recorded: `q1 at 5/s`. Rows come load by load from the
lowest, and inside a load in gold order. Words are means over the runs, so that configurations that were asked more
often do not count more; percentiles need every run, so columns of their own hold what each run says.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.metrics.facts.timed import Samples
from ragworthy.metrics.fold import joined, percent_of
from ragworthy.metrics.latency import load_name
from ragworthy.metrics.registry import MetricName
from ragworthy.names import HARMLESS, Label
from ragworthy.rows import RUNS, Rows, text_of
from ragworthy.suites.evidence import Case, Evidence, Summary, share_of
from ragworthy.suites.latency.cases import label_of, worst_label
from ragworthy.suites.latency.loads import Spot
from ragworthy.suites.latency.measure import Swept
from ragworthy.suites.latency.sweep import MISSING, Runs, by_question, words_of
from ragworthy.suites.slices import Slice

LOAD, QUESTION = "load", "question"
"""Columns of their own: the load of a row, and the id of its question."""


class Spoken(NamedTuple):
    """One question under one load."""

    case: Case
    """The question, as it is at the highest load."""
    load: Fraction | None
    runs: Runs
    highest: bool

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return self.case.qid if self.load is None else f"{self.case.qid} at {load_name(self.load)}/s"

    @property
    def label(self) -> Label | None:
        """What became of it."""
        return worst_label(self.runs.samples) if self.runs.samples else Label.MISSING

    @property
    def good(self) -> Fraction | None:
        """The share of its runs that are good; None where there is one run, or no answer."""
        labels = [label for one in self.runs.samples if (label := label_of(one)) is not None]
        return share_of(sum(label in HARMLESS for label in labels), len(labels))

    @property
    def slices(self) -> tuple[Slice, ...]:
        """Those of the question, its length, and its load."""
        lengths = dict.fromkeys(kind.length for kind in self.runs.samples.kinds())
        loads = () if self.load is None else (str(Spot(None, load_name(self.load))),)
        return (*self.case.slices, *map(Slice, (*lengths, *loads)))


def spoken(evidence: Evidence) -> Iterator[Spoken]:
    """Every question under every load of the judged configuration, in the order of the rows."""
    own: Swept = evidence.own
    for one in own.judged:
        for case, samples in zip(evidence.cases, by_question(len(evidence.cases), [one.runs.samples]), strict=True):
            yield Spoken(case, one.cell.load, Runs(samples, 1, one.runs.cut), one is own.at)


def with_loads(rows: Rows, given: Sequence[Spoken], summary: Summary) -> Rows:
    """Rows with the load and the question of each, and with what every run says to percentiles."""
    own: dict[str, tuple[str | None, ...]] = {}
    if any(one.load is not None for one in given):
        own[LOAD] = tuple(None if one.load is None else load_name(one.load) for one in given)
        own[QUESTION] = tuple(one.case.qid for one in given)
    return rows._replace(
        own={**rows.own, **own} | _each_run(given, [name for name in summary.names if name.id in rows.words])
    )


def _each_run(given: Sequence[Spoken], names: Iterable[MetricName]) -> dict[str, tuple[str | None, ...]]:
    """What metrics of every run look at: a column of numbers for all metrics that look at the same ones."""
    alike: dict[tuple[str | None, ...], list[str]] = {}
    for name in names:
        if percent_of(name.metric.kind) is not None or name.metric.kind == "tail":
            column = tuple(" ".join(map(text_of, _words(name, one.runs.samples))) or None for one in given)
            alike.setdefault(column, []).append(name.id)
    return {" ".join((RUNS, *ids)): column for column, ids in alike.items()}


def _words(name: MetricName, samples: Samples) -> list[Any]:
    return [word for word in words_of(name, samples) if word is not None]


def word(name: MetricName, runs: Runs) -> Any:
    """What a metric says of the runs of one question: their mean, their percentile, or their sums."""
    if name.metric.id == MISSING:
        return not runs.samples
    if percent_of(name.metric.kind) is not None or name.metric.kind == "tail":
        return runs.value(name).exact if runs.samples else None
    words = _words(name, runs.samples)
    return joined(name.metric, words) if words else None


def members(rows: Rows, group: str | None) -> list[int]:
    """The rows that a number is of: without a load those of the highest one, which come last."""
    spot, loads = Spot.of(group), rows.own.get(LOAD)
    load = spot.load or (loads[-1] if loads else None)
    return [
        nth
        for nth, slices in enumerate(rows.slices)
        if (loads is None or loads[nth] == load) and (spot.questions is None or spot.questions in slices)
    ]


def parts(name: MetricName, runs: Runs) -> tuple[Fraction, int] | None:
    """The sum over the runs of a question, and how many of them there are."""
    words = _words(name, runs.samples)
    return (sum(map(Fraction, words), Fraction(0)), len(words)) if words else None
