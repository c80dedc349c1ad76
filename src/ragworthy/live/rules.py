"""The rules on live traffic, and when their alerts fire: exact, by the time in the records, the same on every replay.

At each full minute a rule looks at the records of its window, (t − W, t]. A rule on a share, a mean or a percentile
needs 200 samples: its window grows by whole minutes until it has them, up to an hour. A rule that counts something
keeps its window, because "more than 50 in 5 minutes" says nothing about an hour. An alert fires when the condition is
true at F ticks in a row.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from ragworthy.stats import percentile

MINUTE = 60
ENOUGH = 200
"""Samples below which a share, a mean or a percentile of live traffic says nothing."""
LONGEST = 60
"""Minutes that a window grows to at most."""


class Sample(NamedTuple):
    """What one answered question adds to the numbers; None where its record does not say.

    Values are exact: a share is 0 or 1, times are milliseconds.
    """

    ts: Fraction
    """Seconds since the epoch."""
    coverage: Fraction | None = None
    delta_s: Fraction | None = None
    """Of the chosen citation."""
    diverged: Fraction | None = None
    """1 where this record completes a triplet of wordings that do not lead to one section, 0 where they do."""
    accurate: Fraction | None = None
    """1 where the first citation lies at most 30 bytes from the gold block of its section."""
    tau: Fraction | None = None
    """Kendall's τ-b between the first ten results and those of the run before."""
    retrieve_ms: Fraction | None = None
    reason_ms: Fraction | None = None
    e2e_ms: Fraction | None = None
    cited: Fraction | None = None
    """1 where the citations hit."""
    error: Fraction = Fraction(0)
    empty: Fraction = Fraction(0)
    """1 where nothing was retrieved."""
    unauthorised: Fraction = Fraction(0)
    """1 where the answer was a 401."""
    built: tuple[str, str] | None = None
    """Build and index hash."""
    slices: tuple[str, ...] = ()
    """The parts of the traffic it belongs to, such as region=eu."""
    valid: Fraction | None = None
    """1 where every citation resolves, was retrieved and lies in scope."""
    refused: Fraction | None = None
    near_refused: Fraction | None = None
    """1 where an answer reads like a refusal and is none by the rules in force."""


def mean(values: list[Fraction]) -> Fraction:
    """The mean; of zeros and ones their share."""
    return sum(values, Fraction(0)) / len(values)


def total(values: list[Fraction]) -> Fraction:
    """The sum; of zeros and ones their number."""
    return sum(values, Fraction(0))


@dataclass(frozen=True, slots=True)
class At:
    """A percentile."""

    percent: int

    def __call__(self, values: list[Fraction]) -> Fraction:
        """Of so many values."""
        return percentile(sorted(values), self.percent)


@dataclass(frozen=True, slots=True)
class ShareBelow:
    """The share of values below a limit."""

    limit: Fraction

    def __call__(self, values: list[Fraction]) -> Fraction:
        """Of so many values."""
        return Fraction(sum(value < self.limit for value in values), len(values))


@dataclass(frozen=True, slots=True)
class HowManyFrom:
    """How many values are at a limit or above it."""

    limit: Fraction

    def __call__(self, values: list[Fraction]) -> Fraction:
        """Of so many values."""
        return Fraction(sum(value >= self.limit for value in values))


Statistic = Callable[[list[Fraction]], Fraction] | At | ShareBelow | HowManyFrom


class Condition(NamedTuple):
    """A number over the samples of a window, and from where on it is bad."""

    field: str
    statistic: Statistic
    sign: str
    limit: str
    counts: bool = False
    """Whether it counts: the window then stays as it is, and no number of samples is too small."""
    times_baseline: bool = False
    """Whether the limit is a multiple of what the baseline has for this field."""


class Rule(NamedTuple):
    """One alert: it fires when one of its conditions is true at `ticks` full minutes in a row."""

    name: str
    conditions: tuple[Condition, ...]
    ticks: int
    source: str
    window: int = 5
    """Minutes."""
    rollback: bool = False
    """Whether a new index is taken back at once, without waiting for a second window."""


_CHUNKING = "Chunking/live_monitoring_rag.md"
_OPS = "ProblemMap/ops/live_monitoring_rag.md"
_PROBES = "Eval_Observability/alerting_and_probes.md"
RULES = (
    Rule("coverage_drop", (Condition("coverage", mean, "<", "0.70"),), 5, _CHUNKING),
    # A median of 0.45 is accepted everywhere else, so the alert begins above it.
    Rule(
        "delta_s_spike",
        (Condition("delta_s", At(90), ">=", "0.60"), Condition("delta_s", At(50), ">", "0.45")),
        3,
        _CHUNKING,
    ),
    Rule("lambda_flip", (Condition("diverged", mean, ">=", "0.10"),), 5, _CHUNKING),
    Rule("citation_mismatch", (Condition("accurate", mean, "<", "0.95"),), 5, _CHUNKING),
    Rule("index_drift", (Condition("built", total, ">", "1", counts=True),), 1, _CHUNKING, rollback=True),
    Rule("rerank_instability", (Condition("tau", mean, "<", "0.6"),), 5, _CHUNKING),
    Rule(
        "latency",
        (
            Condition("retrieve_ms", At(95), ">", "1.30", times_baseline=True),
            Condition("reason_ms", At(95), ">", "1.30", times_baseline=True),
        ),
        1,
        _CHUNKING,
    ),
    Rule("e2e_p95", (Condition("e2e_ms", At(95), ">", "2000"),), 5, _OPS),
    Rule("errors", (Condition("error", total, ">", "50", counts=True),), 2, _OPS),
    Rule("empty_retrieval", (Condition("empty", total, ">", "1", counts=True),), 5, _OPS),
    Rule("chr_floor", (Condition("cited", mean, "<", "0.6"),), 10, _OPS),
    Rule("auth_failure", (Condition("unauthorised", total, ">=", "1", counts=True),), 1, _OPS),
    Rule("delta_s_query", (Condition("delta_s", HowManyFrom(Fraction("0.60")), ">=", "1", counts=True),), 1, _PROBES),
    Rule("delta_s_batch", (Condition("delta_s", mean, ">", "0.50"),), 1, _PROBES),
    Rule("coverage_batch", (Condition("coverage", ShareBelow(Fraction("0.70")), ">", "0.05"),), 1, _PROBES),
)
"""Every rule of the sources, in their order."""
SIGNS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": Fraction.__lt__,
    ">": Fraction.__gt__,
    ">=": Fraction.__ge__,
}


class State(StrEnum):
    """What a rule says at one tick. Of several conditions the first in this order that one of them has."""

    TRUE = "true"
    INSUFFICIENT = "insufficient"
    NO_BASELINE = "no baseline"
    FALSE = "false"


class Reading(NamedTuple):
    """One condition at one tick: its number over so many samples of so many minutes."""

    state: State
    value: Fraction | None
    samples: int
    minutes: int


class Tick(NamedTuple):
    """A rule at a full minute; `fires` where it is the last of enough ticks in a row that were true."""

    at: int
    state: State
    fires: bool
    readings: tuple[Reading, ...]


def evaluate(
    rule: Rule, samples: Sequence[Sample], first: int, last: int, baseline: Mapping[str, Fraction] | None = None
) -> list[Tick]:
    """A rule at every full minute from one to another, given as minutes since the epoch.

    What happened before the first tick is in the windows, but no tick before it counts towards an alert.
    """
    known = {condition.field: _known(samples, condition.field) for condition in rule.conditions}
    ticks: list[Tick] = []
    in_a_row = 0
    for minute in range(first, last + 1):
        readings = tuple(
            _reading(condition, known[condition.field], minute, rule.window, baseline or {})
            for condition in rule.conditions
        )
        state = next(state for state in State if any(reading.state is state for reading in readings))
        in_a_row = in_a_row + 1 if state is State.TRUE else 0
        ticks.append(Tick(minute, state, in_a_row >= rule.ticks, readings))
    return ticks


class _Known(NamedTuple):
    """The samples that have a value for a field, by time."""

    times: list[Fraction]
    values: list[Fraction | tuple[str, str]]


def _known(samples: Sequence[Sample], field: str) -> _Known:
    there = sorted(
        ((sample.ts, value) for sample in samples if (value := getattr(sample, field)) is not None),
        key=lambda pair: pair[0],
    )
    return _Known([ts for ts, _ in there], [value for _, value in there])


def _reading(
    condition: Condition, known: _Known, minute: int, window: int, baseline: Mapping[str, Fraction]
) -> Reading:
    until = bisect_right(known.times, minute * MINUTE)
    since = bisect_right(known.times, (minute - window) * MINUTE)
    while not condition.counts and until - since < ENOUGH and window < LONGEST:
        window += 1
        since = bisect_right(known.times, (minute - window) * MINUTE)
    count = until - since
    if not condition.counts and count < ENOUGH:
        return Reading(State.INSUFFICIENT, None, count, window)
    limit = Fraction(condition.limit)
    if condition.times_baseline:
        if condition.field not in baseline:
            return Reading(State.NO_BASELINE, None, count, window)
        limit *= baseline[condition.field]
    value = condition.statistic(_numbers(known.values[since:until]))
    bad = SIGNS[condition.sign](value, limit)
    return Reading(State.TRUE if bad else State.FALSE, value, count, window)


def _numbers(values: Sequence[Fraction | tuple[str, str]]) -> list[Fraction]:
    """The values as numbers; of builds with their hashes the most hashes that one build has."""
    hashes: dict[str, set[str]] = {}
    numbers = []
    for value in values:
        if isinstance(value, tuple):
            hashes.setdefault(value[0], set()).add(value[1])
        else:
            numbers.append(value)
    return [*numbers, Fraction(max(map(len, hashes.values())))] if hashes else numbers
