"""Records of any shape as JSON: a line each, an array, a list inside of an object; `.gz`, `.zst` and Parquet too."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.model import Adapter, Imported, Option
from ragworthy.adapters.objects import read_objects
from ragworthy.adapters.tabular import OPTIONS, read_tables


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Every record of the files."""
    return read_tables("jsonl", (read_objects(path, options["records"] or "") for path in paths), options)


ADAPTER = Adapter(
    "jsonl",
    "records as JSON lines, a JSON array or Parquet, with fields of any name",
    ("gold", "trace", "chunks"),
    (*OPTIONS, Option("--records", "where in a JSON file the list of records is, e.g. data.items", "PATH")),
    read,
)
