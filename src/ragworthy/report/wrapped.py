"""Texts of people in lines that fit a terminal: broken at blanks, by columns and not by characters."""

from ragworthy.report.show import columns_of

CLOSING = "，。、：；！？）」』》】"
"""Signs that no line begins with."""


def broken(line: str, room: int) -> list[str]:
    """A line in pieces that fit, broken at a blank where there is one in the second half.

    >>> broken("one two three", 8), broken("一二三四", 5)
    (['one two', 'three'], ['一二', '三四'])
    """
    pieces = []
    while line:
        end = fitting(line, room)
        blank = line.rfind(" ", end // 2, end + 1) if end < len(line) else -1
        if blank > 0:
            end = blank
        elif 1 < end < len(line) and line[end] in CLOSING:
            end -= 1
        pieces.append(line[:end].rstrip())
        line = line[end:].lstrip()
    return pieces


def fitting(line: str, room: int) -> int:
    """How many characters of a line fit; at least one, and never half of a sign and its marks."""
    for nth, sign in enumerate(line):
        room -= columns_of(sign)
        if room < 0:
            return max(nth, 1)
    return len(line)
