"""Outputs never replace inputs."""

from collections.abc import Iterable
from pathlib import Path

from ragworthy.errors import usage_error


def keep_inputs(outputs: Iterable[str | None], inputs: Iterable[object]) -> None:
    """Refuse an output that is one of the inputs, or lies in a folder that is one."""
    read = [Path(one).resolve() for one in inputs if isinstance(one, (str, Path))]
    for output in outputs:
        if output is None:
            continue
        target = Path(output).resolve()
        if any(target == one or (one.is_dir() and target.is_relative_to(one)) for one in read):
            raise usage_error(f"{output}: expected a new file, got one that is read")


def keep_apart(outputs: Iterable[str | None]) -> None:
    """Refuse two outputs on one path: one of them would be lost."""
    seen: set[Path] = set()
    for output in outputs:
        if output is not None:
            target = Path(output).resolve()
            if target in seen:
                raise usage_error(f"{output}: expected a file for each output, got the same for two")
            seen.add(target)


def plain_lines(output: str) -> None:
    """Refuse a name that promises a packed file where plain JSON lines are written."""
    if Path(output).suffix in (".gz", ".zst", ".parquet"):
        raise usage_error(f"{output}: expected a .jsonl file")
