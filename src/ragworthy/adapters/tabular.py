"""What csv, xlsx and jsonl share: their options, and rows of any columns as records."""

from collections.abc import Iterable, Mapping
from typing import Any

from ragworthy.adapters.columns import check_mapped, mapping, recognise
from ragworthy.adapters.habits import habits
from ragworthy.adapters.model import Imported, Option
from ragworthy.adapters.objects import Rows
from ragworthy.adapters.rows import DOC_ID, MARKER, NO_ANSWER, SPLIT, Settings, convert, without_objects
from ragworthy.adapters.values import by_values

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
    every = list(tables)
    names = [name for table in every for name in table.names]
    check_mapped(given, names, ", ".join(str(one.path) for one in every))
    files, told, notes = [], [], []
    for table in every:
        columns = without_objects(recognise(table.names, given, str(table.path), _role(options)), table)
        columns, note = by_values(columns, table, given)
        files.append((table, Settings.of(form, columns, options)))
        told += [line for line in (table.told, columns.told) if line]
        notes += note
    found = convert(files, told)
    return found._replace(notes=[*notes, *found.notes, *habits(found.gold, options)])


def _role(options: Mapping[str, Any]) -> str:
    """What the rows are read for: answers to a gold set that is there, traces, or gold and traces."""
    asked = options.get("asked") or ()
    if options.get("gold") or ("trace" in asked and "gold" not in asked):
        return "trace"
    return "both" if "trace" in asked else ""
