"""Everything the report of the latency suite is made from."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.cost import Prices
from ragworthy.metrics.latency import Sample
from ragworthy.metrics.registry import MetricName
from ragworthy.records import Gold
from ragworthy.report.part import Frozen


class Choice(NamedTuple):
    """The configuration that is judged, why that one, and what would be taken for each use."""

    config: str
    why: str
    uses: dict[str, str | None]
    load: str
    """The load at which configurations were compared."""


class Measurement(NamedTuple):
    """One configuration under one load."""

    config: str
    load: Fraction | None
    knobs: dict[str, Any]
    samples: Sequence[Sample]
    errors: int
    warmups: int
    held: float | None
    """The requests a second that were really sent, where that is known."""
    values: Mapping[str, g.Value]
    stages: Mapping[str, Sequence[Fraction]]
    """The sorted times of every stage."""
    frontier: bool
    failing: list[str]


class Swept(NamedTuple):
    """Everything a report is made from."""

    gold: list[Gold]
    measured: list[Measurement]
    """Every configuration under every load, by load, then from the fastest."""
    judged_at: Measurement
    """The judged configuration at its highest load."""
    choice: Choice
    names: list[MetricName]
    values: dict[tuple[str | None, str], g.Value]
    rows: list[Mapping[str, g.Value]]
    """The values of each question alone, in gold order, under the judged configuration at its highest load."""
    judged: list[g.Judged]
    inputs: list[dict[str, Any]]
    settings: dict[str, Any]
    selection: dict[str, Any]
    frozen: Frozen
    baseline_verdict: str | None
    counts: dict[str, int]
    missing: list[str]
    """Questions that the judged configuration was not asked under one of its loads."""
    errors: dict[str, tuple[int, int]]
    """By load: how many runs ended in an error, of how many."""
    uneven: list[str]
    """What is not crossed, in words."""
    prices: Prices | None
    most_offenders: int
