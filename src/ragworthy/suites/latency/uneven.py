"""Questions that met some configurations or loads more often than others."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ragworthy.suites.latency.sweep import Cell, Group, load_order


class Uneven(NamedTuple):
    """A question that did not meet every configuration and load equally often."""

    question: int
    most: Cell
    often: int
    least: Cell
    seldom: int


def uneven(groups: Mapping[Cell, Group]) -> list[Uneven]:
    """Questions that did not meet every configuration and load equally often: with the most and the least."""
    loads = dict.fromkeys(sorted((load for _, load in groups), key=load_order))
    cells = [Cell(config, load) for config in dict.fromkeys(config for config, _ in groups) for load in loads]
    counts = {cell: Counter(groups[cell].samples.questions()) if cell in groups else Counter[int]() for cell in cells}
    found = []
    for nth in sorted({nth for one in counts.values() for nth in one}):
        most = max(cells, key=lambda cell: counts[cell][nth])
        least = min(cells, key=lambda cell: counts[cell][nth])
        if counts[most][nth] != counts[least][nth]:
            found.append(Uneven(nth, most, counts[most][nth], least, counts[least][nth]))
    return found
