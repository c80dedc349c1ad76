"""A smaller question set that stands for a large one: drawn evenly over groups, the same for everybody.

The draw depends on the questions, the size and the number given, and on nothing else: not on the order of the rows,
the machine or the process.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from ragworthy.names import SUBSET_SCHEMA

ALGORITHM = "stratified-sha256/1"


class Candidate(NamedTuple):
    """A question that may be drawn: its id, what tells it apart from others, its group, and its place in the file."""

    id: str
    text: str
    labels: tuple[str, ...]
    place: int


class Drawn(NamedTuple):
    """The places of the questions taken, in the order of the file, and what they were taken from."""

    places: list[int]
    distinct: int
    groups: int
    groups_taken: int


def draw(candidates: Sequence[Candidate], size: int, seed: int) -> Drawn:
    """A sample of so many questions, each text once, every group with its share.

    Each group gives one, the largest first; the rest is shared out by size, rounded down, and what is left over goes
    to the largest groups. Where a group has no more to give, the others give instead.
    """
    groups = _groups(candidates, seed)
    order = sorted(groups, key=lambda labels: (-len(groups[labels]), labels))
    total = sum(map(len, groups.values()))
    quota = dict.fromkeys(order[:size], 1)
    rest = min(size, total) - len(quota)
    if rest > 0:
        shares = {labels: rest * len(groups[labels]) // total for labels in order}
        for labels in order[: rest - sum(shares.values())]:
            shares[labels] += 1
        quota = {labels: quota[labels] + shares[labels] for labels in order}
    taken = [one for labels, count in quota.items() for one in groups[labels][:count]]
    pool = sorted(one for labels, count in quota.items() for one in groups[labels][count:])
    _shuffle(pool, seed, "pool")
    taken += pool[: min(size, total) - len(taken)]
    return Drawn(sorted(one.place for one in taken), total, len(groups), len(quota))


def _groups(candidates: Sequence[Candidate], seed: int) -> dict[tuple[str, ...], list[Candidate]]:
    """The questions of each group in the order in which they are taken; a text counts once, under its first id."""
    first: dict[str, Candidate] = {}
    for one in sorted(candidates):
        first.setdefault(one.text, one)
    groups: dict[tuple[str, ...], list[Candidate]] = {}
    for one in first.values():
        groups.setdefault(one.labels, []).append(one)
    for labels, members in groups.items():
        _shuffle(members, seed, *labels)
    return groups


def _shuffle(members: list[Candidate], seed: int, *labels: str) -> None:
    digest = hashlib.sha256("|".join((str(seed), *labels)).encode()).digest()
    random.Random(int.from_bytes(digest[:8], "big")).shuffle(members)  # noqa: S311 - a seeded sample, nothing secret


def document(rows: Sequence[bytes], *, seed: int, size: int, strata: Sequence[str], parent: dict[str, Any]) -> bytes:
    """A subset file: how it was drawn, then one question a line."""
    header = {
        "schema": SUBSET_SCHEMA,
        "algorithm": ALGORITHM,
        "seed": seed,
        "size": size,
        "strata": list(strata),
        "parent": parent,
    }
    start = json.dumps(header, ensure_ascii=False).removesuffix("}").encode("utf-8", "replace")
    return start + b', "questions": [\n' + b",\n".join(rows) + b"\n]}\n"
