"""The form in which blocks of two versions are compared: tokens that know their bytes, shingles, an index of shingles.

Tokens are lower-cased runs of letters and digits; a CJK character is a token of its own. A text without any (a rule, a
bracket) is compared character by character. A token owns its bytes and those up to the next token, so the tokens of a
block own all its bytes.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from ragworthy.text import has_cjk

FEW_TOKENS = 5
"""With fewer tokens a text is shingled by characters."""
TOKEN_GRAM, CHAR_GRAM = 3, 5
LEAST_SHARED = (3, 5)
"""Two blocks are candidates when this share of the smaller shingle set is common: 0.60."""

_ONE = "\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
_TOKEN = re.compile(rf"[{_ONE}\U00020000-\U0003ffff]|[^\W_{_ONE}\U00020000-\U0003ffff]+")
_INK = re.compile(r"\S")

Shingle: TypeAlias = str | tuple[str, ...]
Shingles: TypeAlias = frozenset[Shingle]


class Form:
    """A text as it is compared; `starts` and `ends` are the bytes of each token, `weights` the bytes it owns."""

    def __init__(self, text: str) -> None:
        found = list(_TOKEN.finditer(text)) or list(_INK.finditer(text))
        self.tokens = tuple(match.group().lower() for match in found)
        self.size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        spans = [match.span() for match in found]
        self.starts, self.ends = _in_bytes(text, spans)
        borders = (0, *self.starts[1:], self.size) if self.starts else ()
        self.weights = tuple(right - left for left, right in pairwise(borders))
        self.by_characters = len(self.tokens) < FEW_TOKENS or has_cjk(text)

    @cached_property
    def by_token(self) -> Shingles:
        """The distinct token 3-grams."""
        return grams(self.tokens, TOKEN_GRAM)

    @cached_property
    def by_character(self) -> Shingles:
        """The distinct character 5-grams of the text without spaces and punctuation."""
        return grams("".join(self.tokens), CHAR_GRAM)


def _in_bytes(text: str, spans: list[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where the spans begin and end, counted in UTF-8 bytes."""
    if text.isascii():
        return tuple(begin for begin, _ in spans), tuple(end for _, end in spans)
    starts, ends, place, at = [], [], 0, 0
    for begin, end in spans:
        at += len(text[place:begin].encode("utf-8", "surrogatepass"))
        starts.append(at)
        at += len(text[begin:end].encode("utf-8", "surrogatepass"))
        ends.append(at)
        place = end
    return tuple(starts), tuple(ends)


def grams(items: Shingle, size: int) -> Shingles:
    """The distinct runs of `size` items; a shorter sequence is one run, an empty one has none.

    >>> sorted(grams("abcdefg", 5))
    ['abcde', 'bcdef', 'cdefg']
    >>> sorted(grams(("one", "two"), 3))
    [('one', 'two')]
    """
    last = max(len(items) - size, 0)
    return frozenset(items[begin : begin + size] for begin in range(last + 1)) if items else frozenset()


def enough_shared(shared: int, smaller: int) -> bool:
    """Whether the containment is at least 0.60, in whole numbers.

    >>> enough_shared(3, 5), enough_shared(59, 100), enough_shared(0, 0)
    (True, False, False)
    """
    return shared > 0 and LEAST_SHARED[1] * shared >= LEAST_SHARED[0] * smaller


class ShingleIndex:
    """Finds, among numbered forms, those that share enough shingles with another form.

    Two forms are compared by characters when either of them has to be, else by tokens.
    """

    def __init__(self, forms: Mapping[int, Form]) -> None:
        self._forms = forms
        self._tokens = _Postings({n: form.by_token for n, form in forms.items() if not form.by_characters})
        self._short = _Postings({n: form.by_character for n, form in forms.items() if form.by_characters})
        self._known: dict[tuple[str, ...], list[tuple[int, int]]] = {}

    @cached_property
    def _long(self) -> "_Postings":
        return _Postings({n: form.by_character for n, form in self._forms.items() if not form.by_characters})

    def near(self, form: Form) -> list[tuple[int, int]]:
        """The forms whose containment with this one is at least 0.60, each with how many shingles it shares."""
        if form.tokens not in self._known:
            found = self._short.sharing(form.by_character)
            if form.by_characters:
                found += self._long.sharing(form.by_character)
            else:
                found += self._tokens.sharing(form.by_token)
            self._known[form.tokens] = sorted(found)
        return self._known[form.tokens]


class _Postings:
    """Numbered sets of shingles, found by their rarest members.

    Of two sets that share at least 0.60 of the smaller one, any 0.40 of the smaller one and one more shingle hold a
    shared one. With the rarest shingles of either set, hardly any other pair is looked at.
    """

    def __init__(self, sets: Mapping[int, Shingles]) -> None:
        self._sets = sets
        self._all: dict[Shingle, list[int]] = defaultdict(list)
        self._rare: dict[Shingle, list[int]] = defaultdict(list)
        for number, those in sets.items():
            for shingle in those:
                self._all[shingle].append(number)
        for number, those in sets.items():
            for shingle in self._rarest(those):
                self._rare[shingle].append(number)

    def _rarest(self, those: Shingles) -> list[Shingle]:
        needed = -(-LEAST_SHARED[0] * len(those) // LEAST_SHARED[1])
        return sorted(those, key=lambda shingle: (len(self._all.get(shingle, ())), shingle))[: len(those) - needed + 1]

    def sharing(self, mine: Shingles) -> list[tuple[int, int]]:
        """The numbers of the sets that share enough with this one, each with how many shingles they share."""
        candidates: set[int] = set()
        for shingle in self._rarest(mine):
            candidates.update(self._all.get(shingle, ()))
        for shingle in mine:
            candidates.update(self._rare.get(shingle, ()))
        shared = {number: len(mine & self._sets[number]) for number in candidates}
        return [(n, count) for n, count in shared.items() if enough_shared(count, min(len(mine), len(self._sets[n])))]
