"""Numbers written in words become digits, so that they can be compared by value: English, some German, Chinese."""

import re
from fractions import Fraction

from ragworthy.text import compiled

_ONES = {
    word: value
    for value, words in enumerate(
        (
            "zero null", "one", "two zwei", "three drei", "four vier", "five fünf", "six sechs", "seven sieben",
            "eight acht", "nine neun", "ten zehn", "eleven elf", "twelve zwölf", "thirteen dreizehn",
            "fourteen vierzehn", "fifteen fünfzehn", "sixteen sechzehn", "seventeen siebzehn", "eighteen achtzehn",
            "nineteen neunzehn",
        )
    )
    for word in words.split()
    if word != "null"
}  # fmt: skip
_TENS = {
    word: 10 * value
    for value, words in enumerate(
        (
            "twenty zwanzig", "thirty dreißig dreissig", "forty fourty vierzig", "fifty fünfzig", "sixty sechzig",
            "seventy siebzig", "eighty achtzig", "ninety neunzig",
        ),
        2,
    )
    for word in words.split()
}  # fmt: skip
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth",
)  # fmt: skip
"""Read in a claim only: in a reference `first` is hardly ever a number."""
_WORD = "|".join(sorted((*_ONES, *_TENS), key=len, reverse=True))
_SCALE = "|".join(_SCALES)
_SPELLED = (
    rf"\b(?:(?:an?)[ -](?:{_SCALE})|(?:{_WORD}))"
    rf"(?:(?:[ -]|[ ]and[ ])(?:{_WORD}|{_SCALE}))*(?![A-Za-zäöüß])"
)


def spelled_out(text: str, *, loose: bool) -> str:
    """The text with numbers in words as digits. A lone `one` and ordinals are numbers only where it is `loose`.

    >>> spelled_out("one thousand two hundred and five, twenty-five, one day", loose=False)
    '1205, 25, one day'
    >>> spelled_out("the first one", loose=True), spelled_out("三百人, 二〇二一年, 一些", loose=True)
    ('the 1th 1', '300人, 2021年, 一些')
    """
    if loose:
        text = compiled(r"\b(?:" + "|".join(_ORDINALS) + r")\b", re.IGNORECASE).sub(_ordinal, text)
    text = compiled(_SPELLED, re.IGNORECASE).sub(lambda found: _english(found[0], loose), text)
    return text if text.isascii() else _chinese_numbers(text)


def _ordinal(found: "re.Match[str]") -> str:
    return f"{_ORDINALS.index(found[0].lower()) + 1}th"


def _english(words: str, loose: bool) -> str:
    """A run of number words as digits; several numbers where it is not one, such as `two and three`."""
    parts = [part for part in re.split(r"[ -]+", words.lower()) if part != "and"]
    if parts == ["one"]:
        return "1" if loose else words
    value = _value(parts)
    if value is not None:
        return str(value)
    return compiled(_WORD, re.IGNORECASE).sub(lambda found: _english(found[0], loose), words)


def _value(parts: list[str]) -> int | None:
    """The number that these words are; None where people do not write one so."""
    total, current, last = 0, 0, 10**15
    for part in parts:
        scale = 1 if part in ("a", "an") else _SCALES.get(part)
        if part in ("a", "an"):
            current = 1
        elif scale in (12, 100):
            current *= scale
        elif scale is not None:
            if scale >= last or not current:
                return None
            total, current, last = total + current * scale, 0, scale
        else:
            value = _TENS.get(part) or _ONES.get(part, 0)
            room = 100 if value >= 20 else 10 if value < 10 and current % 100 >= 20 else 100
            if current % room or (current and not value):
                return None
            current += value
    return total + current


# Chinese

_SIGNS = ("〇零", "一壹", "二两兩", "三", "四", "五", "六", "七", "八", "九")
_DIGITS = {sign: value for value, signs in enumerate(_SIGNS) for sign in signs}
_SMALL = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_OF = "年月日号號天个個小时分秒元块岁歲人名次倍位家条條座种種米公千度届屆世時間％%"
"""What may be behind a single numeral for it to count: alone, 一 and 十 are parts of ordinary words."""
PARTS_OF_DAY = ("凌晨", "清晨", "早上", "早晨", "上午", "中午", "下午", "傍晚", "晚上", "午前", "午後")
LONGEST = 15
"""A longer run of numerals is not a number that people write."""
_NUMERAL = f"[{''.join(_DIGITS)}{''.join(_SMALL)}]+(?:[{''.join(_LARGE)}][{''.join(_DIGITS)}{''.join(_SMALL)}]*)*"


def _chinese_numbers(text: str) -> str:
    decimal = compiled(rf"({_NUMERAL})[点點]([{''.join(_DIGITS)}]+)(?![{''.join(_DIGITS)}十百千分刻半钟鐘滴线])")
    text = decimal.sub(_decimal, text)
    share = compiled(rf"百分之(?:({_NUMERAL})|(\d+)(?:[.点點](\d+))?)")
    text = share.sub(_share, text)
    return compiled(_NUMERAL).sub(_numeral, text)


def _decimal(found: "re.Match[str]") -> str:
    """三点五 is 3.5; behind a part of the day it is a time."""
    if len(found[1]) > LONGEST or found.string[: found.start()].endswith(PARTS_OF_DAY):
        return found[0]
    return f"{_chinese(found[1])}.{''.join(str(_DIGITS[sign]) for sign in found[2][:LONGEST])}"


def _share(found: "re.Match[str]") -> str:
    if found[1]:
        return f"{_chinese(found[1][:LONGEST])}%"
    return f"{found[2]}{'.' if found[3] else ''}{found[3] or ''}%"


def _numeral(found: "re.Match[str]") -> str:
    signs, after = found[0], found.string[found.end() : found.end() + 1]
    before = found.string[: found.start()][-1:]
    if after in ("点", "點", "时", "時") and found.string[: found.start()].endswith(PARTS_OF_DAY) and len(signs) < 4:
        return str(_chinese(signs))
    if before.isdigit() or (len(signs) == 1 and after not in _OF) or not any(sign in _DIGITS for sign in signs + "一"):
        return signs
    if (len(signs) == 1 and not after) or len(signs) > LONGEST:
        return signs
    return str(_chinese(signs))


def _chinese(signs: str) -> int:
    """The value of a Chinese numeral.

    >>> [_chinese(one) for one in ("三百", "十五", "一千二百零五", "三万五千", "一亿", "二〇二一")]
    [300, 15, 1205, 35000, 100000000, 2021]
    """
    if all(sign in _DIGITS for sign in signs):
        return int("".join(str(_DIGITS[sign]) for sign in signs))
    total, section, digit = 0, 0, 0
    for sign in signs:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _SMALL:
            section, digit = section + (digit or 1) * _SMALL[sign], 0
        else:
            total, section, digit = (total + section + digit) * _LARGE[sign], 0, 0
    return total + section + digit


def number_of(digits: str) -> tuple[Fraction, ...]:
    """The value of digits with separators; two where it cannot be known whether a dot groups or divides.

    >>> number_of("1,000"), number_of("0,5"), number_of("1.234,5"), number_of("1.000")
    ((Fraction(1000, 1),), (Fraction(1, 2),), (Fraction(2469, 2),), (Fraction(1, 1), Fraction(1000, 1)))
    """
    if compiled(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?").fullmatch(digits):
        return (Fraction(digits.replace(",", "")),)
    if compiled(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}").fullmatch(digits):
        return (Fraction(digits.replace(".", "").replace(",", ".")),)
    if compiled(r"[1-9]\d{0,2}\.\d{3}").fullmatch(digits):
        return Fraction(digits), Fraction(digits.replace(".", ""))
    return (Fraction(digits.replace(",", ".")),)
