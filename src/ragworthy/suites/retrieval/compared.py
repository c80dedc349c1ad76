"""Everything a report on the retrieval suite is made from."""

from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.facts.asked import Arm
from ragworthy.metrics.registry import MetricName
from ragworthy.report.part import Frozen


class Compared(NamedTuple):
    """What the comparison of a shadow index with the live one showed."""

    live: dict[tuple[str | None, str], g.Value]
    baseline: g.Baseline
    unlike: list[str]
    paired: dict[str, dict[str, int]]
    gained: list[dict[str, Any]]
    lost: list[dict[str, Any]]
    changed: dict[str, Any]
    canary: list[g.Judged]
    failing_live: list[str]
    """Checks of the canary that the index in use does not pass either."""
    eligible: bool
    gone: int
    """Results of the live index that lead to no block of the shadow's: its numbers are understated by them."""
    live_hash: str | None
    shadow_hash: str | None


class Retrieved(NamedTuple):
    """Everything a report on the retrieval suite is made from."""

    arm: Arm
    ks: tuple[int, ...]
    names: list[MetricName]
    values: dict[tuple[str | None, str], g.Value]
    words: dict[str, list[Any]]
    judged: list[g.Judged]
    inputs: list[dict[str, Any]]
    settings: dict[str, Any]
    frozen: Frozen
    baseline_verdict: str | None
    delta_s: dict[str, Any]
    compared: Compared | None
    invalid: list[str]
    most_offenders: int
    known_corpus: bool
