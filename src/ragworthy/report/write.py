"""Formats by name and by file suffix, and the files they become: reports, and rows."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ragworthy.errors import missing_extra, usage_error
from ragworthy.files import write_whole, write_with
from ragworthy.report.part import Column, Voice, Voices
from ragworthy.safe import json_text

if TYPE_CHECKING:
    from ragworthy.report.screen import Screen

SUFFIXES = {
    ".json": "json",
    ".md": "markdown",
    ".html": "html",
    ".xml": "junit",
    ".txt": "text",
    ".jsonl": "rows",
    ".parquet": "rows",
    ".csv": "rows",
}

PAGE_MARK = b'<meta name="generator" content="ragworthy '
"""What every page of ours has among its first lines."""


def render(report: dict[str, Any], form: str, voices: Voices, screen: "Screen | None" = None) -> str:
    """The report in one of the formats text, json, compact, markdown, junit, html. Text is the whole report, for a file
    unless a screen is named. A page has what the report itself knows of its questions; `flow.write` knows more.
    """
    if form == "json":
        return json_text(report)
    if form == "compact":
        from ragworthy.report import compact

        return compact.render(report)
    if form == "markdown":
        from ragworthy.report import markdown

        return markdown.render(report, voices)
    if form == "junit":
        from ragworthy.report import junit

        return junit.render(report, voices)
    if form == "html":
        from ragworthy.report.html.gather import of_report
        from ragworthy.report.html.page import render as page

        return page(of_report(report, voices))
    if form == "text":
        from ragworthy.report import text
        from ragworthy.report.screen import FILE

        return text.render(report, voices, screen or FILE)
    return _by_plugin(report, form)


def _by_plugin(report: dict[str, Any], form: str) -> str:
    """The report as a renderer of another package writes it."""
    from ragworthy.load.plugins import REPORTS, called, load_point

    plugin = load_point(REPORTS, form)
    made = called(plugin, report)
    if not isinstance(made, str):
        raise usage_error(f"the plugin {form}: expected a text, got {type(made).__name__}", code="RW-P15")
    return made


def form_of(path: Path) -> str:
    """The format a file's suffix stands for."""
    form = SUFFIXES.get(path.suffix) or _suffix_of_plugin(path.suffix[1:])
    if form is None:
        message = f"{path}: expected one of {' '.join(SUFFIXES)}, got {path.suffix or 'no suffix'}"
        raise usage_error(message, code="RW-F17")
    return form


def _suffix_of_plugin(name: str) -> str | None:
    """The format of a renderer that another package announces under the name of the suffix."""
    if not name:
        return None
    from ragworthy.load.plugins import REPORTS, installed

    return next((one.name for one in installed(REPORTS) if one.name == name), None)


def write(path: Path, report: dict[str, Any], rows: Callable[[], Any], voices: Voices) -> None:
    """Write the report, or its rows, in the format of the file's suffix."""
    form = form_of(path)
    if form != "rows":
        write_whole(path, render(report, form, voices).encode())
        return
    if path.suffix == ".parquet":
        write_with(path, lambda beside: write_parquet(beside, rows(), list(map(voices, report["suites"]))))
    elif path.suffix == ".csv":
        from ragworthy.report.table import write_csv

        write_with(path, lambda beside: write_csv(beside, rows))
    else:
        write_with(path, lambda beside: write_jsonl(beside, rows()))


# rows as files: one object for each question, in gold order


MANY = 10_000
"""So many rows are one batch of a Parquet file."""


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Rows as JSON lines."""
    encode, left = msgspec.json.Encoder().encode_lines, iter(rows)
    with path.open("wb") as file:
        while some := list(islice(left, 1000)):  # many at once take less time than one by one
            file.write(encode(some))


def write_parquet(path: Path, rows: Iterable[dict[str, Any]], suites: Sequence[Voice]) -> None:
    """Rows as Parquet; the two maps are maps. What the suites declare are its columns."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet", "writing Parquet") from None
    own, schema = columns_of(suites), schema_of(suites)
    left = iter(rows)
    with parquet.ParquetWriter(path, schema) as writer:
        while some := list(islice(left, MANY)):
            writer.write_batch(batch(some, own, schema))


def schema_of(suites: Sequence[Voice]) -> Any:
    """The columns of rows and their types, as Arrow has them."""
    import pyarrow as pa

    kinds = {
        "int": pa.int64(),
        "bool": pa.bool_(),
        "text": pa.string(),
        "json": pa.string(),
        "counts": pa.map_(pa.string(), pa.int64()),
    }
    facts = dict.fromkeys(name for suite in suites for name in suite.facts)
    told = [("facts", pa.struct([(name, pa.bool_()) for name in facts]))] if facts else []  # Parquet has no empty one
    return pa.schema(
        [
            ("qid", pa.string()),
            ("label", pa.string()),
            ("stage", pa.string()),
            ("cause", pa.string()),
            ("cluster", pa.string()),
            ("metrics", pa.map_(pa.string(), pa.float64())),
            ("undefined", pa.map_(pa.string(), pa.string())),
            *told,
            *((one.name, kinds[one.kind]) for one in columns_of(suites)),
        ]
    )


def batch(rows: Iterable[dict[str, Any]], own: Sequence[Column], schema: Any) -> Any:
    """Some rows as Arrow has them."""
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([_flat(row, own) for row in rows], schema=schema)


def columns_of(suites: Sequence[Voice]) -> list[Column]:
    """What rows hold besides, each name once; with several suites, which of them a row is of."""
    found = {one.name: one for suite in suites for one in suite.columns}
    return [*found.values(), Column("suite", "text")] if len(suites) > 1 else list(found.values())


def _flat(row: dict[str, Any], own: Sequence[Column]) -> dict[str, Any]:
    """A row with maps as pairs, and objects and lists as JSON."""
    flat = row | {key: list(row[key].items()) for key in ("metrics", "undefined")}
    for name, kind in own:
        value = row.get(name)
        if kind == "counts" and value is not None:
            flat[name] = list(value.items())
        elif kind == "json" and value is not None:
            flat[name] = msgspec.json.encode(value).decode()
    return flat
