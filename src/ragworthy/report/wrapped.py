"""Texts of people in lines that fit a terminal: broken at spaces, by columns and not by characters."""

from ragworthy.report.show import columns_of, width_of
from ragworthy.text import compiled

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


_COLUMN = r" *\S+(?: \S+)* {2,}(?=\S)"
"""The first column of a line: words with single spaces between them, and the gap behind them."""
_WIDE = r"\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef"
_WORD = rf" *(?:[{_WIDE}][{CLOSING}]*|[^\s{_WIDE}]+)"
"""A word with the spaces before it; Chinese, Japanese and Korean text may be broken after every sign."""
_COPIED = r"\s*(?:next: |see: |ragworthy |\$ )"
"""How lines begin that hold a command to copy."""


def hanging(line: str, width: int) -> list[str]:
    """A line in pieces that fit, each below the text of the first one: behind its first column, or a little further in.
    Words stay whole, so that paths can be copied, and a command is never broken.

    >>> hanging("  source    one two three", 24)
    ['  source    one two', '            three']
    >>> hanging("one two three", 9), hanging("next: one two three", 9)
    (['one two', '  three'], ['next: one two three'])
    """
    if width_of(line) <= width or compiled(_COPIED).match(line):
        return [line]
    column = compiled(_COLUMN).match(line)
    bare = line.lstrip(" ")
    indent = width_of(column[0]) if column and width_of(column[0]) <= width // 2 else len(line) - len(bare) + 2
    lines, shown = [], line[: len(line) - len(bare)]
    for word in compiled(_WORD).findall(bare):
        if width_of(shown + word) > width and shown.strip():
            lines.append(shown.rstrip())
            shown = " " * indent
        shown += word.lstrip(" ") if lines and not shown.strip() else word
    return [*lines, shown]
