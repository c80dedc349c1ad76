"""Packed files (.gz, .zst) as a stream of bytes, with a limit: a few kilobytes must not fill a disk or a day."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ragworthy.errors import DataError, data_error, needing
from ragworthy.files import open_input

SUFFIXES = (".gz", ".zst")
STEP = 1 << 17
UNPACKED = 256 << 20
STREAMED, WHOLE = 1000, 100
"""Up to 256 MiB a packed file may unpack to anything. Beyond that it may hold 1,000 times its own size where it is read
piece by piece, and 100 times where it must be in memory as a whole. Text packs 3 to 50 times smaller.
"""
_ZSTD_STEP = 1 << 10
"""A kilobyte of zstd can hold 32 MB; larger steps could fill the memory."""


def most_unpacked(size: int, ratio: int = STREAMED) -> int:
    """How many bytes a packed file of this size may hold."""
    return max(UNPACKED, ratio * size)


def too_much(given: str, most: int) -> DataError:
    """The error for a file that holds more than it may."""
    message = f"expected at most {most >> 20} MiB unpacked from a file of this size, got more"
    return data_error("RW-F20", message, where=given)


def chunks(path: Path, given: str | None = None, *, ratio: int = STREAMED) -> Iterator[bytes]:
    """The bytes of a file, unpacked by its suffix; `given` is the name that errors show."""
    where = given or str(path)
    with open_input(path) as raw:
        if path.suffix not in SUFFIXES:
            while chunk := raw.read(STEP):
                yield chunk
            return
        size = raw.seek(0, 2)
        raw.seek(0)
        most, seen = most_unpacked(size, ratio), 0
        for chunk in _unpacked(raw, path.suffix, where):
            seen += len(chunk)
            if seen > most:
                raise too_much(where, most)
            yield chunk


def whole(path: Path, *, limit: int, given: str | None = None) -> bytes:
    """All bytes of a file, unpacked; for formats that cannot be read piece by piece."""
    where = given or str(path)
    pieces: list[bytes] = []
    size = 0
    for chunk in chunks(path, given, ratio=WHOLE):
        size += len(chunk)
        if size > limit:
            raise data_error("RW-F19", f"expected a file of at most {limit >> 20} MiB, got more", where=where)
        pieces.append(chunk)
    return b"".join(pieces)


def _unpacked(raw: IO[bytes], suffix: str, where: str) -> Iterator[bytes]:
    import zlib

    broken: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error)
    if suffix == ".zst":
        with needing(f"{where}: reading .zst"):
            import zstandard

        broken += (zstandard.ZstdError,)
    try:
        yield from _gzip(raw) if suffix == ".gz" else _zstd(raw)
    except broken as error:
        raise data_error("RW-F12", f"expected a whole {suffix[1:]} file, got: {error}", where=where) from None


def _gzip(raw: IO[bytes]) -> Iterator[bytes]:
    import gzip

    stream = gzip.GzipFile(fileobj=raw)
    while chunk := stream.read(STEP):
        yield chunk


def _zstd(raw: IO[bytes]) -> Iterator[bytes]:
    """The bytes of one zstd frame after another; unlike a stream reader, this notices a frame that is cut off."""
    import zstandard

    unpack = zstandard.ZstdDecompressor()
    frame, inside = unpack.decompressobj(), False
    held: list[bytes] = []
    size = 0
    while packed := raw.read(_ZSTD_STEP):
        while packed:
            held.append(frame.decompress(packed))
            size += len(held[-1])
            inside, packed = not frame.eof, frame.unused_data
            if not inside:
                frame = unpack.decompressobj()
        if size >= STEP:
            yield b"".join(held)
            held, size = [], 0
    if size:
        yield b"".join(held)
    if inside:
        raise EOFError("the end of the file in the middle of a frame")
