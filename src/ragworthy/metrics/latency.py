"""Metrics of the latency family. Each maps one measured run to its time; stages have one name, however written."""

from fractions import Fraction
from functools import partial

from ragworthy.metrics.facts.distance import ACCEPT
from ragworthy.metrics.facts.timed import Sample as Sample
from ragworthy.metrics.facts.timed import Timed as Timed
from ragworthy.metrics.registry import metric

SOURCE = "ProblemMap eval/eval_latency_vs_accuracy.md"
STAGES = ("retrieval", "rerank", "llm", "guard")
"""The stages that every pipeline is thought to have, in their order."""
_ALIASES = {"retrieve": "retrieval", "reason": "llm"}
SHORT, LONG = 50, 200
"""Questions below so many tokens are short; those above so many are long."""


def stage_name(written: str) -> str:
    """The one name of a stage.

    >>> [stage_name(name) for name in ("retrieve", "t_reason_ms", "rerank_ms", "parse")]
    ['retrieval', 'llm', 'rerank', 'parse']
    """
    name = written.strip().removeprefix("t_").removesuffix("_ms")
    return _ALIASES.get(name, name)


def stage_order(name: str) -> tuple[int, str]:
    """The usual stages first, in their order, then the others by name."""
    return (STAGES.index(name) if name in STAGES else len(STAGES), name)


def length_of(tokens: int) -> str:
    """Which bucket a question of so many tokens is in.

    >>> [length_of(n) for n in (49, 50, 200, 201)]
    ['short', 'medium', 'medium', 'long']
    """
    if tokens < SHORT:
        return "short"
    return "medium" if tokens <= LONG else "long"


def load_name(load: Fraction | None) -> str:
    """A load as slices name it.

    >>> load_name(Fraction(5)), load_name(Fraction(1, 2)), load_name(None)
    ('5', '0.5', 'none recorded')
    """
    if load is None:
        return "none recorded"
    return str(load.numerator) if load.denominator == 1 else repr(float(load))


_time = partial(
    metric,
    better="lower",
    over="run",
    highest=None,
    cases="runs",
    event="milliseconds",
    undefined="no run was measured",
    source=f"{SOURCE} §1",
)


@_time(kind="median")
def p50(sample: Sample) -> Fraction:
    """Time in milliseconds that half of the runs do not exceed, end to end."""
    return sample.timed.e2e


@_time(kind="p90")
def p90(sample: Sample) -> Fraction:
    """Time in milliseconds that 90 % of the runs do not exceed, end to end."""
    return sample.timed.e2e


@_time(kind="p95", source=f"{SOURCE} §1, §4")
def p95(sample: Sample) -> Fraction:
    """Time in milliseconds that 95 % of the runs do not exceed, end to end."""
    return sample.timed.e2e


@_time(kind="p99")
def p99(sample: Sample) -> Fraction:
    """Time in milliseconds that 99 % of the runs do not exceed, end to end."""
    return sample.timed.e2e


@_time(kind="tail", event="times the median", undefined="no run was measured, or the median is 0")
def tail(sample: Sample) -> Fraction:
    """How many times the median the slowest 1 % take: P99 over P50."""
    return sample.timed.e2e


@_time(
    kind="spread",
    cases="seeds and paraphrases",
    event="deviation over mean",
    undefined="needs runs under several seeds or paraphrases",
    source="ProblemMap Eval/eval_latency_vs_accuracy.md",
)
def spread(sample: Sample) -> tuple[tuple[int, int], Fraction]:
    """How much the time moves from one seed and paraphrase to another: standard deviation over mean."""
    return sample.variant, sample.timed.e2e


@metric(
    better="higher",
    over="run",
    cases="runs that cite something",
    event="citing text at a ΔS of at most 0.45",
    undefined="no run cites anything",
    source="ProblemMap Eval/eval_latency_vs_accuracy.md",
)
def delta_s_within(sample: Sample) -> bool | str | None:
    """Share of the runs that cite something whose first citation is as near to the question as relevant text is."""
    if sample.errored:
        return False
    return sample.distance if not isinstance(sample.distance, Fraction) else sample.distance <= ACCEPT


@metric(
    better="lower",
    over="run",
    cases="runs",
    event="ending in an error",
    undefined="no run was measured",
    source="Ragworthy: what fails fast is not fast",
)
def errors(sample: Sample) -> bool:
    """Share of the runs that ended in an error, or without an answer where others have one, whatever they took."""
    return sample.errored
