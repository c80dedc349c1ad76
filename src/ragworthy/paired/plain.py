"""The swaps of `swaps` where NumPy is not installed: the same bits, the same sums, the same p-values, more slowly.

The bits come from PCG64 as NumPy seeds it (O'Neill 2014; `SeedSequence` of NEP 19), which promises the same stream for
ever. A column adds up eight clusters at once: for each byte of bits, a table has the 256 sums of its clusters.
"""

import math
from collections.abc import Iterator, Sequence
from operator import getitem
from typing import NamedTuple

_WORD = 0xFFFFFFFF
_LONG = (1 << 64) - 1
_STATE = (1 << 128) - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


class Bars(NamedTuple):
    """What a swap has to reach."""

    needed: list[float]
    """For each column, the sum that was seen."""
    lengths: list[float]
    """By which the sums of a column are divided before columns are compared."""
    order: list[int]
    """The columns from the worst to the best."""
    reach: list[float]
    """In this order, what was seen of each column, divided by its length."""


def counts(columns: Sequence[Sequence[int]], bars: Bars, drawn: tuple[int, int] | None) -> tuple[list[int], list[int]]:
    """How many swaps reach what was seen: each column by itself, and any of a column and those below it."""
    hits, joint = [0] * len(columns), [0] * len(columns)
    last = len(columns) - 1
    for sums in turned_sums(columns, drawn):
        for nth, one in enumerate(sums):
            hits[nth] += one >= bars.needed[nth]
        highest = -math.inf
        for nth in range(last, -1, -1):
            column = bars.order[nth]
            highest = max(highest, sums[column] / bars.lengths[column])
            joint[nth] += highest >= bars.reach[nth]
    return hits, joint


def turned_sums(columns: Sequence[Sequence[int]], drawn: tuple[int, int] | None) -> Iterator[list[int]]:
    """The sums of all columns after each swap; `drawn` is the seed and how many, else all swaps are gone through."""
    clusters = len(columns[0])
    totals = [sum(column) for column in columns]
    tables = [_tables(column) for column in columns]
    used = -(-clusters // 8)
    for bits in _every(clusters) if drawn is None else _drawn(clusters, *drawn):
        some = bits[:used]
        yield [total - 2 * sum(map(getitem, table, some)) for total, table in zip(totals, tables, strict=True)]


def _tables(column: Sequence[int]) -> list[list[int]]:
    """For each eight clusters the sum of those whose bit is set, by the byte of their bits; missing ones are 0."""
    found = []
    for start in range(0, len(column), 8):
        sums = [0]
        for value in (*column[start : start + 8], *[0] * 8)[:8]:
            sums += [one + value for one in sums]
        found.append(sums)
    return found


def _every(clusters: int) -> Iterator[bytes]:
    size = -(-clusters // 8)
    return (number.to_bytes(size, "little") for number in range(1 << clusters))


def _drawn(clusters: int, seed: int, draws: int) -> Iterator[bytes]:
    source, words = pcg64(seed), -(-clusters // 64)
    for _ in range(draws):
        yield b"".join(next(source).to_bytes(8, "little") for _ in range(words))


def pcg64(seed: int) -> Iterator[int]:
    """The stream of 64 bits each that `numpy.random.PCG64(seed).random_raw` gives.

    >>> next(pcg64(0)), next(pcg64(1 << 127))
    (11749869230777074271, 6178277259759553282)
    """
    first, second, third, fourth = _seeded(seed)
    step = (((third << 64 | fourth) << 1) | 1) & _STATE
    state = (((first << 64 | second) + step) * _MULTIPLIER + step) & _STATE
    while True:
        state = (state * _MULTIPLIER + step) & _STATE
        high, turn = state >> 64, state >> 122
        mixed = (high ^ state) & _LONG
        yield (mixed >> turn | mixed << (64 - turn)) & _LONG


def _seeded(seed: int) -> list[int]:
    """Four words of 64 bits from a seed of at most 128, as NumPy's `SeedSequence` mixes them."""
    if not 0 <= seed <= _STATE:
        raise ValueError(f"expected a seed of at most 128 bits, got {seed}")
    constant = 0x43B0D7E5

    def hashed(value: int) -> int:
        nonlocal constant
        value ^= constant
        constant = constant * 0x931E8875 & _WORD
        value = value * constant & _WORD
        return value ^ value >> 16

    pool = [hashed(seed >> 32 * nth & _WORD) for nth in range(4)]
    for source in range(4):
        for target in range(4):
            if source != target:
                mixed = (0xCA01F9DD * pool[target] - 0x4973F715 * hashed(pool[source])) & _WORD
                pool[target] = mixed ^ mixed >> 16
    constant, words = 0x8B51F9DD, []
    for nth in range(8):
        value = pool[nth % 4] ^ constant
        constant = constant * 0x58F38DED & _WORD
        value = value * constant & _WORD
        words.append(value ^ value >> 16)
    return [words[nth] | words[nth + 1] << 32 for nth in range(0, 8, 2)]
