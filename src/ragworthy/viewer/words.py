"""How numbers, verdicts and hashes are written on a page: as the reports write them."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ragworthy.history.entries import Summary
from ragworthy.monitor.view import short as live
from ragworthy.report.show import number

_CSS = {
    "SHIP": "pass", "NO-SHIP": "fail", "INCONCLUSIVE": "warn", "INVALID": "invalid",
    "pass": "pass", "fail": "fail", "undecided": "warn", "not_measured": "invalid",
}  # fmt: skip
_SIGNS = {"pass": "✓", "fail": "✗", "warn": "?", "invalid": "!"}


def css(word: str | None) -> str:
    """The look of a verdict or an outcome.

    >>> css("SHIP"), css("fail"), css(None)
    ('pass', 'fail', 'muted')
    """
    return _CSS.get(word or "", "muted")


def sign(word: str | None) -> str:
    """The sign beside it, so that the colour is not all that tells.

    >>> sign("NO-SHIP"), sign("what")
    ('✗', '')
    """
    return _SIGNS.get(css(word), "")


def short(text: str | None) -> str:
    """So much of a hash as people need.

    >>> short("4f1c2d3e4f5a6b7c"), short("")
    ('4f1c2d3e', '–')
    """
    return text[:8] if text else "–"


def moment(text: str) -> str:
    """A time as people read it, in UTC.

    >>> moment("2026-03-01T12:00:09Z"), moment("then")
    ('2026-03-01 12:00', 'then')
    """
    return f"{text[:10]} {text[11:16]}" if len(text) == 20 and text[10] == "T" else text


def value(one: Summary | None) -> str:
    """A number of a run."""
    if one is None or one.value is None:
        return "–"
    if one.exact is not None:
        return number(Fraction(one.exact), whole=one.den is None and one.num is not None)
    return number(Fraction(one.num, one.den)) if one.num is not None and one.den else number(Fraction(one.value))


def name(metric: str) -> str:
    """A metric without the suite that it is under anyway.

    >>> name("retrieval.recall@5")
    'recall@5'
    """
    return metric.partition(".")[2] or metric


def fraction(given: Fraction | None) -> str:
    """An exact number, or a dash."""
    return "–" if given is None else number(given)


def plainly(given: float | None) -> str:
    """A number of one question."""
    return "–" if given is None else number(Fraction(given))


def percent(share: str) -> str:
    """A share of the traffic.

    >>> percent("0.05")
    '5 %'
    """
    return f"{float(Fraction(share) * 100):g} %"


def thousands(count: int) -> str:
    """A count.

    >>> thousands(12345)
    '12,345'
    """
    return f"{count:,}"


def without_exit(line: str) -> str:
    """The last line of a command without its exit code, which says nothing here.

    >>> without_exit("compared: nothing is proven (exit 0)")
    'compared: nothing is proven'
    """
    return line.partition(" (exit ")[0]


def compared(sign: str) -> str:
    """A sign of comparison.

    >>> compared(">="), compared("<")
    ('≥', '<')
    """
    return {">=": "≥", "<=": "≤"}.get(sign, sign)


FILTERS: dict[str, Callable[..., Any]] = {
    "css": css, "sign": sign, "short": short, "moment": moment, "value": value, "name": name, "fraction": fraction,
    "plainly": plainly, "percent": percent, "thousands": thousands, "without_exit": without_exit, "live": live,
    "zipped": zip, "compared": compared,
}  # fmt: skip
