"""Whether one seed is enough: where it is shown that another changes nothing, λ can be told from one."""

from collections.abc import Iterable, Sequence

from ragworthy.metrics.facts.convergence import SEEDS, Asked, Steady

ENOUGH = 59
"""So many questions that all come out the same show at 95 % that not one in twenty would not: 0.95^59 < 0.05."""
SAID = "the traces are of an index alone and say that no seed goes into its results (deterministic)"


def steadied(asked: Sequence[Asked], *, said: bool) -> tuple[list[Asked], Steady]:
    """The questions with those marked for which one seed is enough, and why it is; `said` when every trace says so.

    One question that comes out differently under another seed settles it, whatever is said.
    """
    single = [one for one in asked if _seeds(one) == 1]
    several = [one for one in asked if _seeds(one) >= SEEDS]
    differing = sum(map(_differs, several))
    shown = len(several) >= ENOUGH
    if differing or not single or not (said or shown):
        return list(asked), Steady(belied=differing if said else 0)
    proof = f"{len(several):,} others came out the same under every seed, results and citations"
    marked = [one._replace(question=one.question._replace(steady=True)) if _seeds(one) == 1 else one for one in asked]
    return marked, Steady(_counted(marked), proof if shown else SAID)


def _counted(asked: Iterable[Asked]) -> int:
    return sum(one.question.steady and one.question.counted for one in asked)


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
