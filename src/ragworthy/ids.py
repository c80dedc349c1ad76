"""The ids of chunks, sections and configurations: reading and ordering them, how far apart sections are. All pure."""

import hashlib
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import msgspec

TYPE_TAGS = {"p": "prose", "c": "code", "t": "table", "f": "figure", "k": "caption", "m": "formula"}
"""The type letters of dotted ids."""

_PIPE = r"""
    (?P<doc>[^|]+) (?:\|r=(?P<rev>[0-9a-f]{8}|[0-9a-f]{12}))?
    \|s=(?P<section>(?:[A-Za-z]\.)?[0-9]+(?:\.[0-9]+)*|p[0-9]+)
    \|p=(?P<page>[0-9]+) \|b=(?P<block>[0-9]+)(?P<part>[a-z]*)
    """
_DOTTED = r"""
    (?P<section>[A-Za-z][A-Za-z0-9_-]*(?:\.[0-9]+)+)
    (?:\.(?P<type>[pctfkm]))? \.[Bb][Kk](?P<block>[0-9]+)(?P<part>[a-z]*)
    """
_HASH_LONG = r"(?P<section>(?P<doc>[^#]+)\#s[0-9]+) \#p(?P<block>[0-9]+)"
_HASH = r"(?P<section>(?P<doc>.+)) \#(?P<block>[0-9]+)"
_FORMS = (("pipe", "|s=", _PIPE), ("dotted", ".", _DOTTED), ("hash", "#", _HASH_LONG), ("hash", "#", _HASH))
"""Each form with a text that every id of it holds: opaque ids, which most corpora have, need no pattern to say so."""

NaturalKey: TypeAlias = tuple[tuple[tuple[int, str], ...], str]


class Id(NamedTuple):
    """What an id says: its form, and the fields that its form has."""

    form: str
    doc: str | None = None
    section: str | None = None
    type: str | None = None
    page: int | None = None
    block: int | None = None
    part: str | None = None
    rev: str | None = None


_OPAQUE = Id("opaque")


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.VERBOSE | re.ASCII)


def _number(digits: str | None) -> int | None:
    return int(digits) if digits and len(digits) <= 18 else None


def parse(text: str) -> Id:
    """The fields of an id; one that has no known form is opaque.

    >>> parse("docA|r=8c1e9a02|s=1.2.3|p=002|b=007")
    Id(form='pipe', doc='docA', section='1.2.3', type=None, page=2, block=7, part=None, rev='8c1e9a02')
    >>> parse("S.4.2.p.Bk011a")
    Id(form='dotted', doc=None, section='S.4.2', type='p', page=None, block=11, part='a', rev=None)
    >>> parse("docA#s03#p002").section, parse("p1#2").section, parse("c_00123").form
    ('docA#s03', 'p1', 'opaque')
    """
    form, found = _formed(text)
    if found is None:
        return _OPAQUE
    has = found.groupdict()
    return Id(
        form,
        has.get("doc"),
        has["section"],
        has.get("type"),
        _number(has.get("page")),
        _number(has["block"]),
        has.get("part") or None,
        has.get("rev"),
    )


def _formed(text: str) -> tuple[str, re.Match[str] | None]:
    """The form of an id, and its fields where it has one."""
    for form, needed, pattern in _FORMS:
        found = _pattern(pattern).fullmatch(text) if needed in text else None
        if found:
            return form, found
    return "opaque", None


class Spot(NamedTuple):
    """The fields of an id that say where it stands, and its type."""

    doc: str | None
    section: str
    type: str | None


def spot_of(text: str) -> Spot | None:
    """Where an id stands, as `parse` says it: these fields alone, for the many ids of which nobody asks more.

    >>> spot_of("S.4.2.p.Bk011a"), spot_of("c_00123")
    (Spot(doc=None, section='S.4.2', type='p'), None)
    """
    _, found = _formed(text)
    if found is None:
        return None
    has = found.re.groupindex
    return Spot(
        found["doc"] if "doc" in has else None,
        found["section"],
        found["type"] if "type" in has else None,
    )


def section_of(text: str) -> str | None:
    """The section that an id names; None for an opaque id, whose section only the corpus knows.

    >>> section_of("S.4.2.p.Bk011a"), section_of("p1#2"), section_of("c_00123")
    ('S.4.2', 'p1', None)
    """
    return parse(text).section


def stable(text: str) -> str:
    """The id without the revision, by which citations are compared.

    >>> stable("docA|r=8c1e9a02|s=1.2.3|p=002|b=007")
    'docA|s=1.2.3|p=002|b=007'
    >>> stable("p1#2")
    'p1#2'
    """
    if "|r=" not in text:
        return text
    rev = parse(text).rev
    return text if rev is None else text.replace(f"|r={rev}|", "|", 1)


def all_stable(texts: Sequence[str]) -> tuple[str, ...]:
    """The same of many ids: hardly any has a revision, and one look at all of them shows it.

    >>> all_stable(["docA|r=8c1e9a02|s=1.2.3|p=002|b=007", "p1#2"])
    ('docA|s=1.2.3|p=002|b=007', 'p1#2')
    """
    return tuple(map(stable, texts)) if "|r=" in "\n".join(texts) else tuple(texts)


def pipe(doc: str, section: str, block: int, part: str = "", page: int = 0) -> str:
    """The stable pipe id of a block.

    >>> pipe("docA", "1.2", 7, "b")
    'docA|s=1.2|p=000|b=007b'
    """
    return f"{doc}|s={section}|p={page:03d}|b={block:03d}{part}"


def part_letters(index: int) -> str:
    """The letters of the part with this index (from 0) of a split block.

    >>> [part_letters(n) for n in (0, 1, 25, 26, 27, 701, 702)]
    ['a', 'b', 'z', 'aa', 'ab', 'zz', 'aaa']
    """
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


def natural(text: str) -> NaturalKey:
    """A sort key under which numbers count as numbers; equal only for equal texts.

    A section comes before its subsections, and part z of a split block before part aa.

    >>> sorted(["1.10", "1.2", "1.1"], key=natural)
    ['1.1', '1.2', '1.10']
    >>> sorted(["d|s=1.1|p=000|b=001", "d|s=1|p=000|b=001aa", "d|s=1|p=000|b=001z"], key=natural)
    ['d|s=1|p=000|b=001z', 'd|s=1|p=000|b=001aa', 'd|s=1.1|p=000|b=001']
    """
    pieces = _pattern(r"([0-9]+)").split(text)
    key: list[tuple[int, str]] = []
    for place, piece in enumerate(pieces):
        if place % 2:
            digits = piece.lstrip("0")
            key.append((len(digits), digits))
        else:
            key.append((0, piece.replace("|", "\0")))
    if len(pieces) > 1 and _pattern(r"[a-z]+").fullmatch(pieces[-1]):
        key[-1] = (len(pieces[-1]), pieces[-1])
    return tuple(key), text


def section_key(text: str) -> str:
    """The form in which sections are compared: the root S of the body is left out.

    >>> section_key("S.4.2"), section_key("4.2"), section_key("A.3.1"), section_key("guide.md|s=S.4.2")
    ('4.2', '4.2', 'A.3.1', 'guide.md|s=4.2')
    """
    doc, qualified, path = text.strip().rpartition("|s=")
    if _pattern(r"S(?:\.[0-9]+)+").fullmatch(path):
        path = path[2:]
    return f"{doc}{qualified}{path}"


def is_numbered(path: str) -> bool:
    """Whether a section is a number, as 4.2 or A.3.1, and no path of titles.

    >>> is_numbered("4.2"), is_numbered("A.3.1"), is_numbered("policies/keys"), is_numbered("")
    (True, True, False, False)
    """
    return _pattern(r"(?:[A-Za-z][A-Za-z0-9_-]*\.)?[0-9]+(?:\.[0-9]+)*").fullmatch(path) is not None


def _steps(path: str) -> list[str]:
    if is_numbered(path):
        return [step.lstrip("0") or step[-1] for step in path.split(".")]
    return path.split("/")


@lru_cache(maxsize=1 << 14)  # of one anchor section many citations are asked
def tree_distance(a: str, b: str) -> int:
    """Steps from one section to another through their nearest common ancestor; the document is the root.

    Sections qualified by two different documents meet above both documents. Where only one is qualified, the other is
    taken to be in the same document.

    >>> tree_distance("S.4", "4.2"), tree_distance("S.4.10", "S.4.1"), tree_distance("S.5", "S.4.2")
    (1, 2, 3)
    >>> tree_distance("normans/p000", "normans/p001"), tree_distance("a.md|s=1", "b.md|s=1")
    (2, 4)
    """
    doc_a, _, path_a = section_key(a).rpartition("|s=")
    doc_b, _, path_b = section_key(b).rpartition("|s=")
    left, right = _steps(path_a), _steps(path_b)
    if doc_a and doc_b and doc_a != doc_b:
        return len(left) + len(right) + 2
    shared = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        shared += 1
    return len(left) + len(right) - 2 * shared


def config_id(knobs: dict[str, Any]) -> str:
    """A short name for a set of knobs, the same whatever their order.

    >>> config_id({"b": 1, "a": 2}) == config_id({"a": 2, "b": 1}), len(config_id({}))
    (True, 12)
    """
    return hashlib.sha256(msgspec.json.encode(knobs, order="deterministic")).hexdigest()[:12]
