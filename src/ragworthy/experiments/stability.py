"""The stability experiment: every question in seeds × jitters × wordings, as one run that can be resumed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import usage_error
from ragworthy.runner import run as running
from ragworthy.runner.contract import Target
from ragworthy.runner.plan import Plan
from ragworthy.runner.run import HowMany, Ran, RunOptions

SEEDS = (0, 1, 2, 3, 4)
JITTERS = ("none", "ws", "punct", "syn")


class Unchanged(NamedTuple):
    """How often a jitter left a wording as it was, of how many wordings; seeds not counted."""

    jitter: str
    noops: int
    wordings: int


def plan(
    gold: Path,
    *,
    seeds: Sequence[int] = SEEDS,
    jitters: Sequence[str] = JITTERS,
    paraphrases: HowMany = "all",
    knobs: dict[str, Any] | None = None,
    limit: int | None = None,
) -> Plan:
    """Every question in every variation; each seed and jitter once."""
    for what, given in (("seed", seeds), ("jitter", jitters)):
        twice = [one for place, one in enumerate(given) if one in given[:place]]
        if twice:
            raise usage_error(f'expected every {what} once, got "{twice[0]}" again')
        if not given:
            raise usage_error(f"expected at least one {what}, got none")
    return running.plan(gold, seeds=seeds, jitters=jitters, paraphrases=paraphrases, knobs=knobs, limit=limit)


def unchanged(plan: Plan) -> list[Unchanged]:
    """For each jitter, how often it changes nothing: such runs are not evidence of stability."""
    first = [one for one in plan.asks if one.ask.seed == plan.seeds[0]]
    names = dict.fromkeys(one.ask.jitter for one in first)
    return [
        Unchanged(name, sum(one.noop for one in asked), len(asked))
        for name in names
        if name != "none" and (asked := [one for one in first if one.ask.jitter == name])
    ]


def run(plan: Plan, target: Target, options: RunOptions) -> Ran:
    """Ask everything that has no reply yet; the traces are the runs that `score stability` reads."""
    return running.run(plan, target, options)
