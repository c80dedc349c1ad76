"""What was retrieved for one structured answer: files, and texts in which anchors are looked for."""

from collections.abc import Callable, Sequence

from ragworthy.records import ContextChunk
from ragworthy.text import squeeze


class Context:
    """The chunks of one item. Texts are made comparable once for each form that is asked for."""

    def __init__(self, chunks: Sequence[ContextChunk]) -> None:
        self.chunks = chunks
        self.paths = frozenset(chunk.source_path for chunk in chunks if chunk.source_path)
        self.has_text = any(chunk.text for chunk in chunks)
        self._texts: dict[str, list[str]] = {}

    def has(self, anchor: str, form: str, make: Callable[[str], str], file: str | None = None) -> bool:
        """Whether a non-empty anchor stands in one of the chunks, or in one of a file."""
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
