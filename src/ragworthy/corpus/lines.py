"""JSON lines for documents and blocks: plain, gzip or zstd, each with the place it stands at."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from ragworthy.errors import Problem, data_error
from ragworthy.files import check_readable
from ragworthy.text import clip, described, visible

LONGEST_LINE = 32 << 20
_STEP = 1 << 16
_ZSTD_STEP = 1 << 10
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One record and where it stands."""

    where: str
    record: dict[str, Any]


def read_lines(path: Path, problems: list[Problem]) -> Iterator[Line]:
    """The records of a file; lines that cannot be read go to `problems`."""
    check_readable(path)
    for number, line in enumerate(_lines(path), 1):
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


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, unpacked, without their ends."""
    rest: list[bytes] = []
    size = count = 0
    first = True
    for data in _chunks(path):
        block = data.removeprefix(_BOM) if first else data
        first = False
        *whole, last = block.split(b"\n")
        for line in whole:
            yield b"".join([*rest, line])
            rest, size = [], 0
            count += 1
        rest.append(last)
        size += len(last)
        if size > LONGEST_LINE:
            message = f"expected lines of at most {LONGEST_LINE >> 20} MiB, got a longer one"
            raise data_error("RW-F05", message, where=f"{path}:{count + 1}")
    yield b"".join(rest)


def _chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked by its suffix."""
    with path.open("rb") as file:
        if path.suffix not in (".gz", ".zst"):
            while data := file.read(_STEP):
                yield data
            return
        import gzip
        import zlib

        import zstandard

        try:
            if path.suffix == ".zst":
                yield from _zstd(file)
            else:
                unpacked = gzip.GzipFile(fileobj=file)
                while data := unpacked.read(_STEP):
                    yield data
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            message = f"expected a whole {path.suffix[1:]} file, got: {error}"
            raise data_error("RW-F12", message, where=str(path)) from None


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of every frame; a frame that is cut off is an error."""
    import zstandard

    frame = None
    while packed := file.read(_ZSTD_STEP):
        while packed:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(packed)
            packed = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame = None
    if frame is not None:
        raise EOFError("the end of the file in the middle of a frame")
