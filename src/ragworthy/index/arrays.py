"""Arrays in files: read only when they are exactly what a build writes.

NumPy's own reader takes whatever a file claims to be: archives, other types, shapes larger than the file. Here the one
form that `np.save` gives our arrays is looked for, and everything else is refused before any memory is asked for.
"""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([^']{1,8})', 'fortran_order': False, 'shape': \(((?:\d{1,18}, )*\d{1,18},?)\), \} *\n"
)


def read_array(
    source: bytes | Path,
    dtype: str,
    shape: tuple[int | None, ...],
    *,
    low: float | None = None,
    high: float | None = None,
    rising: bool = False,
) -> NDArray[Any]:
    """The array in these bytes, or in this file, which is then memory-mapped.

    `dtype` and `shape` are what it must have, with None where any length will do; no value is below `low`, above
    `high` or not a number; with `rising` none is below the one before it. A ValueError says what does not fit.
    """
    if isinstance(source, Path):
        with source.open("rb") as file:
            start = file.read(len(_MAGIC) + 2 + 0xFFFF)
        size = source.stat().st_size
    else:
        start, size = source, len(source)
    found, offset = _layout(start, size, dtype)
    if len(found) != len(shape) or any(one not in (None, length) for one, length in zip(shape, found, strict=True)):
        raise ValueError(f"{_shown(found)} values where {_shown(shape)} belong")
    array: NDArray[Any]
    if isinstance(source, Path):
        array = np.memmap(source, dtype=dtype, mode="r", offset=offset, shape=found)
    else:
        array = np.frombuffer(source, dtype=dtype, offset=offset).reshape(found)
    _check_values(array, low, high, rising)
    return array


def _layout(start: bytes, size: int, dtype: str) -> tuple[tuple[int, ...], int]:
    """The shape that the header gives, and where the values begin."""
    end = len(_MAGIC) + 2 + int.from_bytes(start[len(_MAGIC) : len(_MAGIC) + 2], "little")
    header = _HEADER.fullmatch(start, len(_MAGIC) + 2, end) if start.startswith(_MAGIC) and end <= size else None
    if header is None:
        raise ValueError("something that is not an array as NumPy saves it")
    if header[1] != dtype.encode():
        raise ValueError(f"values of type {header[1].decode('ascii', 'replace')} where {dtype} belongs")
    shape = tuple(int(length) for length in header[2].split(b",") if length)
    wanted = math.prod(shape) * np.dtype(dtype).itemsize
    if wanted != size - end:
        raise ValueError(f"{size - end} bytes where an array of shape {_shown(shape)} has {wanted}")
    return shape, end


def _shown(shape: tuple[int | None, ...]) -> str:
    return " × ".join("any" if length is None else str(length) for length in shape)


def _check_values(array: NDArray[Any], low: float | None, high: float | None, rising: bool) -> None:
    if not array.size:
        return
    least, most = array.min(), array.max()  # either is NaN where one value is
    if low is not None and not least >= low:
        raise ValueError(f"values from {least}, where none may be below {low}")
    if high is not None and not most <= high:
        raise ValueError(f"values up to {most}, where none may be above {high}")
    if rising and not (array[1:] >= array[:-1]).all():
        raise ValueError("values that fall, where each is at least the one before")
