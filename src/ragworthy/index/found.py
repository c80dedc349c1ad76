"""Whether an index is at a path, and which of its files decide what is read of it."""

from pathlib import Path
from typing import Any

MANIFEST, CHUNKS = "manifest.json", "chunks.jsonl"
"""Files of an index; how one is read is imported only where there is one."""


def corpus_files(path: Path, role: str = "corpus") -> dict[str, Path]:
    """Every file that decides what is read of a corpus, by the role that a receipt gives it.

    The manifest of an index stands for the whole, and names all other files with their hashes.
    """
    index = index_at(path)
    if index is None:
        return {role: path}
    return {role: index / MANIFEST, f"{role}/{CHUNKS}": index / CHUNKS}


def index_at(given: Any) -> Path | None:
    """The folder of an index, where it or its manifest was given."""
    path = Path(given) if isinstance(given, (str, Path)) else None
    if path is not None and path.name == MANIFEST and path.is_file():
        return path.parent
    return path if path is not None and path.is_dir() else None
