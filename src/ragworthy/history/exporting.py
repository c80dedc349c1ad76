"""A store as a table, for whoever wants to look at it with tools of their own."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy.errors import missing_extra, usage_error
from ragworthy.files import write_with
from ragworthy.history.entries import Run
from ragworthy.report.table import write_csv
from ragworthy.report.write import MANY, write_jsonl
from ragworthy.rows import Word

if TYPE_CHECKING:
    from ragworthy.history.store import Store

SUFFIXES = (".jsonl", ".csv", ".parquet")


def export(store: "Store", path: Path, *, rows: bool = False, suite: str | None = None) -> int:
    """Write numbers of runs, or rows; how many lines there are."""
    if path.suffix not in SUFFIXES:
        raise usage_error(f"-o: expected a .jsonl, .csv or .parquet file, got {path.name}", code="RW-F17")
    make = partial(_rows if rows else _numbers, store, suite)
    count = sum(1 for _ in make())
    if path.suffix == ".csv":
        write_with(path, lambda beside: write_csv(beside, make))
    elif path.suffix == ".parquet":
        write_with(path, lambda beside: _write_parquet(beside, make(), rows))
    else:
        write_with(path, lambda beside: write_jsonl(beside, make()))
    return count


def told(run: Run) -> dict[str, Any]:
    """A run as JSON has it."""
    return {
        "run": run.id,
        "at": run.created_at,
        "commit": run.commit or None,
        "verdict": run.verdict,
        "suites": list(run.suites),
        "gold_sha256": run.gold_sha256 or None,
        "gold_label": run.gold_label,
        "policy_sha256": run.policy_sha256,
        "index_hash": run.index_hash,
        "report_sha256": run.report_sha256,
    }


def _which(run: Run) -> dict[str, Any]:
    """What every line says of its run."""
    return {key: value for key, value in told(run).items() if key not in ("suites", "report_sha256", "policy_sha256")}


def _numbers(store: "Store", suite: str | None) -> Iterator[dict[str, Any]]:
    for run in store.runs(suite=suite):
        for one in store.summaries(run.id):
            if suite is None or one.suite == suite:
                yield _which(run) | one._asdict()


def _rows(store: "Store", suite: str | None) -> Iterator[dict[str, Any]]:
    for run in store.runs(suite=suite):
        for name in run.suites if suite is None else (suite,):
            rows = store.rows(run.id, name)
            for nth, qid in enumerate(rows.qids if rows is not None else ()):
                assert rows is not None  # noqa: S101 - it has questions
                words = {metric: _number(column[nth]) for metric, column in rows.words.items()}
                yield {
                    "qid": qid,
                    "suite": name,
                    "label": rows.labels[nth],
                    **_which(run),
                    "cluster": rows.clusters[nth],
                    "cause": rows.causes[nth],
                    "runs": rows.runs[nth],
                    "slices": list(rows.slices[nth]),
                    "metrics": {metric: word for metric, word in words.items() if word is not None},
                }


def _number(word: Word) -> float | None:
    """A word as a number; a part of a whole as their ratio."""
    if isinstance(word, tuple):
        return float(word[0] / word[1]) if word[1] else None
    return None if word is None else float(word)


def _write_parquet(path: Path, lines: Iterable[dict[str, Any]], rows: bool) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "writing Parquet") from None
    text, number = pa.string(), pa.float64()
    which = [(key, text) for key in ("run", "at", "commit", "verdict", "gold_sha256", "gold_label", "index_hash")]
    numbers = [("num", pa.int64()), ("den", pa.int64()), ("value", number), ("exact", text), ("low", number),
               ("high", number)]  # fmt: skip
    own = [("qid", text), ("suite", text), ("label", text), ("cluster", text), ("cause", text), ("runs", pa.int64()),
           ("slices", pa.list_(text)), ("metrics", pa.map_(text, number))]  # fmt: skip
    summed = [("suite", text), ("metric", text), ("slice", text), *numbers]
    schema = pa.schema([*which, *(own if rows else summed)])
    left = iter(lines)
    with parquet.ParquetWriter(path, schema) as writer:
        while some := [_flat(line) for line in islice(left, MANY)]:
            writer.write_batch(pa.RecordBatch.from_pylist(some, schema=schema))


def _flat(line: dict[str, Any]) -> dict[str, Any]:
    return line | {"metrics": list(line["metrics"].items())} if "metrics" in line else line
