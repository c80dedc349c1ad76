"""Tables as CSV: any usual delimiter, cells over several lines, UTF-8 unless another encoding is named."""

import codecs
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.columns import ANSWERS, NAMES, plain
from ragworthy.adapters.model import Adapter, Imported, Option
from ragworthy.errors import DataError, data_error
from ragworthy.report.show import plural
from ragworthy.text import compiled

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
LARGEST = 512 << 20
LONGEST_CELL = 32 << 20
_LOOKED_AT = 20
_FEW = 1 << 16
ERRORS = frozenset({"#REF!", "#N/A", "#DIV/0!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#BEZUG!", "#NV", "#WERT!"})
_FORMULA = r"=[-+(]*(?:[A-Z][A-Z.]*\(|\$?[A-Z]{1,3}\$?[0-9]|[0-9])"


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Every row of the tables."""
    from ragworthy.adapters.tabular import read_tables

    return read_tables("csv", (table(path, options) for path in paths), options)


def table(path: Path, options: Mapping[str, Any]) -> Any:
    """One table: its rows as texts by column."""
    from ragworthy.adapters.objects import Row, Rows
    from ragworthy.files import sha256_of

    text = decoded(path, options.get("encoding"))
    if text.lstrip()[:1] in ("{", "[") and _is_json(text):
        raise data_error("RW-A03", "expected CSV, got JSON: 'ragworthy import jsonl' reads it", where=str(path))
    delimiter = _delimiter(text, options.get("delimiter"), path)
    records = parsed(text, delimiter, path)
    header = next(records, None)
    if header is None:
        raise data_error("RW-F04", "expected a table, got an empty file", where=str(path))
    names = column_names(header[1])
    rows, formulas = [], 0
    for line, cells in records:
        extra = [cell for cell in cells[len(names) :] if cell.strip()]
        broken = f"{len(cells)} cells where the header has {len(names)}" if extra else _error_in(names, cells)
        formulas += any(map(compiled(_FORMULA).match, cells))
        rows.append(Row(line, f"line {line}", dict(zip(names, cells, strict=False)), broken))
    used = [name for name in names if not name.startswith("column ") or any(row.value.get(name) for row in rows)]
    told = f"{path}: {len(names)} columns, delimiter {DELIMITERS.get(delimiter, delimiter)}"
    if formulas:
        told += f"; {plural(formulas, 'row')} with a formula that is taken as text: export values to have its result"
    return Rows(path, sha256_of(path), rows, used, told)


def _error_in(names: Sequence[str], cells: Sequence[str]) -> str:
    """The first error of a spreadsheet in a row."""
    found = next(((name, cell) for name, cell in zip(names, cells, strict=False) if cell.strip() in ERRORS), None)
    return f"the error {found[1].strip()} in the column {found[0]}" if found else ""


def _is_json(text: str) -> bool:
    """Whether a file, or its first line, is JSON."""
    import msgspec

    for part in (text.lstrip().split("\n", 1)[0], text):
        try:
            msgspec.json.decode(part)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            continue
        return True
    return False


def column_names(cells: Sequence[str]) -> list[str]:
    """The names of columns, each once: empty ones are numbered, repeated ones too.

    >>> column_names(["Question", "", "note", "note"])
    ['Question', 'column 2', 'note', 'note (2)']
    """
    names: list[str] = []
    for nth, cell in enumerate(cells, 1):
        name = " ".join(cell.split()) or f"column {nth}"
        count = 2
        unique = name
        while unique in names:
            unique, count = f"{name} ({count})", count + 1
        names.append(unique)
    return names


def decoded(path: Path, encoding: str | None) -> str:
    """The text of a file in UTF-8, or in the encoding that was named."""
    from ragworthy.load import unpack
    from ragworthy.load.encoding import likely_encoding

    data = unpack.whole(path, limit=LARGEST)
    if data.startswith(b"PK\x03\x04"):
        raise data_error("RW-A03", "expected CSV, got a workbook: 'ragworthy import xlsx' reads it", where=str(path))
    name = encoding or "utf-8"
    if encoding is None and (wide := likely_encoding(data)).startswith("utf-16"):
        raise data_error("RW-A05", f"expected UTF-8, got UTF-16: add --encoding {wide}", where=str(path))
    try:
        text = codecs.lookup(name).decode(data)[0]
    except LookupError:
        raise data_error("RW-A05", f'expected the name of an encoding, got "{name}"', where="--encoding") from None
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        likely = likely_encoding(data) if encoding is None else ""
        hint = f": add --encoding {likely} if it was saved by Excel" if likely else ""
        if encoding is None and not likely:
            hint = ": add --encoding with its name (gb18030, big5, cp932 …)"
        message = f"expected {name.upper()}, got byte 0x{data[start]:02x}{hint}"
        raise data_error("RW-A05", message, where=f"{path}:{line}") from None
    except ValueError:  # a codec that makes bytes of bytes
        raise _no_text(name) from None
    if not isinstance(text, str):
        raise _no_text(name)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise data_error("RW-A06", "expected text, got a NUL byte (UTF-16, or no CSV?)", where=f"{path}:{line}")
    return text.removeprefix("\ufeff")


def _no_text(name: str) -> DataError:
    return data_error("RW-A05", f'expected the name of an encoding of texts, got "{name}"', where="--encoding")


def parsed(text: str, delimiter: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The records of a table with the lines they begin on; blank ones are skipped."""
    before = csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        reason = "the end of the file inside a quoted cell" if "end of data" in str(error) else str(error)
        raise data_error("RW-A06", f"expected a row of cells, got: {reason}", where=f"{path}:{line}") from None
    finally:
        csv.field_size_limit(before)


def _delimiter(text: str, given: str | None, path: Path) -> str:
    if given:
        sign = {"tab": "\t", "\\t": "\t"}.get(given, given)
        if len(sign) != 1 or sign in '"\r\n':
            raise data_error("RW-A06", f'expected one character, got "{given}"', where="--delimiter")
        return sign
    return max(DELIMITERS, key=lambda sign: _fit(text, sign))


def _fit(text: str, delimiter: str) -> tuple[int, int, int]:
    """How well a delimiter fits: columns that are recognised, rows as wide as the header, the width."""
    known = {name for names in NAMES.values() for name in names} | {*ANSWERS}
    widths: list[int] = []
    names: list[str] = []
    reader = csv.reader(io.StringIO(text[:_FEW], newline=""), delimiter=delimiter)
    try:
        for cells in reader:
            if any(cells):
                names = names or cells
                widths.append(len(cells))
            if len(widths) == _LOOKED_AT:
                break
    except csv.Error:  # a cell longer than what is looked at
        return 0, 0, 0
    width = widths[0] if widths else 0
    recognised = sum(plain(name) in known for name in names) if width > 1 else 0
    return recognised, widths.count(width) if width > 1 else 0, width


def _adapter() -> Adapter:
    from ragworthy.adapters.tabular import OPTIONS

    own = (
        Option("--delimiter", "what is between cells (default: found out)", "SIGN"),
        Option("--encoding", "of the file (default: utf-8)", "NAME"),
    )
    return Adapter("csv", "a table as CSV, from a spreadsheet", ("gold", "trace", "chunks"), (*OPTIONS, *own), read)


ADAPTER = _adapter()
