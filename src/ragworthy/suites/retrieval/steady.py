"""Whether one seed is enough: where it is shown that another changes nothing, λ can be told from one.

Only runs show it. What traces say of themselves (`deterministic`) is compared with them, and proves nothing.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from ragworthy.gates import EACH, WORSE, Judged
from ragworthy.metrics import registry
from ragworthy.metrics.facts.convergence import CHAOS, SEEDS, Arm, Asked, Steady, mark

ENOUGH = 59
"""So many questions that all come out the same show at 95 % that not one in twenty would not: 0.95^59 < 0.05."""
DOUBT = Fraction(1, 20)


def steadied(asked: Sequence[Asked], *, said: bool) -> tuple[list[Asked], Steady]:
    """The questions with those marked for which one seed is enough, and why it is.

    One question that comes out differently under another seed settles it; `said` when every trace says that none can.
    """
    single = [one for one in asked if _seeds(one) == 1]
    several = [one for one in asked if _seeds(one) >= SEEDS]
    differing = sum(map(_differs, several))
    if differing or not single or len(several) < ENOUGH:
        return list(asked), Steady(belied=differing if said else 0)
    proof = f"{len(several):,} others came out the same under every seed, results and citations"
    marked = [
        one._replace(question=msgspec.structs.replace(one.question, steady=True)) if _seeds(one) == 1 else one
        for one in asked
    ]
    return marked, Steady(len(_single(marked)), proof, sample=len(several))


def unshown(judged: Judged, arm: Arm) -> str | None:
    """Why a gate on λ is not shown to hold, though its number passes; None where it is.

    n questions that are the same under two seeds show of the others that all but a share p are, with (1 − p)^n < 0.05.
    A number that is no further than that from its limit may be on the other side of it under the seed nobody looked at.
    """
    gate = judged.gate
    found = registry.find(gate.metric, default_k=1)
    single = _single(arm.asked)
    if not single or found is None or found.metric.needs != "runs":
        return None
    if gate.op == EACH:
        asks = not {one.wanted.qid for one in single}.isdisjoint(gate.must_pass)
    elif found.metric.kind == "count":  # ×: another seed leads there only where this one leads elsewhere every time
        asks = any(mark(one.question.seen) == CHAOS for one in single)
    else:
        asks = (1 - min(_room(judged), Fraction(1))) ** arm.steady.sample >= DOUBT
    told = f"{len(single):,} of {len(arm.asked):,} questions were asked under one seed"
    others = f"what the {arm.steady.sample:,} others show under two leaves more open than this gate"
    return f"{told}: {others}" if asks else None


def _room(judged: Judged) -> Fraction:
    """How much worse a rate may get before its gate fails."""
    margin = judged.margin
    if margin is None:  # decided by a test of the questions of two runs
        return Fraction(judged.gate.threshold)
    return margin * abs(judged.baseline) if judged.gate.op == WORSE and judged.baseline is not None else margin


def _single(asked: Iterable[Asked]) -> list[Asked]:
    """The questions whose one seed was taken as enough."""
    return [one for one in asked if one.question.steady and one.question.counted]


def _seeds(one: Asked) -> int:
    """Under how many seeds every wording was asked."""
    seeds: dict[int, set[int]] = {}
    for wording, seed in one.runs:
        seeds.setdefault(wording, set()).add(seed)
    return min(map(len, seeds.values()), default=0)


def _differs(one: Asked) -> bool:
    """Whether a wording comes out differently under another seed."""
    first: dict[int, object] = {}
    return any(first.setdefault(wording, facts) != facts for (wording, _), facts in sorted(one.question.runs.items()))
