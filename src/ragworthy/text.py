"""Text as it is compared: folding, refusals, short answers, words. Pure functions."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from ragworthy.names import MIN_SUBSTR

_CJK = (
    "[\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)
_REFUSAL_LIKE = r"""
    \bnot\ (?:\w+\ ){0,3}in\ (?:the\ |this\ |any\ |your\ |our\ )*(?:\w+\ )?
        (?:context|contexts|documents?|documentation|passages?|text|sources?|excerpts?|materials?)\b
    | \b(?:cannot|can't|can’t|could\ not|couldn't|couldn’t|unable\ to|not\ able\ to)\ (?:be\ )?(?:\w+ly\ )?
        (?:answer|answered|find|found|determine|determined|locate|help|provide|tell|say|confirm|confirmed)\b
    | \b(?:do|does|did)(?:\ not|n't|n’t)\ (?:\w+\ )?
        (?:contain|provide|mention|specify|state|include|know|say|have\ (?:enough|any|the|that|this))\b
    | \b(?:is|are|was|were)(?:\ not|n't|n’t)\ (?:\w+\ )?
        (?:mentioned|specified|stated|provided|available|given|covered|described|documented)\b
    | \bno\ (?:\w+\ )?(?:information|answer|mention|evidence|context|data)\b
    | \binsufficient\ (?:information|context|evidence|data)\b
    | \b(?:unanswerable|i\ am\ not\ sure|i'm\ not\ sure|i’m\ not\ sure)\b
    | ^\W*(?:evidence\W+|answer\W+)?(?:unknown|n/a|none|no\ answer|not\ found|unclear)\W*$
    | 无法|無法|未提及|没有提|沒有提|不知道|未找到|找不到|信息不足|資訊不足|资料不足|資料不足|没有相关|沒有相關
    """
_OPENING = 240
"""A refusal says so at once: what comes later in a claim is not looked at."""
_HINTS = ("no", "n't", "una", "insuff", "uncl", "n/a")
_WIDE_HINTS = (*_HINTS, "n’t", "无", "無", "未", "没", "沒", "不", "找", "信息", "資", "资")
"""Every refusal holds one of these; looking for them is far cheaper than the pattern."""


@cache
def compiled(text: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern, compiled when it is first needed: the command line starts faster without them."""
    return re.compile(text, flags)


def fold(text: str) -> str:
    """The form in which claims and gold pieces are compared: NFC, then lower case.

    >>> fold("Cafe\u0301 RULES") == "caf\u00e9 rules"
    True
    """
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).lower()


def trim_fold(text: str) -> str:
    """`fold` of the text without spaces around it (Unicode spaces too).

    >>> trim_fold("\u3000 NOT in Context\u00a0")
    'not in context'
    """
    return fold(text.strip())


def has_cjk(text: str) -> bool:
    """Whether the text holds a Chinese, Japanese or Korean character."""
    return not text.isascii() and compiled(_CJK).search(text) is not None


def is_nfc(text: str) -> bool:
    """Whether the text is in Unicode normal form C."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)


@lru_cache(maxsize=65536)
def _at_word_borders(piece: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(piece)}(?!\w)")


def can_count_when_short(piece: str) -> bool:
    """Whether `short_substr = "word"` could ever let this folded piece count."""
    return bool(piece.strip())


def short_piece_occurs(piece: str, folded: str) -> bool:
    """Whether a piece below five characters occurs as a word (or, in CJK text, as two characters).

    >>> short_piece_occurs("rome", "in rome."), short_piece_occurs("rome", "romeo")
    (True, False)
    >>> short_piece_occurs("北京", "他住在北京城"), short_piece_occurs("京", "他住在北京城")
    (True, False)
    """
    if piece not in folded or not can_count_when_short(piece):
        return False
    if len(piece) >= 2 and has_cjk(piece):
        return True
    return _at_word_borders(piece).search(folded) is not None


def piece_occurs(pieces: Iterable[str], folded: str, *, short_words: bool) -> bool:
    """Whether any gold piece that counts occurs in a folded text.

    >>> piece_occurs(["Null", "null KEYS"], "x rejects null keys.", short_words=False)
    True
    >>> piece_occurs(["Null"], "x rejects null keys.", short_words=False)
    False
    """
    for piece in pieces:
        wanted = fold(piece)
        if len(wanted) >= MIN_SUBSTR:
            if wanted in folded and not wanted.isspace():
                return True
        elif short_words and short_piece_occurs(wanted, folded):
            return True
    return False


def looks_like_refusal(folded: str) -> bool:
    """Whether a shipped claim reads like a refusal that does not use a refusal text.

    >>> looks_like_refusal("not in context."), looks_like_refusal("the limit is 5 gb.")
    (True, False)
    >>> looks_like_refusal("i could not find this in the documentation.")
    True
    """
    opening = folded[:_OPENING]
    if "\n" in opening or "\t" in opening or "  " in opening:
        opening = " ".join(opening.split())
    for hint in _HINTS if opening.isascii() else _WIDE_HINTS:
        if hint in opening:
            return compiled(_REFUSAL_LIKE, re.VERBOSE).search(opening) is not None
    return False


def squeeze(text: str) -> str:
    """The text without spaces around it, every run of spaces inside as one.

    >>> squeeze("\u3000a \\n b ")
    'a b'
    """
    return " ".join(text.split())


def unspaced(text: str) -> str:
    """The text without any spaces.

    >>> unspaced(" a\u3000b c")
    'abc'
    """
    return "".join(text.split())


def nfkc(text: str) -> str:
    """The text in Unicode form NFKC: full-width and half-width forms become one.

    >>> nfkc("\uff21\uff22\uff0f\uff11")
    'AB/1'
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def letters(text: str) -> str:
    """Only the letters and numbers of a text, NFKC, each in lower case.

    >>> letters("\uff08\uff21\uff09人事-管理 2.0")
    'a人事管理20'
    """
    return "".join([ch.lower() for ch in nfkc(text) if unicodedata.category(ch)[0] in "LN"])


def pairs_of(text: str) -> frozenset[str]:
    """The set of adjacent character pairs of a text.

    >>> sorted(pairs_of("abab"))
    ['ab', 'ba']
    """
    return frozenset(map("".join, pairwise(text)))


def words(text: str) -> frozenset[str]:
    """The set of words of a text; CJK runs give their character pairs.

    >>> sorted(words("The bucket, THE key"))
    ['bucket', 'key', 'the']
    >>> sorted(words("北京城"))
    ['京城', '北京']
    """
    found: set[str] = set()
    for word in compiled(r"\w+").findall(unicodedata.normalize("NFKC", text).lower()):
        if has_cjk(word) and len(word) > 1:
            found.update(word[i : i + 2] for i in range(len(word) - 1))
        else:
            found.add(word)
    return frozenset(found)


def clip(text: str, limit: int) -> str:
    """The text on one line, cut with an ellipsis where it is longer than `limit` characters.

    >>> clip("one\\ntwo  three", 9)
    'one two …'
    """
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def visible(text: str) -> str:
    """The text with control characters shown as escapes, so that data cannot steer a terminal.

    >>> visible("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape", "backslashreplace").decode() for ch in text)


def sound(text: str) -> str:
    """A text as it can be written: what is not a character, such as half a surrogate pair, as an escape.

    >>> sound("\\ud800 bad")
    '\\\\ud800 bad'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def in_words(value: Any, limit: int) -> str:
    """A value of JSON in a few words: what a setting is, or how something was made.

    >>> in_words({"mode": "bm25", "k": 10, "fields": ["title", None], "exact": True}, 60)
    'mode bm25, k 10, fields title, none, exact true'
    """
    if isinstance(value, dict):
        text = ", ".join(f"{key} {in_words(one, limit)}" for key, one in value.items())
    elif isinstance(value, list | tuple):
        text = ", ".join(in_words(one, limit) for one in value) or "none"
    else:
        text = "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return visible(clip(text, limit))


def described(value: Any) -> str:
    """A JSON value as an error message shows it.

    >>> described(4), described("x"), described(None), described([1])
    ('4', '"x"', 'null', 'a list')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{clip(visible(value), 40)}"'
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return clip(str(value), 40)
