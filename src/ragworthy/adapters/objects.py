"""Records of JSON files however they are laid out: a line each, an array, a list inside an object, Parquet."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.adapters.columns import NAMES, pick, plain
from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.files import sha256_of
from ragworthy.load import unpack
from ragworthy.load.decode import Decoder, whole_value
from ragworthy.load.sources import BOM, open_source
from ragworthy.text import described

LARGEST = 512 << 20
"""So many bytes a JSON file may have that is read in one piece; lines of JSON may be any number."""


_OTHERS = {".csv": "csv", ".tsv": "csv", ".xlsx": "xlsx", ".xlsm": "xlsx"}


class Row(NamedTuple):
    """One record of a file."""

    at: int
    where: str
    """For example `line 3`."""
    value: dict[str, Any]
    broken: str = ""
    """Why it cannot be used, where that is known already."""


class Rows(NamedTuple):
    """The records of one file."""

    path: Path
    sha256: str
    rows: list[Row]
    names: list[str]
    """Every column, in the order in which they first occur."""
    told: str = ""
    """How the file was read."""


class Anything(msgspec.Struct):
    """Any JSON object."""


def read_objects(path: Path, inside: str = "") -> Rows:
    """The objects of a file; `inside` is the path to the list in it."""
    if (kind := _OTHERS.get(path.suffix)) is not None:
        message = f"expected JSON, got a table: 'ragworthy import {kind}' reads it"
        raise data_error("RW-A03", message, where=str(path))
    value = None if _by_lines(path) and not inside else read_json(path)
    if value is None:
        rows, told = _lines(path), ""
    else:
        listed = _listed(value, inside, path)
        rows = [_row(nth, one) for nth, one in enumerate(listed, 1)]
        told = ""
    return Rows(path, sha256_of(path), rows, names_of(rows), told)


def names_of(rows: Sequence[Row]) -> list[str]:
    """Every key of the records."""
    return list(dict.fromkeys(name for row in rows for name in row.value))


def _row(nth: int, value: Any) -> Row:
    where = f"record {nth}"
    if not isinstance(value, dict):
        return Row(nth, where, {}, f"{described(value)} where an object is expected")
    return Row(nth, where, value)


def _by_lines(path: Path) -> bool:
    """Whether each line holds a record: a file that starts with `[`, or whose first line is not whole, does not."""
    if path.suffix == ".parquet":
        return True
    head = next(iter(unpack.chunks(path)), b"").removeprefix(BOM).lstrip()
    if head.startswith(b"["):
        return False
    line, _, rest = head.partition(b"\n")
    named_json = ".json" in path.suffixes
    if named_json and not rest.strip():
        return False
    return _decodes(line) or not (named_json or _decodes(unpack.whole(path, limit=LARGEST).removeprefix(BOM)))


def _decodes(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _lines(path: Path) -> list[Row]:
    source = open_source("import", path)
    decoder: Decoder[Anything] = Decoder(Anything, lambda value: [])
    rows: list[Row] = []
    problems: list[Problem] = []
    for number, line in source.numbered():
        if decoder.read(line, 0) is not None and (value := whole_value(line, decoder.faults)) is not None:
            rows.append(Row(number, f"line {number}", value))
        problems += [Problem(one.code, one.message, f"{path}:{number}", one.field) for one in decoder.faults]
        decoder.faults.clear()
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    return rows


def read_json(path: Path) -> Any:
    """A JSON file in one piece."""
    data = unpack.whole(path, limit=LARGEST).removeprefix(BOM)
    try:
        data.decode()
        return msgspec.json.decode(data)
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got byte 0x{data[error.start]:02x} at offset {error.start}"
        raise data_error("RW-F06", message, where=str(path)) from None
    except RecursionError:
        raise data_error("RW-F11", "expected a flat record, got JSON nested too deeply", where=str(path)) from None
    except msgspec.DecodeError as error:
        if not data.strip():
            raise data_error("RW-F04", "expected records, got none", where=str(path)) from None
        if "truncated" in str(error):
            message = "expected a whole JSON file, got the end of the file in the middle of it"
            raise data_error("RW-F09", message, where=str(path)) from None
        detail = str(error).removeprefix("JSON is malformed: ")
        raise data_error("RW-F07", f"expected JSON, got: {detail}", where=str(path)) from None


def _listed(value: Any, inside: str, path: Path) -> list[Any]:
    """The list of records in a JSON value."""
    if inside:
        found = pick(value, inside) if isinstance(value, dict) else None
        if isinstance(found, list):
            return found
        message = f"expected a list at {inside}, got {described(found) if found is not None else 'nothing'}"
        raise data_error("RW-A03", message, where=str(path))
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        raise data_error("RW-A03", f"expected a list of objects, got {described(value)}", where=str(path))
    if any(plain(key) in NAMES["question"] for key in value):
        return [value]
    lists = [key for key, one in value.items() if isinstance(one, list) and any(isinstance(each, dict) for each in one)]
    if len(lists) == 1:
        listed: list[Any] = value[lists[0]]
        return listed
    if not lists:
        return [value]
    message = (
        f"expected one list of records, got {len(lists)}; say which: {' or '.join(f'--records {one}' for one in lists)}"
    )
    raise data_error("RW-A03", message, where=str(path))
