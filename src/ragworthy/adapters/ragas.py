"""Data sets of ragas: `EvaluationDataset` as JSON lines, CSV or Parquet, and the columns that came before it."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.columns import Columns
from ragworthy.adapters.csv import table
from ragworthy.adapters.model import Adapter, Imported
from ragworthy.adapters.objects import Row, Rows, read_objects
from ragworthy.adapters.rows import DOC_ID, MARKER, NO_ANSWER, Settings, convert, without_objects
from ragworthy.adapters.tabular import GOLD
from ragworthy.errors import data_error

FIELDS = {
    "question": ("user_input", "question"),
    "answer": ("reference", "ground_truth", "ground_truths"),
    "response": ("response", "answer"),
    "evidence": ("reference_contexts",),
    "gold_citations": ("reference_context_ids",),
    "retrieved": ("retrieved_contexts", "contexts"),
    "retrieved_ids": ("retrieved_context_ids",),
    "qid": ("id", "qid"),
}
"""What each field is called, today and in the first versions."""
_GOLD = ("answer", "evidence", "source", "gold_citations")
LISTS = ("reference_contexts", "reference_context_ids", "retrieved_contexts", "retrieved_context_ids", "contexts",
         "ground_truths")  # fmt: skip
LONGEST_LIST = 1 << 20


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Every sample of the data sets."""
    files = []
    for path in paths:
        found = table(path, {}) if path.suffix == ".csv" else read_objects(path)
        rows = [_row(row, as_text=path.suffix == ".csv") for row in found.rows]
        columns = columns_of(found, FIELDS, "user_input", "a data set of ragas", answers=answers_to_gold(options))
        files.append((found._replace(rows=rows), Settings.of("ragas", columns, options)))
    return convert(files, [columns.told for _, how in files for columns in [how.columns]])


def answers_to_gold(options: Mapping[str, Any]) -> bool:
    """Whether the rows are read as answers to a gold set that is there, and not as gold themselves."""
    return bool(options.get("gold")) and "gold" not in (options.get("asked") or ())


def columns_of(
    found: Rows, fields: Mapping[str, Sequence[str]], needed: str, what: str, *, answers: bool = False
) -> Columns:
    """Where each field of a known tool is; a file without the question is none of its files.

    `answers`: only what the pipeline said, for the gold set is there already.
    """
    there = {field: next((name for name in names if name in found.names), "") for field, names in fields.items()}
    there = {field: name for field, name in there.items() if name and not (answers and field in _GOLD)}
    if "question" not in there:
        got = ", ".join(f'"{name}"' for name in found.names[:10]) or "nothing"
        raise data_error("RW-A03", f"expected {what} with {needed}, got {got}", where=str(found.path))
    known = {name for names in fields.values() for name in names}
    columns = Columns(there, [name for name in found.names if name not in known and _filled(found, name)])
    return without_objects(columns, found)


def _filled(found: Rows, name: str) -> bool:
    """Whether any row has something in a column; exports have every column of the tool."""
    return any(row.value.get(name) not in (None, "", [], {}) for row in found.rows)


def _row(row: Row, *, as_text: bool) -> Row:
    """A sample; CSV files hold lists as Python writes them."""
    if isinstance(row.value.get("user_input"), list) or str(row.value.get("user_input", "")).startswith("[{"):
        return row._replace(broken="a conversation of several turns")
    if not as_text:
        return row
    value = dict(row.value)
    for name in LISTS:
        cell = value.get(name)
        if isinstance(cell, str) and cell.strip():
            found = python_list(cell)
            if found is None:
                return row._replace(broken=f"{name}: no list as Python or JSON writes it (export JSON lines instead)")
            value[name] = found
    return row._replace(value=value)


def python_list(cell: str) -> list[str] | None:
    r"""The texts of a list as Python prints it; None where it is anything else, an array of numpy among them.

    >>> python_list("['a\\n', \"b's\"]"), python_list("['a' 'b']"), python_list("[open('x')]")
    (['a\n', "b's"], None, None)
    """
    if len(cell) > LONGEST_LIST or not cell.startswith("["):
        return None
    try:
        found = ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        return None
    # Without commas, as numpy prints arrays, Python would join the texts: only what it writes itself is taken.
    return found if repr(found) == cell else None


ADAPTER = Adapter(
    "ragas",
    "a data set of ragas (JSON lines, CSV, Parquet)",
    ("gold", "trace", "chunks"),
    (NO_ANSWER, MARKER, DOC_ID, GOLD),
    read,
)
