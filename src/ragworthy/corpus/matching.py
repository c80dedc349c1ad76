"""Which blocks of the new version hold the text of each old block.

The surest pairs come first: equal texts in the same order, equal texts elsewhere, edited blocks that cover each other,
then, from the largest old block to the smallest, blocks that went whole into another one or were cut into several.
New text is claimed once: blocks merged into one are aligned with it together. Last come copies: a block whose text
stands, near its expected place, in a block that others have claimed already.

A short block says too little to be recognised anywhere: it is looked for near its expected place only.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from ragworthy.corpus.alignment import WINDOW, Pair, Strand, align, in_order, longest, strand
from ragworthy.corpus.shingles import Form, ShingleIndex
from ragworthy.ids import natural

LEAST_COVERED = (17, 20)
"""A block is found when this share of its bytes is matched: 0.85."""
LEAST_COPIED = (9, 10)
"""The same for a text that others have claimed already: 0.90."""
LEAST_GAIN = (3, 5)
"""A part of a split holds this share of what it could hold of the text that is left: 0.60."""
MOST_CANDIDATES = 64
"""Of a text that is in many places no more than these are compared token by token."""
SHORT = 8
"""A block with fewer tokens is short."""


class Block(NamedTuple):
    """A chunk as it is compared."""

    number: int
    id: str
    doc: str
    begin: int
    end: int
    form: Form
    fp: str | None
    text: str

    @property
    def short(self) -> bool:
        """Whether the text says too little to be recognised far away."""
        return len(self.form.tokens) < SHORT


class Link(NamedTuple):
    """The new block that holds text of an old one, with the tokens that match."""

    new: int
    pairs: list[Pair]


def matched_bytes(old: Block, pairs: Iterable[Pair]) -> int:
    """How many bytes of the old block the matched tokens own."""
    return sum(old.form.weights[i] for i, _ in pairs)


def covers(part: int, whole: int) -> bool:
    """Whether a number of bytes is at least 0.85 of the whole."""
    return part > 0 and LEAST_COVERED[1] * part >= LEAST_COVERED[0] * whole


KeyOf: TypeAlias = Callable[[Block], tuple[str, ...]]


def _verbatim(block: Block) -> tuple[str, ...]:
    return (block.text,)


def _tokens(block: Block) -> tuple[str, ...]:
    return block.form.tokens


class Matcher:
    """The links from old blocks to new ones, who claims each new block, and what came nearest to each old one."""

    def __init__(
        self,
        old: Sequence[Block],
        new: Sequence[Block],
        old_lengths: Mapping[str, int],
        new_lengths: Mapping[str, int],
    ) -> None:
        self.old, self.new = old, new
        self._old_lengths, self._new_lengths = old_lengths, new_lengths
        self.links: dict[int, list[Link]] = {}
        self.claims: dict[int, list[int]] = defaultdict(list)
        by_id = sorted(range(len(new)), key=lambda n: natural(new[n].id))
        self._rank = {n: rank for rank, n in enumerate(by_id)}
        self.nearest: dict[int, Pair] = {}
        self._alone: dict[Pair, list[Pair]] = {}
        self._shifts: dict[tuple[str, str], list[Pair]] = defaultdict(list)

    def left(self, old: Iterable[int]) -> list[int]:
        """Those old blocks that have no link yet."""
        return [o for o in old if o not in self.links]

    def has_room(self, n: int) -> bool:
        """Whether a new block holds text that no old block claims."""
        taken = sum(len(link.pairs) for c in self.claims.get(n, ()) for link in self.links[c] if link.new == n)
        return taken < len(self.new[n].form.tokens)

    def match(self, old: Sequence[int], new: Sequence[int], *, ordered: bool, copies: bool) -> None:
        """Link old blocks to new ones; both in reading order, and of one document each when `ordered`."""
        if ordered:
            self._equal_in_order(self.left(old), [n for n in new if n not in self.claims], self._key(old, new))
        for key in (_verbatim, _tokens):
            self._equal_elsewhere(self.left(old), new, key)
        rest = self.left(old)
        if not rest:
            return
        index = ShingleIndex({n: self.new[n].form for n in new})
        prints: dict[str, list[int]] = defaultdict(list)
        for n in new:
            prints[self.new[n].fp or ""].append(n)
        near = {o: self._most_alike(o, index.near(self.old[o].form), prints) for o in rest}
        self._edited(near)
        for o in sorted(self.left(near), key=lambda o: (-self.old[o].form.size, o)):
            self._whole(o, near[o]) or self._split(o, near[o])
        if copies:
            for o in self.left(near):
                self._copy(o, near[o])

    def _most_alike(self, o: int, near: Iterable[Pair], prints: Mapping[str, list[int]]) -> list[int]:
        """The candidates of a block: those that share most shingles, the nearer ones first, at most so many."""
        shared = dict(near)
        fp = self.old[o].fp
        found = {*shared, *(prints.get(fp, ()) if fp else ())}
        return sorted(
            found, key=lambda n: (-shared.get(n, 0), self._apart(o, n, self.new[n].begin - self.old[o].begin), n)
        )[:MOST_CANDIDATES]

    # equal texts

    def _key(self, old: Sequence[int], new: Sequence[int]) -> KeyOf:
        """Equal by tokens; letter by letter where one side has several texts with the same tokens."""
        mixed: set[tuple[str, ...]] = set()
        for blocks in ([self.old[o] for o in old], [self.new[n] for n in new]):
            first: dict[tuple[str, ...], str] = {}
            mixed |= {one.form.tokens for one in blocks if first.setdefault(one.form.tokens, one.text) != one.text}
        return lambda block: _verbatim(block) if block.form.tokens in mixed else _tokens(block)

    def _equal_in_order(self, old: Sequence[int], new: Sequence[int], key_of: KeyOf) -> None:
        """Equal blocks that are in the same order, between those that occur once on either side."""
        left, right = self._places(old, self.old, key_of), self._places(new, self.new, key_of)
        once = [
            (places[0], right[key][0])
            for key, places in left.items()
            if key and len(places) == 1 and len(right.get(key, ())) == 1
        ]
        begin, start = 0, 0
        for i, j in [*in_order(once), (len(old), len(new))]:
            masks: dict[tuple[str, ...], int] = defaultdict(int)
            for place in range(start, j):
                masks[key_of(self.new[new[place]])] |= 1 << (place - start)
            rows = [masks.get(key_of(self.old[o]), 0) if self.old[o].form.tokens else 0 for o in old[begin:i]]
            for row, column in longest(rows, j - start):
                self._link_equal(old[begin + row], new[start + column])
            if i < len(old):
                self._link_equal(old[i], new[j])
            begin, start = i + 1, j + 1

    @staticmethod
    def _places(numbers: Sequence[int], blocks: Sequence[Block], key_of: KeyOf) -> dict[tuple[str, ...], list[int]]:
        places: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, number in enumerate(numbers):
            places[key_of(blocks[number])].append(place)
        return places

    def _equal_elsewhere(self, old: Sequence[int], new: Sequence[int], key_of: KeyOf) -> None:
        """Equal blocks that are in another order: each old one takes the nearest that is free."""
        free: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for n in new:
            if n not in self.claims:
                free[key_of(self.new[n])].append(n)
        for o in old:
            copies = free.get(key_of(self.old[o])) if self.old[o].form.tokens else None
            if copies:
                away, _, n = min((self._away(o, n, self._same(o)), self._rank[n], n) for n in copies)
                if away <= WINDOW or not self.old[o].short:
                    copies.remove(n)
                    self._link_equal(o, n)

    def _same(self, o: int) -> list[Pair]:
        return [(i, i) for i in range(len(self.old[o].form.tokens))]

    def _link_equal(self, o: int, n: int) -> None:
        self._link(o, [Link(n, self._same(o))])

    # edited, merged and split texts

    def alone(self, o: int, n: int) -> list[Pair]:
        """The matching tokens of two blocks, whoever else claims them."""
        old, new = self.old[o].form, self.new[n].form
        key = (id(old), id(new))
        if key not in self._alone:
            self._alone[key] = align(strand([old]), strand([new]))
        return self._alone[key]

    def candidates(self, o: int, near: Iterable[int]) -> list[tuple[int, int]]:
        """Matched bytes and new block, best first: more bytes, nearer to the expected place, natural order of ids.

        A short block has candidates near its expected place only.
        """
        found = []
        for n in near:
            pairs = self.alone(o, n)
            if pairs:
                away = self._away(o, n, pairs)
                if away <= WINDOW or not self.old[o].short:
                    found.append((-matched_bytes(self.old[o], pairs), away, self._rank[n], n))
        best = [(-less, n) for less, _, _, n in sorted(found)]
        if best and best[0][0] > self.nearest.get(o, (0, 0))[0]:
            self.nearest[o] = best[0]
        return best

    def _edited(self, near: Mapping[int, list[int]]) -> None:
        """Pairs of blocks of which each covers the other, the most alike first."""
        found = []
        for o, those in near.items():
            block = self.old[o]
            for matched, n in self.candidates(o, [n for n in those if n not in self.claims]):
                other, pairs = self.new[n], self.alone(o, n)
                back = sum(other.form.weights[j] for _, j in pairs)
                if covers(matched, block.form.size) and covers(back, other.form.size):
                    alike = matched * 10**9 // max(block.form.size, other.form.size)
                    found.append((-alike, self._away(o, n, pairs), self._rank[n], o, n))
        for *_, o, n in sorted(found):
            if o not in self.links and n not in self.claims:
                self._link(o, [Link(n, self.alone(o, n))])

    def _whole(self, o: int, near: Iterable[int]) -> bool:
        """Link a block to the best one that holds it and has room for it."""
        size = self.old[o].form.size
        for matched, n in self.candidates(o, near):
            if not covers(matched, size):
                return False
            if self._join(o, {n: self.alone(o, n)}):
                return True
        return False

    def _split(self, o: int, near: Iterable[int]) -> bool:
        """Link a block to several that hold it together, all in the document of the best of them."""
        block = self.old[o]
        parts: list[int] = []
        covered: set[int] = set()
        for _, n in self.candidates(o, near):
            mine = {i for i, _ in self.alone(o, n)} - covered
            gain = sum(block.form.weights[i] for i in mine)
            rest = block.form.size - sum(block.form.weights[i] for i in covered)
            enough = LEAST_GAIN[1] * gain >= LEAST_GAIN[0] * min(self.new[n].form.size, rest)
            if gain and enough and self.new[n].doc == self.new[(parts or [n])[0]].doc:
                parts.append(n)
                covered |= mine
        if len(parts) < 2 or not covers(sum(block.form.weights[i] for i in covered), block.form.size):
            return False
        parts.sort(key=lambda n: (_middle([i for i, _ in self.alone(o, n)]), n))
        return self._join(o, self._shared_out(o, parts))

    def _shared_out(self, o: int, parts: Sequence[int]) -> dict[int, list[Pair]]:
        """The matching tokens of a block and several others laid end to end, for each of these."""
        pairs = align(strand([self.old[o].form]), strand([self.new[n].form for n in parts]))
        found: dict[int, list[Pair]] = {}
        begin = 0
        for n in parts:
            end = begin + len(self.new[n].form.tokens)
            mine = [(i, j - begin) for i, j in pairs if begin <= j < end]
            if mine:
                found[n] = mine
            begin = end
        return found

    def _join(self, o: int, parts: Mapping[int, list[Pair]]) -> bool:
        """Link a block, when all that claim the same new blocks keep at least 0.85 of their bytes."""
        links = {o: [Link(n, pairs) for n, pairs in sorted(parts.items())]}
        for n in parts:
            if not self.claims.get(n):
                continue
            links |= {c: links.get(c, self.links[c]) for c in self.claims[n]}
            sharing = {c: links[c] for c in (*self.claims[n], o)}
            if not self.has_room(n):
                return False
            for c, pairs in self._together(n, sharing).items():
                links[c] = [Link(n, pairs) if link.new == n else link for link in links[c]]
        for c, those in links.items():
            matched = sum(matched_bytes(self.old[c], link.pairs) for link in those)
            if not all(link.pairs for link in those) or not covers(matched, self.old[c].form.size):
                return False
        self._link(o, links.pop(o))
        self.links |= links
        return True

    def _together(self, n: int, sharing: Mapping[int, list[Link]]) -> dict[int, list[Pair]]:
        """The matching tokens of several old blocks that share a new one, laid end to end in its order."""
        pairs = {c: next(link.pairs for link in links if link.new == n) for c, links in sharing.items()}
        owners: list[Pair] = []
        for c in sorted(pairs, key=lambda c: (_middle([j for _, j in pairs[c]]), c)):
            whole = len(sharing[c]) == 1
            owners += [(c, i) for i in (range(len(self.old[c].form.tokens)) if whole else [i for i, _ in pairs[c]])]
        weights = [self.old[c].form.weights[i] for c, i in owners]
        starts = tuple(accumulate(weights, initial=0))[:-1]
        tokens = tuple(self.old[c].form.tokens[i] for c, i in owners)
        found: dict[int, list[Pair]] = {c: [] for c in pairs}
        for place, j in align(Strand(tokens, starts, sum(weights)), strand([self.new[n].form])):
            c, i = owners[place]
            found[c].append((i, j))
        return found

    def _copy(self, o: int, near: Iterable[int]) -> None:
        """Link a block to the best one near its expected place that holds 0.90 of it, though others claim that text."""
        if self.old[o].short:
            return
        for matched, n in self.candidates(o, near):
            sure = LEAST_COPIED[1] * matched >= LEAST_COPIED[0] * self.old[o].form.size
            if sure and self._away(o, n, self.alone(o, n)) <= WINDOW:
                self._link(o, [Link(n, self.alone(o, n))])
                return

    # places

    def _link(self, o: int, links: list[Link]) -> None:
        self.links[o] = links
        for n, pairs in links:
            self.claims[n].append(o)
            insort(self._shifts[self.old[o].doc, self.new[n].doc], (self.old[o].begin, self._moved(o, n, pairs)))

    def _moved(self, o: int, n: int, pairs: Sequence[Pair]) -> int:
        """By how many bytes the text moved, judged by the first token that matches."""
        old, new = self.old[o], self.new[n]
        i, j = pairs[0]
        return new.begin + new.form.starts[j] - old.begin - old.form.starts[i]

    def _away(self, o: int, n: int, pairs: Sequence[Pair]) -> int:
        """How many bytes a match lies from its expected place."""
        return self._apart(o, n, self._moved(o, n, pairs))

    def _apart(self, o: int, n: int, moved: int) -> int:
        """How far a move differs from that of the linked blocks before and after; without any, from the same share."""
        begin, doc, other = self.old[o].begin, self.old[o].doc, self.new[n].doc
        shifts = self._shifts.get((doc, other), [])
        at = bisect_left(shifts, (begin, -(1 << 62)))
        around = [shift for _, shift in shifts[max(at - 1, 0) : at + 1]]
        if not around:
            before, after = self._old_lengths.get(doc, 0), self._new_lengths.get(other, 0)
            around = [begin * after // before - begin if before else 0]
        return min(abs(moved - shift) for shift in around)


def _middle(numbers: Sequence[int]) -> int:
    return sorted(numbers)[len(numbers) // 2]
