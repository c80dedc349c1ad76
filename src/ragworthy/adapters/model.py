"""What an import is made of: the adapter of a format, and what it found. Loads the standard library only."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

Record = dict[str, Any]
Output = Literal["gold", "trace", "chunks"]
OUTPUTS: tuple[Output, ...] = ("gold", "trace", "chunks")


class Skip(NamedTuple):
    """A part of the input that gave no record: where it stands, and why."""

    where: str
    """For example `row 17` or `line 3`; the framework groups skips by reason and names the places."""
    why: str


class Imported(NamedTuple):
    """What an import found: every part of the input is in one of the lists or in `skipped`."""

    gold: list[Record]
    traces: list[Record]
    chunks: list[Record]
    taken: int
    """How many parts (rows, traces, spans …) the input has: those written and those skipped."""
    unit: str
    """What one part is called, in the singular: `row`, `trace`, `query` …"""
    skipped: list[Skip]
    notes: list[str]
    """What the data does not hold and what follows from that, a line each."""
    read: tuple[str, ...] = ()
    """How the input was understood (columns, delimiter, sheet …), a line each; shown above the preview."""
    suite: str = "answers"
    """The suite that scores it."""


class Option(NamedTuple):
    """An option of one format. `--split-on` is `split_on` in Python and in what `read` gets."""

    name: str
    help: str
    metavar: str = ""
    """What stands for the value in `--help`; an option without one is a flag."""
    default: Any = None
    choices: tuple[str, ...] = ()
    several: bool = False
    """Whether it may be given several times; the value is then a list."""
    required: bool = False
    reads: bool = False
    """Whether its value is a file that is read, so that no output may replace it."""
    goes_with: Output | None = None
    """The output that it makes no sense without, and that makes no sense without it."""

    @property
    def key(self) -> str:
        """Its name in Python.

        >>> Option("--split-on", "help").key
        'split_on'
        """
        return self.name.lstrip("-").replace("-", "_")


Read = Callable[[Sequence[Path], Mapping[str, Any]], Imported]
"""The files, and a value for every option that the adapter declares, by its key."""


class Adapter(NamedTuple):
    """One format of files that others write."""

    name: str
    summary: str
    gives: tuple[Output, ...]
    """What can be written from it."""
    options: tuple[Option, ...]
    read: Read
    inputs: str = "FILE"
    """What its inputs are called in `--help`; empty where options name them."""
    needs: tuple[Output, ...] = ()
    """Outputs that must be named."""


def stamp(name: str, sha256: str, at: int | str) -> Record:
    """Where a record comes from: the format, the hash of the file, and the line, row or trace in it."""
    return {"format": name, "sha256": sha256, "at": at}
