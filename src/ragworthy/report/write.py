"""Formats by name and by file suffix, and the files they become."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ragworthy.errors import usage_error
from ragworthy.files import write_whole, write_with
from ragworthy.report.part import Voices
from ragworthy.safe import json_text

SUFFIXES = {
    ".json": "json",
    ".md": "markdown",
    ".xml": "junit",
    ".txt": "text",
    ".jsonl": "rows",
    ".parquet": "rows",
}


def render(report: dict[str, Any], form: str, voices: Voices, *, colour: bool = False) -> str:
    """The report in one of the formats text, json, markdown, junit."""
    if form == "json":
        return json_text(report)
    if form == "markdown":
        from ragworthy.report import markdown

        return markdown.render(report, voices)
    if form == "junit":
        from ragworthy.report import junit

        return junit.render(report)
    if form == "text":
        from ragworthy.report import text

        return text.render(report, voices, colour=colour)
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
    from ragworthy.report import rows as writers

    if path.suffix == ".parquet":
        write_with(path, lambda beside: writers.write_parquet(beside, rows(), list(map(voices, report["suites"]))))
    else:
        write_with(path, lambda beside: writers.write_jsonl(beside, rows()))
