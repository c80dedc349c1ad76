"""Rows: one object a question, in gold order."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import missing_extra
from ragworthy.metrics.answers import blame, label
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.registry import MetricName
from ragworthy.names import HARMLESS


def rows(
    qids: Iterable[str], flags: Iterable[int], ks: tuple[int, ...], names: list[MetricName]
) -> Iterator[dict[str, Any]]:
    """Every question's row. What the same flags say is worked out once."""
    known: dict[int, dict[str, Any]] = {}
    for qid, one in zip(qids, flags, strict=True):
        body = known.get(one)
        if body is None:
            body = known[one] = _body(f.unpack(one, ks), names)
        yield {"qid": qid, **body}


def _body(facts: f.Facts, names: list[MetricName]) -> dict[str, Any]:
    what = label(facts)
    metrics: dict[str, float] = {}
    undefined: dict[str, str] = {}
    for name in names:
        word = name.metric.of(facts) if name.k is None else name.metric.of(facts, k=name.k)
        if word is None:
            undefined[name.id] = why_undefined(facts, name)
        else:
            metrics[name.id] = float(word)
    return {
        "label": what.value,
        "stage": None if what in HARMLESS else blame(facts)[0].value,
        "metrics": metrics,
        "undefined": undefined,
        "facts": {
            "answerable": facts.answerable,
            "answered": facts.shipped,
            "refused": facts.refused,
            "missing": facts.missing,
            "errored": facts.errored,
            "contains": facts.contains,
            "hit": facts.hit,
            "in_scope": facts.in_scope,
            "constraints_kept": facts.kept or not facts.shipped,
        },
    }


def why_undefined(facts: f.Facts, name: MetricName) -> str:
    """Why a question is not in a metric's denominator."""
    if facts.missing:
        return "no trace"
    if facts.errored:
        return "error"
    if facts.refused and name.metric.cases.startswith("shipped"):
        return "refused"
    return f"not among the {name.metric.cases}"


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Rows as JSON lines."""
    encode = msgspec.json.Encoder().encode
    with path.open("wb") as file:
        for row in rows:
            file.write(encode(row) + b"\n")


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
