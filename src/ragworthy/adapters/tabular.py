"""What csv, xlsx and jsonl share: their options, and rows of any columns as records."""

from collections.abc import Iterable, Mapping
from typing import Any

from ragworthy.adapters.columns import mapping, recognise
from ragworthy.adapters.model import Imported, Option
from ragworthy.adapters.objects import Rows
from ragworthy.adapters.rows import DOC_ID, MARKER, NO_ANSWER, SPLIT, Settings, convert, without_objects

MAP = Option(
    "--map",
    "which column is which: question=Frage,answer=Antwort (repeatable), or a TOML file; paths lead into JSON",
    "FIELD=COLUMN",
    several=True,
    reads=True,
)
GOLD = Option(
    "--gold",
    "the gold set that the rows answer: they get its qids, by their own or by the question",
    "FILE",
    reads=True,
)
SUITE = Option("--suite", "what the gold is for (default: found out)", choices=("answers", "retrieval"))
OPTIONS = (MAP, SPLIT, NO_ANSWER, MARKER, DOC_ID, GOLD, SUITE)


def read_tables(form: str, tables: Iterable[Rows], options: Mapping[str, Any]) -> Imported:
    """Tables with columns of any names as gold, traces and chunks."""
    given = mapping(options["map"] or [])
    files, told = [], []
    for table in tables:
        columns = without_objects(recognise(table.names, given, str(table.path)), table)
        files.append((table, Settings.of(form, columns, options)))
        told += [line for line in (table.told, columns.told) if line]
    return convert(files, told)
