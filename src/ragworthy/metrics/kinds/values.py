"""Kinds of field that hold a value: numbers, dates, words of a closed list, true or false."""

import calendar
import re
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.metrics.context import Context
from ragworthy.metrics.kinds.base import ALL, NONE, Detail, Match
from ragworthy.text import described


class Number(NamedTuple):
    """A number that is right within a tolerance: absolute, or a share of the expected one, whichever is wider."""

    tolerance: Fraction = NONE
    relative: Fraction = NONE

    def wrong(self, value: Any) -> str | None:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        return None if good else f"expected a number, got {described(value)}"

    def unfit(self, value: Any) -> str | None:
        return self.wrong(value)

    def compare(self, expected: Any, got: Any, context: Context) -> Match:
        return Match(ALL if self._off(expected, got) <= self._width(expected) else NONE)

    def details(self, expected: Any, got: Any, context: Context) -> list[Detail]:
        off, width = self._off(expected, got), self._width(expected)
        shown = ["over 1e+300" if one > 10**300 else f"{float(one):.15g}" for one in (off, width)]
        note = f"off by {shown[0]}, {shown[1]} allowed" if off else "equal"
        return [Detail(off <= width, str(expected), str(got), note)]

    def _off(self, expected: float, got: float) -> Fraction:
        return abs(decimal(got) - decimal(expected))

    def _width(self, expected: float) -> Fraction:
        return max(self.tolerance, self.relative * abs(decimal(expected)))


def decimal(number: float) -> Fraction:
    """A number exactly as it is written in decimals.

    >>> decimal(0.1), decimal(3)
    (Fraction(1, 10), Fraction(3, 1))
    """
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


class Date(NamedTuple):
    """A calendar date (YYYY-MM-DD) that is right within a number of days."""

    tolerance_days: int = 0

    def wrong(self, value: Any) -> str | None:
        good = isinstance(value, str) and day(value) is not None
        return None if good else f"expected a date like 2026-12-31, got {described(value)}"

    def unfit(self, value: Any) -> str | None:
        return self.wrong(value)

    def compare(self, expected: Any, got: Any, context: Context) -> Match:
        return Match(ALL if self._off(expected, got) <= self.tolerance_days else NONE)

    def details(self, expected: Any, got: Any, context: Context) -> list[Detail]:
        off = self._off(expected, got)
        note = f"off by {off} day{'s' * (off != 1)}, {self.tolerance_days} allowed" if off else "equal"
        return [Detail(off <= self.tolerance_days, expected, got, note)]

    def _off(self, expected: str, got: str) -> int:
        return abs((day(got) or 0) - (day(expected) or 0))


def day(text: str) -> int | None:
    """The number of a day, counted from 1970-01-01; None where the text is not a date.

    >>> day("1970-01-02"), day("2024-02-29"), day("2023-02-29")
    (1, 19782, None)
    """
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    year, month, date = map(int, text.split("-"))
    if year < 1 or not 1 <= month <= 12 or not 1 <= date <= calendar.monthrange(year, month)[1]:
        return None
    return calendar.timegm((year, month, date, 0, 0, 0)) // 86400


class Enum(NamedTuple):
    """One of a closed list of texts, right or wrong; a text outside the list is not a valid answer."""

    values: tuple[str, ...] = ()

    def wrong(self, value: Any) -> str | None:
        if isinstance(value, str) and value in self.values:
            return None
        return f"expected one of {', '.join(self.values)}, got {described(value)}"

    def unfit(self, value: Any) -> str | None:
        return self.wrong(value)

    def compare(self, expected: Any, got: Any, context: Context) -> Match:
        return Match(ALL if expected == got else NONE)

    def details(self, expected: Any, got: Any, context: Context) -> list[Detail]:
        return [Detail(expected == got, expected, got, "equal" if expected == got else "not equal")]


class Boolean(NamedTuple):
    """True or false, right or wrong."""

    def wrong(self, value: Any) -> str | None:
        return None if isinstance(value, bool) else f"expected true or false, got {described(value)}"

    def unfit(self, value: Any) -> str | None:
        return self.wrong(value)

    def compare(self, expected: Any, got: Any, context: Context) -> Match:
        return Match(ALL if expected is got else NONE)

    def details(self, expected: Any, got: Any, context: Context) -> list[Detail]:
        note = "equal" if expected is got else "not equal"
        return [Detail(expected is got, str(expected).lower(), str(got).lower(), note)]
