"""The best of many scores, with ties in one fixed order."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragworthy.ids import natural
from ragworthy.records import Chunk

DECIMALS = 6
"""Scores are rounded to this many decimals before they are compared or shown."""

Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Ranked: TypeAlias = list[tuple[int, float]]
"""Positions of chunks with their scores, best first."""


def places(chunks: Sequence[Chunk]) -> Ints:
    """The place of each chunk among equals: by section, then by id, both in natural order."""
    keys = [(natural(chunk.section_id or ""), natural(chunk.name)) for chunk in chunks]
    order = sorted(range(len(chunks)), key=keys.__getitem__)
    found = np.empty(len(chunks), dtype=np.intp)
    found[order] = np.arange(len(chunks))
    return found


def rounded(scores: Doubles) -> Doubles:
    """The scores as they are compared; a negative zero becomes zero."""
    return np.round(scores, DECIMALS) + 0.0


def at_least(scores: NDArray[np.floating], count: int, margin: float = 0.0) -> Ints:
    """The positions of the `count` highest scores and of all within `margin` of the last of them."""
    if count >= len(scores):
        return np.arange(len(scores))
    last = np.partition(scores, len(scores) - count)[len(scores) - count]
    return np.flatnonzero(scores >= last - margin)


def best(positions: Ints, scores: Doubles, place: Ints, count: int) -> Ranked:
    """The `count` best positions with their scores: score descending, then place."""
    order = np.lexsort((place[positions], -scores))[:count]
    return [(int(position), float(score)) for position, score in zip(positions[order], scores[order], strict=True)]


def unit_rows(rows: Floats) -> Floats:
    """The rows scaled to unit length; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64, casting="safe"))
    lengths[lengths == 0] = 1
    scaled: Floats = (rows / lengths[:, None]).astype(np.float32)
    return scaled
