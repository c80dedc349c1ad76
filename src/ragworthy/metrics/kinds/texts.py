"""Kinds of field that hold text: labels, lists, quoted passages."""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from ragworthy.metrics.context import Context
from ragworthy.metrics.kinds.base import ALL, FORMS, NONE, Detail, Form, Match
from ragworthy.text import clip, described, pairs_of, squeeze, unspaced


class Label(NamedTuple):
    """A text that is right or wrong: one contains the other, or their character pairs are alike."""

    match: Literal["fuzzy", "exact"] = "fuzzy"
    threshold: Fraction = Fraction("0.72")
    contained: Fraction = NONE
    form: Form = "exact"

    def wrong(self, value: Any) -> str | None:
        return None if isinstance(value, str) else f"expected a string, got {described(value)}"

    def unfit(self, value: Any) -> str | None:
        if wrong := self.wrong(value):
            return wrong
        if not squeeze(FORMS[self.form](value)):
            return (
                "expected a text, got an empty one"
                if not value.strip()
                else f'expected a text, got none in form "{self.form}"'
            )
        return None

    def compare(self, expected: Any, got: Any, context: Context) -> Match:
        one, other = self._texts(expected, got)
        if not one or not other:
            return Match(NONE)
        if self.match == "exact":
            good = one == other
        else:
            good = within(one, other, self.contained) or alike(*self._items(one, other), self.threshold)
        return Match(ALL if good else NONE, thin=good and is_thin(one, other))

    def details(self, expected: Any, got: Any, context: Context) -> list[Detail]:
        one, other = self._texts(expected, got)
        good = bool(self.compare(expected, got, context).score)
        if one == other or not one or not other:
            note = "equal" if good else "empty"
        elif self.match == "exact":
            note = "not equal"
        elif within(one, other, self.contained):
            note = "one contains the other"
        else:
            note = f"likeness {shown(likeness(*self._items(one, other)))}, needs {float(self.threshold):g}"
        return [Detail(good, expected, got, note)]

    def _texts(self, expected: str, got: str) -> tuple[str, str]:
        form = FORMS[self.form]
        return squeeze(form(expected)), squeeze(form(got))

    def _items(self, one: str, other: str) -> "tuple[Item, Item]":
        return Item(one, unspaced(one)), Item(other, unspaced(other))


class Listed(NamedTuple):
    """A list of texts: the F1 of what was found and what was padded, each item matching one other at most."""

    cap: int = 12
    limit: int = 0
    match: Literal["fuzzy", "exact"] = "fuzzy"
    threshold: Fraction = Fraction("0.72")
    contained: Fraction = NONE
    form: Form = "exact"

    def wrong(self, value: Any) -> str | None:
        if not isinstance(value, list):
            return f"expected a list of strings, got {described(value)}"
        for nth, one in enumerate(value):
            if not isinstance(one, str):
                return f"expected strings only, got {described(one)} at [{nth}]"
        return None

    def unfit(self, value: Any) -> str | None:
        return self.wrong(value)

    def compare(self, expected: Any, got: Any, context: Context) -> Match:
        wanted, given = self._items(expected), self._items(got[: self.cap])
        pairs = self._pairs(wanted, given)
        found, whole = len(pairs), len(wanted) + len(given)
        thin = any(is_thin(wanted[one].bare, given[other].bare) for one, other in pairs.items())
        return Match(Fraction(2 * found, whole) if whole else ALL, (found, len(wanted), len(given)), thin)

    def details(self, expected: Any, got: Any, context: Context) -> list[Detail]:
        wanted, given = self._items(expected), self._items(got[: self.cap])
        pairs = self._pairs(wanted, given)
        used = set(pairs.values())
        left = [one for nth, one in enumerate(given) if nth not in used]
        lines = []
        for nth, item in enumerate(wanted):
            if nth in pairs:
                other = given[pairs[nth]]
                lines.append(Detail(True, item.text, other.text, self._likeness(item, other)))
            else:
                taken = next((clip(one.text, 40) for one in given if self._same(item, one)), None)
                note = self._nearest(item, left) if taken is None else f"matched by another already: {taken}"
                lines.append(Detail(False, item.text, None, note))
        for one in left:
            again = any(self._same(item, one) for item in wanted)
            lines.append(Detail(False, None, one.text, "one more than expected" if again else "not expected"))
        beyond = f"beyond the first {self.cap}: not looked at"
        lines += [Detail(False, None, text, beyond) for text in got[self.cap :] if text.strip()]
        return lines or [Detail(True, None, None, "nothing expected, nothing got")]

    def count(self, texts: Sequence[str]) -> int:
        """How many of some items count."""
        return len(self._items(texts))

    def _items(self, texts: Sequence[str]) -> "list[Item]":
        """What counts: items that are not blank, ready to be compared."""
        form = FORMS[self.form]
        items = [Item(text, unspaced(form(text))) for text in texts]
        return [item for item in items if item.bare]

    def _pairs(self, wanted: "list[Item]", given: "list[Item]") -> dict[int, int]:
        """Each expected item, in order, with the first item not yet used that matches it."""
        pairs: dict[int, int] = {}
        free = list(range(len(given)))
        for nth, item in enumerate(wanted):
            for other in free:
                if self._same(item, given[other]):
                    free.remove(other)
                    pairs[nth] = other
                    break
        return pairs

    def _same(self, one: "Item", other: "Item") -> bool:
        if self.match == "exact":
            return one.bare == other.bare
        return within(one.bare, other.bare, self.contained) or alike(one, other, self.threshold)

    def _likeness(self, one: "Item", other: "Item") -> str:
        """Why two items match, for people."""
        if one.bare == other.bare:
            return "equal"
        if within(one.bare, other.bare, self.contained):
            return "one contains the other"
        return f"likeness {shown(likeness(one, other))}"

    def _nearest(self, item: "Item", left: "list[Item]") -> str:
        """Which of the items left over came nearest, for people."""
        near = max(left, key=lambda one: likeness(item, one), default=None)
        if near is None or self.match == "exact" or not likeness(item, near):
            return "nothing like it"
        return f"nearest {shown(likeness(item, near))} of {float(self.threshold):g}: {clip(near.text, 40)}"


class Item:
    """A text as written, and without spaces; its character pairs are worked out when they are needed."""

    __slots__ = ("_pairs", "bare", "text")

    def __init__(self, text: str, bare: str) -> None:
        self.text = text
        self.bare = bare
        self._pairs: frozenset[str] | None = None

    @property
    def pairs(self) -> frozenset[str]:
        """The set of adjacent character pairs."""
        if self._pairs is None:
            self._pairs = pairs_of(self.bare)
        return self._pairs

    def has_more_than(self, most: int) -> bool:
        """Whether there are more different pairs than so many; of a very long text only the beginning is read."""
        if self._pairs is not None or len(self.bare) <= LONG:
            return len(self.pairs) > most
        seen: set[tuple[str, str]] = set()
        for pair in pairwise(self.bare):
            seen.add(pair)
            if len(seen) > most:
                return True
        return False


LONG = 2000
"""From this many characters on the pairs of a text are counted before they are kept."""


def within(one: str, other: str, least: Fraction) -> bool:
    """Whether one text contains the other, and the shorter has at least such a share of the longer.

    >>> within("ab", "xaby", Fraction(0)), within("ab", "xaby", Fraction("0.6"))
    (True, False)
    """
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    return short in long and len(short) * least.denominator >= least.numerator * len(long)


THIN = 4
"""A text that is this many times shorter than the one it is in proves little."""


def is_thin(one: str, other: str) -> bool:
    """Whether a match rests on a very short text that is in a much longer one.

    >>> is_thin("人", "人事管理"), is_thin("安管", "安管/機電組")
    (True, False)
    """
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    return THIN * len(short) <= len(long) and short in long


def likeness(one: Item, other: Item) -> Fraction:
    """The Jaccard likeness of the pairs of two texts; 0 where one of them has none.

    >>> likeness(Item("", "abcdefgh"), Item("", "abcdefgx")), likeness(Item("", "x"), Item("", "y"))
    (Fraction(3, 4), Fraction(0, 1))
    """
    both = len(one.pairs & other.pairs)
    return Fraction(both, len(one.pairs) + len(other.pairs) - both) if both else NONE


def alike(one: Item, other: Item, threshold: Fraction) -> bool:
    """Whether two texts are at least so alike; those with far more pairs than the other are told apart at once."""
    short, long = (one, other) if len(one.bare) <= len(other.bare) else (other, one)
    few = len(short.pairs)
    if not few or long.has_more_than(few * threshold.denominator // threshold.numerator):
        return False
    both = len(short.pairs & long.pairs)
    return both * threshold.denominator >= threshold.numerator * (few + len(long.pairs) - both)


def shown(number: Fraction) -> str:
    """A likeness for people: the ratio and three places."""
    return f"{number.numerator}/{number.denominator} = {float(number):.3f}"


_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,}")
_HAN = re.compile("[\u4e00-\u9fff]{2,}")


def keywords(text: str) -> list[str]:
    """The keywords of a text, each once: words of three characters and more, then the pairs of every run of Chinese.

    >>> keywords("GPT-4 版本 v1.2 與 緊急應變 ab GPT-4")
    ['gpt-4', 'v1.2', '版本', '緊急', '急應', '應變']
    """
    words = dict.fromkeys(map(str.lower, _WORD.findall(text)))
    for run in _HAN.findall(text):
        words.update(dict.fromkeys(map("".join, pairwise(run))))
    return list(words)


class Keywords(NamedTuple):
    """A quoted passage: how many of the first keywords of the expected one it has, less for a very short one."""

    first: int = 30
    hits: int = 8
    length: int = 40

    def wrong(self, value: Any) -> str | None:
        return None if isinstance(value, str) else f"expected a string, got {described(value)}"

    def unfit(self, value: Any) -> str | None:
        return self.wrong(value) or (None if value.strip() else "expected a text, got an empty one")

    def compare(self, expected: Any, got: Any, context: Context) -> Match:
        known = set(keywords(got))
        hits = sum(word in known for word in keywords(expected)[: self.first])
        length = len(squeeze(got))
        score = min(ALL, Fraction(hits, self.hits)) * min(ALL, Fraction(length, self.length))
        return Match(score, (hits, length))

    def details(self, expected: Any, got: Any, context: Context) -> list[Detail]:
        known = set(keywords(got))
        wanted = keywords(expected)[: self.first]
        hits = [word for word in wanted if word in known]
        missed = [word for word in wanted if word not in known]
        length = len(squeeze(got))
        note = f"{len(hits)} of {len(wanted)} keywords, {self.hits} needed"
        lines = [Detail(len(hits) >= self.hits, expected, got, note)]
        if hits:
            lines.append(Detail(True, None, None, f"has {', '.join(hits)}"))
        if missed and len(hits) < self.hits:
            lines.append(Detail(False, None, None, f"lacks {', '.join(missed)}"))
        if length < self.length:
            lines.append(Detail(False, None, None, f"{length} of {self.length} characters"))
        return lines
