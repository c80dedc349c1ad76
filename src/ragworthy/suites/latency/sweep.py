"""Timed runs joined with their questions, grouped by configuration and load, and folded into values."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec

from ragworthy import gates as g
from ragworthy.errors import DataError, Problem, data_error
from ragworthy.ids import natural
from ragworthy.load.sources import Source
from ragworthy.metrics.answers import NO_PIECES, OF_PIECES, SHIPPED, by_reference_only, cases_with
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.facts.compared import Compared
from ragworthy.metrics.facts.timed import Kind, Samples, TimedRuns, exact
from ragworthy.metrics.fold import in_order, percent_of, value_of, value_of_all
from ragworthy.metrics.latency import Sample, load_name, stage_order
from ragworthy.metrics.registry import Metric, MetricName, all_metrics, suite_of
from ragworthy.records import Ints
from ragworthy.suites.answers.missing import NO_TEXT, SUPPORT, textless, without_evidence
from ragworthy.suites.latency.again import Again
from ragworthy.suites.latency.job import Job
from ragworthy.suites.reading import stranger

NO_ANSWERS = "the runs hold no answers"
MISSING = "answers.missing"
"""The one metric that counts questions without a run."""
_OF_ANSWERS = ("ratio", "share")
"""Kinds of cost that ask what an answer was worth, so that there must be some."""


class Cell(NamedTuple):
    """A configuration under a load."""

    config: str
    load: Fraction | None

    def __str__(self) -> str:
        return self.config if self.load is None else f"{self.config} at {load_name(self.load)}/s"


class Group(NamedTuple):
    """The measured runs of one configuration under one load."""

    cell: Cell
    samples: Samples
    warmups: int

    @property
    def errors(self) -> int:
        """How many runs ended with an error."""
        return sum(one.errored for one in self.samples)

    @property
    def questions(self) -> set[int]:
        """The places of the questions that were asked."""
        return set(self.samples.questions())

    @property
    def knobs(self) -> dict[str, Any]:
        """What the configuration is set to, where a run says so."""
        written = next((kind.knobs for kind in self.samples.kinds() if kind.knobs != "{}"), "{}")
        found: dict[str, Any] = msgspec.json.decode(written)
        return found

    @property
    def held(self) -> float | None:
        """The requests a second that were really sent, where the runs say when; to three places."""
        moments = [at for at in self.samples.moments() if not math.isnan(at)]
        if len(moments) < 2 or len(moments) < len(self.samples) or self.cell.load is None:
            return None
        span = max(moments) - min(moments)
        return round((len(moments) - 1) / span, 3) if span > 0 else None

    def stages(self) -> dict[str, list[Fraction]]:
        """The sorted times of every stage, in the usual order of stages."""
        found: dict[str, array[float]] = {}
        for kind, times in zip(self.samples.kinds(), self.samples.times(), strict=True):
            for name, time in zip(kind.stages, times, strict=True):
                found.setdefault(name, array("d")).append(time)
        return {name: in_order(map(exact, found[name])) for name in sorted(found, key=stage_order)}


class Sweep(NamedTuple):
    """Every run in its place."""

    groups: dict[Cell, Group]
    """By configuration in natural order, then by load."""
    strangers: Samples
    """Runs of questions that the gold set does not have."""
    nested: Samples
    """Runs whose citations hold objects or lists."""

    def check(self, source: Source, again: Again, runs: int) -> None:
        """Stop at runs that nothing can be said about, and where there is nothing to measure."""
        nested = "expected a string, got an object or a list"
        names = {line: run.name for line, run in again.each(self.strangers.lines())}
        problems = [stranger(names[line], source.at(line)) for line in self.strangers.lines()]
        problems += [
            Problem("RW-T02", nested, source.at(line), "answer_json.citations") for line in self.nested.lines()
        ]
        if problems:
            raise DataError(problems)
        if not self.groups:
            got = "only warm-ups" if runs else "none"
            raise data_error("RW-F04", f"expected measured runs, got {got}", where=source.given)


def sweep(job: Job, runs: TimedRuns) -> Sweep:
    """Runs by configuration and load, with the facts about their answers."""
    strangers: Ints = array("I")
    rows: dict[Cell, Ints] = {}
    warmups: Counter[Cell] = Counter()
    cells = [Cell(kind.config, None if kind.load is None else exact(kind.load)) for kind in runs.kinds.values]
    measured = [not kind.warmup for kind in runs.kinds.values]
    places = [rows.setdefault(cell, array("I")) for cell in cells]
    for row, kind in enumerate(runs.kinds.at):
        if not measured[kind]:
            warmups[cells[kind]] += 1
        elif runs.question[row] < 0:
            strangers.append(row)
        else:
            places[kind].append(row)
    ordered = [cell for cell in sorted(rows, key=_order) if rows[cell]]
    nested = _nested(runs, [rows[cell] for cell in ordered])

    def facts_of(flags: int, compared: Compared | None) -> Facts:
        return f.unpack(flags, job.rules.ks, compared)

    runs.settle(facts_of, _answered(runs.kinds.values))
    groups = {cell: Group(cell, Samples(runs, rows[cell]), warmups[cell]) for cell in ordered}
    return Sweep(groups, Samples(runs, strangers), Samples(runs, nested))


def _nested(runs: TimedRuns, groups: Iterable[Ints]) -> Ints:
    """The rows of runs whose citations hold objects or lists, group by group."""
    there = {place for place, (flags, _) in enumerate(runs.answers.values) if flags & f.NESTED_CITATION}
    return array("I", (row for rows in groups for row in rows if runs.answers.at[row] in there) if there else ())


def _order(cell: Cell) -> tuple[Any, ...]:
    """Configurations in natural order, each with its loads from the lowest."""
    return natural(cell.config), *load_order(cell.load)


def load_order(load: Fraction | None) -> tuple[bool, Fraction]:
    """Loads from the lowest; none recorded comes first."""
    return load is not None, load or Fraction(0)


def _answered(kinds: Iterable[Kind]) -> frozenset[str]:
    """The configurations whose runs hold answers; with answers elsewhere, an error stands for an empty one."""
    known = list(kinds)
    if not any(kind.answers for kind in known):
        return frozenset()
    return frozenset(kind.config for kind in known if kind.answers or kind.failed)


def by_question(questions: int, samples: Iterable[Samples]) -> list[Samples]:
    """Runs, question by question."""
    given = list(samples)
    rows: list[Ints] = [array("I") for _ in range(questions)]
    for some in given:
        for row, question in zip(some.rows, some.questions(), strict=True):
            rows[question].append(row)
    return [Samples(given[0].runs, one) for one in rows]


# values


class Runs(NamedTuple):
    """Measured runs that are folded together."""

    samples: Samples
    questions: int = 1
    """How many questions they should be of."""
    cut: bool = False
    """Whether percentiles are cut to whole milliseconds, as the sources' own harness prints them."""

    @property
    def asked(self) -> int:
        """How many questions they are of."""
        return len(set(self.samples.questions()))

    def value(self, name: MetricName) -> g.Value:
        """A metric over these runs; its interval rests on different questions, not on runs."""
        metric = name.metric
        if metric.id == MISSING:
            return value_of(metric, [True] * (self.questions - self.asked))
        if metric.over == "all":
            return self._whole(name)
        if metric.needs == "evidence" and (why := without_evidence(self._known())):
            return self._without(metric, why)
        words = words_of(name, self.samples)
        reason = self._unknown(metric, words)
        if metric.id in OF_PIECES and by_reference_only(self._known()):
            reason = NO_PIECES
        if metric.id == SUPPORT and textless(self._known()):
            reason = NO_TEXT
        if reason is not None:
            return self._without(metric, reason)
        if metric.kind == "share":
            return value_of(metric, _by_question(self.samples, words))
        repeated = _repeated(self.samples, words)
        if repeated is not None and metric.cases.endswith("questions"):
            metric = metric._replace(cases=f"runs of {metric.cases}")
        errors = self._errors(words) if metric.cases.startswith(SHIPPED) else 0
        cases = cases_with(errors, metric.cases)
        value = value_of(metric, words, independent=repeated)._replace(cases=cases)
        if not self.cut or (percent := percent_of(metric.kind)) is None:
            return value
        return value._replace(
            num=cut_percentile([float(word) for word in words if word is not None], percent), den=1, interval=None
        )

    def _known(self) -> list[Facts]:
        """What became of answers, each different one once."""
        return [facts for facts in self.samples.facts() if facts is not None]

    def _errors(self, words: Sequence[Any]) -> int:
        """How many of the runs that count ended in an error."""
        return sum(one.errored for one, word in zip(self.samples, words, strict=True) if word is not None)

    def _whole(self, name: MetricName) -> g.Value:
        """A metric of all runs at once; one of the answers suite gets what that hands out: pairs of facts and 1."""
        metric, given = name.metric, list[Any](self.samples)
        if suite_of(metric.id) != "latency":
            if None in self.samples.facts():
                return self._without(metric, NO_ANSWERS)
            given = [(one.facts, 1) for one in self.samples]
        return value_of_all(metric, metric.of(given, **name.depth), len(given))

    def _unknown(self, metric: Metric, words: Sequence[Any]) -> str | None:
        """Why there is no number: as soon as one run does not have what it takes, a sum over the others is too low."""
        reasons = [reason for word in words if (reason := _reason(word)) is not None]
        if reasons:
            return reasons[0] if metric.kind == "share" else commonest(reasons, len(words))
        needed = metric.over != "run" or metric.kind in _OF_ANSWERS
        return NO_ANSWERS if needed and None in self.samples.facts() else None

    def _without(self, metric: Metric, reason: str) -> g.Value:
        """No value, and why; of an amount it is known how many runs it would be of."""
        value = value_of(metric._replace(undefined=reason, kind="rate"), [])
        amount = metric.over == "run" and metric.highest is None
        return value._replace(n=len(self.samples), counts=False) if amount else value


def word_of(name: MetricName, one: Sample) -> Any:
    """What a metric says of a run: the suite's own look at the run, borrowed ones at the answer."""
    facts: Any = one if name.metric.over == "run" else one.facts
    if facts is None or name.metric.over == "all":
        return None
    return name.metric.of(facts, **name.depth)


def words_of(name: MetricName, samples: Samples) -> list[Any]:
    """The same of some runs: what looks at the answer alone is asked once of equal ones."""
    if name.metric.over == "run" or len(samples) < _FEW:
        return [word_of(name, one) for one in samples]
    known: dict[int, Any] = {}
    for place, one in zip(samples.answers(), samples, strict=True):
        if place not in known:
            known[place] = word_of(name, one)
    return [known[place] for place in samples.answers()]


_FEW = 20
"""Of fewer runs equal answers are not looked for."""


def together(parts: Iterable[Runs]) -> Runs:
    """Several runs as one, in the order of the file."""
    given = list(parts)
    rows = array("I", sorted(row for runs in given for row in runs.samples.rows))
    samples = Samples(given[0].samples.runs, rows)
    return Runs(samples, sum(runs.questions for runs in given), any(runs.cut for runs in given))


def percentiles() -> dict[int, Metric]:
    """The metrics that are percentiles of times, from the lowest; others may be percentiles of anything."""
    found = {percent_of(one.kind): one for one in all_metrics("latency").values() if _is_time(one)}
    return {percent: found[percent] for percent in sorted(percent for percent in found if percent is not None)}


def _is_time(metric: Metric) -> bool:
    return metric.id == f"latency.p{percent_of(metric.kind)}"


def commonest(reasons: Sequence[str], runs: int) -> str:
    """The reason that most runs have, and how many have one where not all have this one.

    >>> commonest(["usage is not recorded"] * 2, 2), commonest(["b", "a"], 5)
    ('usage is not recorded', 'a (2 of 5 runs)')
    """
    reason, count = min(Counter(reasons).items(), key=lambda pair: (-pair[1], pair[0]))
    return reason if count == runs else f"{reason} ({len(reasons)} of {runs} runs)"


def _reason(word: Any) -> str | None:
    """Why a run's word, or a part of it, is not known: it is a text then."""
    parts = word if isinstance(word, tuple) else (word,)
    return next((part for part in parts if isinstance(part, str)), None)


def _by_question(samples: Samples, words: Iterable[Any]) -> list[tuple[int, int]]:
    """Parts and wholes summed up for each question first: runs of one question are not independent."""
    sums: dict[int, tuple[int, int]] = {}
    for question, word in zip(samples.questions(), words, strict=True):
        part, whole = word or (0, 0)
        before = sums.get(question, (0, 0))
        sums[question] = (before[0] + part, before[1] + whole)
    return [pair for pair in sums.values() if pair[1]]


def _repeated(samples: Samples, words: Iterable[Any]) -> int | None:
    """How many different questions the runs that count are of, where questions repeat."""
    questions = [question for question, word in zip(samples.questions(), words, strict=True) if word is not None]
    different = len(set(questions))
    return different if different < len(questions) else None


def cut_percentile(values: Sequence[float], percent: int) -> int:
    """A percentile as the sources' own harness prints it: in floating point, cut to a whole number, 0 of nothing.

    >>> [cut_percentile([100, 200, 300, 400], p) for p in (50, 90, 95, 99)], cut_percentile([], 95)
    ([250, 370, 385, 396], 0)
    """
    if not values:
        return 0
    ordered = sorted(values)
    position = (len(ordered) - 1) * (percent / 100)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    if below == above:
        return int(ordered[below])
    return int(ordered[below] * (above - position) + ordered[above] * (position - below))
