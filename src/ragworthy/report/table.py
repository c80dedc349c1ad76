"""Rows as a flat table: CSV for spreadsheets (RFC 4180), one line per question."""

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.safe import field

Rows = Callable[[], Iterable[dict[str, Any]]]


def write_csv(path: Path, rows: Rows) -> None:
    """Write rows as CSV. `rows` is asked twice: for the columns that occur, and for the rows.

    Maps become columns of their own: `metrics.answers.precision`, `undefined.answers.chr`, `facts.answered`. Texts
    are on one line and cannot become formulas.
    """
    names: dict[str, None] = {}
    for row in rows():
        names |= dict.fromkeys(key for key, _ in _cells(row))
    order = sorted(names, key=place)  # a stable sort: inside a group as they first occur
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(map(field, order))
        for row in rows():
            cells = dict(_cells(row))
            writer.writerow([cells.get(name, "") for name in order])


_GROUPS = ("qid", "suite", "label", "stage", "cause", "cluster", "metrics.", "undefined.", "facts.")


def place(name: str) -> int:
    """What every row has comes first, then metrics, reasons and facts, then what a suite adds."""
    return next((nth for nth, group in enumerate(_GROUPS) if name == group or name.startswith(group)), len(_GROUPS))


def _cells(row: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for key, value in row.items():
        if isinstance(value, dict) and not any(isinstance(one, dict | list) for one in value.values()):
            yield from ((f"{key}.{name}", _cell(one)) for name, one in value.items())
        else:
            yield key, _cell(value)


def _cell(value: Any) -> str:
    """A value as a cell: numbers as they are, texts guarded, lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return field(value if isinstance(value, str) else msgspec.json.encode(value).decode())
