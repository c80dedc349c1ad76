"""Text with a fixed number of blank-separated fields a line, read as columns."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragworthy.load import unpack
from ragworthy.trec.ranking import Ints, Singles, Words

BLOCK = 1 << 20
"""Bytes looked at in one go: what fits a processor's cache is fastest."""
LARGEST_RUN = 8 << 30
"""Judgements and runs are read in one piece, as columns."""
_BOM = b"\xef\xbb\xbf"
_WIDEST = 20
_MOST_DIGITS = 19
_POWERS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.uint64)
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def unpacked(path: Path) -> bytes:
    """The bytes of a file; `.gz` and `.zst` are unpacked, a byte order mark is left out."""
    return unpack.whole(path, limit=LARGEST_RUN).removeprefix(_BOM)


def packed(path: Path, data: bytes) -> bytes:
    """The bytes as they are in a file of this name."""
    if path.suffix == ".gz":
        import gzip

        return gzip.compress(data, mtime=0)
    if path.suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor().compress(data)
    return data


def blocks(data: bytes) -> Iterator[bytes]:
    """The data in pieces of whole lines; the last line gets its line end where it has none."""
    at = 0
    while at < len(data):
        end = data.rfind(b"\n", at, at + BLOCK) + 1 or data.find(b"\n", at + BLOCK) + 1
        yield data[at:end] if end else data[at:] + b"\n"
        at = end or len(data)


def split(block: bytes, count: int) -> Ints | None:
    """Where the fields of each line begin and end (2 × count numbers a line); None unless every line has `count`."""
    chars = np.frombuffer(block, np.uint8)
    blank = (chars == ord(" ")) | (chars - np.uint8(ord("\t")) < 5)
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    if not blank[0]:
        edges = np.concatenate([[0], edges])
    ends = np.flatnonzero(chars == ord("\n"))
    if len(edges) != 2 * count * len(ends):
        return None
    table: Ints = edges.reshape(-1, 2 * count)
    if (table[1:, 0] < ends[:-1]).any() or (table[:, -1] > ends).any():
        return None
    return table


class Decimals(NamedTuple):
    """Plain decimal numbers: (-1)^negative × digits / 10^places; only where `plain`."""

    plain: NDArray[np.bool_]
    negative: NDArray[np.bool_]
    digits: Words
    places: NDArray[np.uint8]
    dotted: NDArray[np.bool_]


def decimals(block: bytes, begin: Ints, end: Ints) -> Decimals:
    """Numbers of up to 19 characters besides the sign, without an exponent, read column by column from the right."""
    length = end - begin
    width = min(int(length.max(initial=1)), _WIDEST)
    padded = bytes(width) + block
    ending_at = np.ndarray((len(padded) - width + 1,), f"V{width}", padded, 0, (1,))
    chars = np.ascontiguousarray(ending_at[end].view(np.uint8).reshape(-1, width).T)
    column = np.arange(width, dtype=np.uint8)[:, None]
    skipped = np.maximum(width - length, 0)
    inside = column >= skipped.astype(np.uint8)
    dots = inside & (chars == ord("."))
    values = chars - np.uint8(ord("0"))
    is_digit = inside & (values < 10)
    values *= is_digit
    first = chars[skipped, np.arange(len(length))]
    signed = (first == ord("-")) | (first == ord("+"))
    digit_count, dot_count = (np.add.reduce(flags.view(np.uint8), dtype=np.uint8) for flags in (is_digit, dots))
    seen = digit_count + dot_count
    plain = (seen + signed == length) & (digit_count > 0) & (dot_count <= 1) & (seen <= _MOST_DIGITS)
    total = np.zeros(len(length), np.uint64)
    for row in values:
        total *= np.uint64(10)
        total += row
    places = np.add.reduce(dots * (np.uint8(width - 1) - column), dtype=np.uint8) * plain
    dotted = dot_count > 0
    below = total % _POWERS[places]
    total = np.where(dotted, (total - below) // np.uint64(10) + below, total)
    return Decimals(plain, first == ord("-"), total, places, dotted)


def singles(block: bytes, begin: Ints, end: Ints) -> tuple[Singles, NDArray[np.bool_]]:
    """Finite numbers as 32-bit floats, rounded twice as C does it (to 64 bits, then to 32), and which are good."""
    read = decimals(block, begin, end)
    value = read.digits.astype(np.float64) / _POWERS[read.places].astype(np.float64)
    value[read.negative] *= -1
    with np.errstate(over="ignore"):
        rounded = value.astype(np.float32)
        low, high = ((value * factor).astype(np.float32) for factor in (1 - 1e-15, 1 + 1e-15))
        good = np.ones(len(value), np.bool_)
        for row in np.flatnonzero(~read.plain | (low != high)).tolist():
            exact = number(block[begin[row] : end[row]])
            good[row] = exact is not None
            rounded[row] = np.float64(exact or 0)
    return rounded, good


def number(text: bytes) -> float | None:
    """The finite number that a text is, or None.

    >>> number(b"-1.5e3"), number(b"1_000"), number(b"nan"), number(b"1e999")
    (-1500.0, None, None, None)
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def integers(block: bytes, begin: Ints, end: Ints, most_digits: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Whole numbers of at most so many digits, and which are good."""
    read = decimals(block, begin, end)
    good = read.plain & ~read.dotted & (read.digits < _POWERS[most_digits])
    value = np.where(good, read.digits, np.uint64(0)).astype(np.int64)
    return np.where(read.negative, -value, value), good
