"""An index with what the pipeline needs beside it: weights of terms, and chunks taken apart once."""

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ragworthy.ids import natural, stable
from ragworthy.index.embed import distance
from ragworthy.index.ranking import DECIMALS, Floats
from ragworthy.index.store import Index, open_index
from ragworthy.index.tokens import analyse
from ragworthy.pipeline.asked import Question, ask
from ragworthy.pipeline.units import Unit, units
from ragworthy.records import Chunk


class Parts(NamedTuple):
    """A chunk taken apart."""

    units: tuple[Unit, ...]
    words: tuple[frozenset[str], ...]
    """The words of each unit."""
    title: frozenset[str]
    every: frozenset[str]
    """The words of the title and the text."""


class Shelf:
    """An index for questions. Several threads may use one: whatever they make twice is equal."""

    def __init__(self, path: Path) -> None:
        self.index: Index = open_index(path)
        self._parts: dict[str, Parts] = {}
        self._vectors: dict[str, Floats] = {}

    def ask(self, text: str) -> Question:
        """A question with the weights that its terms have in this corpus."""
        return ask(text, self.weight)

    def weight(self, term: str) -> float:
        """How much a term says: ln(1 + (N − n + 0.5) / (n + 0.5)), where n of the N chunks hold it."""
        number = self.index.lexical.words.get(term)
        starts = self.index.lexical.starts
        holding = 0 if number is None else int(starts[number + 1] - starts[number])
        return math.log(1 + (self.index.lexical.size - holding + 0.5) / (holding + 0.5))

    def parts(self, chunk: Chunk) -> Parts:
        """The chunk taken apart."""
        found = self._parts.get(chunk.name)
        if found is None:
            pieces = tuple(units(chunk.text, chunk.type))
            words = tuple(frozenset(analyse(piece.text)) for piece in pieces)
            title = frozenset(analyse(chunk.title or ""))
            found = Parts(pieces, words, title, title | frozenset(analyse(chunk.text)))
            self._parts[chunk.name] = found
        return found

    def section(self, chunk: Chunk) -> list[Chunk]:
        """The chunks of the section that a chunk is in; where no section is known, the chunk alone."""
        return self._sections[chunk.doc_id, chunk.section_id] if chunk.section_id else [chunk]

    def embedded(self, question: str) -> Floats:
        """The vector of a question, as a row; one in capitals is read in lower case."""
        return self.index.embedder().embed([question.lower() if question.isupper() else question])

    def near(self, question: Floats, chunks: Sequence[Chunk]) -> list[float]:
        """How like the question the text of each chunk is, from 0 to 1."""
        return _likeness(question, self.index.vectors[[self._rows[chunk.name] for chunk in chunks]])

    def near_units(self, question: Floats, chunk: Chunk) -> list[float]:
        """How like the question each unit of a chunk is, from 0 to 1."""
        rows = self._vectors.get(chunk.name)
        if rows is None:
            rows = self.index.embedder().embed([unit.text for unit in self.parts(chunk).units])
            self._vectors[chunk.name] = rows
        return _likeness(question, rows)

    @cached_property
    def names(self) -> frozenset[str]:
        """The ids of all chunks, without revisions."""
        return frozenset(stable(chunk.name) for chunk in self.index.chunks)

    @cached_property
    def paths(self) -> dict[str, str]:
        """The path of each document, as it lay in the folder that was indexed."""
        return {one.doc_id: one.path for one in self.index.manifest.documents}

    @cached_property
    def _sections(self) -> dict[tuple[str | None, str | None], list[Chunk]]:
        found: dict[tuple[str | None, str | None], list[Chunk]] = {}
        for chunk in self.index.chunks:
            found.setdefault((chunk.doc_id, chunk.section_id), []).append(chunk)
        return found

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {chunk.name: row for row, chunk in enumerate(self.index.chunks)}


def _likeness(question: Floats, rows: Floats) -> list[float]:
    """The cosine with each row, to 6 decimals; below 0 counts as 0."""
    if not len(rows):
        return []
    cosines = 1 - distance(np.repeat(question, len(rows), axis=0), rows)
    return [min(1.0, max(0.0, round(float(value), DECIMALS))) for value in cosines]


def order(chunk: Chunk) -> tuple[object, object]:
    """The place of a chunk among those with the same score: by section, then by id."""
    return natural(chunk.section_id or ""), natural(chunk.name)
