"""What every command prints with. `print` here is the safe one: a module of this folder imports it from here."""

import builtins
from typing import TextIO

from ragworthy.safe import terminal


def print(line: str = "", *, end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Print one line. Ids, paths and texts in it cannot steer the terminal, nor begin a line of their own."""
    builtins.print(terminal(line), end=end, file=file, flush=flush)


def show(text: str, *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print what is safe already: a report, JSON, text of ours with its colours and line ends."""
    builtins.print(text, end="", file=file, flush=flush)
