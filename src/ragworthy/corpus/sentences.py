"""Where sentences end, and how a long text is cut into parts. Pure functions, in linear time."""

import re
from collections.abc import Iterator

_ABBREVIATION = re.compile(
    r"""
    a\.m | al | approx | apr | art | aug | ca | cf | ch | co | corp | dec | dept | dr | e\.g | ed | eds | eq | est | etc
    | feb | fig | figs | i\.e | inc | jan | jr | jul | jun | ltd | mar | max | min | mr | mrs | ms | no | nos | nov
    | oct | op | p\.m | pp | prof | ref | refs | resp | sec | sect | sep | sept | sr | st | u\.s | viz | vol | vs
    """,
    re.VERBOSE | re.IGNORECASE,
)
_END = re.compile(
    r"""
    \n+                                               # a line of its own: a list item, a quoted line
    | [。！？；…]+[」』”’）》〉】)"']*                      # no blank follows in Chinese and Japanese
    | (?<![.!?])[.!?]++["')\]”’»*_`]*+(?=[^\S\n]+(?P<next>\S))    # Latin: a blank follows
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[\w.]+\Z")
_LOOK_BACK = 24


def _is_code(found: re.Match[str]) -> bool:
    """Whether the mark is a piece of code itself: `?` is not a question."""
    return found.start() > 0 and found.string[found.start() - 1] == "`" and found[0].endswith("`")


def _is_abbreviation(text: str, stop: int) -> bool:
    """Whether the mark at this place is the full stop of an abbreviation or an initial."""
    if text[stop] != ".":
        return False
    found = _LAST_WORD.search(text[max(0, stop - _LOOK_BACK) : stop])
    if not found:
        return False
    word = found[0]
    return (len(word) == 1 and word.isupper()) or _ABBREVIATION.fullmatch(word.lstrip(".")) is not None


def ends(text: str) -> Iterator[int]:
    """The places right after each sentence; the last is the end of the text.

    >>> text = 'See Fig. 2, e.g. this. "Yes!" he said. 好。是吗？ End'
    >>> list(ends(text)) == [22, 38, 41, 44, len(text)]
    True
    """
    for found in _END.finditer(text):
        follower = found["next"]
        if follower:
            if follower.islower() or _is_code(found) or _is_abbreviation(text, found.start()):
                continue
        elif text[found.start()] != "\n" and found.end() == len(text):
            break
        yield found.end()
    if text:
        yield len(text)


def first(text: str, start: int = 0, at_least: int = 1) -> tuple[int, int]:
    """The first sentence from a place on, as a slice; where it is shorter than `at_least`, with those after it.

    A line end is never crossed.

    >>> text = "- No. It depends on the limit. More."
    >>> begin, end = first(text, 2, 8); text[begin:end]
    'No. It depends on the limit.'
    """
    for end in ends(text[start:]):
        piece = text[start : start + end]
        if len(piece.strip()) >= at_least or (piece.endswith("\n") and piece.strip()):
            return trimmed(text, start, start + end)
    return trimmed(text, start, len(text))


def trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """The slice without spaces at its ends."""
    piece = text[begin:end]
    return begin + len(piece) - len(piece.lstrip()), end - (len(piece) - len(piece.rstrip()))


def _fitting(text: str, begin: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """A sentence over the limit in slices: at spaces, else between characters."""
    start = begin
    while start < end:
        stop = _fits(text, start, end, limit)
        if stop < end:
            blank = max(text.rfind(" ", start, stop), text.rfind("\n", start, stop))
            if blank > start and not text[stop].isspace():
                stop = blank + 1
        yield start, stop
        start = stop


def _fits(text: str, start: int, end: int, limit: int) -> int:
    """The furthest place up to which the text is within the limit of bytes; at least one character."""
    window = text[start : min(end, start + limit)]
    kept = window.encode()[:limit].decode(errors="ignore")
    return start + max(1, len(kept))


def parts(text: str, limit: int) -> list[tuple[int, int]]:
    """Slices of at most `limit` UTF-8 bytes that end with sentences where possible; only spaces lie between them.

    >>> text = "One two. Three four. Five."
    >>> [text[a:b] for a, b in parts(text, 20)], [text[a:b] for a, b in parts(text, 6)]
    (['One two. Three four.', 'Five.'], ['One', 'two.', 'Three', 'four.', 'Five.'])
    """
    found: list[tuple[int, int]] = []
    begin = end = size = 0
    for stop in ends(text):
        more = len(text[end:stop].encode())
        if size + more > limit and len(text[begin:stop].strip().encode()) > limit:
            if end > begin:
                found.append((begin, end))
            begin, size = end, 0
            if more > limit and len(text[begin:stop].strip().encode()) > limit:
                *whole, (begin, end) = _fitting(text, begin, stop, limit)
                found += whole
                more = len(text[begin:stop].encode())
        end, size = stop, size + more
    if end > begin:
        found.append((begin, end))
    slices = (trimmed(text, begin, end) for begin, end in found)
    return [(begin, end) for begin, end in slices if begin < end]
