"""Zip files with the same bytes everywhere: stored, sorted, without times; and their safe unpacking.

Nothing is compressed: what a compressor writes hangs on its version, and a file that is only stored cannot unpack to
more than it is.
"""

import errno
import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from ragworthy.errors import DataError, data_error
from ragworthy.files import open_input, write_with
from ragworthy.text import described

MOST_ENTRIES = 65_000
"""So many files a bundle may hold: a policy names a few dozen, an index one for each document."""
MOST_BYTES = (1 << 32) - 1
"""Beyond this a zip needs another form."""
_MOST_LISTED = 16 << 20
_BLOCK = 1 << 20
_LOCAL, _LISTED, _END = "<4s5H3L2H", "<4s6H3L5H2L", "<4s4H2LH"
_DAY = 0x21
"""1980-01-01, the first day that a zip knows."""
_STORED_BY = 0x0314
"""Unix, form 2.0."""
_MODE = 0o100644 << 16


class Entry(NamedTuple):
    """A file of a zip."""

    name: str
    path: Path
    """Where its bytes are."""
    sha256: str
    bytes: int
    crc: int


def entry(name: str, path: Path) -> Entry:
    """A file as it is to be in a zip."""
    digest, size, crc = hashlib.sha256(), 0, 0
    with open_input(path) as file:
        for block in _blocks(file):
            digest.update(block)
            size, crc = size + len(block), zlib.crc32(block, crc)
    return Entry(name, path, digest.hexdigest(), size, crc)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


# writing


def write(path: Path, entries: Iterable[Entry], *, renews: bool = False) -> None:
    """Write a zip; it appears whole or not at all."""
    there = sorted(entries)
    if len(there) > MOST_ENTRIES:
        message = (
            f"expected at most {MOST_ENTRIES:,} files for a bundle, got {len(there):,}: keep them and their receipt"
        )
        raise data_error("RW-R03", message, where=str(path))
    total = sum(one.bytes + 200 + 2 * len(one.name) for one in there)
    if total > MOST_BYTES:
        message = f"expected less than 4 GiB for a bundle, got {total:,} bytes: keep the files and their receipt"
        raise data_error("RW-R03", message, where=str(path))

    def fill(beside: Path) -> None:
        with beside.open("wb") as file:
            for piece in _pieces(there):
                file.write(piece)

    write_with(path, fill, renews=renews)


def _pieces(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The bytes of a zip, piece by piece."""
    listed, at = b"", 0
    count = 0
    for one in entries:
        name = one.name.encode("ascii")
        about = (10, 0, 0, 0, _DAY, one.crc, one.bytes, one.bytes, len(name), 0)
        head = struct.pack(_LOCAL, b"PK\3\4", *about) + name
        yield head
        yield from _same(one)
        listed += struct.pack(_LISTED, b"PK\1\2", _STORED_BY, *about, 0, 0, 0, _MODE, at) + name
        at += len(head) + one.bytes
        count += 1
    yield listed
    yield struct.pack(_END, b"PK\5\6", 0, 0, count, count, len(listed), at, 0)


def _same(one: Entry) -> Iterator[bytes]:
    """The bytes of a file, which must be those that were hashed."""
    digest = hashlib.sha256()
    with open_input(one.path) as file:
        for block in _blocks(file):
            digest.update(block)
            yield block
    if digest.hexdigest() != one.sha256:
        raise data_error("RW-F16", "expected the bytes that were scored, got others", where=str(one.path))


# reading


def is_zip(path: Path) -> bool:
    """Whether a file begins as zips do; one that is called so and does not is an error."""
    with open_input(path) as file:
        found = file.read(4) in (b"PK\3\4", b"PK\5\6")
    if not found and path.suffix == ".zip":
        raise data_error("RW-R03", "expected a bundle, got a file that is not a zip", where=str(path))
    return found


def unpack(path: Path, into: Path) -> list[Entry]:
    """Unpack a zip into an empty folder; what could lead out of it, or grow, is refused before a byte is written."""
    _check_end(path)
    try:
        with zipfile.ZipFile(path) as file:
            infos = file.infolist()
            _check(path, infos)
            return [_unpacked(file, one, into) for one in infos]
    except (
        zipfile.BadZipFile,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        struct.error,
        OSError,
    ) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # a place before the first byte
            raise
        raise data_error("RW-R03", f"expected a bundle, got: {error}", where=str(path)) from None


def _check_end(path: Path) -> None:
    """The end of a zip says how many files it has: one that lists too many is not even read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - struct.calcsize(_END)))
        end = file.read()
    if len(end) < struct.calcsize(_END) or not end.startswith(b"PK\5\6"):
        raise data_error("RW-R03", "expected a bundle, got a zip that is cut off or goes on", where=str(path))
    count, listed = struct.unpack(_END, end)[4:6]
    if count > MOST_ENTRIES or listed > _MOST_LISTED:
        message = f"expected at most {MOST_ENTRIES:,} files, got a zip that lists {count:,}"
        raise data_error("RW-R04", message, where=str(path))


def _check(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    for one in infos:
        wrong = _wrong(one)
        if one.filename.casefold() in seen:
            wrong = "a name that is there twice"
        if wrong:
            message = f"expected a file inside the bundle, got {wrong}"
            raise _unsafe(path, message, one.orig_filename)
        seen.add(one.filename.casefold())
    if (total := sum(one.file_size for one in infos)) > path.stat().st_size:
        message = f"expected at most the {path.stat().st_size:,} bytes of the zip itself, got files of {total:,} bytes"
        raise _unsafe(path, message)


def _unsafe(path: Path, message: str, name: str | None = None) -> DataError:
    return data_error("RW-R04", message, where=str(path), field="" if name is None else described(name))


_SIGNS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_KIND = 0o170000


def _wrong(one: zipfile.ZipInfo) -> str:
    """What is wrong with an entry, in words; nothing where it is sound."""
    kind = (one.external_attr >> 16) & _KIND
    if one.is_dir() or kind == 0o040000:
        return "a folder"
    if kind not in (0, 0o100000):
        return "a link" if kind == 0o120000 else "a device or a pipe"
    if one.flag_bits & 0x1:
        return "an encrypted one"
    if one.compress_type != zipfile.ZIP_STORED or one.compress_size != one.file_size:
        return "a compressed one"
    parts = one.orig_filename.split("/")
    if one.orig_filename.startswith("/") or ":" in one.orig_filename[:2]:
        return "an absolute path"
    if ".." in parts:
        return "a path that leads out of it"
    sound = all(part and part.strip(".") and len(part) <= 255 and _SIGNS.issuperset(part) for part in parts)
    return "" if sound and len(parts) <= 4 else "a name that no bundle has"


def _unpacked(file: zipfile.ZipFile, one: zipfile.ZipInfo, into: Path) -> Entry:
    target = into.joinpath(*one.filename.split("/"))
    target.parent.mkdir(parents=True, exist_ok=True)
    with file.open(one) as source, target.open("xb") as out:
        while block := source.read(_BLOCK):
            out.write(block)
    return entry(one.filename, target)


def is_plain(path: Path, entries: Iterable[Entry]) -> bool:
    """Whether a zip has the bytes that `write` gives for its files, and nothing before, between or behind them."""
    with path.open("rb") as file:
        same = all(file.read(len(piece)) == piece for piece in _pieces(sorted(entries)))
        return same and not file.read(1)


def names(entries: Iterable[Entry]) -> Mapping[str, Entry]:
    """The files of a zip by name."""
    return {one.name: one for one in entries}
