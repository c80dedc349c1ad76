"""`gold bind`: the chunks of the day written into a gold set from its evidence, and what could not be found."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.corpus.binding import EXACT, NORMALISED, SOURCE, UNBOUND, Binder, Bound
from ragworthy.errors import DataError, Problem, data_error
from ragworthy.files import write_whole
from ragworthy.gold.commands import open_gold, sound, suite_of
from ragworthy.ids import stable
from ragworthy.index.blocks import chunk_source
from ragworthy.load.chunks import read_chunks
from ragworthy.load.evidence import wrong_evidence
from ragworthy.load.sources import Source
from ragworthy.metrics.facts.pieces import grouped
from ragworthy.records import Chunk, GoldSource

IDS = {"answers": "gold_citations", "retrieval": "relevant"}
"""The field that the ids of a suite are in."""
STALE = ("relevant_offsets", "index_hash", "bound")
"""What belongs to the chunks of another day."""
SURE = (EXACT, NORMALISED, SOURCE)


class Piece(NamedTuple):
    """One evidence text, or one source without a text, and the chunks that hold it."""

    qid: str
    question: str
    text: str
    how: str
    groups: tuple[tuple[str, ...], ...]
    why: str = ""
    nearest: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """The piece as JSON has it; what there is nothing to say of is left out."""
        row = {"qid": self.qid, "evidence": self.text, "how": self.how, "groups": [list(one) for one in self.groups]}
        more = {"why": self.why, "nearest": list(self.nearest), "notes": list(self.notes)}
        return row | {key: value for key, value in more.items() if value}


class Bindings(NamedTuple):
    """What was bound, and the items as they are written."""

    items: list[dict[str, Any]]
    pieces: list[Piece]
    without: int
    """Answerable items that name neither evidence nor a source: they stay as they are."""

    @property
    def how(self) -> Counter[str]:
        """How many pieces each step found."""
        return Counter(piece.how for piece in self.pieces)

    @property
    def unbound(self) -> list[Piece]:
        """What no chunk holds."""
        return [piece for piece in self.pieces if piece.how == UNBOUND]


class Evidence(NamedTuple):
    """What an item says of its evidence."""

    texts: list[str]
    sources: list[str | GoldSource]
    keys: list[str]

    @classmethod
    def of(cls, value: dict[str, Any]) -> "Evidence":
        """From the fields of an item, which were checked before."""
        if value.get("answerable") is False:
            return cls([], [], [])
        given = [msgspec.convert(one, str | GoldSource) for one in value.get("gold_source") or ()]
        keys = [*(value.get("gold_claim_substr") or ()), *chain(*grouped(value.get("gold_claim_all")))]
        return cls(value.get("gold_evidence") or [], given, keys)

    def __bool__(self) -> bool:
        return bool(self.texts or self.sources)

    def bound(self, binder: Binder) -> Iterator[tuple[str, Bound]]:
        """Each text, or each source where there are no texts, with the chunks that hold it."""
        for text in self.texts:
            yield text, binder.bind([text], self.sources, self.keys)
        for source in () if self.texts else self.sources:
            yield str(source), binder.bind([], [source])


def bind(gold: Path, corpus: Path, out: Path, review: Path | None = None) -> Bindings:
    """Write a gold set with the chunks that hold its evidence; the old file stays."""
    source = open_gold(gold)
    suite = suite_of(source)
    items = _items(source)
    if suite not in IDS or not any(Evidence.of(value) for _, value in items):
        raise data_error("RW-G18", "expected items with gold_evidence or gold_source, got none", where=source.given)
    shelf = chunk_source(corpus)
    chunks = read_chunks(shelf)
    found = bindings(items, chunks, suite, shelf.sha256())
    encode = msgspec.json.Encoder().encode
    write_whole(out, b"".join(encode(item) + b"\n" for item in found.items))
    if review is not None:
        texts = {chunk.name: chunk for chunk in chunks}
        rows = [_review(piece, texts) for piece in found.pieces if piece.how not in SURE or piece.notes]
        write_whole(review, b"".join(encode(row) + b"\n" for row in rows))
    return found


def _items(source: Source) -> list[tuple[str, dict[str, Any]]]:
    """Every item by its id; raises what is wrong with them."""
    items = [(item.qid, item.line, item.value) for item in sound(source)]
    problems = [
        Problem("RW-G03", message, source.at(line), field)
        for _, line, value in items
        for field, message in wrong_evidence(value)
    ]
    if problems:
        raise DataError(problems)
    return [(qid, value) for qid, _, value in items]


def bindings(items: Sequence[tuple[str, dict[str, Any]]], chunks: Sequence[Chunk], suite: str, sha256: str) -> Bindings:
    """Every item with the chunks that hold its evidence, and the hash of the corpus that they are of."""
    binder = Binder(chunks)
    written: list[dict[str, Any]] = []
    pieces: list[Piece] = []
    without = 0
    for qid, value in items:
        mine: list[Piece] = []
        evidence = Evidence.of(value)
        without += not evidence and value.get("answerable") is not False
        for text, bound in evidence.bound(binder):
            lost = bound.unbound[0] if bound.unbound else None
            why, nearest = (lost.why, lost.nearest) if lost is not None else ("", ())
            question = str(value.get("question") or "")
            mine.append(Piece(qid, question, text, bound.how[0], bound.groups, why, nearest, bound.notes))
        pieces += mine
        written.append(_written(value, mine, suite) | {"bound": {"corpus_sha256": sha256}} if mine else value)
    return Bindings(written, pieces, without)


def _written(value: dict[str, Any], pieces: Sequence[Piece], suite: str) -> dict[str, Any]:
    """An item with its ids, and with its groups where ids alone would say something else: alternatives, or a loss."""
    own = stable if suite == "retrieval" else str
    groups = [[own(name) for name in group] for piece in pieces for group in piece.groups or ((),)]
    flat = list(dict.fromkeys(name for group in groups for name in group))
    fresh = {key: one for key, one in value.items() if key != "gold_groups" and key not in STALE}
    fresh[IDS[suite]] = flat
    if isinstance(value.get("grades"), dict):
        fresh["grades"] = {name: grade for name, grade in value["grades"].items() if name in flat}
    return fresh if groups == [[name] for name in flat] else fresh | {"gold_groups": groups}


def _review(piece: Piece, chunks: dict[str, Chunk]) -> dict[str, Any]:
    """A piece that somebody should look at, with the texts of the chunks that it could be."""
    names = list(dict.fromkeys([*(name for group in piece.groups for name in group), *piece.nearest]))
    candidates = [{"id": name, "doc_id": chunks[name].doc_id, "text": chunks[name].text} for name in names]
    row = piece.row()
    return {"qid": piece.qid, "question": piece.question} | row | {"candidates": candidates}
