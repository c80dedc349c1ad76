"""Tables of Excel workbooks: the values of one sheet, as a person reads them. Formulas are not calculated."""

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import IO, Any, NamedTuple

from ragworthy.adapters.csv import column_names
from ragworthy.adapters.model import Adapter, Imported, Option
from ragworthy.adapters.objects import Row, Rows
from ragworthy.adapters.rows import text_of
from ragworthy.adapters.tabular import OPTIONS, read_tables
from ragworthy.errors import DataError, data_error, missing_extra
from ragworthy.files import open_input, sha256_of
from ragworthy.load import unpack
from ragworthy.report.show import plural
from ragworthy.text import compiled

_OLD = b"\xd0\xcf\x11\xe0"
"""How .xls files, and workbooks with a password, begin."""


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Every row of a sheet of each workbook."""
    return read_tables("xlsx", (table(path, options.get("sheet")) for path in paths), options)


class _Line(NamedTuple):
    """A row of a sheet: its number, the texts of its cells, and what is wrong with it."""

    number: int
    cells: list[str]
    broken: str


def table(path: Path, sheet: str | None) -> Rows:
    """One sheet: its rows as texts by column."""
    try:
        import openpyxl
    except ImportError:
        raise missing_extra("openpyxl", "xlsx", f"{path}: reading workbooks") from None
    with open_input(path) as file:
        _check(file, path)
        try:
            stored = openpyxl.load_workbook(file, read_only=True, data_only=True)
            written = openpyxl.load_workbook(file, read_only=True, data_only=False)
            name = _sheet(stored, sheet, path)
            lines = list(_lines(stored[name], written[name]))
            merged = _merged(file, stored[name])
        except DataError:
            raise
        except (
            zipfile.BadZipFile,
            KeyError,
            ValueError,
            TypeError,
            OSError,
            EOFError,
            SyntaxError,
            zlib.error,
        ) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise data_error("RW-A07", f"expected a workbook, got: {reason}", where=str(path)) from None
    if not lines:
        raise data_error("RW-F04", f'expected a table in the sheet "{name}", got nothing', where=str(path))
    filled = _fill(lines, merged)
    names = column_names(lines[0].cells)
    rows = [Row(one.number, f"row {one.number}", dict(zip(names, one.cells, strict=False)), one.broken)
            for one in lines[1:]]  # fmt: skip
    used = [one for one in names if not one.startswith("column ") or any(row.value.get(one) for row in rows)]
    told = f'{path}: sheet "{name}", {len(used)} columns'
    if filled:
        told += f"; {plural(filled, 'cell')} below the first of merged cells: the value of the first is taken"
    return Rows(path, sha256_of(path), rows, used, told)


def _merged(file: IO[bytes], sheet: Any) -> list[tuple[int, int, int]]:
    """Cells that are merged over several rows: the column, the first row and the last one, each from 1 on."""
    from openpyxl.utils import range_boundaries

    found: list[tuple[int, int, int]] = []
    with zipfile.ZipFile(file) as packed, packed.open(sheet._worksheet_path) as data:
        left = b""
        while block := data.read(1 << 20):
            text, last = left + block, 0
            for one in re.finditer(rb'<(?:\w+:)?mergeCell\s+ref="([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})"', text):
                column, top, _, bottom = range_boundaries(one[1].decode())
                last = one.end()
                if column and top and bottom and bottom > top:
                    found.append((column, top, bottom))
            left = text[max(last, len(text) - 100) :]
    return found


def _fill(lines: Sequence[_Line], merged: Sequence[tuple[int, int, int]]) -> int:
    """Write the value of merged cells into every row below the header that they are in; gives how many cells."""
    by_number = {line.number: line for line in lines}
    count = 0
    for column, top, bottom in merged:
        cells = by_number[top].cells if top in by_number and top > lines[0].number else []
        text = cells[column - 1] if column <= len(cells) else ""
        for number in range(top + 1, min(bottom, lines[-1].number) + 1) if text else ():
            line = by_number.get(number)
            if line is not None and column <= len(line.cells) and not line.cells[column - 1]:
                line.cells[column - 1] = text
                count += 1
    return count


def _check(file: IO[bytes], path: Path) -> None:
    """Refuse what is not a workbook, and one that holds far more than a file of its size should."""
    head = file.read(4)
    size = file.seek(0, 2)
    file.seek(0)
    if head == _OLD:
        raise data_error("RW-A07", "expected .xlsx, got an old .xls file, or one with a password", where=str(path))
    if not zipfile.is_zipfile(file):
        raise data_error("RW-A07", "expected .xlsx, got another kind of file", where=str(path))
    most = unpack.most_unpacked(size, unpack.WHOLE)
    try:
        with zipfile.ZipFile(file) as packed:
            size = sum(one.file_size for one in packed.infolist())
    except zipfile.BadZipFile as error:
        raise data_error("RW-A07", f"expected a workbook, got: {error}", where=str(path)) from None
    if size > most:
        raise unpack.too_much(str(path), most)
    file.seek(0)


def _sheet(book: Any, sheet: str | None, path: Path) -> str:
    """The sheet that was named, or the only one that has cells."""
    names = [one.title for one in book.worksheets]
    if sheet is not None:
        if sheet not in names:
            listed = ", ".join(f'"{name}"' for name in names)
            raise data_error("RW-A07", f'expected a sheet ({listed}), got "{sheet}"', where=str(path), field="--sheet")
        return sheet
    filled = [name for name in names if any(any(cells) for cells in book[name].iter_rows(values_only=True))]
    if len(filled) > 1:
        listed = " or ".join(f"--sheet '{name}'" for name in filled)
        raise data_error(
            "RW-A07", f"expected one sheet with cells, got {len(filled)}; say which: {listed}", where=str(path)
        )
    if not filled:
        raise data_error("RW-F04", "expected a table, got a workbook without cells", where=str(path))
    return str(filled[0])


def _lines(stored: Any, written: Any) -> Iterator[_Line]:
    """The rows that have cells; `stored` has the results of formulas, `written` the formulas."""
    pairs = zip(stored.iter_rows(), written.iter_rows(), strict=True)
    for number, (cells, formulas) in enumerate(pairs, 1):
        broken = ""
        texts: list[str] = []
        for cell, formula in zip(cells, formulas, strict=True):
            if formula.data_type == "f" and cell.value is None:
                broken = (
                    f"a formula without a result in {formula.coordinate}: save the workbook in a spreadsheet program"
                )
            elif cell.data_type == "e":
                broken = f"the error {cell.value} in {cell.coordinate}"
            texts.append(shown(cell.value, str(getattr(cell, "number_format", ""))))
        if broken or any(texts):
            yield _Line(number, texts, broken)


def shown(value: Any, form: str = "") -> str:
    """A value as a person reads it: 2011 and not 2011.0; dates as 2011-03-04.

    >>> shown(2011.0), shown(datetime(2011, 3, 4)), shown(0.25, "0%"), shown(True)
    ('2011', '2011-03-04', '25%', 'TRUE')
    >>> shown(1234.5, "#,##0.00"), shown(7, "000"), shown(-1234567, "#,##0"), shown(1.5, "General")
    ('1,234.50', '007', '-1,234,567', '1.5')
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float) and form.endswith("%"):
        return f"{format(value * 100, '.15g')}%"
    if isinstance(value, int | float) and (number := _as_formatted(value, form)) is not None:
        return number
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date | time):
        return value.isoformat()
    return text_of(value) if isinstance(value, str | int | float | None) else str(value)


def _as_formatted(value: float, form: str) -> str | None:
    """A number with the zeros and the commas of its format; None for formats with anything else in them."""
    found = compiled(r"(#,##)?(0+)(?:\.(0+))?(?:_\)|_-)?").fullmatch(form.partition(";")[0])
    if found is None:
        return None
    commas, whole, places = found.groups()
    digits = f"{abs(value):{',' if commas else ''}.{len(places or '')}f}"
    sign = "-" if value < 0 and any(one in "123456789" for one in digits) else ""
    return sign + (digits if commas else digits.zfill(len(whole) + (len(places) + 1 if places else 0)))


ADAPTER = Adapter(
    "xlsx",
    "a sheet of an Excel workbook",
    ("gold", "trace", "chunks"),
    (*OPTIONS, Option("--sheet", "which sheet (default: the only one)", "NAME")),
    read,
)
