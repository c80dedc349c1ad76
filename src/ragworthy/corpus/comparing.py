"""The form in which evidence and chunks are compared: words without anything that a change of format changes.

NFKC and case folding; no soft hyphens and zero-width characters; words that were hyphenated at a line's end joined; of
Markdown and HTML only the text (link targets, tags and list numbers are dropped, entities resolved). What is left is
cut into words of letters and digits, so spaces, quotes, dashes and every other punctuation mark make no difference. In
scripts without spaces between words (Chinese, Japanese, Korean, Thai …) every character is a word.
"""

import html
import re
import unicodedata

_ONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_ONE}]|[^\W_{_ONE}]+")
_SINGLE = re.compile(rf"[{_ONE}]")
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-[ \t]*\r?\n[ \t]*(?=[^\W\d_])")
_LIST_NUMBER = re.compile(r"^[ \t>]*(?:[-*+•][ \t]+)?\(?[0-9]{1,3}[.)](?:[ \t]+|$)", re.MULTILINE)
_LINK_TARGET = re.compile(r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\]\[[^\]\[]*\]")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>|<!--.*?-->", re.DOTALL)


def forms_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The words of a text without the numbers of lists, and with them where there are some: "2. " may end a sentence.

    >>> forms_of("of O\\n2. Later")
    (('of', 'o', 'later'), ('of', 'o', '2', 'later'))
    """
    words = words_of(text)
    return (words,) if _LIST_NUMBER.search(text) is None else (words, words_of(text, numbered=True))


def words_of(text: str, *, numbered: bool = False) -> tuple[str, ...]:
    """The words of a text, in order, as they are compared.

    >>> words_of("1. The **limit** is [5\u00a0GB](https://a.b/c) per buck-\\n   et\u2014\u201cnot\u201d more.")
    ('the', 'limit', 'is', '5', 'gb', 'per', 'bucket', 'not', 'more')
    >>> words_of("\uff08北京\uff09 &amp; <b>Rome</b>")
    ('北', '京', 'rome')
    """
    if not text.isascii():
        text = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    if "\n" in text:
        text = _HYPHENATED.sub("", text)
    if not numbered:
        text = _LIST_NUMBER.sub("", text)
    if "]" in text:
        text = _LINK_TARGET.sub("]", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    return tuple(_TOKEN.findall(text.casefold()))


def is_character(word: str) -> bool:
    """Whether a word is one character of a script without spaces between words."""
    return not word.isascii() and _SINGLE.fullmatch(word) is not None


def keys_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """What each word is looked up by: itself; a single character with the one after it, or nothing where none follows.

    >>> keys_of(("in", "北", "京", "城"))
    ('in', '北京', '京城', '')
    """
    if all(map(str.isascii, words)):
        return words
    after = (*words[1:], "")
    return tuple(
        word if not is_character(word) else word + next_one if next_one and is_character(next_one) else ""
        for word, next_one in zip(words, after, strict=True)
    )


def common(wanted: tuple[str, ...], window: tuple[str, ...]) -> int:
    """How many words the two have in common in the same order: the length of the longest common subsequence.

    >>> common(("a", "b", "c", "d"), ("a", "x", "c", "b", "d"))
    3
    """
    places: dict[str, int] = {}
    for place, word in enumerate(wanted):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(wanted)) - 1
    row = full
    for word in window:
        matched = row & places.get(word, 0)
        row = (row + matched | row - matched) & full
    return len(wanted) - row.bit_count()


def best_window(wanted: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    """The run of a text, a quarter longer than what is wanted, that shares most words with it; the first of several."""
    size = len(wanted) + len(wanted) // 4 + 2
    if len(words) <= size:
        return words
    left: dict[str, int] = {}
    for word in wanted:
        left[word] = left.get(word, 0) + 1
    shared, best, at = 0, -1, 0
    for place, word in enumerate(words):
        if word in left:
            shared += left[word] > 0
            left[word] -= 1
        if place >= size:
            gone = words[place - size]
            if gone in left:
                left[gone] += 1
                shared -= left[gone] > 0
        if shared > best and place >= size - 1:
            best, at = shared, place - size + 1
    return words[at : at + size]
