"""What is wanted: a gold question of the retrieval suite, ready to be compared with any run."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from zlib import crc32

from ragworthy.ids import section_key, stable
from ragworthy.metrics.facts.judgements import ids_of, is_named, wordings_of
from ragworthy.metrics.facts.pieces import needed
from ragworthy.metrics.facts.placed import Place, kind_of, place_of
from ragworthy.metrics.facts.redirects import Redirects
from ragworthy.records import GoldSource, RetrievalGold
from ragworthy.text import fold, squeeze

if TYPE_CHECKING:
    from ragworthy.metrics.facts.refusals import Refusals

Span: TypeAlias = tuple[int, int] | None
GONE = "gone:"
"""Is before an id whose text the newest version no longer has."""


class Section(NamedTuple):
    """A section to answer from, with the documents it may be in; none when they are not known."""

    path: str
    docs: frozenset[str]

    def holds(self, place: Place, subtree: bool = False) -> bool:
        """Whether a block is in this section (or below it)."""
        if place.section is None or not self.path:
            return False
        if self.docs and place.doc is not None and place.doc not in self.docs:
            return False
        if self.path in (place.section, place.page):
            return True
        return subtree and place.section.startswith(f"{self.path}.")


class Group(NamedTuple):
    """An evidence text or a source as the chunks of an index that hold it: alternatives of each other."""

    name: str
    ids: tuple[str, ...]
    why: str = ""
    """Why no chunk holds it."""
    key: str = ""
    """What grades call it, besides its name."""


class Wanted(NamedTuple):
    """One gold question, ready to be compared: each relevant block under every id it has now."""

    qid: str
    answerable: bool
    wordings: tuple[str, ...]
    names: Mapping[str, int]
    """The relevant ids as the gold set has them, with the number of the block that each is part of now."""
    blocks: tuple[frozenset[str], ...]
    """The ids that each block has now; none where its text is gone. Blocks that were merged are one."""
    grades: tuple[int, ...]
    ids: Mapping[str, tuple[int, ...]]
    """Every id that counts, with the numbers of its blocks."""
    negatives: frozenset[str]
    anchor: Section | None
    spots: tuple[tuple[str, Place], ...]
    """Where the relevant blocks are, by id, with their bytes."""
    types: tuple[str, ...]
    section_tokens: int
    slices: tuple[str, ...] = ()
    question: str | None = None
    named: Mapping[int, Group] = {}
    """The blocks that stand for an evidence text, a source or a document, by number."""
    documents: int = 0
    """How many of its ids name documents."""
    by_evidence: bool = False
    """Whether it names evidence or sources."""
    pieces: Sequence[Sequence[str]] = ()
    """Groups of texts of which a right claim has one each."""
    document: str | None = None
    """The document of its first relevant block, where that is known."""
    cluster: str | int | None = None
    """What it stands or falls with, where the gold item says so."""


class Moves(NamedTuple):
    """Where ids have gone since the gold set was written."""

    redirects: Redirects
    live: frozenset[str]
    """The ids of the newest version, which stand for themselves."""
    gold_hash: str | None = None
    """The index that the gold set was frozen on."""
    recut: frozenset[str] = frozenset()
    """Ids of blocks that became others because the cuts moved, and not the text."""

    def gold(self, name: str, index_hash: str | None = None) -> tuple[str, ...]:
        """Every id that a gold id stands for now; none when its text is gone."""
        if (index_hash or self.gold_hash) == self.redirects.versions[-1]:
            return (name,)
        return self.redirects.resolve(name)

    def is_earlier(self, index_hash: str | None) -> bool:
        """Whether something was written against an earlier version."""
        return index_hash in self.redirects.versions[:-1]

    def trace(self, name: str, offsets: Span, index_hash: str | None) -> tuple[str, Span]:
        """The id and bytes that a trace means: as they are, unless it was written against an earlier version."""
        if not self.is_earlier(index_hash) and (name in self.live or index_hash == self.redirects.versions[-1]):
            return name, offsets
        now = self.redirects.resolve(name)
        if not now:
            return f"{GONE}{name}", None  # the old id may name another text by now
        if offsets is None or offsets[0] >= offsets[1]:
            return now[0], None
        places = self.redirects.places(name, offsets)
        return places[0].id if places else now[0], places[0].offsets if places else None


class Rules(NamedTuple):
    """How a run is read; part of the policy and of the receipt."""

    ks: tuple[int, ...] = (1, 3, 5, 10)
    subtree: bool = False
    refusals: frozenset[str] = frozenset()
    by_rule: "Refusals | None" = None
    """What else is a refusal, besides the exact texts."""
    place: Callable[[str], Place] = place_of
    moves: Moves | None = None
    groups: Callable[[RetrievalGold], Sequence[Group]] | None = None
    """Evidence and sources as chunks of the corpus, where there is one."""
    texts: Mapping[str, str] | None = None
    """The texts of the corpus, folded for comparison, where there is one."""
    document: Callable[[str], tuple[str, ...]] = lambda name: ()
    """The chunks of a document that is named instead of an id."""


def wanted_of(gold: RetrievalGold, rules: Rules, tokens: Callable[[Section], int], slices: tuple[str, ...]) -> Wanted:
    """A gold question, with its ids followed through redirects and placed in the corpus."""
    names, blocks, named = _blocks(gold, rules)
    ids: dict[str, tuple[int, ...]] = {}
    for number, block in enumerate(blocks):
        for name in sorted(block):
            ids[name] = (*ids.get(name, ()), number)
    spots = _spots(gold, names, blocks, rules)
    anchor = _anchor(gold.anchor_section or "", list(spots.values()))
    if anchor is not None and rules.moves is not None:
        anchor = _moved_anchor(anchor, names, blocks, spots)
    grades = {stable(name): grade for name, grade in (gold.grades or {}).items()}
    for group in named.values():
        grades.setdefault(group.name, grades.get(group.key, 1))
    negatives = {now for name in gold.negatives or [] for now in _meant(stable(name), rules, gold)}
    return Wanted(
        qid=gold.name,
        answerable=gold.answerable,
        wordings=tuple(wordings_of(gold)),
        names=names,
        blocks=tuple(blocks),
        grades=_grades(names, len(blocks), grades),
        ids=ids,
        negatives=frozenset(negatives - ids.keys()),
        anchor=anchor,
        spots=tuple(spots.items()),
        types=tuple(_type(block, spots, whole=number in named) for number, block in enumerate(blocks)),
        section_tokens=tokens(anchor) if anchor else 0,
        slices=slices,
        question=gold.question,
        named=named,
        by_evidence=is_named(gold),
        pieces=needed(gold),
        documents=0 if is_named(gold) else sum(bool(rules.document(name)) for name in map(stable, ids_of(gold))),
        document=_document(gold, blocks, spots),
        cluster=gold.cluster,
    )


def _document(gold: RetrievalGold, blocks: Sequence[frozenset[str]], spots: Mapping[str, Place]) -> str | None:
    """The document of the first relevant block: as the corpus says, as the gold item says, as the id says."""
    first = min(blocks[0], default=None) if blocks else None
    place = spots.get(first) if first is not None else None
    if place is not None and place.doc is not None:
        return place.doc
    for source in gold.gold_source or ():
        return source.doc if isinstance(source, GoldSource) else source
    return None


def _type(block: frozenset[str], spots: Mapping[str, Place], *, whole: bool) -> str:
    """The type of a block; of a group the one that all its chunks have."""
    kinds = {kind_of(spots[name].type) for name in (block if whole else [min(block)] if block else ())}
    return kinds.pop() if len(kinds) == 1 else ""


def _blocks(gold: RetrievalGold, rules: Rules) -> tuple[dict[str, int], list[frozenset[str]], dict[int, Group]]:
    """What is relevant with the number of its block, what each block stands for now, and the groups among them."""
    names: dict[str, int] = {}
    blocks: list[frozenset[str]] = []
    named: dict[int, Group] = {}

    def add(name: str, block: frozenset[str]) -> int:
        if block and block in blocks:
            names[name] = blocks.index(block)
        else:
            names[name] = len(blocks)
            blocks.append(block)
        return names[name]

    if is_named(gold) and rules.groups is not None:  # ids beside evidence are where it lay on some day
        for group in rules.groups(gold):
            named.setdefault(add(group.name, frozenset(group.ids)), group)
        return names, blocks, named
    bound = [list(map(stable, some)) for some in gold.gold_groups or [] if some]
    for some in bound:  # as they were bound: any of them will do
        add(some[0], frozenset(now for one in some for now in _now(one, rules, gold)))
    for name in dict.fromkeys(map(stable, () if bound else ids_of(gold))):
        document = rules.document(name)
        if document:
            named[add(name, frozenset(document))] = Group(name, document)
        else:
            add(name, frozenset(_now(name, rules, gold)))
    return names, blocks, named


def _grades(names: Mapping[str, int], count: int, given: Mapping[str, int]) -> tuple[int, ...]:
    """The grade of each block: the best of those that were merged into it."""
    grades = [0] * count
    for name, number in names.items():
        grades[number] = max(grades[number], given.get(name, 1))
    return tuple(grades)


def _meant(name: str, rules: Rules, gold: RetrievalGold) -> tuple[str, ...]:
    """The ids that a name stands for now: of a document all its chunks."""
    return rules.document(name) or _now(name, rules, gold)


def _now(name: str, rules: Rules, gold: RetrievalGold) -> tuple[str, ...]:
    return (name,) if rules.moves is None else rules.moves.gold(name, gold.index_hash)


def _spots(
    gold: RetrievalGold, names: Mapping[str, int], blocks: Sequence[frozenset[str]], rules: Rules
) -> dict[str, Place]:
    """Where the relevant blocks stand now, with the bytes the gold set gives them; nowhere where the text is gone."""
    spots = {one: rules.place(one) for block in blocks for one in sorted(block)}
    for name, span in (gold.relevant_offsets or {}).items():
        places = {stable(name): span}
        if rules.moves is not None:
            places = {place.id: place.offsets for place in rules.moves.redirects.places(stable(name), span)}
        for one, offsets in places.items():
            if one in spots and stable(name) in names:
                spots[one] = spots[one]._replace(span=offsets)
    return spots


def _anchor(text: str, spots: Sequence[Place]) -> Section | None:
    """The anchor section; where it names no document, it is in those of the relevant blocks."""
    if not text:
        return None
    doc, _, path = section_key(text).rpartition("|s=")
    doc = doc.partition("|r=")[0]
    docs = {doc} if doc else {spot.doc for spot in spots if spot.doc is not None}
    return Section(path, frozenset(docs))


def _moved_anchor(
    anchor: Section, names: Mapping[str, int], blocks: Sequence[frozenset[str]], spots: Mapping[str, Place]
) -> Section:
    """The anchor section after a renaming: where the first relevant block that stood in it stands now."""
    for name, number in names.items():
        place = spots[min(blocks[number])] if blocks[number] else None
        if place is not None and place.section is not None and place_of(name).section == anchor.path:
            docs = {place.doc} if place.doc is not None else anchor.docs
            return Section(place.section, frozenset(docs))
    return anchor


NO_WORDING = 1 << 32
"""From this number on: a wording that the gold question does not have, told apart by its text."""


def same_text(text: str) -> str:
    """The form in which wordings are compared: case and spaces do not count.

    >>> same_text(" How  BIG? ") == same_text("how big?")
    True
    """
    return squeeze(fold(text)).strip()


def wording_of(wanted: Wanted, query: str) -> int:
    """The number of a wording, by its text: exactly as the gold set has it, else but for case and spaces.

    A text that the gold set does not have gets a number of its own, so that two of them are never taken for one.
    """
    if query in wanted.wordings:
        return wanted.wordings.index(query)
    text = same_text(query)
    known = [same_text(one) for one in wanted.wordings]
    return known.index(text) if text in known else NO_WORDING + crc32(text.encode("utf-8", "surrogatepass"))


def asks_otherwise(wanted: Wanted, query: str | None) -> bool:
    """Whether a text is none of the wordings of a gold question; nothing can be said where one of both is not there."""
    if not query or not (wanted.wordings or wanted.question) or query in wanted.wordings:
        return False
    return same_text(query) not in map(same_text, (*wanted.wordings, wanted.question or ""))
