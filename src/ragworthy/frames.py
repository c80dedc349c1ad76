"""A result as a table: a DataFrame of pandas, or a Table of pyarrow where pandas is not installed."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ragworthy.errors import MissingExtra, Problem
from ragworthy.report.table import place

KINDS = ("rows", "gates", "metrics")
Table = dict[str, list[Any]]
"""Columns by name, all of one length."""


def rows(records: Iterable[Mapping[str, Any]]) -> Table:
    """One row per question. Maps become columns: `metrics.answers.precision`, `undefined.…`, `facts.answered`."""
    table = _table(map(_flat, records))
    return {name: table[name] for name in sorted(table, key=place)}


def gates(report: Mapping[str, Any]) -> Table:
    """One row a gate, in the order of the report."""
    return _table(map(_gate, report["gates"]))


def metrics(report: Mapping[str, Any]) -> Table:
    """One row per metric."""
    keys = ("value", "num", "den", "n", "low", "high", "undefined")
    return _table(
        {"suite": suite, "metric": name, **{key: metric.get(key) for key in keys}}
        for suite, body in report["suites"].items()
        for name, metric in body["metrics"].items()
    )


def _gate(one: Mapping[str, Any]) -> dict[str, Any]:
    told = ("metric", "slice", "outcome", "value", "op", "threshold", "margin", "num", "den", "low", "high", "reason")
    found = {key: one[key] for key in told}
    return found | {
        "threshold": float(one["threshold"]),
        "judged": one.get("judged", True),
        "waived": "waiver" in one,
        "failing": one.get("failing"),
        "why": one["why"] or None,
    }


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict) and not any(isinstance(one, dict | list) for one in value.values()):
            flat |= {f"{key}.{name}": one for name, one in value.items()}
        else:
            flat[key] = value
    return flat


def _table(records: Iterable[Mapping[str, Any]]) -> Table:
    """Columns in the order in which they first occur; a record that has no such value has None."""
    listed = list(records)
    names = dict.fromkeys(name for record in listed for name in record)
    return {name: [_plain(record.get(name)) for record in listed] for name in names}


def _plain(value: Any) -> Any:
    """Texts that are members of an enum, as the texts they are."""
    return str(value) if isinstance(value, str) else value


def frame(table: Table) -> Any:
    """The table in the library that is there. What is missing is None in a column of texts and NA in one of numbers."""
    try:
        import pandas
    except ImportError:
        return arrow(table)
    return pandas.DataFrame({name: pandas.Series(values, dtype=_kind(values)) for name, values in table.items()})


def _kind(values: list[Any]) -> Any:
    """The type of a column for pandas; those that can hold a missing value are used only where one is missing."""
    there = {type(value) for value in values if value is not None}
    gaps = any(value is None for value in values)
    if there == {bool}:
        return "boolean" if gaps else "bool"
    if there == {int}:
        return "Int64" if gaps else "int64"
    if there and there <= {int, float}:
        return "Float64" if gaps else "float64"
    return "object"


def arrow(table: Table) -> Any:
    """The table as pyarrow has it."""
    try:
        import pyarrow
    except ImportError:
        message = "frame() needs pandas or pyarrow: pip install pandas"
        raise MissingExtra([Problem("RW-F15", message)]) from None
    columns = {}
    for name, values in table.items():
        try:
            columns[name] = pyarrow.array(values)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):  # what differs from row to row, as JSON
            texts = [None if one is None else msgspec.json.encode(one).decode() for one in values]
            columns[name] = pyarrow.array(texts)
    return pyarrow.table(columns)
