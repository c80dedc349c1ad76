"""One spelling for texts that are compared with a reference, and which language they seem to be in."""

import re
import unicodedata

from ragworthy.text import compiled, has_cjk, nfkc


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENGLISH = _listed(
    "the of and is was are were to for with by that this it its from as at be been has have had which who their his "
    "her they not but or if when than then there will would can could should may might into these those"
)
_GERMAN = _listed(
    "der das und ist nicht ein eine einen einem einer dem den mit für auf von zu zum zur wird sich auch werden bei im "
    "wurde sind nach aus es als oder die hat haben war waren kann am"
)
_MORE_GERMAN = _listed(
    "beträgt betragen drei zwei vier nur über unter bis seit vom beim kein keine keinen sie wir ich ihr sein seine "
    "dieser diese dieses gilt gelten muss müssen soll können darf noch wenn dass sowie durch gegen ohne pro jede jeder "
    "alle innerhalb des dort hier bleibt liegt kostet dauert erfolgt endet beginnt um vor wurden mindestens höchstens"
)
"""Only to see whether nouns have capitals; which words are articles is told by the shorter list."""
_OTHERS = _listed(
    "le la les des du un une et est que qui dans pour sur avec au aux ne pas el los las del y en por con para una es "
    "su se al de os um uma não em da dos das il lo gli di che è per della nel het een van niet zijn voor ook och att "
    "som det på med jest nie się w z na"
)
FUNCTION_WORDS = _ENGLISH | _listed("a an i in on he she we you what where how why do does did no yes so")
"""English words that are not names, whatever their first letter looks like."""

_HIDDEN = re.compile("[\u00ad\u0640\u064b-\u0652\u0670\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
"""What cannot be seen or is optional: soft hyphens, joiners, marks of direction, Arabic vowel signs."""
_GROUPED = re.compile("(?<=\\d)[\u00a0\u2009\u202f](?=\\d{3}(?!\\d))")
_MARKERS = re.compile(r"\[\^?\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\]")
"""Markers of citations, as answers carry them: [1], [2, 3]."""
_DASHES = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2212": "-", "’": "'", "‘": "'", "ʼ": "'", "٫": ".", "٬": ","})


def normal(text: str) -> str:
    """A text as it is compared: NFKC, digits of all scripts as 0 to 9, without markers of citations.

    >>> normal("Ｆｉｖｅ ٣٠ days[1], 1\u202f000")
    'Five 30 days, 1000'
    """
    text = _MARKERS.sub("", text)
    if text.isascii():
        return text
    text = nfkc(_GROUPED.sub("", _HIDDEN.sub("", text))).translate(_DASHES)
    return compiled(r"[^\W\d_]|\d").sub(_digit, text) if compiled(r"[^\x00-\x7f]").search(text) else text


def _digit(found: "re.Match[str]") -> str:
    value = unicodedata.decimal(found[0], None)
    return found[0] if value is None else str(value)


UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Scripts that are compared character by character: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese."""


def without_unspaced(text: str) -> str:
    """A text with other characters in place of scripts without spaces between words: what is left are words.

    >>> without_unspaced("使用ChatGPT").strip("\\0")
    'ChatGPT'
    """
    return text if text.isascii() else compiled(UNSPACED).sub("\0", text)


def _count(words: list[str], known: frozenset[str]) -> int:
    return sum(word in known for word in words)


def has_articles(*texts: str) -> bool:
    """Whether `a`, `an` and `the` are articles in these texts: unless they show that they are not in English.

    >>> has_articles("the cat"), has_articles("a cat"), has_articles("va a la casa de su madre"), has_articles("A股")
    (True, True, False, False)
    """
    if any(map(has_cjk, texts)):
        return False
    words = [word for text in texts for word in compiled(r"[^\W\d_]+").findall(text.lower())]
    foreign = _count(words, _GERMAN) + _count(words, _OTHERS)
    return foreign < 2 or foreign <= _count(words, _ENGLISH)


def is_german(text: str) -> bool:
    """Whether a text seems to be German, where every noun has a capital.

    >>> is_german("Die Frist für den Antrag ist kurz."), is_german("The deadline is short.")
    (True, False)
    >>> is_german("Die Kündigungsfrist beträgt drei Monate."), is_german("Gerhard Schröder will die.")
    (True, False)
    """
    as_written = compiled(r"[^\W\d_]+").findall(text)
    words = [word.lower() for word in as_written]
    german = _count(words, _GERMAN | _MORE_GERMAN)
    if not german or german <= _count(words, _ENGLISH) or german < _count(words, _OTHERS):
        return False
    return german + sum(compiled(_GERMAN_WORD).search(word) is not None for word in as_written) >= 2


_GERMAN_WORD = r"[äöüß]|^[A-Z]\w{2,}(?:ung|ungen|heit|keit|schaft)$|^[A-Z]\w{2,}(?:ungs|heits|keits|schafts)\w{3}"


def groups_by_dots(text: str) -> bool:
    """Whether 1.500 is one thousand five hundred in a text, as far as its language shows.

    >>> groups_by_dots("1.500 Plätze"), groups_by_dots("1.500 m")
    (True, False)
    """
    if is_german(text):
        return True
    words = compiled(r"[^\W\d_]+").findall(text.lower())
    return compiled(r"[äöüß]").search(text) is not None and not _count(words, _ENGLISH | _OTHERS)
