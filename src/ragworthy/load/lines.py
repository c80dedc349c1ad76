"""JSON lines for documents and blocks: plain, gzip or zstd, each with the place it stands at."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import Problem
from ragworthy.load.decode import numbered
from ragworthy.load.sources import open_source
from ragworthy.text import clip, described, visible


class Line(NamedTuple):
    """One record and where it stands."""

    where: str
    record: dict[str, Any]


def read_lines(path: Path, problems: list[Problem]) -> Iterator[Line]:
    """The records of a file; lines that cannot be read go to `problems`."""
    for number, line in numbered(open_source("docs", path)):
        if line.strip():
            where = f"{path}:{number}"
            record = _record(line, where, problems)
            if record is not None:
                yield Line(where, record)


def _record(line: bytes, where: str, problems: list[Problem]) -> dict[str, Any] | None:
    try:
        line.decode()
        record = msgspec.json.decode(line)
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got byte 0x{line[error.start]:02x} at column {error.start + 1}"
        problems.append(Problem("RW-F06", message, where))
    except msgspec.MsgspecError as error:
        shown = clip(visible(line[:200].decode("utf-8", "replace").strip()), 40)
        reason = str(error).removeprefix("JSON is malformed: ")
        problems.append(Problem("RW-F07", f"expected a JSON object, got {shown} ({reason})", where))
    except RecursionError:
        problems.append(Problem("RW-F11", "expected a flat record, got JSON nested too deeply", where))
    else:
        if isinstance(record, dict):
            return record
        problems.append(Problem("RW-F08", f"expected a JSON object, got {described(record)}", where))
    return None
