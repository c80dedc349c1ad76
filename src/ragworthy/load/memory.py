"""Records given as Python objects, kept as the JSON lines that they stand for."""

import hashlib
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from ragworthy.errors import Problem, UsageError
from ragworthy.load.lines import Block, Source, reads, whole_lines
from ragworthy.load.values import Refused, is_plain, plain

_AT_ONCE = 1000
"""So many records in memory are looked at together."""


class Memory(Source):
    """Records given as Python objects, kept as the JSON lines they stand for."""

    def __init__(self, role: str, records: Iterable[Any]) -> None:
        super().__init__(role, f"<{role}>")
        self.data = as_lines(records, self.label)
        self.size = len(self.data)

    def between(self, begin: int, end: int) -> Iterator[Block]:
        if not begin <= 0 < end:
            return
        stream = io.BytesIO(self.data)
        yield from whole_lines(reads(stream, self.size), 0, self)

    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def as_lines(records: Iterable[Any], where: str) -> bytes:
    """Records as JSON lines; `where` names them in a message."""
    encoder = msgspec.json.Encoder()
    rest = iter(records)
    pieces: list[bytes] = []
    count = 0
    while some := list(islice(rest, _AT_ONCE)):
        pieces.append(_lines_at_once(encoder, some) or _lines_one_by_one(encoder, some, where, count))
        count += len(some)
    return b"".join(pieces)


def _lines_at_once(encoder: msgspec.json.Encoder, records: list[Any]) -> bytes:
    """The lines of records that are plain; nothing where some are not."""
    try:
        return encoder.encode_lines(records) if is_plain(records) else b""
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""


def _lines_one_by_one(encoder: msgspec.json.Encoder, records: list[Any], where: str, before: int) -> bytes:
    """The lines of records; what JSON cannot hold is refused by its record and its field."""
    lines: list[bytes] = []
    try:
        for record in records:
            lines.append(encoder.encode(plain(record)) + b"\n")
    except Refused as refused:
        place = f"{where}:{before + len(lines) + 1}"
        raise UsageError([Problem("RW-U05", refused.reason, place, refused.field)]) from None
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        told = "records nested too deeply" if isinstance(error, RecursionError) else str(error)
        place = f"{where}:{before + len(lines) + 1}"
        raise UsageError([Problem("RW-U05", f"expected what JSON can hold, got: {told}", place)]) from None
    return b"".join(lines)
