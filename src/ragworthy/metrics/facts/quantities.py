"""Dates, times and numbers with their units, as they are in a text, by value."""

import re
from fractions import Fraction
from functools import cache
from typing import NamedTuple, TypeAlias

from ragworthy.metrics.facts.spelled import PARTS_OF_DAY, number_of
from ragworthy.text import compiled

Key: TypeAlias = tuple[str | int | Fraction, ...]
"""What is compared: its kind first, then its value."""


class Unit(NamedTuple):
    """A unit under all its spellings; units of one dimension are compared by value."""

    name: str
    dimension: str
    factor: Fraction
    spellings: str


_UNITS = tuple(
    Unit(name, dimension, Fraction(factor), spellings)
    for name, dimension, factor, spellings in (
        ("percent", "percent", "1", "% percent per_cent percentage_points? Prozent pour_cent por_ciento 个百分点"),
        ("millisecond", "time", "1/1000", "ms milliseconds? Millisekunden? 毫秒"),
        ("second", "time", "1", "seconds? secs? s Sekunden? secondes? segundos? 秒钟 秒"),
        ("minute", "time", "60", "minutes? mins? Minuten? minutos? 分钟 分鐘"),
        ("hour", "time", "3600", "hours? hrs? h Stunden? heures? horas? 个小时 小时 小時 時間"),
        ("day", "time", "86400", "days? Tagen? Tage Tag jours? días? 天 日"),
        ("week", "time", "604800", "weeks? Wochen? semaines? semanas? 周 週 星期"),
        ("month", "months", "1", "months? Monaten? Monate Monat mois mes(?:es)? 个月 個月"),
        ("year", "months", "12", "years?(?:[_-]old)? yrs? Jahren? Jahre Jahr années? ans años? 年 岁 歲"),
        ("byte", "bytes", "1", "bytes? B 字节"),
        ("kilobyte", "bytes", "1000", "kilobytes? KB kB"),
        ("megabyte", "bytes", "1000000", "megabytes? MB"),
        ("gigabyte", "bytes", "1000000000", "gigabytes? GB"),
        ("terabyte", "bytes", "1000000000000", "terabytes? TB"),
        ("kibibyte", "bytes", "1024", "KiB"),
        ("mebibyte", "bytes", "1048576", "MiB"),
        ("gibibyte", "bytes", "1073741824", "GiB"),
        ("bit", "bits", "1", "bits?"),
        ("millimetre", "length", "1/1000", "mm millimet(?:re|er)s? 毫米"),
        ("centimetre", "length", "1/100", "cm centimet(?:re|er)s? Zentimeter 厘米"),
        ("metre", "length", "1", "m met(?:re|er)s? Metern? mètres? metros? 米 公尺"),
        ("kilometre", "length", "1000", "km kilomet(?:re|er)s? Kilometern? kilomètres? kilómetros? 公里 千米"),
        ("inch", "feet", "1/12", "inch(?:es)?"),
        ("foot", "feet", "1", "feet foot ft"),
        ("mile", "feet", "5280", "miles? mi Meilen?"),
        ("acre", "acres", "1", "acres?"),
        ("hectare", "m2", "10000", "ha hectares? Hektar"),
        ("square metre", "m2", "1", "m2 sq_m square_met(?:re|er)s? Quadratmetern? 平方米"),
        ("square kilometre", "m2", "1000000", "km2 sq_km square_kilomet(?:re|er)s? Quadratkilometern? 平方公里"),
        ("square mile", "sqmi", "1", "sq_mi square_miles?"),
        ("milligram", "mass", "1/1000", "mg milligrams? 毫克"),
        ("gram", "mass", "1", "g grams? grammes? Gramm 克"),
        ("kilogram", "mass", "1000", "kg kilograms? kilos? Kilogramm 公斤 千克"),
        ("jin", "mass", "500", "市斤 斤"),
        ("tonne", "mass", "1000000", "t tonnes? tons? Tonnen? 吨 噸"),
        ("pound", "pound", "1", "pounds? lbs? Pfund £ GBP 英镑"),
        ("litre", "volume", "1", "l lit(?:re|er)s? Litern? 升"),
        ("millilitre", "volume", "1/1000", "ml millilit(?:re|er)s? 毫升"),
        ("celsius", "celsius", "1", "°C degrees?_(?:Celsius|centigrade) Grad_Celsius 摄氏度"),
        ("fahrenheit", "fahrenheit", "1", "°F degrees?_Fahrenheit"),
        ("degree", "degree", "1", "° degrees? Grad 度"),
        ("watt", "watt", "1", "W watts?"),
        ("kilowatt", "watt", "1000", "kW kilowatts?"),
        ("megawatt", "watt", "1000000", "MW megawatts?"),
        ("hertz", "hertz", "1", "Hz hertz"),
        ("megahertz", "hertz", "1000000", "MHz"),
        ("gigahertz", "hertz", "1000000000", "GHz"),
        ("km/h", "speed", "1", "km/h kph kmh"),
        ("mph", "mph", "1", "mph miles_per_hour"),
        ("dollar", "dollar", "1", r"\$ US\$ USD dollars? Dollar 美元"),
        ("cent", "dollar", "1/100", "cents?"),
        ("euro", "euro", "1", "€ EUR euros? 欧元"),
        ("yuan", "yuan", "1", "yuan CNY RMB renminbi 元 人民币"),
        ("yen", "yen", "1", "yen JPY 円 日元"),
        ("rupee", "rupee", "1", "₹ rupees? INR"),
        ("franc", "franc", "1", "CHF francs? Franken"),
        ("people", "count", "1", "people persons Menschen Personen personnes 人 名 位"),
        ("time", "occasion", "1", "times -?fold 次 倍"),
        ("item", "count", "1", "个 個 件 家 条 條 座 种 種 项 項"),
        ("token", "token", "1", "tokens?"),
        ("request", "request", "1", "requests?"),
        ("retry", "retry", "1", "retr(?:y|ies)"),
    )
)
_SCALES = {
    10**2: "hundred 百 hundert",
    10**3: "thousand k K 千 Tausend tausend mil",
    10**4: "万 萬",
    10**6: "million millions mn M Mio Millionen Million millones 百万",
    10**8: "亿 億",
    10**9: "billion billions bn B Mrd Milliarden Milliarde milliards 十亿",
    10**12: "trillion trillions tn",
}
_SCALE_OF = {word: Fraction(value) for value, words in _SCALES.items() for word in words.split()}


class Number(NamedTuple):
    """A number in a text, with its unit where it has one."""

    values: tuple[Fraction, ...]
    """One, or two where a dot may group or divide."""
    unit: Unit | None
    year: bool = False
    """Whether it looks like a year: four digits, no unit."""


@cache
def _named_units() -> tuple[str, dict[str, Unit]]:
    """A pattern of every spelling, the longest first, each in a group of its own."""
    spellings = [(text.replace("_", " "), unit) for unit in _UNITS for text in unit.spellings.split()]
    spellings.sort(key=lambda one: (-len(one[0]), one[0]))
    return (
        "|".join(f"(?P<u{nth}>{_in_any_case(text)}{_end(text)})" for nth, (text, _) in enumerate(spellings)),
        {f"u{nth}": unit for nth, (_, unit) in enumerate(spellings)},
    )


def _in_any_case(text: str) -> str:
    """Words may have capitals (`20 Euro`, `20 eur`); in short signs they mean something (`MW`, `mW`)."""
    word = compiled(r"[a-z]{4}|^[A-Z]{3}$").search(text) and text not in ("times", "KiB", "MiB", "GiB")
    return f"(?i:{text})" if word else text


def _end(text: str) -> str:
    """A spelling in letters ends where the word ends; signs and Chinese units do not need to."""
    return r"(?![A-Za-z0-9/])" if compiled(r"[A-Za-z?)]$").search(text) else ""


@cache
def _number() -> tuple["re.Pattern[str]", dict[str, Unit]]:
    units, known = _named_units()
    scales = "|".join(sorted(map(re.escape, _SCALE_OF), key=len, reverse=True))
    pattern = (
        r"(?P<before>US\$|\$|€|£|₹|(?<![A-Za-z])(?i:USD|EUR|GBP|CHF|CNY|RMB|JPY|INR)\ ?)?"
        r"(?<![\d.])(?P<sign>(?<![\w)])-)?"
        r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d{1,12})?|\d{1,3}(?:\.\d{3})+,\d{1,12}|\d{1,3}(?:\.\d{3}){2,}"
        r"|\d{1,15}(?:[.,]\d{1,12})?)(?!\d)"
        r"(?P<ordinal>(?:st|nd|rd|th|s)(?![A-Za-z]))?"
        rf"(?:\ ?(?P<scale>{scales})(?![A-Za-z]))?"
        rf"(?:[ -]?(?P<unit>{units}))?"
    )
    return re.compile(pattern), known


_BEFORE = {"$": "dollar", "US$": "dollar", "USD": "dollar", "€": "euro", "EUR": "euro", "£": "pound", "GBP": "pound",
           "₹": "rupee", "INR": "rupee", "CHF": "franc", "CNY": "yuan", "RMB": "yuan", "JPY": "yen"}  # fmt: skip
_BY_NAME = {unit.name: unit for unit in _UNITS}


GONE = "\0"
"""Stands for every character of what was read already: neither a blank nor a word."""


def numbers(text: str, *, grouped: bool = False) -> tuple[list[Number], str]:
    """The numbers of a text without dates and times, and the text without them; `grouped`: 1.500 is not a 1.5.

    >>> [(one.values[0], one.unit.name) for one in numbers("5 % of $3.5 million in 30-day steps")[0]]
    [(Fraction(5, 1), 'percent'), (Fraction(3500000, 1), 'dollar'), (Fraction(30, 1), 'day')]
    """
    pattern, known = _number()
    found: list[Number] = []

    def take(match: "re.Match[str]") -> str:
        found.append(_read(match, known, grouped=grouped))
        return _gone(match)

    return found, pattern.sub(take, text)


def _gone(match: "re.Match[str]") -> str:
    return GONE * len(match[0])


def _read(found: "re.Match[str]", known: dict[str, Unit], *, grouped: bool) -> Number:
    scale, before = found["scale"], (found["before"] or "").strip().upper()
    factor = _SCALE_OF[scale] if scale else Fraction(1)
    values = tuple(
        factor * (-one if found["sign"] else one) for one in number_of(found["digits"])[-1 if grouped else 0 :]
    )
    unit = _BY_NAME[_BEFORE[before]] if before else None
    if found["unit"] and unit is None and not found["ordinal"]:  # the 10th day is not 10 days
        unit = next(known[name] for name in known if found[name] is not None)
    bare = unit is None and not scale and found["ordinal"] != "s"
    year = bare and len(found["digits"]) == 4 and found["digits"].isdigit() and 1000 <= values[0] < 2100
    return Number(values, unit, year)


@cache
def measured() -> str:
    """A pattern of what may be behind a number that counts or measures something."""
    units = re.sub("[?]P<u[0-9]+>", "?:", _named_units()[0])
    scales = "|".join(sorted(map(re.escape, _SCALE_OF), key=len, reverse=True))
    return rf"[ -]?(?:(?:{scales})(?![A-Za-z])|(?:{units}))"


@cache
def _one() -> "re.Pattern[str]":
    return re.compile(rf"\b[Oo]ne(?=[ -](?:{re.sub('[?]P<u[0-9]+>', '?:', _named_units()[0])}))")


def with_one(text: str) -> str:
    """The text with `one` as a digit before a unit; elsewhere it is not a number.

    >>> with_one("One day one of them")
    '1 day one of them'
    """
    return _one().sub("1", text)


# dates and times

_MONTHS = tuple(
    words.split()
    for words in (
        "January Jan Januar Jänner janvier enero", "February Feb Februar février febrero", "March Mar März mars marzo",
        "April Apr avril abril", "May Mai mai mayo", "June Jun Juni juin junio", "July Jul Juli juillet julio",
        "August Aug août agosto", "September Sept Sep septembre septiembre", "October Oct Oktober octobre octubre",
        "November Nov novembre noviembre", "December Dec Dezember Dez décembre diciembre",
    )
)  # fmt: skip
_MONTH_OF = {word: nth for nth, words in enumerate(_MONTHS, 1) for word in words}
_MONTH = r"(?P<m>" + "|".join(sorted(_MONTH_OF, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<y>\d{4})(?!\d)"
_DATES = (
    r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)",
    r"(?<!\d)(?P<d>\d{1,2})\.\ ?(?P<m>\d{1,2})\.\ ?(?P<y>\d{4})(?!\d)",
    r"(?<!\d)(?P<either>\d{1,2})/(?P<other>\d{1,2})/(?P<y>\d{4})(?!\d)",
    rf"(?<!\d){_DAY}\.?\ (?:of\ |de\ )?{_MONTH}(?:,?\ (?:de\ )?{_YEAR})?",
    rf"\b{_MONTH}\ {_DAY}(?!\d)(?:,?\ {_YEAR})?",
    rf"\b{_MONTH},?\ (?:of\ |de\ )?{_YEAR}",
    r"(?<!\d)(?P<y>\d{4})\ ?年\ ?(?:(?P<m>\d{1,2})\ ?月\ ?(?:(?P<d>\d{1,2})\ ?[日号號])?)?",
    r"(?<!\d)(?P<m>\d{1,2})\ ?月\ ?(?:(?P<d>\d{1,2})\ ?[日号號])?",
)
_TIME = r"(?<![\d:])(?P<h>\d{1,2}):(?P<min>\d{2})(?::\d{2})?(?!\d)(?:\ ?(?P<half>[ap])\.?m\b\.?)?"
_CLOCK = (
    rf"(?:(?P<part>{'|'.join(PARTS_OF_DAY)})\ ?(?P<h>\d{{1,2}})\ ?[点點时時]"
    r"(?:\ ?(?P<min>\d{1,2})\ ?分(?![钟鐘])|(?P<half>半))?)"
    r"|(?<![\d.])(?P<hour>\d{1,2})[点點时時](?P<minute>\d{1,2})分(?![钟鐘])"
)
_LATE = frozenset(("中午", "下午", "傍晚", "晚上", "午後"))


class Dated(NamedTuple):
    """A date as far as a text gives it; 0 stands for what it does not say. Two readings where it may be either."""

    readings: tuple[tuple[int, int, int], ...]


def dates(text: str) -> tuple[list[Dated], str]:
    """The dates of a text, and the text without them.

    >>> [date for one in dates("2021-05-03; May 3, 2021; 2021年5月3日; 3 May; 03/05/2021")[0] for date in one.readings]
    [(2021, 5, 3), (2021, 5, 3), (2021, 3, 5), (0, 5, 3), (2021, 5, 3), (2021, 5, 3)]
    """
    found: list[Dated] = []

    def take(match: "re.Match[str]") -> str:
        readings = _readings(match.groupdict())
        if not readings:
            return match[0]
        found.append(Dated(readings))
        return _gone(match)

    for pattern in _DATES:
        text = compiled(pattern).sub(take, text)
    return found, text


def _readings(given: dict[str, str | None]) -> tuple[tuple[int, int, int], ...]:
    year = int(given.get("y") or 0)
    if "either" in given:
        one, other = int(given["either"] or 0), int(given["other"] or 0)
        both = dict.fromkeys(((year, other, one), (year, one, other)))
        return tuple(date for date in both if _is_date(date))
    month = given.get("m") or "0"
    date = (year, int(month) if month.isdigit() else _MONTH_OF[month], int(given.get("d") or 0))
    return (date,) if _is_date(date) else ()


def _is_date(date: tuple[int, int, int]) -> bool:
    year, month, day = date
    return (month == 0 and day == 0 and year > 0) or (1 <= month <= 12 and 0 <= day <= 31)


def times(text: str) -> tuple[list[int], str]:
    """The times of day of a text as minutes, and the text without them.

    >>> times("at 3:30 pm or 15:45")[0]
    [930, 945]
    >>> times("下午3点, 上午9点半, 15点05分")[0]
    [900, 570, 905]
    """
    found: list[int] = []

    def take(match: "re.Match[str]") -> str:
        hour, minute = int(match["h"]), int(match["min"])
        if hour > 24 or minute > 59:
            return match[0]
        if match["half"]:
            hour = hour % 12 + (12 if match["half"] == "p" else 0)
        found.append(60 * hour + minute)
        return _gone(match)

    text = compiled(_TIME).sub(take, text)
    return found, text if text.isascii() else compiled(_CLOCK).sub(lambda match: _clock(match, found), text)


def _clock(match: "re.Match[str]", found: list[int]) -> str:
    """A Chinese or Japanese time of day; the part of the day says which half it is in."""
    hour, minute = int(match["h"] or match["hour"]), int(match["min"] or match["minute"] or 30 * bool(match["half"]))
    if hour > 24 or minute > 59:
        return match[0]
    if match["part"] in _LATE and hour < (4 if match["part"] == "中午" else 12):
        hour += 12
    found.append(60 * hour + minute)
    return _gone(match)
