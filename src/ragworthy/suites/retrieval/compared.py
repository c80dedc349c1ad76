"""What the comparison of a shadow index with the live one showed, and how a report has it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.facts.convergence import Arm
from ragworthy.metrics.registry import MetricName
from ragworthy.suites.evidence import Summary


class Live(NamedTuple):
    """The index in use: the same questions, with the same numbers."""

    arm: Arm
    summary: Summary
    unlike: list[str]
    """Why it cannot be compared with the shadow; empty when it can."""

    @property
    def baseline(self) -> g.Baseline:
        """Its numbers as those that a shadow must not fall behind."""
        values = {key: value.exact for key, value in self.summary.values.items() if value.exact is not None}
        return g.Baseline(values, {}, "; ".join(self.unlike) or None, "the live index")


class Moved(NamedTuple):
    """A question with relevant blocks that came into, or fell out of, the first results."""

    qid: str
    blocks: list[str]


class Compared(NamedTuple):
    """What the comparison showed."""

    live: Live
    paired: dict[str, dict[str, int]]
    gained: list[Moved]
    lost: list[Moved]
    changed: dict[str, Any]
    canary: list[g.Judged]
    failing_live: list[str]
    """Checks of the canary that the index in use does not pass either."""
    eligible: bool
    gone: int
    """Results of the live index that lead to no block of the shadow's: its numbers are understated by them."""
    live_hash: str | None
    shadow_hash: str | None


def as_json(compared: Compared, shadow: Summary, *, sound: bool) -> dict[str, Any]:
    """The comparison as the report has it; only sound evidence makes a canary eligible."""
    live = compared.live
    return {
        "comparable": not live.unlike,
        "unlike": live.unlike,
        "live_index": compared.live_hash,
        "shadow_index": compared.shadow_hash,
        "deltas": {name.id: _delta(name, live.summary, shadow) | compared.paired[name.id] for name in shadow.names},
        "gone": compared.gone,
        "canary": {
            "eligible": compared.eligible and sound,
            "failing_live": compared.failing_live,
            "checks": [_check(one) for one in compared.canary],
        },
        "gained": _listed(compared.gained),
        "lost": _listed(compared.lost),
        "churn": compared.changed,
    }


def _delta(name: MetricName, live: Summary, shadow: Summary) -> dict[str, Any]:
    before, after = live.values[None, name.id].exact, shadow.values[None, name.id].exact

    def plain(number: Fraction | None) -> int | float | None:
        return None if number is None else int(number) if name.metric.kind == "count" else float(number)

    return {
        "live": plain(before),
        "shadow": plain(after),
        "delta": None if before is None or after is None else plain(after - before),
        "better": name.metric.better,
    }


def _check(one: g.Judged) -> dict[str, Any]:
    return {
        "metric": one.gate.metric,
        "op": one.gate.op,
        "threshold": one.gate.threshold,
        "value": None if one.value is None or one.value.exact is None else float(one.value.exact),
        "outcome": one.outcome.value,
        "reason": one.reason or None,
    }


def _listed(moved: Sequence[Moved]) -> list[dict[str, Any]]:
    return [one._asdict() for one in moved]
