"""Lexical search: BM25 scores computed once for every token and chunk, added up for a question."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragworthy.index.arrays import read_array
from ragworthy.index.manifest import POSTINGS, SCORES, STARTS, WORDS
from ragworthy.index.models import need
from ragworthy.index.ranking import Doubles, Floats, Ints, Ranked, at_least, best, rounded
from ragworthy.index.tokens import analyse, query_terms
from ragworthy.records import Chunk

METHOD, K1, B = "lucene", 1.2, 0.75
"""Lucene's formula with Lucene's own parameters."""
_MOST = float(np.finfo(np.float32).max)
Made = TypeVar("Made")


class Reader(Protocol):
    """Reads a file of an index; whatever `make` refuses with a ValueError is an error about that file."""

    def __call__(self, name: str, make: Callable[[bytes], Made]) -> Made:
        """What `make` makes of the bytes of the file."""


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
    library = need("bm25s", "bm25s", "retrieval", "lexical search")
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    bm25 = library.BM25(method=METHOD, k1=K1, b=B)
    bm25.index((numbered, words), create_empty_token=False, show_progress=False)
    made = bm25.scores
    positions, starts = made["indices"].astype(np.intp), made["indptr"].astype(np.intp)
    return Lexical(made["data"].astype(np.float32), positions, starts, words, len(chunks))


def save(lexical: Lexical, folder: Path) -> None:
    """Write the arrays and the words."""
    arrays = {SCORES: lexical.scores.astype("<f4"), POSTINGS: lexical.chunks.astype("<i4")}
    for name, array in (arrays | {STARTS: lexical.starts.astype("<i8")}).items():
        np.save(folder / name, array, allow_pickle=False)
    (folder / WORDS).write_bytes(msgspec.json.encode(list(lexical.words)))


def load(read: Reader, size: int) -> Lexical:
    """What `save` wrote for so many chunks."""
    words = read(WORDS, _words)
    starts = read(STARTS, lambda data: _starts(data, len(words), size))
    count = int(starts[-1])
    scores = read(SCORES, lambda data: read_array(data, "<f4", (count,), low=0, high=_MOST))
    chunks = read(POSTINGS, lambda data: read_array(data, "<i4", (count,), low=0, high=size - 1))
    return Lexical(scores, chunks.astype(np.intp), starts.astype(np.intp), words, size)


def _words(data: bytes) -> dict[str, int]:
    vocabulary = msgspec.json.decode(data, type=list[str])
    words = {word: number for number, word in enumerate(vocabulary)}
    if len(words) != len(vocabulary):
        raise ValueError("words that are listed twice")
    return words


def _starts(data: bytes, words: int, size: int) -> NDArray[np.int64]:
    """Where the range of each word begins; no word is in more chunks than there are."""
    starts = read_array(data, "<i8", (words + 1,), low=0, rising=True)
    if starts[0] != 0 or np.diff(starts, prepend=0).max() > size:
        raise ValueError(f"ranges that are not those of words in {size} chunks")
    return starts
