"""Records of any shape as JSON: a line each, an array, a list inside an object; `.gz`, `.zst` and Parquet too."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.model import Adapter, Imported, Option
from ragworthy.adapters.objects import Rows, read_objects
from ragworthy.adapters.tabular import OPTIONS, read_tables
from ragworthy.errors import data_error
from ragworthy.text import clip


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Every record of the files."""
    tables = [read_objects(path, options["records"] or "") for path in paths]
    if options["citations"]:
        cited = _cited(Path(options["citations"]))
        tables = [_joined(table, cited) for table in tables]
    return read_tables("jsonl", tables, options)


def _cited(path: Path) -> dict[str, list[str]]:
    """The ids that each question should cite, from a file with a line for each."""
    found: dict[str, list[str]] = {}
    for row in read_objects(path).rows:
        qid, name = row.value.get("id") or row.value.get("qid"), row.value.get("snippet_id")
        if not isinstance(qid, str) or not isinstance(name, str):
            message = "expected a line with id (of the question) and snippet_id, got another"
            raise data_error("RW-A03", message, where=f"{path}:{row.at}")
        found.setdefault(qid, []).append(name)
    return found


def _joined(table: Rows, cited: Mapping[str, list[str]]) -> Rows:
    """Records with what they should cite; an id that is in none of them is an error."""
    ids = [row.value.get("id") or row.value.get("qid") for row in table.rows]
    if unknown := [name for name in cited if name not in ids]:
        message = f'expected ids of {table.path}, got "{clip(unknown[0], 40)}"'
        raise data_error("RW-A03", message, where="--citations")
    rows = [row._replace(value={**row.value, "gold_citations": cited.get(str(name), [])})
            for row, name in zip(table.rows, ids, strict=True)]  # fmt: skip
    return table._replace(rows=rows, names=[*table.names, "gold_citations"])


ADAPTER = Adapter(
    "jsonl",
    "records as JSON lines, a JSON array or Parquet, with fields of any name",
    ("gold", "trace", "chunks"),
    (
        *OPTIONS,
        Option("--records", "where in a JSON file the list of records is, e.g. data.items", "PATH"),
        Option("--citations", "what questions should cite: lines with id and snippet_id", "FILE", reads=True),
    ),
    read,
)
