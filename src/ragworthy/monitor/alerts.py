"""Alerts as lines of JSON, and the file that they are appended to."""

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import data_error
from ragworthy.live.watch import SCHEMA, Alert
from ragworthy.monitor.times import written


def number(value: Fraction | None) -> int | float | None:
    """A number as JSON has it.

    >>> number(Fraction(3)), number(Fraction(1, 4)), number(None)
    (3, 0.25, None)
    """
    if value is None:
        return None
    return value.numerator if value.denominator == 1 else float(value)


Told = dict[str, Any]
"""An alert by the names of its fields, in the order in which they are written."""


def fields(alert: Alert) -> Told:
    """An alert by the names of its fields, in their order."""
    return {
        "schema": SCHEMA,
        "rule": alert.rule,
        "at": written(alert.at),
        "state": alert.state,
        "value": number(alert.value),
        "limit": number(alert.limit),
        "sign": alert.sign,
        "samples": alert.samples,
        "minutes": alert.minutes,
        "source": alert.source,
        "rollback": alert.rollback,
        "slice": alert.slice,
    }


def line(alert: Told) -> bytes:
    """An alert as it is written."""
    return msgspec.json.encode(alert) + b"\n"


class AlertFile:
    """Alerts are appended, and nothing else is changed.

    Whoever was killed in the middle of a line, or after it and before that was noted, gives the same lines again: what
    the file ends with is not written twice.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: Sequence[bytes]) -> None:
        """Append lines of which the first may be there already."""
        data = b"".join(lines)
        if not data:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - len(data) - 1))  # with the end of the line before
                there = overlap(file.read(), data)
                file.seek(0, os.SEEK_END)
                file.write(data[there:])
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise data_error("RW-F14", f"cannot be written: {reason}", where=str(self.path)) from None


def overlap(before: bytes, data: bytes) -> int:
    """How much of the beginning of some lines is at the end of what is there: whole lines, and a part of one.

    >>> overlap(b"xx one\\ntw", b"one\\ntwo\\n"), overlap(b"one\\ntw", b"one\\ntwo\\n"), overlap(b"tw", b"two\\n")
    (0, 6, 2)
    """
    first = data[: data.find(b"\n") + 1]
    place = before.find(first)
    while place >= 0:
        if before[place - 1 : place] in (b"", b"\n") and data.startswith(before[place:]):
            return len(before) - place
        place = before.find(first, place + 1)
    part = before[before.rfind(b"\n") + 1 :]
    return len(part) if data.startswith(part) else 0
