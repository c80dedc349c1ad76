"""`import FORMAT`: read files of another tool, show how they were read, write what was asked for."""

import argparse
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from ragworthy import adapters
from ragworthy.adapters.model import OUTPUTS, Adapter, Imported, Output, Record
from ragworthy.adapters.preview import ledger, preview
from ragworthy.cli.outputs import keep_inputs, plain_lines
from ragworthy.cli.say import print
from ragworthy.errors import usage_error
from ragworthy.files import check_writable, write_whole
from ragworthy.names import Exit
from ragworthy.report.show import plural

_CALLED = {"gold": "gold", "trace": "traces", "chunks": "chunks"}
_UNNAMED = "GOLD"
"""What stands for a gold set that was not named."""


def run(given: argparse.Namespace) -> int:
    """Import one format; exit 1 only where rows were skipped and `--strict` was given."""
    adapter = adapters.ADAPTERS[given.form]
    options = {one.key: getattr(given, f"option_{one.key}") for one in adapter.options}
    paths = [Path(name) for name in given.files]
    outputs = {name: getattr(given, f"{name}_out") for name in OUTPUTS if getattr(given, f"{name}_out", None)}
    _check(adapter, given, outputs, options)
    read = [options[one.key] for one in adapter.options if one.reads]
    keep_inputs(
        outputs.values(), [*paths, *(one for each in read for one in (each if isinstance(each, list) else [each]))]
    )
    for name in outputs.values():
        plain_lines(name)
        check_writable(Path(name))
    found = adapters.read(adapter, paths, {**options, "asked": tuple(outputs)})
    if not given.dry_run:
        _check_found(found, outputs)
    lines = [*preview(found), *ledger(found)]
    if given.strict and found.skipped:
        _say(lines)
        print(f"nothing written: --strict, and {plural(len(found.skipped), found.unit)} skipped", file=sys.stderr)
        return int(Exit.NO_SHIP)
    if given.dry_run:
        _say([*lines, "dry run: nothing written"])
        return int(Exit.SHIP)
    try:
        lines += _write(found, outputs, str(options.get("gold") or _UNNAMED))
    finally:
        _say(lines)
    return int(Exit.SHIP)


def _say(lines: Iterable[str]) -> None:
    """Print after all is written; whoever reads only the head of it has the files all the same."""
    try:
        for line in lines:
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check(
    adapter: Adapter, given: argparse.Namespace, outputs: Mapping[Output, str], options: Mapping[str, object]
) -> None:
    for name in outputs:
        if name not in adapter.gives:
            flags = " and ".join(f"--{one}-out" for one in adapter.gives)
            raise usage_error(f"--{name}-out: import {adapter.name} gives {flags}, and no {_CALLED[name]}")
    if not outputs and not given.dry_run:
        flags = " or ".join(f"--{name}-out" for name in adapter.gives)
        raise usage_error(f"expected {flags}, or --dry-run to look first")
    for one in adapter.options:
        if one.goes_with and bool(options[one.key]) != (one.goes_with in outputs) and not given.dry_run:
            raise usage_error(f"expected {one.name} and --{one.goes_with}-out together")


def _check_found(found: Imported, outputs: Mapping[Output, str]) -> None:
    """Raise where an output would be empty, before anything is shown as written."""
    there = {"gold": found.gold, "trace": found.traces, "chunks": found.chunks}
    for name in outputs:
        if not there[name]:
            for line in ledger(found)[1:]:  # why there is none, and nothing that sounds as if it were written
                print(line)
            others = " and ".join(_CALLED[one] for one, records in there.items() if records)
            raise usage_error(f"--{name}-out: expected {_CALLED[name]} in the data, got only {others}")


def _write(found: Imported, outputs: Mapping[Output, str], asked: str) -> Iterator[str]:
    """The files that were asked for, each whole or not at all; what was found and not asked for is said."""
    kinds: dict[Output, tuple[list[Record], str]] = {
        "gold": (found.gold, plural(len(found.gold), "question")),
        "trace": (found.traces, plural(len(found.traces), "query", "queries") if found.suite == "retrieval"
                  else plural(len(found.traces), "trace")),
        "chunks": (found.chunks, plural(len(found.chunks), "chunk")),
    }  # fmt: skip
    for name, (records, counted) in kinds.items():
        if name not in outputs and records:
            yield f"note: {counted} found and not written: add --{name}-out FILE"
    encode = msgspec.json.Encoder().encode
    for name, (records, counted) in kinds.items():
        if name in outputs:
            write_whole(Path(outputs[name]), b"".join([encode(record) + b"\n" for record in records]))
            yield f"{_CALLED[name]}: {counted}: {outputs[name]}"
    yield f"next: {_next(found, outputs, asked)}"


def _next(found: Imported, outputs: Mapping[Output, str], asked: str) -> str:
    """The command that goes on from here; `asked` is the gold set that traces were matched with."""
    gold, traces, chunks = (shlex.quote(outputs[name]) if name in outputs else "" for name in OUTPUTS)
    if traces:
        from ragworthy.gold.following import flags, items_of
        from ragworthy.load.sources import open_source

        named = not gold and asked != _UNNAMED
        items = items_of(open_source("gold", Path(asked))) if named else found.gold
        more = flags(items, found.suite, chunks)
        return f"ragworthy score {found.suite} --gold {gold or shlex.quote(asked)} --trace {traces}{more}"
    if gold and found.suite == "answers":
        return f"ragworthy run --target YOURS --gold {gold} --out runs/1"
    if chunks:
        return f"ragworthy index build --docs {chunks} --out index"
    return f"ragworthy retrieve --index INDEX --gold {gold} -o traces.jsonl"
