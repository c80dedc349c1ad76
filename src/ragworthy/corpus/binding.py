"""Evidence bound to the chunks of the day: which chunks hold a text that somebody named as evidence.

A chunk holds an evidence text when it holds all its words in one run. Where its border cuts the text, it holds it when
what a right answer says (a key) is on this side, and its neighbours of the same document hold the rest; at least 0.60
of the text where no key is known. Where the text stands whole, a cut part counts only in the same document, with a key:
when it is most of the text, or what is around it is the same. Where no chunk holds it, the text may have been edited: a
chunk then holds it when 0.75 of its words are in one window of the chunk in the same order, and every number among
them; here too the side with a key wins. All chunks that hold a text are alternatives of each other: a group. A text
that is longer than the chunks, or cut where neither side has enough, is held by several together: a group for each
part. Only what rests on whole texts alone is called exact or normalised.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ragworthy.corpus.comparing import best_window, common, forms_of, keys_of
from ragworthy.corpus.cuts import (
    BORDER,
    CUT,
    EDITED,
    Span,
    Words,
    backward,
    by_document,
    cover,
    edge,
    enough,
    forward,
    keep,
    length,
    most_of,
    places,
    same_place,
    says_enough,
    shares,
    sides,
    with_key,
)
from ragworthy.corpus.origins import Origins, document_of
from ragworthy.ids import natural
from ragworthy.records import Chunk, GoldSource

FEWEST = 5
"""A text with fewer words says too little to be recognised when it was edited."""
SEVERAL = 3
"""So many of the rarest words, besides those that may be missing, are looked up before a chunk is compared."""
NEAR = 8
"""So many chunks are looked at for the two sides of an edited text that a border cuts."""

EXACT, NORMALISED, OVERLAP, PARTS, SOURCE, UNBOUND = "exact", "normalised", "overlap", "parts", "source", "unbound"
HOW = (EXACT, NORMALISED, OVERLAP, PARTS, SOURCE, UNBOUND)


class Unbound(NamedTuple):
    """Evidence or a source that no chunk holds, and why."""

    text: str
    why: str
    nearest: tuple[str, ...] = ()
    """The chunk that came nearest."""


class Bound(NamedTuple):
    """The chunks of one gold item. Every group is needed; inside a group any chunk will do."""

    groups: tuple[tuple[str, ...], ...]
    unbound: tuple[Unbound, ...] = ()
    how: tuple[str, ...] = ()
    """For each evidence text, or for each source where there is no text: which step found it."""
    notes: tuple[str, ...] = ()


class _Held(NamedTuple):
    groups: list[list[int]]
    how: str
    why: str = ""
    nearest: int | None = None


class Binder:
    """Finds evidence in chunks. Built once; the order of the chunks makes no difference."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._chunks = list(chunks)
        forms = [forms_of(chunk.text) for chunk in self._chunks]
        self._words: list[Words] = [some[0] for some in forms]
        self._runs = ["\n".join(map(_run, some)) for some in forms]
        self._origins = Origins(self._chunks)
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._heads: dict[Words, list[Span]] = defaultdict(list)
        self._tails: dict[Words, list[Span]] = defaultdict(list)
        for number, words in enumerate(self._words):
            for key in {key for some in forms[number] for key in keys_of(some)}:
                self._postings[key].append(number)
            for off in (0, 1):  # a chunk may begin and end inside a word
                if len(words) >= BORDER + off:
                    self._heads[words[off : off + BORDER]].append((number, off))
                    self._tails[words[len(words) - off - BORDER : len(words) - off]].append((number, off))
        self._known: dict[tuple[str, frozenset[int] | None, tuple[str, ...]], _Held] = {}

    def bind(
        self, evidence: Sequence[str], sources: Sequence[str | GoldSource] = (), keys: Sequence[str] = ()
    ) -> Bound:
        """The chunks that hold each evidence text, looked for in its sources first; without texts, all of a source.

        `keys` are texts of which a right answer has one: where a border cuts the evidence, the side with a key counts.
        """
        named = [self._origins.named(source) for source in sources]
        notes = [one.note for one in named if one.note]
        if not evidence:
            return self._whole_sources(sources, notes)
        notes += [one.why for one in named if one.why]
        inside = frozenset[int]().union(*(one.numbers or one.document for one in named)) or None
        groups: list[tuple[str, ...]] = []
        unbound: list[Unbound] = []
        how: list[str] = []
        for text in evidence:
            held = self._held(text, inside, tuple(keys))
            if held.how == UNBOUND and inside is not None:
                held = self._held(text, None, tuple(keys))
                if held.how != UNBOUND:
                    notes.append(f"found outside {', '.join(map(str, sources))}")
            how.append(held.how)
            groups += [self._named(group) for group in held.groups]
            if held.how == UNBOUND:
                nearest = () if held.nearest is None else (self._chunks[held.nearest].name,)
                unbound.append(Unbound(text, held.why, nearest))
        return Bound(tuple(groups), tuple(unbound), tuple(how), tuple(notes))

    def _whole_sources(self, sources: Sequence[str | GoldSource], notes: list[str]) -> Bound:
        named = [(source, self._origins.named(source)) for source in sources]
        return Bound(
            tuple(self._named(one.numbers) for _, one in named if one.numbers),
            tuple(Unbound(str(source), one.why) for source, one in named if not one.numbers),
            tuple(SOURCE if one.numbers else UNBOUND for _, one in named),
            tuple(notes),
        )

    def _named(self, group: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({self._chunks[number].name for number in group}, key=natural))

    def _held(self, text: str, inside: frozenset[int] | None, keys: tuple[str, ...]) -> _Held:
        key = (text, inside, keys)
        if key not in self._known:
            self._known[key] = self._found(text, inside, keys)
        return self._known[key]

    def _found(self, text: str, inside: frozenset[int] | None, keys: tuple[str, ...]) -> _Held:
        """The steps, from the surest on."""
        forms = [words for words in forms_of(text) if words]
        if not forms:
            return self._verbatim(text.strip(), inside)
        words = forms[0]
        whole = {number for form in forms for number in self._whole(form, inside)}
        cut = {number: span for number, span in self._cut(words, inside).items() if number not in whole}
        wanted = places(words, keys)
        beside = self._beside(cut, words, wanted, whole)
        if whole:
            exact = any(text.strip() in self._chunks[number].text for number in whole)
            how = OVERLAP if beside else EXACT if exact else NORMALISED
            return _Held([[*whole, *beside]], how)
        if beside:
            return _Held([sorted(beside)], OVERLAP)
        parts = self._parts(words, cut)
        if parts:
            return _Held(parts, PARTS)
        return self._edited(words, inside, cut, wanted)

    def _verbatim(self, text: str, inside: frozenset[int] | None) -> _Held:
        """A text without a letter or digit is looked for as it is."""
        if not text:
            return _Held([], UNBOUND, "it is empty")
        numbers = range(len(self._chunks)) if inside is None else sorted(inside)
        found = [number for number in numbers if text in self._chunks[number].text]
        return _Held([found], EXACT) if found else _Held([], UNBOUND, "no chunk holds it")

    def _rarest(self, words: Words) -> list[str]:
        """What the words are looked up by, the rarest first."""
        keys = set(keys_of(words)) - {""}
        return sorted(keys or set(words), key=lambda key: (len(self._postings.get(key, ())), key))

    def _whole(self, words: Words, inside: frozenset[int] | None) -> list[int]:
        """The chunks that hold all words in one run."""
        run = _run(words)
        keys = self._rarest(words)
        candidates: Iterable[int] = self._postings.get(keys[0], ())
        if keys[0] not in self._postings and len(words) == 1:  # one character: every chunk may hold it
            candidates = range(len(self._chunks))
        return [n for n in candidates if run in self._runs[n] and (inside is None or n in inside)]

    def _cut(self, words: Words, inside: frozenset[int] | None) -> dict[int, Span]:
        """The part of a text, as a range of its words, that is at the border of each chunk, or fills it."""
        found: dict[int, Span] = {}
        for at in range(len(words) - BORDER + 1):
            for number, off in self._heads.get(words[at : at + BORDER], ()):
                if inside is None or number in inside:
                    keep(found, number, forward(words, at, self._words[number], off))
            end = at + BORDER
            for number, off in self._tails.get(words[at:end], ()):
                if inside is None or number in inside:
                    keep(found, number, backward(words, end, self._words[number], off))
        return found

    def _document(self, number: int) -> str:
        return document_of(self._chunks[number])

    def _beside(self, cut: dict[int, Span], words: Words, wanted: Sequence[Span], whole: set[int]) -> set[int]:
        """The chunks whose border cuts a text and that count for it.

        Where the text stands whole, only those of the same document with a key: that are most of the text, or are in
        the same place.
        """
        found: set[int] = set()
        for document, parts in by_document(cut, self._document).items():
            there = [n for n in whole if self._document(n) == document]
            if not whole:
                found |= sides(parts, words, wanted)
            elif there:
                most = most_of(parts, words)
                found |= {
                    n
                    for n in (with_key(parts, wanted) if wanted else most)
                    if n in most or any(same_place(words, parts[n], self._words[n], self._words[w]) for w in there)
                }
        return found

    def _parts(self, words: Words, cut: dict[int, Span]) -> list[list[int]]:
        """A group for each part of a text that chunks of one document hold together; none where they hold too little.

        The part that holds most comes first; parts are taken until they are most of the text.
        """
        apart = by_document(cut, self._document)
        found: dict[str, list[Span]] = {}
        for document in sorted(apart, key=natural):
            spans = cover(len(words), set(apart[document].values()))
            if enough(length(spans), len(words), CUT) and all(says_enough(words[slice(*span)]) for span in spans):
                found[document] = spans
        if not found:
            return []
        best = max(found.values(), key=length)
        return [[n for doc in found for n, mine in apart[doc].items() if shares(mine, span)] for span in sorted(best)]

    def _edited(
        self, words: Words, inside: frozenset[int] | None, cut: dict[int, Span], wanted: Sequence[Span]
    ) -> _Held:
        """The chunks that hold most of the words in one window, in the same order, and all of the numbers."""
        shares = {number: end - begin for number, (begin, end) in cut.items()}
        numbers = {word for word in words if not word.isalpha() and any(map(str.isdigit, word))}
        held: list[int] = []
        lacking: dict[int, list[str]] = {}
        if len(words) >= FEWEST:
            for number in self._candidates(words, inside):
                window = best_window(words, self._words[number])
                share = common(words, window)
                shares[number] = max(share, shares.get(number, 0))
                if enough(share, len(words), EDITED):
                    missing = sorted(numbers - set(window))
                    if missing:
                        lacking[number] = missing
                    else:
                        held.append(number)
        held = self._with_key(words, [*held, *self._near(words, inside, cut)], held, wanted) if wanted else held
        if held:
            return _Held([held], OVERLAP)
        if not shares:
            return _Held([], UNBOUND, "no chunk holds it")
        nearest = min(shares, key=lambda n: (-shares[n], natural(self._chunks[n].name)))
        most = f"{100 * shares[nearest] // len(words)} % of its words"
        name = self._chunks[nearest].name
        if nearest in lacking:
            return _Held([], UNBOUND, f"{name} holds {most}, but not {', '.join(lacking[nearest])}", nearest)
        return _Held([], UNBOUND, f"no chunk holds it; {name} comes nearest with {most}", nearest)

    def _with_key(self, words: Words, near: list[int], held: list[int], wanted: Sequence[Span]) -> list[int]:
        """Of the chunks of an edited text those with a key; where none has one, the side of a border that does."""
        runs = {_run(words[begin:end]) for begin, end in wanted}
        keyed = {n for n in near if any(run in self._runs[n] for run in runs)}
        spans = {n: span for n in set(near) if (span := edge(words, self._words[n])) is not None}
        found = {n for n in held if n in keyed}
        for parts in by_document(spans, self._document).values():
            found |= sides(parts, words, wanted) & keyed
        return sorted(found) or held

    def _near(self, words: Words, inside: frozenset[int] | None, cut: Iterable[int]) -> list[int]:
        """The chunks that share most of the rarer words, and those of their documents that have a part of the text."""
        keys = self._rarest(words)
        shared: Counter[int] = Counter()
        for key in keys[: max(len(keys) // 2, SEVERAL)]:
            shared.update(n for n in self._postings.get(key, ()) if inside is None or n in inside)
        found = sorted(shared, key=lambda n: (-shared[n], natural(self._chunks[n].name)))[:NEAR]
        documents = set(map(self._document, found))
        return [*found, *(n for n in cut if self._document(n) in documents)]

    def _candidates(self, words: Words, inside: frozenset[int] | None) -> list[int]:
        """Chunks that may hold most of the words. One that has too few of the rarest ones lacks too many."""
        keys = self._rarest(words)
        least = -(-EDITED[0] * len(words) // EDITED[1])
        spared = len(words) - least
        if len(keys) < len(set(words)) or any(len(key) == 2 for key in keys):
            spared *= 2  # a character that was changed is in two pairs
        several = max(min(SEVERAL, len(keys) - spared), 1)
        shared: Counter[int] = Counter()
        for key in keys[: spared + several]:
            shared.update(self._postings.get(key, ()))
        found = {n for n, count in shared.items() if count >= several and (inside is None or n in inside)}
        wanted = set(words)
        return sorted(n for n in found if sum(map(words.count, wanted.intersection(self._words[n]))) >= least)


def _run(words: Words) -> str:
    return f" {' '.join(words)} "
