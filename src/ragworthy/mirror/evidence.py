"""Whether a block of one index is the same evidence as a block of another: by text, by place, or by name.

Two indexes cut the same documents in different ways, so ids say little. Two blocks are the same evidence when at least
half of the smaller text stands, in order, in the other one; without texts, when they overlap in one document; without
places, when they have the same id. How each pair was told is counted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ragworthy.corpus.alignment import align, strand
from ragworthy.corpus.shingles import Form
from ragworthy.ids import stable
from ragworthy.index.blocks import load_corpus
from ragworthy.metrics.facts.placed import Place, place_of

TEXT, PLACE, ID = "text", "place", "id"


class Shelf:
    """What is known of the blocks of one side: their texts and where they stand."""

    def __init__(self, path: Path | None = None) -> None:
        corpus = load_corpus(path) if path is not None else None
        self.texts: dict[str, str] = dict(corpus.texts) if corpus is not None else {}
        self.places: dict[str, Place] = dict(corpus.places) if corpus is not None else {}
        self.index_hash = corpus.index_hash if corpus is not None else None
        self.label = corpus.label if corpus is not None else None

    def learn(self, texts: Mapping[str, str]) -> None:
        """Texts that came with answers; what a corpus says of an id stays."""
        for name, text in texts.items():
            self.texts.setdefault(stable(name), text)

    def text(self, name: str) -> str | None:
        """The text of a block."""
        return self.texts.get(stable(name))

    def place(self, name: str) -> Place:
        """Where a block stands: what the corpus says, else what its id says."""
        return self.places.get(stable(name)) or place_of(stable(name))

    def document(self, name: str) -> str:
        """The document of a block; the id itself where it names none."""
        return self.place(name).doc or name.partition("#")[0] or name

    def section(self, name: str) -> str:
        """The section of a block with its document; the id itself where it names none."""
        place = self.place(name)
        return f"{place.doc or ''}|{place.section}" if place.section else name


class Same(NamedTuple):
    """A block of the live side that is the same evidence, and how that was told."""

    name: str
    by: str


class Matcher:
    """Blocks of the shadow compared with blocks of the live side."""

    def __init__(self, live: Shelf, shadow: Shelf) -> None:
        self._live, self._shadow = live, shadow
        self.told: Counter[str] = Counter()
        """How many pairs were told by what."""
        self._known: dict[tuple[str, str], str] = {}

    def same(self, live: str, shadow: str) -> str:
        """By what two blocks are the same evidence; empty where they are not."""
        key = (live, shadow)
        if key not in self._known:
            self._known[key] = self._same(live, shadow)
        return self._known[key]

    def _same(self, live: str, shadow: str) -> str:
        before, after = self._live.text(live), self._shadow.text(shadow)
        if before is not None and after is not None:
            return TEXT if before == after or alike(before, after) else ""
        one, other = self._live.place(live), self._shadow.place(shadow)
        if one.doc is not None and one.doc == other.doc and one.span is not None and other.span is not None:
            return PLACE if one.span[0] < other.span[1] and other.span[0] < one.span[1] else ""
        return ID if stable(live) == stable(shadow) else ""

    def renamed(self, live: Sequence[str], shadow: Sequence[str]) -> tuple[list[str], set[str]]:
        """The results of the shadow by the names of the live side, where they are the same evidence; and these names.

        A result that is the evidence of several takes the name of the first that no result before it has taken.
        """
        taken: set[str] = set()
        made = []
        for name in shadow:
            found = [one for one in live if self.same(one, name)]
            free = next((one for one in found if one not in taken), found[0] if found else "")
            if free:
                self.told[self.same(free, name)] += 1
                taken.add(free)
            made.append(free or f"shadow:{name}")
        return made, {one for one in live for name in shadow if self.same(one, name)}


@lru_cache(maxsize=20_000)
def _form(text: str) -> Form:
    return Form(text)


def alike(one: str, other: str) -> bool:
    """Whether half of the smaller text is in the other one, in the same order.

    >>> alike("Backups are kept for thirty days.", "On all plans backups are kept for thirty days. Then they go.")
    True
    >>> alike("Backups are kept for thirty days.", "The plan costs thirty euros for each of the days it is kept.")
    False
    """
    small, large = sorted((_form(one), _form(other)), key=lambda form: form.size)
    if small.by_characters or large.by_characters:
        shared = len(small.by_character & large.by_character)
        return 2 * shared >= max(1, len(small.by_character))
    if 2 * len(small.by_token & large.by_token) < len(small.by_token):  # cheap, and decides nearly always
        return False
    pairs = align(strand([small]), strand([large]))
    return 2 * sum(small.weights[i] for i, _ in pairs) >= small.size
