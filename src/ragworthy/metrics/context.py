"""What was retrieved for one structured answer: files, and texts in which anchors are looked for."""

from collections.abc import Callable, Sequence
from typing import Any

from ragworthy.records import ContextChunk
from ragworthy.text import squeeze


def files_of(entries: Any) -> list[str]:
    """The files that a source map names, each once; what has another shape is skipped.

    >>> files_of([{"refs": [{"file": "a"}, {"file": "b"}, 7]}, {"refs": [{"file": "a"}]}, "x"])
    ['a', 'b']
    """
    maps = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    refs = [ref for entry in maps if isinstance(entry.get("refs"), list) for ref in entry["refs"]]
    files = [ref.get("file") for ref in refs if isinstance(ref, dict)]
    return list(dict.fromkeys(file for file in files if isinstance(file, str)))


class Context:
    """The chunks of one item. Texts are made comparable once for each form that is asked for."""

    def __init__(self, chunks: Sequence[ContextChunk]) -> None:
        self.chunks = chunks
        self.paths = frozenset(chunk.source_path for chunk in chunks if chunk.source_path)
        self.has_text = any(chunk.text for chunk in chunks)
        self._texts: dict[str, list[str]] = {}

    def has(self, anchor: str, form: str, make: Callable[[str], str], file: str | None = None) -> bool:
        """Whether a non-empty anchor is in one of the chunks, or in one of a file."""
        wanted = squeeze(make(anchor))
        if not wanted:
            return False
        if form not in self._texts:
            self._texts[form] = [squeeze(make(chunk.text or "")) for chunk in self.chunks]
        return any(
            wanted in text
            for chunk, text in zip(self.chunks, self._texts[form], strict=True)
            if file is None or chunk.source_path == file
        )
