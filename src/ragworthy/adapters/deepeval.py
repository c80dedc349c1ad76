"""Data sets of DeepEval (goldens, test cases: JSON, JSON lines, CSV) and its test runs (`.latest_test_run.json`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.csv import table
from ragworthy.adapters.model import Adapter, Imported
from ragworthy.adapters.objects import Row, Rows, read_objects
from ragworthy.adapters.ragas import answers_to_gold, columns_of
from ragworthy.adapters.rows import DOC_ID, MARKER, NO_ANSWER, Settings, convert
from ragworthy.adapters.tabular import GOLD

FIELDS = {
    "question": ("input",),
    "answer": ("expected_output", "expectedOutput"),
    "response": ("actual_output", "actualOutput"),
    "evidence": ("context",),
    "retrieved": ("retrieval_context", "retrievalContext"),
    "source": ("source_file", "sourceFile"),
    "qid": ("id",),
}
LISTS = ("context", "retrieval_context", "retrievalContext")
_INSIDE = "testRunData.testCases"


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Every golden or test case."""
    files = []
    notes: list[str] = []
    for path in paths:
        found = _rows(path)
        split = [_split(row) for row in found.rows]
        if joined := sum(one.value is not other.value for one, other in zip(found.rows, split, strict=True)):
            notes.append(
                f"{joined} rows have passages joined with |, as DeepEval writes tables; the JSON file has lists"
            )
        found = _named(found._replace(rows=split))
        what = "goldens or test cases of DeepEval"
        columns = columns_of(found, FIELDS, "input", what, answers=answers_to_gold(options))
        files.append((found, Settings.of("deepeval", columns, options)))
    made = convert(files, [how.columns.told for _, how in files])
    return made._replace(notes=[*notes, *made.notes])


def _rows(path: Path) -> Rows:
    """The goldens or test cases of a file."""
    if path.suffix == ".csv":
        return table(path, {})  # type: ignore[no-any-return]
    found = read_objects(path)
    if "testRunData" in found.names:
        found = read_objects(path, _INSIDE)
    return found


def _split(row: Row) -> Row:
    """A row whose passages are in lists. Where a passage may hold a table, what joins passages cannot be told."""
    if "turns" in row.value and not row.value.get("input"):
        return row._replace(broken="a conversation of several turns")
    joined = {name: cell for name in LISTS if isinstance(cell := row.value.get(name), str) and cell}
    if not joined:
        return row
    tables = [name for name, cell in joined.items() if "|-" in cell or "| -" in cell or "|:-" in cell]
    if tables:
        why = f"{tables[0]}: passages joined with | that hold tables with | themselves (import the JSON file instead)"
        return row._replace(broken=why)
    return row._replace(value={**row.value, **{name: cell.split("|") for name, cell in joined.items()}})


def _named(found: Rows) -> Rows:
    """Rows with their names as ids, where each has one of its own."""
    names = [row.value.get("name") for row in found.rows]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        return found
    rows = [row._replace(value={**row.value, "id": row.value.get("id") or row.value["name"]}) for row in found.rows]
    return found._replace(rows=rows, names=list(dict.fromkeys([*found.names, "id"])))


ADAPTER = Adapter(
    "deepeval",
    "goldens, test cases or a test run of DeepEval",
    ("gold", "trace", "chunks"),
    (NO_ANSWER, MARKER, DOC_ID, GOLD),
    read,
)
