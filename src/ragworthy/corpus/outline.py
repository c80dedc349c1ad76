"""Headings: what their numbers say, how deep they lie, and the paths they get. Pure functions."""

import re
from typing import NamedTuple

DEEPEST = 6

_DOTTED = re.compile(r"(?P<number>(?:[0-9]{1,4}|[A-Z](?=\.[0-9]))(?:\.[0-9]{1,4}){0,9})(?P<stop>[.)]?)(?:\s+|$)")
_CHAPTER = re.compile(r"(?:chapter|CHAPTER|Chapter)\s+(?P<number>[0-9]{1,4}|[IVXLC]{1,7})(?![\w-])")
_APPENDIX = re.compile(r"(?:appendix|APPENDIX|Appendix)\s+(?P<number>[A-Z]|[0-9]{1,3})(?![\w-])")
_LETTER = re.compile(r"(?P<number>[A-Z])[.)]\s+")
_ANCHOR = re.compile(r"\s*\{:?\s*[#.][^{}]*\}\s*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()]|\([^()]*\))*\)")
_NOT_WORD = re.compile(r"[\W_]+")


class Number(NamedTuple):
    """What the numbering of a title says."""

    kind: str
    """dotted, chapter, appendix or letter."""
    parts: tuple[str, ...]
    rest: str
    """The title without its number."""


def numbering(title: str) -> Number | None:
    """The number a title starts with, if it has one.

    >>> numbering("2.10 Limits"), numbering("Appendix B: Terms").parts, numbering("B) Terms").kind
    (Number(kind='dotted', parts=('2', '10'), rest='Limits'), ('B',), 'letter')
    >>> numbering("2024-01-01 Release") is None
    True
    """
    for kind, pattern in (("dotted", _DOTTED), ("chapter", _CHAPTER), ("appendix", _APPENDIX), ("letter", _LETTER)):
        found = pattern.match(title)
        if found:
            return Number(kind, tuple(found["number"].split(".")), title[found.end() :].strip(" .:—–-"))
    return None


def clean_title(text: str) -> str:
    """A title as it reads: without attributes in braces, links as their text, on one line.

    >>> clean_title("Use [the API](api.md)  now { #use-it }")
    'Use the API now'
    """
    return _LINK.sub(r"\1", _ANCHOR.sub("", " ".join(text.split())))


def slug(title: str) -> str:
    """The title in lower case, its words joined by hyphens.

    >>> slug("What's new in `v2`?")
    'what-s-new-in-v2'
    """
    return _NOT_WORD.sub("-", title.lower()).strip("-") or "section"


def levels(headings: list[tuple[int, str]]) -> list[int]:
    """The level of each heading, given its markup's level and its title.

    A dotted number wins over the markup when it belongs to an outline: it is the first number of the document, or its
    parent or its elder sibling was there before. Numbers of releases are not an outline.

    >>> levels([(1, "1 Start"), (1, "1.1 First"), (3, "1.2 Second"), (2, "9.4.7 released"), (2, "3. Steps")])
    [1, 2, 2, 2, 2]
    """
    seen: set[tuple[str, ...]] = set()
    found: list[int] = []
    for level, title in headings:
        number = numbering(title)
        if number and number.kind == "dotted":
            parts = number.parts
            elder = (*parts[:-1], str(int(parts[-1]) - 1)) if parts[-1].isdecimal() else parts
            if len(parts) > 1 and (not seen or parts[:-1] in seen or elder in seen):
                level = len(parts)
                seen.add(parts)
            elif len(parts) == 1:
                seen.add(parts)
        elif number and number.kind == "appendix":
            seen.add(number.parts)
        found.append(min(level, DEEPEST))
    return found


class Place(NamedTuple):
    """Where a heading is in the tree: its path, its depth, and the index of its parent."""

    path: str
    depth: int
    parent: int | None


def places(levels: list[int]) -> list[Place]:
    """The path of each heading by order under its parent; a heading is at most one step below the one it belongs to.

    >>> [place.path for place in places([1, 3, 3, 2, 1, 2])]
    ['1', '1.1', '1.2', '1.3', '2', '2.1']
    """
    open_ones: list[tuple[int, int]] = []
    counts: list[int] = [0]
    found: list[Place] = []
    for index, level in enumerate(levels):
        while open_ones and open_ones[-1][0] >= level:
            open_ones.pop()
        depth = len(open_ones) + 1
        del counts[depth:]
        counts[-1] += 1
        parent = open_ones[-1][1] if open_ones else None
        found.append(Place(".".join(map(str, counts)), depth, parent))
        counts.append(0)
        open_ones.append((level, index))
    return found
