"""The rules that a section states, which an answer from it must repeat word for word.

A rule holds for its section, wherever chunks happen to be cut: an answer from one chunk repeats those of the section.
"""

import re
from collections.abc import Iterable
from functools import cache

from ragworthy.pipeline.units import units
from ragworthy.records import Chunk

_RULE = r"""
    \b(?:must|shall)\b | \b(?:may|can|should)\ not\b | \bcannot\b
    | \b(?:is|are)\ (?:not\ allowed|forbidden|prohibited)\b
    | 必须 | 必須 | 不得 | 禁止 | 不可 | 不能
    """


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_RULE, re.VERBOSE | re.IGNORECASE)


def locked(chunks: Iterable[Chunk]) -> list[str]:
    """The sentences and list items that oblige or forbid, each once, in reading order; none that only leads in a list.

    >>> locked([Chunk(text="Names must not change. A name has 3 letters. Old ones cannot come back.")])
    ['Names must not change.', 'Old ones cannot come back.']
    """
    found = (
        unit.text
        for chunk in chunks
        for unit in units(chunk.text, chunk.type)
        if unit.kind in ("sentence", "item") and not unit.text.endswith((":", "：")) and _pattern().search(unit.text)
    )
    return list(dict.fromkeys(found))
