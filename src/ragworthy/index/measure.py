"""What tells how far two texts are apart: an embedding model, or the n-grams of a corpus."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from ragworthy.index.embed import Embedder, load, text_distances
from ragworthy.index.ngrams import NAME, Ngram, Table, count
from ragworthy.index.ranking import Doubles
from ragworthy.load.lock import weights_path, weights_there
from ragworthy.names import DEFAULT_MODEL

BUILT_IN = (DEFAULT_MODEL, NAME)
"""The models that are tried where nobody names one; the first of equals is taken."""
Texts = Callable[[], Sequence[str]]
"""The texts of the chunks of a corpus, taken when they are needed."""


class Measure(Protocol):
    """A model of distances; its name and the hash of its weights say which one."""

    @property
    def name(self) -> str:
        """The name that makes it again."""

    @property
    def weights(self) -> str:
        """The SHA-256 of its weights; the same hash gives the same distances."""

    def distances(self, left: Sequence[str], right: Sequence[str]) -> Doubles:
        """1 − cos of each left text and the right text at the same place, unclamped, to 6 decimals."""


class Embedded:
    """Distances of embeddings."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.weights = embedder.name, embedder.weights
        self._embedder = embedder

    def distances(self, left: Sequence[str], right: Sequence[str]) -> Doubles:
        """1 − cos of each left text and the right text at the same place."""
        return text_distances(self._embedder, left, right)


def measure(name: str, texts: Texts) -> Measure:
    """The model of this name; `ngram` takes its weights from these chunks."""
    return Ngram(count(texts())) if name == NAME else Embedded(load(name, f"{NAME}, "))


def built_in(name: str, weights: str, texts: Texts) -> Measure | None:
    """The model of this name and weights, where it comes with this package and nothing else is asked."""
    if name not in BUILT_IN:
        return None
    found = measure(name, texts)
    return found if found.weights == weights else None


def stored(name: str, weights: str, lock: Path | None, corpora: Sequence[Texts]) -> Measure | str:
    """The model that a calibration is about; a text says why it cannot be had.

    The weights of `ngram` are beside the lock; where they do not, a corpus that gives the same ones will do.
    """
    if name != NAME:
        return Embedded(load(name))
    beside = read_weights(lock)
    if beside is not None and beside.sha256 == weights:
        return Ngram(beside)
    for texts in corpora:
        counted = count(texts())
        if counted.sha256 == weights:
            return Ngram(counted)
    where = weights_path(lock).name if lock is not None else "beside the lock"
    what = "no corpus was given" if not corpora else "the corpus is another one"
    return (
        f"the weights of ngram are not there ({where}), and {what}: "
        "freeze the gold set with --corpus, and keep that file beside its lock"
    )


def read_weights(lock: Path | None) -> Table | None:
    """The weights beside a lock; None where there are none, or something else."""
    path = weights_there(lock) if lock is not None else None
    if path is None:
        return None
    try:
        return Table.from_bytes(path.read_bytes())
    except (OSError, ValueError):
        return None
