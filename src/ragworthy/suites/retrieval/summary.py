"""The numbers of the retrieval suite: for the whole gold set, for each slice, and for each type of block."""

from collections.abc import Sequence
from typing import Any

from ragworthy import gates as g
from ragworthy.errors import policy_error
from ragworthy.metrics.facts.asked import Arm, Asked
from ragworthy.metrics.registry import MetricName
from ragworthy.suites.fold import value_of, word_of

MOST_SLICES = 200
TYPES = ("prose", "code", "table", "figure")
"""Block types that are always reported."""


def words_of(arm: Arm, names: list[MetricName]) -> dict[str, list[Any]]:
    """What every metric says of every question, in gold order."""
    return {name.id: [word_of(name, one.question) for one in arm.asked] for name in names}


def summarise(arm: Arm, names: list[MetricName], words: dict[str, list[Any]]) -> dict[tuple[str | None, str], g.Value]:
    """Every metric for the whole gold set, for each slice, and for each type of block."""
    groups: dict[str | None, list[int]] = {None: list(range(len(arm.asked)))}
    kinds = {kind for one in arm.asked for kind in (*one.wanted.types, *_returned_types(one)) if kind}
    types = [*TYPES, *sorted(kinds - set(TYPES))]
    for kind in types:
        groups[f"type={kind}"] = [nth for nth, one in enumerate(arm.asked) if one.wanted.types[:1] == (kind,)]
    for nth, one in enumerate(arm.asked):
        for group in one.wanted.slices:
            groups.setdefault(group, []).append(nth)
    if len(groups) - 1 - len(types) > MOST_SLICES:
        message = f"expected at most {MOST_SLICES} slices, got more: slice by a field with fewer values"
        raise policy_error("RW-P03", message, field="retrieval.slices")
    values = {
        (group, name.id): value_of(name.metric, [words[name.id][nth] for nth in members])
        for group, members in groups.items()
        for name in names
    }
    for name in names:
        if name.metric.id in ("retrieval.recall", "retrieval.precision"):
            pooled = [_pooled(one, name) for one in arm.asked]
            total = _added(pooled)
            values[None, name.id] = values[None, name.id]._replace(pooled=total if total[1] else None)
            share = name.metric._replace(kind="share")
            for kind in types:
                values[f"type={kind}", name.id] = value_of(share, [one[kind] for one in pooled if kind in one])
    return values


def _returned_types(one: Asked) -> set[str]:
    return {kind for facts in one.question.runs.values() for kind in facts.types}


Counts = dict[str | None, tuple[int, int]]


def _added(pooled: Sequence[Counts]) -> tuple[int, int]:
    found = [one[None] for one in pooled if None in one]
    return sum(part for part, _ in found), sum(whole for _, whole in found)


def _pooled(one: Asked, name: MetricName) -> Counts:
    """Blocks counted one by one over all runs, by type: those found of those wanted, or relevant of those returned."""
    counts: Counts = {}
    depth = name.k or 0
    for facts in one.question.facts:
        if not facts.answerable:
            continue
        if name.metric.id == "retrieval.recall":
            told = [(of, 0 < rank <= depth) for rank, of in zip(facts.blocks, one.wanted.types, strict=True)]
        else:
            relevant = set(facts.relevant)
            told = [(of, rank in relevant) for rank, of in enumerate(facts.types[:depth], 1)]
        for of, good in told:
            for kind in (of, None):
                part, whole = counts.get(kind, (0, 0))
                counts[kind] = (part + good, whole + 1)
    return counts
