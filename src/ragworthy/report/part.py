"""What a suite contributes to a report."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ragworthy import gates as g


class Frozen(NamedTuple):
    """The state of the gold set: unlocked, frozen, broken, or unfrozen (broken, and scored on purpose)."""

    state: str
    reason: str


class Part(NamedTuple):
    """What one suite contributes to the report and to the receipt."""

    suite: str
    body: dict[str, Any]
    judged: list[g.Judged]
    invalid: list[str]
    """Why the evidence cannot carry a verdict."""
    steps: list[dict[str, str]]
    provenance: dict[str, Any]
    rows: Callable[[], Iterator[dict[str, Any]]]
    evidence: dict[str, Any]
    """What the receipt keeps of the facts."""
