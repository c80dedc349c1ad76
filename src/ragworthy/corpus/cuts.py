"""Texts that the border of a chunk cuts: which part of a text each chunk holds, and which chunks count for it.

A part is a range of the words of the text. A few words at a border may be there by chance, so a part counts only
together with its neighbours: chunks of the same document that hold the text up to it, and from it on.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from ragworthy.corpus.comparing import common, is_character, words_of

CUT = (3, 5)
"""A chunk whose border cuts a text holds it when this share of its words is on this side: 0.60."""
EDITED = (3, 4)
"""A chunk holds an edited text when this share of its words is in one window: 0.75. Both: docs/gold.md."""
BORDER = 3
"""From so many words on, a text that runs over the border of a chunk is recognised."""
LONGEST = 300
"""Of longer texts that were edited and cut, the sides are not looked for: it would take too long."""
AROUND = 3
"""So many words around a text must be the same where two chunks overlap; fewer where the overlap has no more."""
ALONE = (1, 3)
"""The least share of a text that is known again in an overlap with nothing around it."""

Words: TypeAlias = tuple[str, ...]
Span: TypeAlias = tuple[int, int]


def enough(part: int, whole: int, least: tuple[int, int]) -> bool:
    """Whether a number of words is at least a share of a text, in whole numbers.

    >>> enough(3, 5, CUT), enough(59, 100, CUT), enough(0, 0, CUT)
    (True, False, False)
    """
    return part > 0 and least[1] * part >= least[0] * whole


def places(words: Words, keys: Iterable[str]) -> list[Span]:
    """Where texts are in another one, as ranges of its words."""
    found = []
    for key in filter(None, map(words_of, keys)):
        found += [(at, at + len(key)) for at in range(len(words) - len(key) + 1) if words[at : at + len(key)] == key]
    return found


def with_key(cut: Mapping[int, Span], wanted: Sequence[Span]) -> set[int]:
    """The chunks whose part of a text has one of these places in it."""
    return {n for n, (left, right) in cut.items() if any(left <= begin and end <= right for begin, end in wanted)}


def keep(found: dict[int, Span], number: int, span: Span | None) -> None:
    """Of the parts of a text that a chunk could hold, the longest one."""
    if span is not None:
        before = found.get(number, (0, 0))
        found[number] = min(before, span, key=lambda one: (one[0] - one[1], one))


def forward(words: Words, at: int, chunk: Words, off: int) -> Span | None:
    """The words from `at` on with which a chunk begins: up to the last one, or up to the end of the chunk."""
    most = min(len(words) - at, len(chunk) - off)
    same = next((n for n in range(most) if words[at + n] != chunk[off + n]), most)
    at_end = at + same == len(words) or off + same >= len(chunk) - 1
    return (at, at + same) if at_end and same >= BORDER else None


def backward(words: Words, end: int, chunk: Words, off: int) -> Span | None:
    """The words up to `end` with which a chunk ends: from the first one on, or from the beginning of the chunk."""
    last = len(chunk) - off
    most = min(end, last)
    same = next((n for n in range(most) if words[end - 1 - n] != chunk[last - 1 - n]), most)
    at_begin = end == same or last - same <= 1
    return (end - same, end) if at_begin and same >= BORDER else None


def cover(size: int, spans: set[Span]) -> list[Span]:
    """The fewest spans, the one that adds most first, that are most of a text; what is left where they are not."""
    taken: list[Span] = []
    covered: set[int] = set()
    while not enough(len(covered), size, CUT):
        added = {span: len(set(range(*span)) - covered) for span in spans}
        if not added or max(added.values()) < BORDER:
            break
        best = min(added, key=lambda span: (-added[span], span))
        taken.append(best)
        covered.update(range(*best))
    return taken


def length(spans: Iterable[Span]) -> int:
    """How many words the spans have together."""
    return len(set[int]().union(*(range(*span) for span in spans)))


def by_document(cut: Mapping[int, Span], document: Callable[[int], str]) -> dict[str, dict[int, Span]]:
    """The parts of a text, by the document that holds them."""
    found: dict[str, dict[int, Span]] = defaultdict(dict)
    for number, span in cut.items():
        found[document(number)][number] = span
    return found


def joined(span: Span, others: Iterable[Span], size: int) -> bool:
    """Whether other parts of a text go on where this one is cut off, or next to nothing is left.

    A word may be lost where a border cuts it.

    >>> joined((0, 4), [(0, 4), (3, 9)], 9), joined((0, 4), [(6, 9)], 9), joined((4, 5), [(0, 4), (5, 9)], 9)
    (True, False, True)
    """
    begin, end = span
    little = min(BORDER, size // 8)
    before = begin <= little or any(left < begin <= right + 1 for left, right in others)
    return before and (size - end <= little or any(left <= end + 1 and end < right for left, right in others))


def most_of(cut: Mapping[int, Span], words: Words) -> dict[int, Span]:
    """The parts that are most of a text, and more than chance: three words, or six characters where each is a word."""
    return {
        n: span
        for n, span in cut.items()
        if enough(span[1] - span[0], len(words), CUT) and says_enough(words[slice(*span)])
    }


def says_enough(words: Words) -> bool:
    """Whether words are too many to be at the border of a chunk by chance.

    >>> says_enough(("in", "2006", "the")), says_enough(("在", "2006", "年"))
    (True, False)
    """
    return sum(1 if is_character(word) else 2 for word in words) >= 2 * BORDER


def sides(cut: Mapping[int, Span], words: Words, wanted: Sequence[Span]) -> set[int]:
    """The chunks of one document whose part of a text counts: the part with a key, else most of the text.

    A part with a key is most of the text, or its neighbours hold the rest.
    """
    most, keyed, spans = most_of(cut, words), with_key(cut, wanted), set(cut.values())
    found = {n for n in keyed if n in most or joined(cut[n], spans, len(words))}
    return found if keyed else set(most)


def same_place(words: Words, span: Span, chunk: Words, whole: Words) -> bool:
    """Whether the part of a text at the border of a chunk is where another chunk has all of it: by what is around.

    Where the other chunk has nothing around it, the part must be a third of the text.

    >>> text, whole = ("in", "2006", "he", "left"), ("b", "c", "in", "2006", "he", "left", "us")
    >>> [same_place(text, (0, 2), (*before, "in", "2006"), whole) for before in (("a", "b", "c"), ("a", "d", "c"))]
    [True, False]
    """
    begin, end = span
    at = next((at for at in range(len(whole) - len(words) + 1) if whole[at : at + len(words)] == words), None)
    if at is None:
        return False
    part = end - begin
    around = whole[at + len(words) :] if begin else whole[:at][::-1]
    if not around:
        return enough(part, len(words), ALONE) and says_enough(words[begin:end])
    mine = chunk if begin else chunk[::-1]
    return any(_agree(mine[part + off :], around, behind=bool(begin)) for off in (0, 1))


def _agree(mine: Words, around: Words, *, behind: bool) -> bool:
    """Whether the words nearest to a text are the same; the outermost word of the other chunk may be cut."""
    least = min(len(around), AROUND)
    if len(mine) < least:
        return False
    last, cut = mine[least - 1], around[least - 1]
    outermost = least == len(around) and (last.startswith(cut) if behind else last.endswith(cut))
    return mine[: least - 1] == around[: least - 1] and (last == cut or outermost)


def edge(words: Words, chunk: Words) -> Span | None:
    """The part of an edited text with which a chunk ends or begins: most of its words are there in this order."""
    size = len(words)
    if size > LONGEST:
        return None
    found: list[tuple[int, Span]] = []
    for part in range(BORDER, min(size - 1, len(chunk)) + 1):
        for span, there in (((0, part), chunk[-part:]), ((size - part, size), chunk[:part])):
            same = common(words[slice(*span)], there)
            if enough(same, part, EDITED):
                found.append((part - 2 * same, span))
    return min(found)[1] if found else None


def shares(mine: Span, span: Span) -> bool:
    """Whether a part has most of another one.

    >>> shares((0, 6), (0, 10)), shares((5, 20), (0, 10))
    (True, False)
    """
    return enough(min(mine[1], span[1]) - max(mine[0], span[0]), span[1] - span[0], CUT)
