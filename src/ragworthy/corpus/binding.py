"""Evidence bound to the chunks of the day: which chunks hold a text that somebody named as evidence.

A chunk holds an evidence text when it holds all its words in one run, or when its border cuts the text and what a right
answer says is on this side; at least 0.60 of the text where that is not known. Where no chunk does, the text may have
been edited: a chunk then holds it when 0.75 of its words stand in one window of the chunk in the same order, and every
number among them. All chunks that hold a text are alternatives of each other: a group. A text that is longer than the
chunks, or cut where neither side has enough, is held by several together: a group for each part.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ragworthy.corpus.comparing import best_window, common, forms_of, keys_of, words_of
from ragworthy.corpus.origins import Origins, document_of
from ragworthy.ids import natural
from ragworthy.records import Chunk, GoldSource

CUT = (3, 5)
"""A chunk whose border cuts a text holds it when this share of its words is on this side: 0.60."""
EDITED = (3, 4)
"""A chunk holds an edited text when this share of its words stands in one window: 0.75. Both: docs/gold.md."""
FEWEST = 5
"""A text with fewer words says too little to be recognised when it was edited."""
BORDER = 3
"""From so many words on, a text that runs over the border of a chunk is recognised."""

EXACT, NORMALISED, OVERLAP, PARTS, SOURCE, UNBOUND = "exact", "normalised", "overlap", "parts", "source", "unbound"
HOW = (EXACT, NORMALISED, OVERLAP, PARTS, SOURCE, UNBOUND)

Words = tuple[str, ...]


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


def enough(part: int, whole: int, least: tuple[int, int]) -> bool:
    """Whether a number of words is at least a share of a text, in whole numbers.

    >>> enough(3, 5, CUT), enough(59, 100, CUT), enough(0, 0, CUT)
    (True, False, False)
    """
    return part > 0 and least[1] * part >= least[0] * whole


class Binder:
    """Finds evidence in chunks. Built once; the order of the chunks makes no difference."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._chunks = list(chunks)
        forms = [forms_of(chunk.text) for chunk in self._chunks]
        self._words: list[Words] = [some[0] for some in forms]
        self._runs = ["\n".join(map(_run, some)) for some in forms]
        self._origins = Origins(self._chunks)
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._heads: dict[Words, list[tuple[int, int]]] = defaultdict(list)
        self._tails: dict[Words, list[tuple[int, int]]] = defaultdict(list)
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
                    notes.append(f"found outside of {', '.join(map(str, sources))}")
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
        cut = self._cut(words, inside)
        most = _with_key(cut, _places(words, keys)) or {
            number for number, (begin, end) in cut.items() if enough(end - begin, len(words), CUT)
        }
        if whole:
            exact = any(text.strip() in self._chunks[number].text for number in whole)
            return _Held([[*whole, *most]], EXACT if exact else NORMALISED)
        if most:
            return _Held([sorted(most)], OVERLAP)
        parts = self._parts(len(words), cut)
        if parts:
            return _Held(parts, PARTS)
        return self._edited(words, inside, cut)

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

    def _cut(self, words: Words, inside: frozenset[int] | None) -> dict[int, tuple[int, int]]:
        """The part of a text, as a range of its words, that stands at the border of each chunk, or fills it."""
        found: dict[int, tuple[int, int]] = {}
        for at in range(len(words) - BORDER + 1):
            for number, off in self._heads.get(words[at : at + BORDER], ()):
                if inside is None or number in inside:
                    _keep(found, number, _forward(words, at, self._words[number], off))
            end = at + BORDER
            for number, off in self._tails.get(words[at:end], ()):
                if inside is None or number in inside:
                    _keep(found, number, _backward(words, end, self._words[number], off))
        return found

    def _parts(self, size: int, cut: dict[int, tuple[int, int]]) -> list[list[int]]:
        """A group for each part of a text that chunks of one document hold together; none where they hold too little.

        The part that holds most comes first; parts are taken until they are most of the text.
        """
        by_document: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
        for number, span in cut.items():
            by_document[document_of(self._chunks[number])][number] = span
        best: tuple[int, str, list[tuple[int, int]]] | None = None
        for document in sorted(by_document, key=natural):
            spans = _cover(size, set(by_document[document].values()))
            covered = _length(spans)
            if enough(covered, size, CUT) and (best is None or covered > best[0]):
                best = (covered, document, spans)
        if best is None:
            return []
        return [
            [
                n
                for n, mine in cut.items()
                if enough(min(mine[1], span[1]) - max(mine[0], span[0]), span[1] - span[0], CUT)
            ]
            for span in sorted(best[2])
        ]

    def _edited(self, words: Words, inside: frozenset[int] | None, cut: dict[int, tuple[int, int]]) -> _Held:
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

    def _candidates(self, words: Words, inside: frozenset[int] | None) -> list[int]:
        """Chunks that may hold most of the words. One that lacks all of the rarest ones lacks too many."""
        keys = self._rarest(words)
        least = -(-EDITED[0] * len(words) // EDITED[1])
        spared = len(words) - least
        if len(keys) < len(set(words)) or any(len(key) == 2 for key in keys):
            spared *= 2  # a character that was changed is in two pairs
        found: set[int] = set()
        for key in keys[: spared + 1]:
            found.update(self._postings.get(key, ()))
        if inside is not None:
            found &= inside
        wanted = set(words)
        return sorted(n for n in found if sum(map(words.count, wanted.intersection(self._words[n]))) >= least)


def _places(words: Words, keys: Iterable[str]) -> list[tuple[int, int]]:
    """Where texts stand in another one, as ranges of its words."""
    found = []
    for key in filter(None, map(words_of, keys)):
        found += [(at, at + len(key)) for at in range(len(words) - len(key) + 1) if words[at : at + len(key)] == key]
    return found


def _with_key(cut: dict[int, tuple[int, int]], places: Sequence[tuple[int, int]]) -> set[int]:
    """The chunks whose part of a text has one of these places in it."""
    return {n for n, (left, right) in cut.items() if any(left <= begin and end <= right for begin, end in places)}


def _run(words: Words) -> str:
    return f" {' '.join(words)} "


def _keep(found: dict[int, tuple[int, int]], number: int, span: tuple[int, int] | None) -> None:
    if span is not None:
        before = found.get(number, (0, 0))
        found[number] = min(before, span, key=lambda one: (one[0] - one[1], one))


def _forward(words: Words, at: int, chunk: Words, off: int) -> tuple[int, int] | None:
    """The words from `at` on with which a chunk begins: up to the last one, or up to the end of the chunk."""
    most = min(len(words) - at, len(chunk) - off)
    same = next((n for n in range(most) if words[at + n] != chunk[off + n]), most)
    at_end = at + same == len(words) or off + same >= len(chunk) - 1
    return (at, at + same) if at_end and same >= BORDER else None


def _backward(words: Words, end: int, chunk: Words, off: int) -> tuple[int, int] | None:
    """The words up to `end` with which a chunk ends: from the first one on, or from the beginning of the chunk."""
    last = len(chunk) - off
    most = min(end, last)
    same = next((n for n in range(most) if words[end - 1 - n] != chunk[last - 1 - n]), most)
    at_begin = end == same or last - same <= 1
    return (end - same, end) if at_begin and same >= BORDER else None


def _cover(size: int, spans: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The fewest spans, the one that adds most first, that are most of a text; what is left where they are not."""
    taken: list[tuple[int, int]] = []
    covered: set[int] = set()
    while not enough(len(covered), size, CUT):
        added = {span: len(set(range(*span)) - covered) for span in spans}
        if not added or max(added.values()) < BORDER:
            break
        best = min(added, key=lambda span: (-added[span], span))
        taken.append(best)
        covered.update(range(*best))
    return taken


def _length(spans: Iterable[tuple[int, int]]) -> int:
    return len(set[int]().union(*(range(*span) for span in spans)))
