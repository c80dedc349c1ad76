"""The model `ngram`: ΔS over character n-grams, each weighted by how few chunks of a corpus have it.

A text is lower case with its white space folded, and stands for the n-grams in it: n = 3, 4 and 5, or 1, 2 and 3 where
more than 30 % of the corpus is CJK. An n-gram that is in it tf times, and in df of the N chunks, weighs
(1 + ln tf) · ln(1 + N / (1 + df)). The distance of two texts is one minus the cosine of their weights. There is nothing
to install, and it means something in every language.

The same on every machine: logarithms are rounded correctly (by `decimal`, not by the libraries of a machine), and sums
have one order. An n-gram is known by 64 bits that its characters give; two n-grams of a corpus with a million of them
share these once in forty million corpora.
"""

import hashlib
import json
import math
from array import array
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragworthy.index.ranking import DECIMALS, Doubles
from ragworthy.text import has_cjk

NAME = "ngram"
SCHEMA = "ragworthy.ngrams/1"
"""Of the file, and of how weights are made: another way to make them is another schema, and another hash."""
SIZES, CJK_SIZES = (3, 4, 5), (1, 2, 3)
CJK_PERCENT = 30
FACTOR = np.uint64(0x9E3779B97F4A7C15)
BATCH = 1 << 22
"""How many n-grams are held before they are counted together."""
REMEMBERED = 1 << 23
"""How many n-grams of texts are remembered, sixteen bytes each."""
_PRECISE = Context(prec=30)

Keys: TypeAlias = NDArray[np.uint64]
Counts: TypeAlias = NDArray[np.uint32]


def folded(text: str) -> str:
    """A text as its n-grams are taken.

    >>> folded("  Who\\n\\tsigns? ")
    'who signs?'
    """
    return " ".join(text.lower().split())


def keys_of(text: str, sizes: Sequence[int]) -> Keys:
    """The key of every n-gram of a text, as often as it is there.

    >>> len(keys_of("abcde", (3, 4, 5))), len(keys_of("ab", (3, 4, 5)))
    (6, 0)
    """
    signs = np.frombuffer(folded(text).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    found, keys = [], np.ones(len(signs) + 1, dtype=np.uint64)
    for size in range(1, min(max(sizes), len(signs)) + 1):
        keys = keys[:-1] * FACTOR + signs[size - 1 :]
        if size in sizes:
            found.append(keys)
    return np.concatenate(found) if found else np.empty(0, dtype=np.uint64)


@lru_cache(maxsize=1 << 16)
def logarithm(above: int, below: int = 1) -> float:
    """ln(above / below), the same on every machine.

    >>> logarithm(3, 2), logarithm(1)
    (0.4054651081081644, 0.0)
    """
    return float(_PRECISE.ln(_PRECISE.divide(Decimal(above), Decimal(below))))


# how many chunks have an n-gram


class Table(NamedTuple):
    """How many chunks of a corpus have each of its n-grams; keys rise."""

    sizes: tuple[int, ...]
    chunks: int
    keys: Keys
    found_in: Counts

    @property
    def sha256(self) -> str:
        """The hash of the weights: two tables that have it give the same distances."""
        digest = hashlib.sha256(_header(self).encode())
        for column in (self.keys.astype("<u8"), self.found_in.astype("<u4")):
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    def as_bytes(self) -> bytes:
        """The table as a file: a line of JSON, the keys, and in how many chunks each is."""
        return _header(self).encode() + self.keys.astype("<u8").tobytes() + self.found_in.astype("<u4").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Table":
        """The table in a file; a ValueError where it holds none."""
        line, _, rest = data.partition(b"\n")
        head = json.loads(line) if len(line) < 1000 else None
        if not isinstance(head, dict) or head.get("schema") != SCHEMA:
            raise ValueError("not a table of n-grams")
        count, chunks = head.get("ngrams"), head.get("chunks")
        if not isinstance(count, int) or not isinstance(chunks, int) or len(rest) != 12 * count:
            raise ValueError("a table of n-grams of another length")
        sizes = next((one for one in (SIZES, CJK_SIZES) if list(one) == head.get("n")), None)
        keys = np.frombuffer(rest, dtype="<u8", count=count).astype(np.uint64)
        found_in = np.frombuffer(rest, dtype="<u4", count=count, offset=8 * count).astype(np.uint32)
        if sizes is None or not (keys[1:] > keys[:-1]).all() or (found_in > chunks).any():
            raise ValueError("a table of n-grams that holds no counts")
        return cls(sizes, chunks, keys, found_in)


def _header(table: Table) -> str:
    head = {"schema": SCHEMA, "n": list(table.sizes), "chunks": table.chunks, "ngrams": len(table.keys)}
    return json.dumps(head, separators=(",", ":")) + "\n"


def sizes_for(texts: Iterable[str]) -> tuple[int, ...]:
    """Which n-grams count in a corpus: short ones where more than 30 % of its characters, spaces aside, are CJK.

    >>> sizes_for(["plain text"]), sizes_for(["北京 is a city"])
    ((3, 4, 5), (3, 4, 5))
    >>> sizes_for(["北京是首都 Beijing"])
    (1, 2, 3)
    """
    cjk = total = 0
    for text in texts:
        total += sum(map(len, text.split()))
        cjk += 0 if text.isascii() else sum(often for sign, often in Counter(text).items() if has_cjk(sign))
    return CJK_SIZES if 100 * cjk > CJK_PERCENT * total else SIZES


def count(texts: Sequence[str]) -> Table:
    """In how many of these chunks each n-gram is; their order does not matter."""
    sizes = sizes_for(texts)
    keys, found_in = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint32)
    for batch in _batches(texts, sizes):
        keys, place = np.unique(np.concatenate([keys, batch]), return_inverse=True)
        before, found_in = found_in, np.bincount(place[len(found_in) :], minlength=len(keys)).astype(np.uint32)
        found_in[place[: len(before)]] += before
    return Table(sizes, len(texts), keys, found_in)


def _batches(texts: Iterable[str], sizes: Sequence[int]) -> Iterator[Keys]:
    """The n-grams of many chunks, each once for every chunk that has it."""
    held: list[Keys] = []
    size = 0
    for text in texts:
        held.append(np.unique(keys_of(text, sizes)))
        size += len(held[-1])
        if size > BATCH:
            yield np.concatenate(held)
            held, size = [], 0
    if held:
        yield np.concatenate(held)


# distances


class _Vector(NamedTuple):
    """The n-grams of a text with their weights."""

    keys: Keys
    weights: Doubles
    length: float


class Ngram:
    """Distances of texts by the n-grams they share."""

    name = NAME

    def __init__(self, table: Table) -> None:
        self.table = table
        self.weights = table.sha256
        levels, place = np.unique(table.found_in, return_inverse=True)
        self._new = self._rarity(0)
        self._rare = np.append(np.array([self._rarity(int(one)) for one in levels])[place], self._new)
        self._keys = np.append(table.keys, np.uint64(0))  # what is greater than all keys leads to the last one
        self._often = _ups(64)
        self._texts: OrderedDict[str, _Vector] = OrderedDict()
        self._held = 0

    def _rarity(self, found_in: int) -> float:
        return logarithm(1 + found_in + self.table.chunks, 1 + found_in)

    def distances(self, left: Sequence[str], right: Sequence[str]) -> Doubles:
        """1 − cos of each left text and the right text at the same place, to 6 decimals; 1 without n-grams."""
        found = array("d")
        for one, other in zip(left, right, strict=True):
            found.append(_distance(self._vector(one), self._vector(other)))
        return np.array(found)

    def _vector(self, text: str) -> _Vector:
        known = self._texts.get(text)
        if known is not None:
            self._texts.move_to_end(text)
            return known
        made = self._made(text)
        self._texts[text] = made
        self._held += len(made.keys)
        while self._held > REMEMBERED and len(self._texts) > 1:
            self._held -= len(self._texts.popitem(last=False)[1].keys)
        return made

    def _made(self, text: str) -> _Vector:
        every = np.sort(keys_of(text, self.table.sizes))
        if not len(every):
            return _Vector(every, np.empty(0), 0.0)
        edges = np.ones(len(every) + 1, dtype=bool)
        np.not_equal(every[1:], every[:-1], out=edges[1:-1])
        (places,) = edges.nonzero()
        keys, often = every[places[:-1]], places[1:] - places[:-1]
        if often.max() >= len(self._often):
            self._often = _ups(2 * int(often.max()))
        place = self.table.keys.searchsorted(keys)
        weights = np.where(self._keys[place] == keys, self._rare[place], self._new) * self._often[often]
        return _Vector(keys, weights, math.sqrt(_sum(weights * weights)))


def _sum(values: Doubles) -> float:
    """The sum from the first to the last; other ways to add up depend on the machine."""
    return float(values.cumsum()[-1]) if len(values) else 0.0


def _ups(most: int) -> Doubles:
    """1 + ln tf by tf, from 0 (which nothing has) to the one before `most`."""
    return np.array([0.0, *(1 + logarithm(tf) for tf in range(1, most))])


def _distance(one: _Vector, other: _Vector) -> float:
    if not one.length or not other.length:
        return 1.0
    short, long = (one, other) if len(one.keys) <= len(other.keys) else (other, one)
    place = long.keys.searchsorted(short.keys)
    place[place == len(long.keys)] = 0
    (shared,) = (long.keys[place] == short.keys).nonzero()
    product = _sum(short.weights[shared] * long.weights[place[shared]])
    return round(1 - product / (one.length * other.length), DECIMALS) + 0.0
