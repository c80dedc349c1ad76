"""Timed runs joined with their questions, grouped by configuration and load, and folded into values."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.errors import DataError, Problem, data_error
from ragworthy.ids import natural
from ragworthy.load.sources import Source
from ragworthy.metrics.answers import NO_PIECES, OF_PIECES, by_reference_only, cases_with
from ragworthy.metrics.cost import Prices, spend_of
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.compared import has_reference
from ragworthy.metrics.fold import in_order, percent_of, value_of, value_of_all
from ragworthy.metrics.latency import Sample, Timed, length_of, load_name, stage_order
from ragworthy.metrics.registry import Metric, MetricName, all_metrics, suite_of
from ragworthy.records import Gold, Trace
from ragworthy.suites.answers.bound import Bindings
from ragworthy.suites.answers.missing import NO_TEXT, SUPPORT, textless, without_evidence
from ragworthy.suites.latency.distances import NO_DISTANCES, Distances
from ragworthy.suites.reading import stranger
from ragworthy.suites.slices import Slice

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


class Question(NamedTuple):
    """One gold question, as far as runs are compared with it."""

    qid: str
    gold: Gold
    flags: int
    slices: tuple[Slice, ...]


class Job(NamedTuple):
    """Everything that decides the result besides the runs."""

    questions: Sequence[Question]
    rules: f.Rules
    prices: Prices | None = None
    tokens: Mapping[str, int] | None = None
    """How many tokens each chunk of the corpus has."""
    records: Mapping[str, int] = {}
    """How many chunks and prices there are, where they were given."""
    bound: Bindings | None = None
    distances: Distances = NO_DISTANCES

    @property
    def known(self) -> list[f.Facts]:
        """What the gold set alone says of each question: whether it has evidence."""
        return [f.unpack(one.flags, ()) for one in self.questions]


class Group(NamedTuple):
    """The measured runs of one configuration under one load."""

    cell: Cell
    samples: list[Sample]
    warmups: int

    @property
    def errors(self) -> int:
        """How many runs ended with an error."""
        return sum(one.errored for one in self.samples)

    @property
    def questions(self) -> set[int]:
        """The places of the questions that were asked."""
        return {one.question for one in self.samples}

    @property
    def knobs(self) -> dict[str, Any]:
        """What the configuration is set to, where a run says so."""
        return next((one.timed.knobs for one in self.samples if one.timed.knobs), {})

    @property
    def held(self) -> float | None:
        """The requests a second that were really sent, where the runs say when; to three places."""
        moments = [one.timed.at for one in self.samples if one.timed.at is not None]
        if len(moments) < 2 or len(moments) < len(self.samples) or self.cell.load is None:
            return None
        span = max(moments) - min(moments)
        return round((len(moments) - 1) / span, 3) if span > 0 else None

    def stages(self) -> dict[str, list[Fraction]]:
        """The sorted times of every stage, in the usual order of stages."""
        names = sorted({name for one in self.samples for name in one.timed.stages}, key=stage_order)
        return {
            name: in_order(one.timed.stages[name] for one in self.samples if name in one.timed.stages) for name in names
        }


class Sweep(NamedTuple):
    """Every run in its place."""

    groups: dict[Cell, Group]
    """By configuration in natural order, then by load."""
    strangers: list[Timed]
    """Runs of questions that the gold set does not have."""
    nested: list[Timed]
    """Runs whose citations hold objects or lists."""

    def check(self, source: Source, runs: Sequence[Timed]) -> None:
        """Stop at runs that nothing can be said about, and where there is nothing to measure."""
        nested = "expected a string, got an object or a list"
        problems = [stranger(one.run.name, source.at(one.line)) for one in self.strangers]
        problems += [Problem("RW-T02", nested, source.at(one.line), "answer_json.citations") for one in self.nested]
        if problems:
            raise DataError(problems)
        if not self.groups:
            got = "only warm-ups" if runs else "none"
            raise data_error("RW-F04", f"expected measured runs, got {got}", where=source.given)


def sweep(job: Job, runs: Iterable[Timed]) -> Sweep:
    """Runs by configuration and load, each with the facts about its answer."""
    place = {question.qid: nth for nth, question in enumerate(job.questions)}
    by_cell: dict[Cell, list[Timed]] = {}
    strangers = []
    for timed in runs:
        if timed.run.warmup or timed.run.name in place:
            by_cell.setdefault(Cell(timed.config, timed.load), []).append(timed)
        else:
            strangers.append(timed)
    answered = _answered(by_cell)
    flags_of = f.trace_flags(job.rules)
    asked = {question.qid: question.gold.question or "" for question in job.questions}
    far = job.distances.of((one for members in by_cell.values() for one in members if not one.run.warmup), asked)
    nested: list[Timed] = []
    groups: dict[Cell, Group] = {}
    for cell in sorted(by_cell, key=_order):
        samples = []
        for timed in by_cell[cell]:
            if timed.run.warmup:
                continue
            question = job.questions[place[timed.run.name]]
            flags = question.flags | flags_of(question.gold, _trace(timed))
            if flags & f.NESTED_CITATION:
                nested.append(timed)
            facts = _facts(job, question.gold, timed, flags) if cell.config in answered else None
            spend = spend_of(timed.run.usage, job.prices, timed.model, errored=timed.run.error is not None)
            tokens = _tokens(job, question, timed)
            samples.append(Sample(timed, place[question.qid], facts, spend, tokens, far[timed.line]))
        if samples:
            groups[cell] = Group(cell, samples, len(by_cell[cell]) - len(samples))
    return Sweep(groups, strangers, nested)


def _facts(job: Job, gold: Gold, timed: Timed, flags: int) -> f.Facts:
    """What is known of an answer; compared with the reference where its question has one."""
    if not has_reference(gold):
        return f.unpack(flags, job.rules.ks)
    from ragworthy.metrics.facts.reference import compared_by

    return f.unpack(flags, job.rules.ks, compared_by(gold, _trace(timed), flags))


def _order(cell: Cell) -> tuple[Any, ...]:
    """Configurations in natural order, each with its loads from the lowest."""
    return natural(cell.config), *load_order(cell.load)


def load_order(load: Fraction | None) -> tuple[bool, Fraction]:
    """Loads from the lowest; none recorded comes first."""
    return load is not None, load or Fraction(0)


def _answered(cells: Mapping[Cell, Sequence[Timed]]) -> set[str]:
    """The configurations whose runs hold answers; with answers elsewhere, an error stands for an empty one."""
    runs = [timed for members in cells.values() for timed in members]
    if not any(timed.run.answer_json is not None for timed in runs):
        return set()
    return {timed.config for timed in runs if timed.run.answer_json is not None or timed.run.error is not None}


def _trace(timed: Timed) -> Trace:
    run = timed.run
    return Trace(qid=run.name, retrieved_ids=run.retrieved_ids, answer_json=run.answer_json, error=run.error)


def _tokens(job: Job, question: Question, timed: Timed) -> tuple[int, int] | str:
    """Tokens of the gold chunks that an answer cites, and of all the chunks it was given."""
    if job.tokens is None:
        return "needs chunk texts"
    context = list(dict.fromkeys(timed.run.retrieved_ids or ()))
    unknown = [name for name in context if name not in job.tokens]
    if unknown:
        return f"the corpus does not have {unknown[0]}"
    run = timed.run
    cited = run.answer_json.citations if run.answer_json is not None and run.error is None else None
    useful = {one for one in cited if isinstance(one, str)} if isinstance(cited, list) else set()
    useful &= set(question.gold.gold_citations or ())
    return sum(job.tokens[name] for name in context if name in useful), sum(job.tokens[name] for name in context)


def by_question(questions: int, samples: Iterable[Sample]) -> list[list[Sample]]:
    """Runs, question by question."""
    runs: list[list[Sample]] = [[] for _ in range(questions)]
    for one in samples:
        runs[one.question].append(one)
    return runs


def length_slice(gold: Gold, sample: Sample) -> str:
    """The slice of a run by the length of its question: in tokens where usage counts them, else in words."""
    counted = (sample.timed.run.usage or {}).get("question_tokens")
    if isinstance(counted, int) and not isinstance(counted, bool) and counted >= 0:
        return f"length={length_of(counted)}"
    text = gold.question or sample.timed.run.q
    return f"length={length_of(len(text.split())) if text else 'unknown'}"


# values


class Runs(NamedTuple):
    """Measured runs that are folded together."""

    samples: Sequence[Sample]
    questions: int = 1
    """How many questions they should be of."""
    cut: bool = False
    """Whether percentiles are cut to whole milliseconds, as the sources' own harness prints them."""

    @property
    def asked(self) -> int:
        """How many questions they are of."""
        return len({one.question for one in self.samples})

    def value(self, name: MetricName) -> g.Value:
        """A metric over these runs; its interval rests on different questions, not on runs."""
        metric = name.metric
        if metric.id == MISSING:
            return value_of(metric, [True] * (self.questions - self.asked))
        if metric.over == "all":
            return self._whole(name)
        if metric.needs == "evidence" and (why := without_evidence(one.facts for one in self.samples if one.facts)):
            return self._without(metric, why)
        words = [(one, word_of(name, one)) for one in self.samples]
        reason = self._unknown(metric, [word for _, word in words])
        if metric.id in OF_PIECES and by_reference_only(one.facts for one in self.samples if one.facts is not None):
            reason = NO_PIECES
        if metric.id == SUPPORT and textless(one.facts for one in self.samples if one.facts is not None):
            reason = NO_TEXT
        if reason is not None:
            return self._without(metric, reason)
        if metric.kind == "share":
            return value_of(metric, _by_question(words))
        repeated = _repeated(one for one, word in words if word is not None)
        if repeated is not None and metric.cases.endswith("questions"):
            metric = metric._replace(cases=f"runs of {metric.cases}")
        cases = cases_with(sum(one.errored for one, word in words if word is not None), metric.cases)
        found = [word for _, word in words]
        value = value_of(metric, found, independent=repeated)._replace(cases=cases)
        if not self.cut or (percent := percent_of(metric.kind)) is None:
            return value
        return value._replace(
            num=cut_percentile([float(word) for word in found if word is not None], percent), den=1, interval=None
        )

    def _whole(self, name: MetricName) -> g.Value:
        """A metric of all runs at once; one of the answers suite gets what that hands out: pairs of facts and 1."""
        metric, given = name.metric, list[Any](self.samples)
        if suite_of(metric.id) != "latency":
            if any(one.facts is None for one in self.samples):
                return self._without(metric, NO_ANSWERS)
            given = [(one.facts, 1) for one in self.samples]
        return value_of_all(metric, metric.of(given, **name.depth), len(given))

    def _unknown(self, metric: Metric, words: Sequence[Any]) -> str | None:
        """Why there is no number: as soon as one run does not have what it takes, a sum over the others is too low."""
        reasons = [reason for word in words if (reason := _reason(word)) is not None]
        if reasons:
            return reasons[0] if metric.kind == "share" else commonest(reasons, len(words))
        needed = metric.over != "run" or metric.kind in _OF_ANSWERS
        return NO_ANSWERS if needed and any(one.facts is None for one in self.samples) else None

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


def together(parts: Iterable[Runs]) -> Runs:
    """Several runs as one, in the order of the file."""
    given = list(parts)
    samples = sorted((one for runs in given for one in runs.samples), key=lambda one: one.timed.line)
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


def _by_question(words: Iterable[tuple[Sample, Any]]) -> list[tuple[int, int]]:
    """Parts and wholes summed up for each question first: runs of one question are not independent."""
    sums: dict[int, tuple[int, int]] = {}
    for one, word in words:
        part, whole = word or (0, 0)
        before = sums.get(one.question, (0, 0))
        sums[one.question] = (before[0] + part, before[1] + whole)
    return [pair for pair in sums.values() if pair[1]]


def _repeated(samples: Iterable[Sample]) -> int | None:
    """How many different questions some runs are of, where questions repeat."""
    questions = [one.question for one in samples]
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
