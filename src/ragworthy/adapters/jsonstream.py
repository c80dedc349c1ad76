"""JSON values of a file, one after another: JSON lines, one value, an array, or values that follow each other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import DataError, data_error
from ragworthy.load.unpack import chunks
from ragworthy.text import clip, described, visible

LARGEST = 512 << 20
"""A value may have so many bytes: a whole file that is one array, or a line."""
_BOM = b"\xef\xbb\xbf"


class Value(NamedTuple):
    """A JSON value and where it stands."""

    where: str
    value: Any


def values(path: Path) -> Iterator[Value]:
    """The values of a file, unpacked by its suffix; lines are read one by one, anything else as a whole."""
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise data_error("RW-F04", "expected records, got none", where=str(path))
    number, line = first
    try:
        value = _decoded(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        yield from _whole(path, line, lines)
        return
    except RecursionError:
        raise _too_deep(f"{path}:{number}") from None
    yield Value(f"{path}:{number}", value)
    for number, line in lines:
        yield Value(f"{path}:{number}", _line(line, f"{path}:{number}"))


def objects(path: Path) -> Iterator[Value]:
    """The objects of a file; those of an array one by one."""
    for where, value in values(path):
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, dict):
                raise data_error("RW-F08", f"expected a JSON object, got {described(one)}", where=where)
            yield Value(where, one)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers."""
    held = bytearray()
    number = 0
    for chunk in chunks(path):
        held += chunk
        if len(held) > LARGEST:
            raise data_error("RW-F19", f"expected a record of at most {LARGEST >> 20} MiB, got more", where=str(path))
        if b"\n" not in chunk:
            continue
        *whole, rest = bytes(held).split(b"\n")
        held = bytearray(rest)
        for line in whole:
            number += 1
            if line.removeprefix(_BOM).strip():
                yield number, line.removeprefix(_BOM) if number == 1 else line
    if bytes(held).strip():
        yield number + 1, bytes(held).removeprefix(_BOM)


def _decoded(data: bytes) -> Any:
    data.decode()  # the decoder takes broken UTF-8 as it comes
    return msgspec.json.decode(data)


def _line(line: bytes, where: str) -> Any:
    try:
        return _decoded(line)
    except UnicodeDecodeError as error:
        raise _not_utf8(error, where) from None
    except RecursionError:
        raise _too_deep(where) from None
    except msgspec.DecodeError as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        shown = visible(clip(line[:200].decode("utf-8", "replace"), 40))
        raise data_error("RW-F07", f"expected JSON, got {shown} ({reason})", where=where) from None


def _whole(path: Path, first: bytes, lines: Iterator[tuple[int, bytes]]) -> Iterator[Value]:
    """The values of a file that has line breaks inside them."""
    pieces, size = [first], len(first)
    for _, line in lines:
        size += len(line) + 1
        if size > LARGEST:
            raise data_error("RW-F19", f"expected a file of at most {LARGEST >> 20} MiB, got more", where=str(path))
        pieces.append(line)
    data = b"\n".join(pieces)
    try:
        yield Value(str(path), _decoded(data))
    except UnicodeDecodeError as error:
        raise _not_utf8(error, str(path)) from None
    except RecursionError:
        raise _too_deep(str(path)) from None
    except msgspec.DecodeError:
        yield from _following(data.decode(), str(path))


def _following(text: str, where: str) -> Iterator[Value]:
    """Values that follow each other with nothing, spaces or commas between them, as consoles print them."""
    read = json.JSONDecoder(parse_constant=_no_number).raw_decode
    at = 0
    count = 0
    while at < len(text):
        if text[at] in " \t\r\n,\x1e":
            at += 1
            continue
        count += 1
        begin = at
        try:
            _, at = read(text, at)
            value = msgspec.json.decode(text[begin:at])  # the other decoder takes what is not JSON
        except RecursionError:
            raise _too_deep(where) from None
        except ValueError as error:
            reason = getattr(error, "msg", str(error)).removeprefix("JSON is malformed: ")
            message = f"expected JSON, got {visible(clip(text[begin : begin + 80], 40))} ({reason})"
            raise data_error("RW-F07", message, where=f"{where}: value {count}") from None
        yield Value(f"{where}: value {count}", value)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _too_deep(where: str) -> DataError:
    return data_error("RW-F11", "expected a flat record, got JSON nested too deeply", where=where)


def _not_utf8(error: UnicodeDecodeError, where: str) -> DataError:
    message = f"expected UTF-8, got byte 0x{error.object[error.start]:02x} at offset {error.start}"
    return data_error("RW-F06", message, where=where)
