"""Ids that name several texts: what is counted under such an id is the hit or the citation of another text."""

from collections.abc import Iterable
from typing import NamedTuple

from ragworthy.adapters.documents import Document, content_id, file_of


class _Text(NamedTuple):
    content: str
    file: str


class Clashes:
    """The texts of all documents under their ids.

    Several texts under one id are ambiguous where the id was made of a file and a place in it, or where they are of
    several files. Otherwise whoever gave the id may mean them all: a document, of which these are parts. With a rule
    that somebody named (`ruled`) several files may share an id, too.
    """

    def __init__(self, *, ruled: bool) -> None:
        self._ruled = ruled
        self._known: dict[str, _Text] = {}
        self.several: dict[str, None] = {}
        """Ids that name several texts."""
        self.ambiguous: dict[str, None] = {}
        """Those of them that must not."""

    def take(self, name: str, text: str, file: str) -> None:
        """Take a document in."""
        if not text:
            return
        one = _Text(content_id(text), file)
        held = self._known.setdefault(name, one)
        if held.content == one.content:
            return
        self.several[name] = None
        placed = bool(file) and f"{file}@" in name
        if placed or (held.file and file and held.file != file and not self._ruled):
            self.ambiguous[name] = None

    def among(self, names: Iterable[str]) -> list[str]:
        """The ambiguous ones among some ids."""
        return [name for name in dict.fromkeys(names) if name in self.ambiguous] if self.ambiguous else []


def within(documents: Iterable[Document], *, ruled: bool) -> list[str]:
    """The ambiguous ids of one reply."""
    clashes = Clashes(ruled=ruled)
    for one in documents:
        clashes.take(one.id, one.text, file_of(one.metadata))
    return list(clashes.ambiguous)
