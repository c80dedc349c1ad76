"""Files of other tools as gold, traces and chunks. Each format is one module of this folder with an `ADAPTER`; it is
imported when it is first asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ragworthy.adapters.model import Adapter, Imported
from ragworthy.errors import DataError, usage_error

SUMMARIES = {
    "csv": "a table as CSV, from a spreadsheet",
    "xlsx": "a sheet of an Excel workbook",
    "jsonl": "records as JSON lines, a JSON array or Parquet, with fields of any name",
    "ragas": "a data set of ragas (JSON lines, CSV, Parquet)",
    "deepeval": "goldens, test cases or a test run of DeepEval",
    "promptfoo": "results of promptfoo (-o results.json or .jsonl)",
    "beir": "a data set of BEIR (a folder): documents, queries, judgements",
    "squad": "SQuAD 1.1 or 2.0, and sets in its form",
    "trec": "TREC judgements and runs",
    "otel": "OpenTelemetry spans: OpenInference, OpenLLMetry, Langfuse, GenAI",
    "langsmith": "runs and examples of LangSmith",
    "langfuse": "observations, traces and data sets of Langfuse",
    "mlflow": "traces and evaluation tables of MLflow",
    "phoenix": "spans, data sets and experiments of Phoenix",
}
"""Every format and its line in `import --help`; the module of a format is called like it."""


_TOLD = ("RW-A10", "RW-A11", "RW-A13", "RW-F22", "RW-F23")
"""Errors of files that are of the right format."""


class Adapters(Mapping[str, Adapter]):
    """The adapter of each format, in the order of `--help`."""

    def __getitem__(self, name: str) -> Adapter:
        if name not in SUMMARIES:
            raise KeyError(name)
        adapter: Adapter = import_module(f"ragworthy.adapters.{name}").ADAPTER
        return adapter

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


ADAPTERS = Adapters()


def import_file(form: str, *paths: str | Path, **options: Any) -> Imported:
    """Read files of another tool: lists of dicts as `gold`, `traces` and `chunks`, and what was skipped and why.

    `options` are those of `ragworthy import FORMAT --help`, with `_` for `-`. The lists can be scored as they are, or
    written as JSON lines.
    """
    if form not in ADAPTERS:
        raise usage_error(f'expected a format ({", ".join(ADAPTERS)}), got "{form}"')
    adapter = ADAPTERS[form]
    known = {one.key: one for one in adapter.options}
    for name in options:
        if name not in known:
            raise usage_error(f"{name}: expected an option of import {form} ({', '.join(known) or 'it has none'})")
    for key, one in known.items():
        if one.required and options.get(key) is None:
            raise usage_error(f"{key}: expected a value, got nothing")
    if bool(paths) != bool(adapter.inputs):
        raise usage_error(
            f"import {form}: expected {adapter.inputs or 'options that name the files'}, got {len(paths)} paths"
        )
    values = {key: options.get(key, [] if one.several else one.default) for key, one in known.items()}
    return read(adapter, [Path(path) for path in paths], values)


def read(adapter: Adapter, paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """What a format's files hold, with the notes that every format has; nothing that fits is an error."""
    from ragworthy.adapters.remarks import check, once, other_format, remarks
    from ragworthy.files import remembering

    with remembering():
        different, notes = once(paths)
        mapped = bool(options.get("map"))  # whoever names the fields knows the file
        if adapter.name == "jsonl" and not mapped:
            other_format(adapter.name, different, surely=True)
        try:
            found = adapter.read(different, options)
            check(adapter.name, paths, found)
        except DataError as error:
            if not mapped and not any(one.code in _TOLD for one in error.problems):
                other_format(adapter.name, different)
            raise
    return found._replace(notes=[*notes, *found.notes, *remarks(found)])
