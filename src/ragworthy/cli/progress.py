"""A line on the terminal that tells how far reading has come; nothing on a pipe."""

import sys
from typing import TYPE_CHECKING

from ragworthy.cli.say import show

if TYPE_CHECKING:
    from ragworthy.flow import Progress


def on_terminal(*, quiet: bool) -> "Progress | None":
    """What draws the line; None where there is nobody to see it."""
    if quiet or not sys.stderr.isatty():
        return None
    shown = -1

    def told(read: int, total: int) -> None:
        nonlocal shown
        percent = min(100, read * 100 // total) if total else 0
        if percent != shown and total > 4 << 20:
            shown = percent
            end = "\r\x1b[K" if percent == 100 else ""
            show(f"\rreading traces {percent:3d} %{end}", file=sys.stderr, flush=True)

    return told
