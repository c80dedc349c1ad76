"""What a gold question of the retrieval suite asks for, as chunks of one index: evidence texts and sources as groups.

The chunks of a group are alternatives of each other. Every index has its own groups, so one gold set fits two indexes
that cut the same documents differently.
"""

from collections.abc import Sequence
from functools import cached_property

from ragworthy.corpus.binding import UNBOUND, Binder
from ragworthy.corpus.origins import Origins
from ragworthy.ids import natural, stable
from ragworthy.metrics.facts.pieces import every_piece
from ragworthy.metrics.facts.wanted import Group
from ragworthy.records import Chunk, GoldSource, RetrievalGold
from ragworthy.text import clip

SHOWN = 60
"""How many characters of an evidence text name it."""
_NO_DOCUMENT = frozenset("#|?\n")
"""An id with one of these in it names a block, and never a whole document: a stale one must not pass for it."""


class Groups:
    """The chunks of an index, by what gold sets say of them. What is not asked for is not worked out."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks

    @cached_property
    def _origins(self) -> Origins:
        return Origins(self._chunks)

    @cached_property
    def _binder(self) -> Binder:
        return Binder(self._chunks)

    @cached_property
    def _names(self) -> list[str]:
        return [stable(chunk.name) for chunk in self._chunks]

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(self._names)

    def document(self, name: str) -> tuple[str, ...]:
        """The chunks of a document that replaces an id; none where the name is an id or no document."""
        if name in self._ids or not _NO_DOCUMENT.isdisjoint(name):
            return ()
        return self._named(self._origins.named(name).numbers)

    def of(self, gold: RetrievalGold) -> tuple[Group, ...]:
        """A group for each evidence text; where there is none, one for each source. Empty ones bind to nothing."""
        sources = gold.gold_source or []
        if gold.gold_evidence:
            keys = every_piece(gold)
            texts = dict.fromkeys(gold.gold_evidence)
            return tuple(group for text in texts for group in self._evidence(text, sources, keys))
        return tuple(self._source(source) for source in dict.fromkeys(sources))

    def _source(self, source: str | GoldSource) -> Group:
        found = self._origins.named(source)
        doc = source if isinstance(source, str) else source.doc
        return Group(str(source), self._named(found.numbers), found.why, doc)

    def _evidence(self, text: str, sources: Sequence[str | GoldSource], keys: Sequence[str]) -> list[Group]:
        """The chunks that hold a text: one group, or one for each part of it."""
        bound = self._binder.bind([text], sources, keys)
        name = f'"{clip(text, SHOWN)}"'
        if UNBOUND in bound.how:
            return [Group(name, (), bound.unbound[0].why, text)]
        parts = [tuple(sorted(map(stable, group), key=natural)) for group in bound.groups]
        return [Group(f"{name} (part {nth})" if nth > 1 else name, ids, "", text) for nth, ids in enumerate(parts, 1)]

    def _named(self, numbers: frozenset[int]) -> tuple[str, ...]:
        return tuple(sorted({self._names[number] for number in numbers}, key=natural))
