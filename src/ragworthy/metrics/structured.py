"""Metrics of the structured suite. Each maps one scored answer to a number, True or False, or None."""

from fractions import Fraction

from ragworthy.metrics.definition import Definition
from ragworthy.metrics.grading import Scored
from ragworthy.metrics.registry import Metric, all_metrics, enter, metric
from ragworthy.names import Failure

SOURCE = "Eval JSON v2 (graphrag_saas docs/plans/2026-02-04)"


@metric(
    better="higher",
    kind="mean",
    highest=100,
    short=("score", "eval_score_avg"),
    cases="questions",
    event="points",
    undefined="no answer was scored",
    source=f"{SOURCE} §4, §5",
)
def score(item: Scored) -> Fraction | None:
    """Mean score of all questions, from 0 to 100; answers that fail count 0."""
    return item.score if item.counted else None


@metric(
    better="higher",
    cases="questions",
    event="answered with one valid object",
    undefined="there is no question",
    source=f"{SOURCE} §2, §5",
)
def schema_pass_rate(item: Scored) -> bool | None:
    """Share of questions whose answer is one valid JSON object of the right shape, without repair."""
    return item.ok


@metric(
    better="higher",
    kind="median",
    highest=100,
    short=("eval_score_p50",),
    cases="questions",
    event="points",
    undefined="no answer was scored",
    source=f"{SOURCE} §5",
)
def score_median(item: Scored) -> Fraction | None:
    """Median score of all questions."""
    return item.score if item.counted else None


@metric(
    better="higher",
    kind="p95",
    highest=100,
    short=("eval_score_p95",),
    cases="questions",
    event="points",
    undefined="no answer was scored",
    source=f"{SOURCE} §5",
)
def score_p95(item: Scored) -> Fraction | None:
    """Score that 95 % of the questions do not exceed."""
    return item.score if item.counted else None


@metric(
    better="lower",
    kind="count",
    cases="questions",
    event="without an output",
    undefined="never: a count of nothing is 0",
    source="Ragworthy",
)
def missing(item: Scored) -> bool | None:
    """Number of questions without an output."""
    return item.reason is Failure.MISSING


def part(item: Scored, *, nth: int) -> Fraction | None:
    """Mean of what this field is worth, from 0 to 1, by the rules of its kind; answers that fail count 0."""
    return item.parts[nth] if item.counted and item.parts else None


_FIELDS = (
    "target_audience",
    "main_topic",
    "sub_topic",
    "detailed_description",
    "original_evidence",
    "predicted_questions",
    "grounding",
)
"""The fields of the bundled definition, which gates may name without a file."""


def _of_field(name: str) -> Metric:
    return all_metrics("structured")["structured.score"]._replace(
        id=f"structured.{name}", of=part, highest=1, short=(), event="with full marks", source=f"{SOURCE} §3"
    )


def metrics_of(definition: Definition) -> dict[str, Metric]:
    """Every metric of the suite for one definition: those of the whole answer, then one for each field."""
    own = {name: one for name, one in all_metrics("structured").items() if one.of is not part}
    return own | {f"structured.{field.name}": _of_field(field.name) for field in definition.fields}


for _name in _FIELDS:
    enter(_of_field(_name))
