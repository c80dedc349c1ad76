"""Which policy names a file, so that the next command can be the gate."""

from pathlib import Path
from typing import Any

from ragworthy.errors import RagworthyError
from ragworthy.load.checker import load_toml
from ragworthy.policy.read import find_policy


def policy_of(config: str | None, made: Path) -> str | None:
    """The policy that names what a run wrote: the one that is given, else the one that `gate` would find."""
    try:
        path = find_policy(config)
        return str(path) if _names(load_toml(path), path.parent, made.resolve()) else None
    except RagworthyError:
        return None


def _names(value: Any, folder: Path, file: Path) -> bool:
    """Whether a table names a file, from its folder; nothing of it is run."""
    if isinstance(value, dict | list):
        return any(_names(one, folder, file) for one in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and Path(value).suffix == file.suffix and (folder / value).resolve() == file
