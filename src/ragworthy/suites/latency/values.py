"""Measured runs folded into values: by the kind of the metric, unless something that it needs is not known."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.fold import percent_of, value_of
from ragworthy.metrics.latency import Sample
from ragworthy.metrics.registry import Metric, MetricName, all_metrics

NO_ANSWERS = "the runs hold no answers"
MISSING = "answers.missing"
"""The one metric that counts questions without a run."""
_OF_ANSWERS = ("ratio", "share")
"""Kinds of cost that ask what an answer was worth, so that there must be some."""


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
        words = [(one, word_of(name, one)) for one in self.samples]
        reason = self._unknown(metric, [word for _, word in words])
        if reason is not None:
            return self._without(metric, reason)
        if metric.kind == "share":
            return value_of(metric, _by_question(words))
        repeated = _repeated(one for one, word in words if word is not None)
        if repeated is not None and metric.cases.endswith("questions"):
            metric = metric._replace(cases=f"runs of {metric.cases}")
        found = [word for _, word in words]
        value = value_of(metric, found, independent=repeated)
        percent = percent_of(metric.kind)
        if not self.cut or percent is None:
            return value
        return value._replace(num=cut_percentile(list(map(float, found)), percent), den=1, interval=None)

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
    if facts is None:
        return None
    return name.metric.of(facts) if name.k is None else name.metric.of(facts, k=name.k)


def together(parts: Iterable[Runs]) -> Runs:
    """Several runs as one, in the order of the file."""
    given = list(parts)
    samples = sorted((one for runs in given for one in runs.samples), key=lambda one: one.timed.line)
    return Runs(samples, sum(runs.questions for runs in given), any(runs.cut for runs in given))


def percentiles() -> dict[int, Metric]:
    """The metrics that are percentiles of times, from the lowest."""
    found = {percent: one for one in all_metrics("latency").values() if (percent := percent_of(one.kind)) is not None}
    return dict(sorted(found.items()))


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
    for one, (part, whole) in words:
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
