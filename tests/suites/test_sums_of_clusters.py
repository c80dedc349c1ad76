"""What the questions of clusters add up to: clusters that hold the same are added up once, which gives the same."""

import random
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from ragworthy.suites.intervals import _APART, _KNOWN, _Parts, _Sum, _Sums

PARTS: dict[str, list[Any]] = {
    "rate": [(True, 1), (False, 1), None, (True, 1)],
    "mean": [(Fraction(1, 3), 1), (Fraction(-1, 2), 1), (1, 1), None],
    "share": [(1, 3), (0, 0), (5, 7), None],
}


def added(name: str, clusters: list[str], numbers: list[int], unit: int, sizes: Counter[str]) -> Counter[_Sum]:
    """The long way, question by question."""
    sums = {one: [0, 0, 0, 0] for one in clusters}
    for cluster, number in zip(clusters, numbers, strict=True):
        part = PARTS[name][number]
        if part is None:
            continue
        weighs = bool(part[1])
        sums[cluster][0] += int(part[0] * unit) if weighs else 0
        sums[cluster][1] += part[1] if weighs else 0
        sums[cluster][2] += weighs
        sums[cluster][3] += 1
    marks = {one: (_APART if sizes[one] == 1 else 0) | (_KNOWN if one.startswith("doc=") else 0) for one in sums}
    return Counter(_Sum._make((*four, marks[one])) for one, four in sums.items() if four[3])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", PARTS)
def test_clusters_that_hold_the_same_are_added_up_once(seed: int, name: str) -> None:
    draw = random.Random(seed)
    clusters = [draw.choice(["doc=a", f"doc={draw.randrange(40)}", f"q{nth}"]) for nth in range(300)]
    numbers = [draw.randrange(4) for _ in clusters]
    some = sorted(draw.sample(range(300), 90))
    suite: Any = SimpleNamespace(members=lambda rows, group: range(300) if group is None else some)
    rows: Any = SimpleNamespace(clusters=clusters)
    sums = _Sums(suite, rows, _Parts(numbers, PARTS))
    for group, members in ((None, range(300)), ("slice", some)):
        found = sums.of(group, name)
        there = [clusters[nth] for nth in members], [numbers[nth] for nth in members]
        assert dict(found.sums) == added(name, *there, found.unit, Counter(clusters))
        assert found.there == sum(PARTS[name][number] is not None for number in there[1])
