"""What corpus files hold: chunk texts, and JSON lines of documents and blocks, each with the place it is at."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.load.decode import Decoder, Fault, record_offsets
from ragworthy.load.sources import Source, open_source
from ragworthy.records import Chunk
from ragworthy.text import clip, described, visible

_EMPTY = hashlib.sha256(b"").hexdigest()


def read_chunks(source: Source, *, empty: bool = False) -> list[Chunk]:
    """Every chunk of a file, in its order; where it may be empty, none."""
    decoder = Decoder(Chunk)
    found: list[Chunk] = []
    flaws: list[Fault] = []
    texts: dict[str, str] = {}
    for block in source.blocks():
        chunks = decoder.records(block)
        wrong = [(nth, *one) for nth, chunk in enumerate(chunks) if (one := _wrong(chunk, texts))]
        offsets = record_offsets(Chunk, block) if wrong else []
        flaws += [Fault(offsets[nth], code, "chunk_id", message) for nth, code, message in wrong]
        found += chunks
    faults = sorted([*decoder.faults, *flaws])
    if faults:
        lines = source.lines_at(fault.offset for fault in faults[:MOST_PROBLEMS])
        problems = [
            Problem(fault.code, fault.message, source.at(lines[fault.offset]), fault.field)
            for fault in faults[:MOST_PROBLEMS]
        ]
        raise DataError(problems, len(faults))
    if not found and not empty:
        raise data_error("RW-F04", "expected chunks, got none", where=source.given)
    return found


def retrieved_nothing(given: object) -> bool:
    """Whether a file is the empty list of what a run retrieved, by what `run.json` beside it says.

    Any other empty file was written wrongly, and nothing is scored against it.
    """
    path = given if isinstance(given, Path) else Path(given) if isinstance(given, str) else None
    if path is None or not path.is_file() or path.stat().st_size:
        return False
    beside = path.with_name("run.json")
    try:
        told = msgspec.json.decode(beside.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return told.get("chunks_sha256") == _EMPTY


def _wrong(chunk: Chunk, texts: dict[str, str]) -> tuple[str, str] | None:
    """What is wrong with the id of a chunk, given the texts of those before it: the same id may only have one text."""
    name = chunk.name
    if not name:
        return "RW-C01", "expected a non-empty string, got nothing"
    if texts.setdefault(name, chunk.text) != chunk.text:
        return "RW-I06", f'expected one text for each id, got "{name}" again with another text'
    return None


class Line(NamedTuple):
    """One record and where it stands."""

    where: str
    record: dict[str, Any]


def read_lines(path: Path, problems: list[Problem]) -> Iterator[Line]:
    """The records of a file; lines that cannot be read go to `problems`."""
    for number, line in open_source("docs", path).numbered():
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


def only_retrieved(chunks: Sequence[Chunk]) -> bool:
    """Whether these are what a run retrieved and wrote down, be it nothing, and not all that its index has."""
    return all((one.attrs or {}).get("retrieved") is True for one in chunks)
