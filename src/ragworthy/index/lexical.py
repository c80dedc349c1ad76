"""Lexical search: BM25 scores computed once for every token and chunk, added up for a question."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from ragworthy.index.extra import need
from ragworthy.index.ranking import Doubles, Floats, Ints, Ranked, at_least, best, rounded
from ragworthy.index.tokens import analyse, query_terms
from ragworthy.records import Chunk

METHOD, K1, B = "lucene", 1.2, 0.75
"""Lucene's formula with Lucene's own parameters."""
FILES = ("bm25.scores.npy", "bm25.chunks.npy", "bm25.starts.npy", "bm25.words.json")


class Lexical(NamedTuple):
    """For each token the chunks that hold it with their scores; token n owns the range starts[n] to starts[n + 1]."""

    scores: Floats
    chunks: Ints
    starts: Ints
    words: dict[str, int]
    size: int

    def scores_of(self, query: str) -> Doubles:
        """The score of every chunk; 0 where no token of the question occurs."""
        total = np.zeros(self.size)
        for word in query_terms(query):
            number = self.words.get(word)
            if number is not None:
                owned = slice(self.starts[number], self.starts[number + 1])
                total[self.chunks[owned]] += self.scores[owned]
        return rounded(total)

    def search(self, query: str, count: int, place: Ints) -> Ranked:
        """The best chunks that share a token with the question."""
        scores = self.scores_of(query)
        found = np.flatnonzero(scores > 0)
        found = found[at_least(scores[found], count)]
        return best(found, scores[found], place, count)


def searched_text(chunk: Chunk) -> str:
    """What lexical search looks at: the title of the section and the text."""
    return f"{chunk.title}\n{chunk.text}" if chunk.title else chunk.text


def build(chunks: Sequence[Chunk]) -> Lexical:
    """The BM25 scores of every token in every chunk."""
    tokens = [analyse(searched_text(chunk)) for chunk in chunks]
    vocabulary = sorted({word for words in tokens for word in words})
    words = {word: number for number, word in enumerate(vocabulary)}
    if not words:
        nothing = np.zeros(0, dtype=np.intp)
        return Lexical(np.zeros(0, dtype=np.float32), nothing, np.zeros(1, dtype=np.intp), words, len(chunks))
    numbered = [[words[word] for word in one] for one in tokens]
    library = need("bm25s", "bm25s", "", "lexical search")
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    bm25 = library.BM25(method=METHOD, k1=K1, b=B)
    bm25.index((numbered, words), create_empty_token=False, show_progress=False)
    made = bm25.scores
    positions, starts = made["indices"].astype(np.intp), made["indptr"].astype(np.intp)
    return Lexical(made["data"].astype(np.float32), positions, starts, words, len(chunks))


def save(lexical: Lexical, folder: Path) -> None:
    """Write the arrays and the words."""
    arrays = (lexical.scores.astype("<f4"), lexical.chunks.astype("<i4"), lexical.starts.astype("<i8"))
    for name, array in zip(FILES, arrays, strict=False):
        np.save(folder / name, array, allow_pickle=False)
    (folder / FILES[-1]).write_bytes(msgspec.json.encode(list(lexical.words)))


def load(folder: Path, size: int) -> Lexical:
    """Read what `save` wrote; a ValueError says what does not fit together."""
    scores, chunks, starts = (np.load(folder / name, allow_pickle=False) for name in FILES[:3])
    vocabulary = msgspec.json.decode((folder / FILES[-1]).read_bytes(), type=list[str])
    if len(starts) != len(vocabulary) + 1 or not len(scores) == len(chunks) == starts[-1]:
        raise ValueError("arrays of different lengths")
    if len(chunks) and not 0 <= chunks.min() <= chunks.max() < size:
        raise ValueError(f"positions outside the {size} chunks")
    words = {word: number for number, word in enumerate(vocabulary)}
    return Lexical(scores, chunks.astype(np.intp), starts.astype(np.intp), words, size)
