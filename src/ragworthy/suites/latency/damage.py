"""What a selftest does to the timed runs of the latency suite."""

from typing import Any

import msgspec

from ragworthy.metrics.fold import percent_of
from ragworthy.metrics.registry import all_metrics
from ragworthy.records import Run
from ragworthy.suites.damage import WRONG, Damage, refused_run, wrong_run

_OF_ANSWERS = ("answers.precision", "answers.chr", "answers.under_refusal", "answers.containment",
               "answers.reference_f1", "answers.reference_details")  # fmt: skip


def damages() -> tuple[Damage, ...]:
    """Every damage; metrics of answers are judged here too."""
    percentiles = tuple(one.id for one in all_metrics("latency").values() if percent_of(one.kind) is not None)
    return (
        Damage("every run made slow", percentiles, _slow),
        Damage("every run made an error", ("latency.errors",), _errored),
        Damage("some runs made slow", ("latency.tail",), _some_slow),
        Damage("every claim and citation made wrong", _OF_ANSWERS, wrong_run),
        Damage("every run made expensive", ("cost.per_correct", "cost.total"), _dear),
        Damage("every question refused", ("answers.over_refusal",), refused_run),
    )


def _slow(run: Run) -> Run:
    return msgspec.structs.replace(run, e2e_ms=1e6 + 1000 * (run.e2e_ms or 0))


def _some_slow(run: Run) -> Run:
    """Slow for one question in twenty or so."""
    return _slow(run) if sum(map(ord, run.name)) % 20 == 0 else run


def _errored(run: Run) -> Run:
    return msgspec.structs.replace(run, error=WRONG, answer_json=None)


def _dear(run: Run) -> Run:
    return msgspec.structs.replace(run, usage=_multiplied(run.usage))


def _multiplied(usage: Any) -> Any:
    if isinstance(usage, dict):
        return {key: _multiplied(value) for key, value in usage.items()}
    return usage * 1_000_000 if isinstance(usage, (int, float)) and not isinstance(usage, bool) else usage
