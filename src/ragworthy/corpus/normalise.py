"""How source text becomes canonical text, and the fingerprint form in which texts are matched. Pure functions."""

import re
import string
import unicodedata
from collections.abc import Iterable

NORMALISER = "ragworthy-norm/1"
"""Name and version of these rules; texts made under another name are not compared."""

KEPT_HYPHENS = frozenset({"APIs", "DevOps", "IDs", "IPv", "OAuth", "PDFs", "URLs", "VMs"})
"""Acronyms that end in a small letter: a hyphen after one of them is not the break of a word."""

_INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\ufeff]")
_BROKEN_WORD = re.compile(r"(\w+)-\n(?=\w)")
_WORD = re.compile(
    "[\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
    r"|[^\W\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]+"
)


def characters(text: str) -> str:
    """The text with one kind of line end, in Unicode form C, without soft hyphens and zero-width characters.

    >>> characters("\\ufeffe\\u0301\\r\\nsoft\\u00ad\\u200bly\\r") == "\\u00e9\\nsoftly\\n"
    True
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", unicodedata.normalize("NFC", text)))


def _joined_word(found: re.Match[str]) -> str:
    left = found[1]
    right = found.string[found.end()]
    if left[-1].islower() and left not in KEPT_HYPHENS and (right.islower() or right.isdecimal()):
        return left
    return f"{left}-\n"


def prose(lines: Iterable[str]) -> str:
    """The lines of a paragraph as one line: broken words joined, runs of spaces made one.

    >>> prose(["An exam-  ", "  ple of   UTF-", "8."])
    'An example of UTF- 8.'
    """
    text = "\n".join(line.strip() for line in lines)
    if "-\n" in text:
        text = _BROKEN_WORD.sub(_joined_word, text)
    return " ".join(text.split())


def code_line(line: str) -> str:
    """A line of code: tabs become four spaces, trailing spaces go, everything else stays."""
    return line.replace("\t", "    ").rstrip()


def indented(line: str) -> str:
    """A line whose indentation means something: it stays (tabs as four spaces), other runs of spaces become one."""
    body = line.lstrip(" \t")
    indent = line[: len(line) - len(body)].replace("\t", "    ")
    words = " ".join(body.split())
    return f"{indent}{words}" if words else ""


def table_line(line: str, *, tabs: bool = False) -> str:
    """A row of a table: runs of spaces become one, line ends are trimmed; tabs stay where they part the columns.

    >>> table_line("| a    b |  c |   "), table_line("x \\t\\t y  z", tabs=True)
    ('| a b | c |', 'x\\t\\ty z')
    """
    if not tabs:
        return " ".join(line.split())
    return "\t".join(" ".join(cell.split()) for cell in line.split("\t")).strip()


class _Kept(dict[int, int | None]):
    """Which characters belong to the fingerprint form, found out once for each."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        gone = character in string.punctuation or unicodedata.category(character)[0] in "PZC"
        self[code] = None if gone else code
        return self[code]


_KEPT = _Kept()


def fingerprint(text: str) -> str:
    """The form in which texts are matched: lower case, without spaces and punctuation.

    >>> fingerprint("The `bucket`, THE key — 北京。")
    'thebucketthekey北京'
    """
    return text.lower().translate(_KEPT)


def count_tokens(text: str) -> int:
    """How many words a text has; every Chinese or Japanese character counts as one.

    >>> count_tokens("Set max_size to 10."), count_tokens("北京 rocks")
    (4, 3)
    """
    return len(_WORD.findall(text))
