"""Rows as files: one object for each question, in gold order."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import missing_extra
from ragworthy.report.part import Column, Voice

MANY = 10_000
"""So many rows are one batch of a Parquet file."""


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Rows as JSON lines."""
    encode, left = msgspec.json.Encoder().encode_lines, iter(rows)
    with path.open("wb") as file:
        while some := list(islice(left, 1000)):  # many at once take less time than one by one
            file.write(encode(some))


def write_parquet(path: Path, rows: Iterable[dict[str, Any]], suites: Sequence[Voice]) -> None:
    """Rows as Parquet; the two maps are maps. What the suites declare are its columns."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "writing Parquet") from None
    kinds = {
        "int": pa.int64(),
        "bool": pa.bool_(),
        "text": pa.string(),
        "json": pa.string(),
        "counts": pa.map_(pa.string(), pa.int64()),
    }
    own = _columns(suites)
    facts = dict.fromkeys(name for suite in suites for name in suite.facts)
    schema = pa.schema(
        [
            ("qid", pa.string()),
            ("label", pa.string()),
            ("stage", pa.string()),
            ("metrics", pa.map_(pa.string(), pa.float64())),
            ("undefined", pa.map_(pa.string(), pa.string())),
            ("facts", pa.struct([(name, pa.bool_()) for name in facts])),
            *((one.name, kinds[one.kind]) for one in own),
        ]
    )
    left = iter(rows)
    with parquet.ParquetWriter(path, schema) as writer:
        while some := [_flat(row, own) for row in islice(left, MANY)]:
            writer.write_batch(pa.RecordBatch.from_pylist(some, schema=schema))


def _columns(suites: Sequence[Voice]) -> list[Column]:
    """What rows hold besides, each name once; with several suites, which of them a row is of."""
    found = {one.name: one for suite in suites for one in suite.columns}
    return [*found.values(), Column("suite", "text")] if len(suites) > 1 else list(found.values())


def _flat(row: dict[str, Any], own: Sequence[Column]) -> dict[str, Any]:
    """A row with maps as pairs, and objects and lists as JSON."""
    flat = row | {key: list(row[key].items()) for key in ("metrics", "undefined")}
    for name, kind in own:
        value = row.get(name)
        if kind == "counts" and value is not None:
            flat[name] = list(value.items())
        elif kind == "json" and value is not None:
            flat[name] = msgspec.json.encode(value).decode()
    return flat
