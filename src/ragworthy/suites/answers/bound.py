"""Gold evidence compared with the corpus that was given: which chunks hold it, and which gold ids are in no chunk."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ragworthy.ids import stable
from ragworthy.load.gold import Bind, GoldDecoder, Groups, name_of, names_evidence
from ragworthy.load.sources import Source
from ragworthy.metrics.facts.pieces import every_piece
from ragworthy.records import Chunk, Gold
from ragworthy.suites.answers.stale import Stale, stale
from ragworthy.suites.reading import Reader, reader
from ragworthy.suites.unfound import Absence, guessed

STEPS = ("exact", "normalised", "overlap", "parts", "source", "unbound")
"""How evidence is bound, the surest step first; what the binder calls them."""


class Lost(NamedTuple):
    """Evidence of a question that no chunk holds, and why."""

    qid: str
    text: str
    why: str


class Bindings(NamedTuple):
    """How the evidence of a gold set was bound."""

    how: Counter[str]
    """How many evidence texts and sources each step found."""
    items: int
    """How many questions name evidence."""
    lost: list[Lost]
    elsewhere: list[str]
    """Questions whose evidence was found, but not where the gold set says, or not in one document only; with why."""
    differing: list[str]
    """Questions whose ids are not among the chunks that hold their evidence."""
    gone: list[str]
    """Gold ids of other questions that no chunk has."""
    ids: int
    """How many gold ids these questions have."""
    bind: Bind | None = None
    stale: Stale = Stale()
    """Other questions whose ids are of another chunking, as their texts show."""
    again: int = 0
    """Chunks that are in the corpus once more."""
    retrieved: bool = False
    """Whether the corpus is what a run retrieved and nothing else: evidence that is not in it was not found."""

    docs: Mapping[str, str] = {}
    """The document of each chunk by its id, where the corpus says it."""

    @property
    def absence(self) -> Absence:
        """What is known of evidence that was not retrieved: this corpus has it, unless it is what a run retrieved."""
        if self.retrieved:
            return guessed(len(self.lost) + len(self.gone), sum(self.how.values()) + self.ids)
        return guessed(len(self.gone), self.ids) if self.gone else Absence.RANKED

    @property
    def invalid(self) -> list[str]:
        """Why metrics of citations say nothing here."""
        reasons = []
        if self.lost and not self.retrieved:
            one = self.lost[0]
            total = sum(self.how.values())
            said = f"{len(self.lost)} of {total} pieces of gold evidence are in no chunk"
            reasons.append(f"{said}, e.g. that of {one.qid}: {one.why} [RW-G17]")
        if self.gone:
            share = f"{len(self.gone)} of {self.ids} gold ids are not in the corpus"
            reasons.append(f"{share}, e.g. {self.gone[0]} [RW-G13]")
        return [*reasons, *self.stale.invalid]


def bindings(gold: Source, chunks: Sequence[Chunk], texts: Mapping[str, str] | None = None) -> Bindings:
    """Every gold item compared with the chunks. The binder is made only where there is something to bind.

    With the folded texts of the chunks, the ids of items that name no evidence are compared with them too.
    """
    from ragworthy.load.chunks import only_retrieved

    found = Bindings(Counter(), 0, [], [], [], [], 0)
    known = {name for chunk in chunks for name in (chunk.name, stable(chunk.name))}
    items, ids, by_id = 0, 0, list[Gold]()
    decoder = GoldDecoder()
    for block in gold.blocks():
        for one in decoder.records(block):
            if names_evidence(one):
                found = found if found.bind is not None else found._replace(bind=_binding(chunks, found))
                items += 1
                if found.bind is not None:
                    _compare(one, found.bind(one), found)
            elif one.answerable:
                ids += len(one.gold_citations or ())
                by_id.append(one)
                found.gone.extend(n for n in one.gold_citations or () if n not in known and stable(n) not in known)
    return found._replace(
        items=items,
        ids=ids,
        stale=stale(by_id, texts or {}),
        again=len(chunks) - len({one.name for one in chunks}),
        retrieved=only_retrieved(chunks),
        docs={chunk.name: chunk.doc_id for chunk in chunks if chunk.doc_id},
    )


def _binding(chunks: Sequence[Chunk], found: Bindings) -> Bind:
    """A function that binds an item; the first time it meets one, it writes down how."""
    from ragworthy.corpus.binding import Binder

    binder = Binder(chunks)
    seen: set[str] = set()

    def bind(gold: Gold) -> Groups:
        bound = binder.bind(gold.gold_evidence or (), gold.gold_source or (), every_piece(gold))
        qid = name_of(gold)
        if qid not in seen:
            seen.add(qid)
            found.how.update(bound.how)
            found.lost.extend(Lost(qid, one.text, one.why) for one in bound.unbound)
            found.elsewhere.extend(f"{qid} ({note})" for note in bound.notes)
        return [*map(list, bound.groups), *([] for _ in bound.unbound)]

    return bind


def _compare(gold: Gold, groups: Groups, found: Bindings) -> None:
    """Note a question whose ids, written down earlier, are not where its evidence is now."""
    given, held = set(gold.gold_citations or ()), [set(group) for group in groups if group]
    if given and held and (not given <= set[str]().union(*held) or not all(given & group for group in held)):
        found.differing.append(name_of(gold))


def bound_to(gold: Source, corpus: Any) -> Bindings:
    """How a gold set is bound to a corpus."""
    from ragworthy.index.blocks import chunk_source
    from ragworthy.load.chunks import read_chunks, retrieved_nothing

    return bindings(gold, read_chunks(chunk_source(corpus), empty=retrieved_nothing(corpus)))


def is_whole(bound: Bindings | None) -> bool:
    """Whether evidence that no chunk holds is not in the index: the corpus is not a list of what a run retrieved."""
    return bound is None or not bound.retrieved


def gold_reader(source: Source, found: Bindings | None) -> Reader:
    """How gold items are read: each with the chunks that hold its evidence."""
    bind = found.bind if found is not None else None
    return reader(source, Gold)._replace(decoder=partial(GoldDecoder, bind))
