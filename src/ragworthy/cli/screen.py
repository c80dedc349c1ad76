"""What stdout can show: how wide it is, whether in colours, and in which signs."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragworthy.report.screen import Screen

_SIGNS = "≥…→✓✗"
"""Signs of ours; a stream that cannot take them gets others."""


def screen(given: argparse.Namespace, *, full: bool = False) -> "Screen":
    """What stdout can show. Off a terminal the whole report has no width: what reads it breaks lines by itself, and
    finds every fact on one.
    """
    from ragworthy.report.screen import PIPE, Screen

    return Screen(_width(None if full else PIPE), coloured(given), _encoding())


def columns() -> int:
    """The columns of a sheet: those of the terminal, up to the usual ones."""
    from ragworthy.report.screen import PIPE

    return min(_width(PIPE) or PIPE, PIPE)


def _width(usual: int | None) -> int | None:
    """The columns: what COLUMNS says, else those of the terminal, else the usual ones."""
    from ragworthy.report.screen import NARROWEST

    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and said.isascii() and int(said):
        return max(NARROWEST, int(said))
    try:
        return max(NARROWEST, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError, AttributeError):  # no terminal, or a stream that is none
        return usual


def _encoding() -> str | None:
    """The encoding of stdout, where it cannot take signs of ours."""
    encoding = getattr(sys.stdout, "encoding", None)
    try:
        _SIGNS.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return encoding
    return None


def coloured(given: argparse.Namespace) -> bool:
    """Whether stdout gets colours: never with --no-color or NO_COLOR, always with FORCE_COLOR, else on a terminal that
    can show them.
    """
    if given.no_color or os.environ.get("NO_COLOR"):
        return False
    if (forced := os.environ.get("FORCE_COLOR")) is not None:
        return forced not in ("", "0", "false")
    return os.environ.get("TERM") != "dumb" and sys.stdout.isatty()
