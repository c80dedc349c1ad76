"""Rows: one object a question, in gold order."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import missing_extra


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Rows as JSON lines."""
    encode, left = msgspec.json.Encoder().encode_lines, iter(rows)
    with path.open("wb") as file:
        while some := list(islice(left, 1000)):  # many at once take less time than one by one
            file.write(encode(some))


_FACTS = {
    "answers": (
        "answerable", "answered", "refused", "missing", "errored",
        "contains", "hit", "in_scope", "constraints_kept",
    ),
    "retrieval": ("answerable", "answered", "missing", "covered", "accurate", "hit"),
    "structured": ("schema_ok", "missing", "errored", "repair_used", "over_limit"),
    "stability": ("answerable", "missing", "steady", "errored", "contains", "hit", "refused"),
    "latency": ("answerable", "answered", "refused", "missing", "errored", "always_good"),
    "agreement": ("agreed", "abstained", "red_flag", "label_conflict", "complete", "escalated"),
}  # fmt: skip


_TEXTS = {
    "stability": ("broken",),
    "latency": ("configuration", "load"),
    "agreement": ("scholar", "auditor", "final", "why", "votes"),
}
"""What rows hold besides; objects and lists as JSON."""


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


def write_parquet(path: Path, rows: Iterable[dict[str, Any]], suites: Sequence[str]) -> None:
    """Rows as Parquet; the two maps are maps."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "writing Parquet") from None
    names = dict.fromkeys(name for suite in suites for name in _FACTS[suite])
    columns = [
        ("qid", pa.string()),
        ("label", pa.string()),
        ("stage", pa.string()),
        ("metrics", pa.map_(pa.string(), pa.float64())),
        ("undefined", pa.map_(pa.string(), pa.string())),
        ("facts", pa.struct([(name, pa.bool_()) for name in names])),
    ]
    if "retrieval" in suites:
        columns += [("runs", pa.int64()), ("lambda", pa.string())]
    if "structured" in suites:
        columns += [("schema_ok", pa.bool_()), ("fail_reason", pa.string()), ("fail_detail", pa.string())]
        columns += [("counts", pa.map_(pa.string(), pa.int64()))]
    texts = dict.fromkeys(name for suite in suites for name in _TEXTS.get(suite, ()))
    columns += [(name, pa.string()) for name in ("suite",) * (len(suites) > 1) + tuple(texts)]
    if {"stability", "latency"} & set(suites) and "retrieval" not in suites:
        columns.append(("runs", pa.int64()))
    if "stability" in suites:
        columns.append(("noops", pa.int64()))
    schema = pa.schema(columns)
    with parquet.ParquetWriter(path, schema) as writer:
        batch: list[dict[str, Any]] = []
        for row in rows:
            maps = {key: list(row[key].items()) for key in ("metrics", "undefined", "counts") if key in row}
            batch.append(row | maps | {key: _as_text(row[key]) for key in texts if key in row})
            if len(batch) == 10_000:
                writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))
                batch = []
        if batch:
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))
