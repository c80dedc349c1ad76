"""Text as it is searched: words, parts of compound names, character pairs where words are not set apart by spaces."""

import re
import unicodedata
from functools import cache, lru_cache

ANALYZER = "ragworthy-words/1"
"""Changes whenever the same text would give other tokens."""

_WIDE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3005-\u3007\u3031-\u3035\u303b\u303c\u3040-\u30ff\u3100-\u318f\u31a0-\u31ff"  # Kana, Hangul
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_STOP_WORDS = (
    "a an and are as at be but by did do does for from had has have he her his how if in into is it its no not of on"
    " or s she such t that the their then there these they this to was were what when where which who why will with you"
)
_STOP = frozenset(_STOP_WORDS.split())
"""English words that say nothing about what is sought."""
_LONGEST = 64
"""A compound that is longer than this is kept in parts only."""


@cache
def _patterns(ascii_only: bool) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Compound words, their parts, and runs of wide or other characters; marks belong to the letter before them."""
    letter = r"[a-z0-9_]" if ascii_only else rf"[\w{_marks()}]"
    compound = re.compile(rf"{letter}+(?:[.\-\u2010]{letter}+)*")
    return compound, re.compile(r"[^_.\-\u2010]+"), re.compile(f"[{_WIDE}]+|[^{_WIDE}]+")


@cache
def _marks() -> str:
    """The combining marks, which are not letters to a regular expression."""
    return "".join(chr(code) for code in range(0x300, 0xFE30) if unicodedata.category(chr(code)).startswith("M"))


def _words(text: str) -> list[str]:
    """The words of a text in order; a compound gives its parts and then itself."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    compounds, parts, runs = _patterns(folded.isascii())
    found: list[str] = []
    for word in compounds.findall(folded):
        if word.isascii() and word.isalnum():
            found.append(word)
            continue
        pieces = parts.findall(word)
        for piece in pieces:
            found.extend([piece] if piece.isascii() else _pieces(piece, runs))
        if pieces and pieces != [word] and word.isascii() and len(word) <= _LONGEST:
            found.append(word)
    return found


def _pieces(word: str, runs: re.Pattern[str]) -> list[str]:
    found: list[str] = []
    for run in runs.findall(word):
        if len(run) > 1 and _is_wide(run[0]):
            found += [run[at : at + 2] for at in range(len(run) - 1)]
        else:
            found.append(run)
    return found


@lru_cache(maxsize=65536)
def _is_wide(character: str) -> bool:
    return re.fullmatch(f"[{_WIDE}]", character) is not None


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """An English word without its plural, -ed, -ing and final e; other words as they are.

    >>> [stem(word) for word in ("studies", "studied", "stopped", "wings", "string", "gas", "bases", "v1.2")]
    ['study', 'study', 'stop', 'wing', 'string', 'gas', 'bas', 'v1.2']
    """
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith(("ies", "ied")):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("ss", "us")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and any(letter in rest for letter in "aeiouy") and not word.endswith("eed"):
            return rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def analyse(text: str) -> list[str]:
    """The tokens of a text, in order and with repeats.

    >>> analyse("Wings and Flaps: read_file, GPT-4")
    ['wing', 'and', 'flap', 'read', 'fil', 'read_file', 'gpt', '4', 'gpt-4']
    >>> analyse("\u5317\u4eac\u57ce 2024\u5e74")
    ['\u5317\u4eac', '\u4eac\u57ce', '2024', '\u5e74']
    """
    return [stem(word) for word in _words(text)]


def query_terms(text: str) -> list[str]:
    """The tokens of a question without stop words, or with them where there is nothing else.

    >>> query_terms("What is the lift of a wing?"), query_terms("to be or not to be")
    (['lift', 'wing'], ['to', 'be', 'or', 'not', 'to', 'be'])
    """
    words = _words(text)
    return [stem(word) for word in words if word not in _STOP] or [stem(word) for word in words]
