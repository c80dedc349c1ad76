"""What every command prints with. `print` here is the safe one: a module of this folder imports it from here.

On a terminal, lines that are too wide for it go on below with a hanging indent. Elsewhere each stays on one line: what
reads it finds every fact on one, and the same run prints the same bytes.
"""

import builtins
import os
import sys
from typing import TextIO

from ragworthy.safe import terminal


def print(line: str = "", *, end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Print one line. Ids, paths and texts in it cannot steer the terminal, nor begin a line of their own."""
    builtins.print(_fitted(terminal(line), file), end=end, file=file, flush=flush)


def show(text: str, *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print what is safe already: a report, JSON, text of ours with its colours and line ends."""
    builtins.print(text, end="", file=file, flush=flush)


def tell(text: str) -> None:
    """Print text of ours, line by line, as wide as the terminal."""
    show("".join(f"{_fitted(line, None)}\n" for line in text.split("\n")))


def _fitted(line: str, file: TextIO | None) -> str:
    """The line in as many as the terminal needs; unchanged where there is none."""
    width = _columns(sys.stdout if file is None else file) if len(line) >= _SHORT else None
    if width is None:
        return line
    from ragworthy.report.wrapped import hanging

    return "\n".join(hanging(line, width))


_SHORT = 20
"""No terminal is too narrow for fewer signs, wide ones too."""


def _columns(stream: TextIO) -> int | None:
    """How wide the terminal is that a stream writes to; None where it writes to none."""
    try:
        if not stream.isatty():
            return None
        said = os.environ.get("COLUMNS", "")
        usual = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):  # closed, or no stream of the system
        return None
    width = int(said) if said.isdecimal() and said.isascii() else usual
    return max(width, 2 * _SHORT) if width else None
