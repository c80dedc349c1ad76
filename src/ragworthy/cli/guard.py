"""Outputs never replace inputs; said before anything is scored. `files` says it once more when it writes."""

import os
from collections.abc import Iterable
from pathlib import Path

from ragworthy.errors import usage_error
from ragworthy.files import check_writable


def keep_inputs(outputs: Iterable[str | None], inputs: Iterable[object]) -> None:
    """Refuse an output that is one of the inputs, lies in a folder that is one, or is another output."""
    read = [_real(one) for one in inputs if isinstance(one, (str, Path))]
    seen: set[Path] = set()
    for output in outputs:
        if output is None:
            continue
        target = _real(output)
        if any(target == one or (one.is_dir() and target.is_relative_to(one)) for one in read):
            raise usage_error(f"{output}: expected a new file, got one that is read")
        if target in seen:
            raise usage_error(f"{output}: expected a file for each output, got the same for two")
        seen.add(target)


def check_files(outputs: Iterable[str | None]) -> None:
    """Refuse what cannot be a file: a folder, a socket, a link that leads in a circle."""
    for output in outputs:
        if output is not None:
            check_writable(Path(output))


def _real(path: str | Path) -> Path:
    """Where a path leads; a link that leads in a circle leads to itself, and so does what is no path at all."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # a NUL in it: whoever opens it says so
        return Path(path)


def plain_lines(output: str) -> None:
    """Refuse a name that promises a packed file where plain JSON lines are written."""
    if Path(output).suffix in (".gz", ".zst", ".parquet"):
        raise usage_error(f"{output}: expected a .jsonl file")
