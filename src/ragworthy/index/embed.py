"""Embeddings: what a model is to us, where models come from, and the distance between two texts."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from ragworthy.errors import usage_error
from ragworthy.index.ranking import DECIMALS, Doubles, Floats, rounded
from ragworthy.names import DEFAULT_MODEL
from ragworthy.wire.address import shown

_AT_ONCE = 512
_ENDPOINT = re.compile(r"openai:(?P<model>.+?)@(?P<url>https?://.+)")


class Embedder(Protocol):
    """A model that turns texts into vectors of unit length."""

    @property
    def name(self) -> str:
        """The name that loads it again."""

    @property
    def dimension(self) -> int:
        """How long its vectors are."""

    @property
    def weights(self) -> str:
        """The SHA-256 of its weights; two models with the same hash give the same vectors."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row for each text, of unit length; zeros for a text without tokens."""


def load(name: str = DEFAULT_MODEL, besides: str = "") -> Embedder:
    """The model with this name: wordllama, minilm, or openai:MODEL@URL for an endpoint; `besides` is what else could
    have been named.
    """
    if name == "wordllama":
        from ragworthy.index.models import Wordllama

        return Wordllama()
    if name == "minilm":
        from ragworthy.index.models import Minilm

        return Minilm()
    if found := _ENDPOINT.fullmatch(name):
        from ragworthy.index.endpoint import Endpoint

        return Endpoint(found["model"], found["url"])
    raise usage_error(f'expected a model ({besides}wordllama, minilm or openai:MODEL@URL), got "{shown(name)}"')


def endpoint_url(name: str) -> str | None:
    """The address that a model of this name would be asked at; None for a model that runs here.

    >>> endpoint_url("openai:tiny@http://localhost:8080/v1"), endpoint_url("wordllama")
    ('http://localhost:8080/v1', None)
    """
    found = _ENDPOINT.fullmatch(name)
    return found["url"] if found else None


def distance(a: Floats, b: Floats) -> Doubles:
    """1 − cos of each row of `a` with the same row of `b`, unclamped, to 6 decimals; 1 where a row is zero.

    >>> distance(np.array([[3, 4], [0, 0]]), np.array([[4, 3], [1, 0]])).tolist()
    [0.04, 1.0]
    """
    one, other = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", other, other))
    products = np.einsum("ij,ij->i", one, other)
    return rounded(1 - np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0))


def text_distances(embedder: Embedder, left: Sequence[str], right: Sequence[str]) -> Doubles:
    """The distance of each left text to the right text at the same place; a repeated text is embedded once."""
    if len(left) != len(right):
        raise ValueError(f"expected as many texts on both sides, got {len(left)} and {len(right)}")
    rows = {text: row for row, text in enumerate(dict.fromkeys([*left, *right]))}
    vectors = embedder.embed(list(rows))
    ones, others = ([rows[text] for text in side] for side in (left, right))
    found = np.empty(len(left))
    for start in range(0, len(left), _AT_ONCE):  # some at a time: all of them as doubles would leave the caches
        part = slice(start, start + _AT_ONCE)
        found[part] = distance(vectors[ones[part]], vectors[others[part]])
    return found


def delta_s(x: Iterable[float], y: Iterable[float]) -> tuple[float, float]:
    """1 − cos of two plain vectors to 6 decimals, raw and clamped to 0 … 1; 1 where one of them is zero.

    >>> delta_s([3, 4], [4, 3]), delta_s([1, 0], [-1, 0]), delta_s([0, 0], [1, 0])
    ((0.04, 0.04), (2.0, 1.0), (1.0, 1.0))
    """
    one, other = list(x), list(y)
    length = math.hypot(*one) * math.hypot(*other)
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    raw = round(1 - product / length, DECIMALS) + 0.0 if length else 1.0
    return raw, min(1.0, max(0.0, raw))
