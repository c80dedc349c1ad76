"""Timed runs joined with their questions, grouped by configuration and load, and folded into values."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.ids import natural
from ragworthy.metrics.cost import Prices, spend_of
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.latency import Sample, Timed, length_of, stage_order
from ragworthy.metrics.registry import Metric, MetricName
from ragworthy.records import Gold, Trace
from ragworthy.stats import percentile
from ragworthy.suites.fold import value_of
from ragworthy.suites.latency import reference as reference_latency
from ragworthy.suites.slices import values_of as slice_values

NO_ANSWERS = "the runs hold no answers"
PLACES = 6
"""A deviation is a root and has no exact value; so many places of it count."""

Cell = tuple[str, Fraction | None]
"""A configuration under a load."""


class Question(NamedTuple):
    """One gold question, as far as runs are held against it."""

    qid: str
    gold: Gold
    flags: int
    slices: tuple[str, ...]


class Job(NamedTuple):
    """Everything that decides the result besides the runs."""

    questions: Sequence[Question]
    rules: f.Rules
    prices: Prices | None = None
    tokens: Mapping[str, int] | None = None
    """How many tokens each chunk of the corpus has."""
    reference: bool = False
    """Whether percentiles are cut to whole numbers, as the sources' harness does."""


class Group(NamedTuple):
    """The measured runs of one configuration under one load."""

    config: str
    load: Fraction | None
    samples: list[Sample]
    warmups: int

    @property
    def errors(self) -> int:
        """How many runs ended with an error."""
        return sum(one.errored for one in self.samples)

    @property
    def held(self) -> float | None:
        """The requests a second that were really sent, where the runs say when; to three places."""
        moments = [one.timed.at for one in self.samples if one.timed.at is not None]
        if len(moments) < 2 or len(moments) < len(self.samples) or self.load is None:
            return None
        span = max(moments) - min(moments)
        return round((len(moments) - 1) / span, 3) if span > 0 else None


class Sweep(NamedTuple):
    """Every run in its place."""

    groups: dict[Cell, Group]
    """By configuration in natural order, then by load."""
    strangers: list[Timed]
    """Runs of questions that the gold set does not have."""
    nested: list[Timed]
    """Runs whose citations hold objects or lists."""


def question_of(gold: Gold, value: Mapping[str, Any], fields: Sequence[str], rules: f.Rules) -> Question:
    """A gold record with what it alone establishes, and the slices it is in."""
    slices = tuple(f"{field}={one}" for field in fields for one in slice_values(value.get(field)))
    return Question(gold.qid or gold.q_id or "", gold, f.gold_flags(rules)(gold), slices)


def sweep(job: Job, runs: Iterable[Timed]) -> Sweep:
    """Runs by configuration and load, each with the facts about its answer."""
    place = {question.qid: nth for nth, question in enumerate(job.questions)}
    by_cell: dict[Cell, list[Timed]] = {}
    strangers = []
    for timed in runs:
        if timed.run.name in place:
            by_cell.setdefault((timed.config, timed.load), []).append(timed)
        else:
            strangers.append(timed)
    answered = _answered(by_cell)
    flags_of = f.trace_flags(job.rules)
    nested: list[Timed] = []
    groups: dict[Cell, Group] = {}
    for cell in sorted(by_cell, key=cell_order):
        samples = []
        for timed in by_cell[cell]:
            if timed.run.warmup:
                continue
            question = job.questions[place[timed.run.name]]
            flags = question.flags | flags_of(question.gold, _trace(timed))
            if flags & f.NESTED_CITATION:
                nested.append(timed)
            facts = f.unpack(flags, job.rules.ks) if cell[0] in answered else None
            spend = spend_of(timed.run.usage, job.prices, timed.model)
            samples.append(Sample(timed, place[question.qid], facts, spend, _tokens(job, question, timed)))
        if samples:
            groups[cell] = Group(*cell, samples, len(by_cell[cell]) - len(samples))
    return Sweep(groups, strangers, nested)


def cell_order(cell: Cell) -> tuple[Any, ...]:
    """Configurations in natural order, each with its loads from the lowest; none recorded comes first."""
    config, load = cell
    return natural(config), load is not None, load or 0


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


def by_question(job: Job, group: Group) -> list[list[Sample]]:
    """The runs of a group, question by question."""
    runs: list[list[Sample]] = [[] for _ in job.questions]
    for one in group.samples:
        runs[one.question].append(one)
    return runs


# summarise


def values(
    job: Job, samples: Sequence[Sample], names: Iterable[MetricName], questions: int | None = None
) -> dict[str, g.Value]:
    """Every metric of some runs, of all questions unless so many are meant."""
    asked = len(job.questions) if questions is None else questions
    found = {name.id: _value(name, samples, asked) for name in names}
    return _truncated(found, samples) if job.reference else found


def _truncated(values: dict[str, g.Value], samples: Sequence[Sample]) -> dict[str, g.Value]:
    """The same with the percentiles that the sources' harness prints."""
    times = [float(one.timed.e2e) for one in samples]
    cut = {f"latency.p{percent}": reference_latency.percentile(times, percent) for percent in (50, 90, 95, 99)}
    return {
        name: value._replace(num=cut[name], den=1, interval=None) if name in cut else value
        for name, value in values.items()
    }


def _value(name: MetricName, samples: Sequence[Sample], questions: int) -> g.Value:
    metric = name.metric
    if metric.id.startswith("answers."):
        return _rate(name, samples, questions)
    if metric.kind == "tail":
        return _tail(metric, samples)
    if metric.kind in ("sum", "ratio", "spread"):
        return _spent(metric, samples)
    if metric.kind == "share":
        return _efficiency(metric, samples)
    return value_of(metric, [metric.of(one) for one in samples], independent=_distinct(samples))


def _distinct(samples: Sequence[Sample]) -> int | None:
    """How many different questions some runs are of, where questions repeat."""
    different = len({one.question for one in samples})
    return different if different < len(samples) else None


def _rate(name: MetricName, samples: Sequence[Sample], questions: int) -> g.Value:
    """A rate over runs; its interval rests on the different questions among them."""
    metric = name.metric
    if metric.id == "answers.missing":
        return value_of(metric, [True] * (questions - len({one.question for one in samples})))
    if any(one.facts is None for one in samples):
        return value_of(metric._replace(undefined=NO_ANSWERS, kind="rate"), [])
    words = [(one, metric.of(one.facts) if name.k is None else metric.of(one.facts, k=name.k)) for one in samples]
    distinct = _distinct([one for one, word in words if word is not None])
    if distinct is not None and metric.cases.endswith("questions"):
        metric = metric._replace(cases=f"runs of {metric.cases}")
    return value_of(metric, [word for _, word in words], independent=distinct)


def _blank(metric: Metric, samples: Sequence[Sample]) -> g.Value:
    return g.Value(
        0, 1, better=metric.better, cases=metric.cases, event=metric.event, n=len(samples), counts=False, rate=False
    )


def _numbered(value: g.Value, number: Fraction) -> g.Value:
    return value._replace(num=number.numerator, den=number.denominator)


def _tail(metric: Metric, samples: Sequence[Sample]) -> g.Value:
    times = in_order(one.timed.e2e for one in samples)
    value = _blank(metric, samples)
    median = percentile(times, 50) if times else Fraction(0)
    if not median:
        return value._replace(undefined=metric.undefined)
    return _numbered(value, percentile(times, 99) / median)


def _spent(metric: Metric, samples: Sequence[Sample]) -> g.Value:
    """What was spent, in one of three ways; not known as soon as one run's spend is not known."""
    value = _blank(metric, samples)
    spends = [one.spend for one in samples if isinstance(one.spend, Fraction)]
    if not samples:
        return value._replace(undefined="no run was measured")
    if len(spends) < len(samples):
        return value._replace(undefined=unknown_spend(samples))
    words = [metric.of(one) for one in samples]
    if metric.kind == "sum":
        return _numbered(value, sum(words, Fraction(0)))
    if metric.kind == "ratio":
        if any(one.facts is None for one in samples):
            return value._replace(undefined=NO_ANSWERS)
        cases = sum(correct for _, correct in words)
        return (
            _numbered(value, sum(spends, Fraction(0)) / cases) if cases else value._replace(undefined=metric.undefined)
        )
    cells: dict[tuple[int, int], Fraction] = {}
    for cell, spend in words:
        cells[cell] = cells.get(cell, Fraction(0)) + spend
    spread = variation(list(cells.values()))
    value = value._replace(n=len(cells))
    return value._replace(undefined=metric.undefined) if spread is None else _numbered(value, spread)


def variation(numbers: Sequence[Fraction]) -> Fraction | None:
    """Population deviation over mean; None for fewer than two numbers or a mean of 0.

    >>> float(variation([Fraction("0.38"), Fraction("0.42"), Fraction("0.44")]))
    0.060349
    """
    if len(numbers) < 2 or not sum(numbers):
        return None
    mean = sum(numbers, Fraction(0)) / len(numbers)
    variance = sum(((one - mean) ** 2 for one in numbers), Fraction(0)) / len(numbers)
    return Fraction(str(round(math.sqrt(variance / mean**2), PLACES)))


def unknown_spend(samples: Sequence[Sample]) -> str:
    """Why the cost of some runs is not known, the commonest reason first."""
    reasons = Counter(one.spend for one in samples if isinstance(one.spend, str))
    reason, count = min(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return reason if count == len(samples) else f"{reason} ({sum(reasons.values())} of {len(samples)} runs)"


def _efficiency(metric: Metric, samples: Sequence[Sample]) -> g.Value:
    """Tokens over tokens, summed up for each question first: runs of one question are not independent."""
    unknown = next((one.tokens for one in samples if isinstance(one.tokens, str)), None)
    if unknown is not None or any(one.facts is None for one in samples):
        return value_of(metric._replace(undefined=unknown or NO_ANSWERS), [])
    sums: dict[int, tuple[int, int]] = {}
    for one in samples:
        part, whole = sums.get(one.question, (0, 0))
        sums[one.question] = (part + int(one.tokens[0]), whole + int(one.tokens[1]))
    return value_of(metric, [pair for pair in sums.values() if pair[1]])


def stages(samples: Sequence[Sample]) -> dict[str, list[Fraction]]:
    """The sorted times of every stage, in the usual order of stages."""
    names = sorted({name for one in samples for name in one.timed.stages}, key=stage_order)
    return {name: in_order(one.timed.stages[name] for one in samples if name in one.timed.stages) for name in names}


def in_order(times: Iterable[Fraction]) -> list[Fraction]:
    """Times in order; each was written as a float, and floats sort many times faster than fractions."""
    return sorted(times, key=float)


def slices(job: Job, samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """Some runs split by the length of their questions and by the fields of the gold set."""
    found: dict[str, list[Sample]] = {}
    for one in samples:
        question = job.questions[one.question]
        for name in (f"length={_length(question, one)}", *question.slices):
            found.setdefault(name, []).append(one)
    if set(found) == {"length=unknown"}:
        return {}
    return found


def _length(question: Question, sample: Sample) -> str:
    """The bucket of a question: by the tokens that usage counts for it, else by its words."""
    counted = (sample.timed.run.usage or {}).get("question_tokens")
    if isinstance(counted, int) and not isinstance(counted, bool) and counted >= 0:
        return length_of(counted)
    text = question.gold.question or sample.timed.run.q
    return length_of(len(text.split())) if text else "unknown"


def uneven(groups: Mapping[Cell, Group]) -> list[tuple[int, Cell, int, Cell, int]]:
    """Questions that did not meet every configuration and load equally often: with the most and the least."""
    cells = [(config, load) for config in dict.fromkeys(one for one, _ in groups) for load in _loads(groups)]
    counts = {
        cell: Counter(one.question for one in groups[cell].samples) if cell in groups else Counter[int]()
        for cell in cells
    }
    asked = sorted({nth for one in counts.values() for nth in one})
    found = []
    for nth in asked:
        most = max(cells, key=lambda cell: counts[cell][nth])
        least = min(cells, key=lambda cell: counts[cell][nth])
        if counts[most][nth] != counts[least][nth]:
            found.append((nth, most, counts[most][nth], least, counts[least][nth]))
    return found


def _loads(groups: Mapping[Cell, Group]) -> list[Fraction | None]:
    return list(dict.fromkeys(load for _, load in sorted(groups, key=lambda cell: (cell[1] is not None, cell[1] or 0))))
