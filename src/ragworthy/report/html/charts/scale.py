"""Where a value is on an axis, and round numbers along it."""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

MILLION, BILLION = 10**6, 10**9


class Tick(NamedTuple):
    """A number along an axis."""

    value: float
    text: str


class Scale(NamedTuple):
    """An axis: its ends as values and in pixels."""

    low: float
    high: float
    begin: float
    end: float
    ticks: tuple[Tick, ...]

    def at(self, value: float) -> float:
        """The pixel of a value; what is beyond an end is at that end.

        >>> Scale(0, 10, 100, 200, ()).at(2.5), Scale(0, 10, 200, 100, ()).at(12)
        (125.0, 100.0)
        """
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)


class Limits(NamedTuple):
    """What an axis has to keep to."""

    floor: float | None = None
    """The least value that there can be: the axis does not go below it."""
    ceiling: float | None = None
    zero: bool = False
    """Whether it has to show where 0 is: lengths of bars say nothing without it."""


ANY = Limits()
RATE = Limits(floor=0, ceiling=1)
COUNT = Limits(floor=0, zero=True)


def scale(values: Iterable[float], begin: float, end: float, limits: Limits = ANY, *, most: int = 5) -> Scale:
    """An axis on which all values are, with at most about so many round numbers.

    >>> [tick.text for tick in scale([0.12, 0.87], 0, 100).ticks]
    ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']
    >>> [tick.text for tick in scale([80, 1240], 0, 100, COUNT).ticks]
    ['0', '250', '500', '750', '1,000', '1,250']
    """
    low, high = _ends([Fraction(value) for value in values], limits)
    step = nice((high - low) / most)
    first, last = math.floor(low / step), math.ceil(high / step)
    kept = [nth * step for nth in range(first, last + 1)]
    if limits.floor is not None:
        kept = [one for one in kept if one >= Fraction(limits.floor)]
    if limits.ceiling is not None:
        kept = [one for one in kept if one <= Fraction(limits.ceiling)]
    ends = min([low, *kept]), max([high, *kept])
    return Scale(float(ends[0]), float(ends[1]), begin, end, tuple(Tick(float(one), text(one, step)) for one in kept))


def _ends(values: list[Fraction], limits: Limits) -> tuple[Fraction, Fraction]:
    """The least and the largest value; where all are one, some room around it."""
    floor = None if limits.floor is None else Fraction(limits.floor)
    ceiling = None if limits.ceiling is None else Fraction(limits.ceiling)
    values = [*values, Fraction(0)] if limits.zero or not values else values
    low, high = _kept(min(values), floor, ceiling), _kept(max(values), floor, ceiling)
    if alike(low, high):
        room = around(high)
        low, high = _kept(low - room, floor, ceiling), _kept(high + room, floor, ceiling)
    return low, high


def _kept(value: Fraction, floor: Fraction | None, ceiling: Fraction | None) -> Fraction:
    value = value if floor is None else max(value, floor)
    return value if ceiling is None else min(value, ceiling)


def alike(low: Fraction, high: Fraction) -> bool:
    """Whether floats can hardly tell two numbers from each other: places between them would be noise.

    >>> alike(Fraction(1), Fraction(1)), alike(Fraction("0.79995"), Fraction("0.8"))
    (True, False)
    """
    return high - low <= Fraction(1, 10**9) * max(abs(high), abs(low), Fraction(1, 1000))


def around(value: Fraction) -> Fraction:
    """The room on each side of a number that is alone on its axis.

    >>> around(Fraction(50)), around(Fraction(0))
    (Fraction(5, 1), Fraction(1, 1))
    """
    return abs(value) / 10 if abs(value) > Fraction(1, 10**9) else Fraction(1)


def nice(size: Fraction) -> Fraction:
    """The next round number from a size up: 1, 2, 2.5 or 5, times a power of ten.

    >>> [str(nice(Fraction(one))) for one in ("0.13", "0.22", "3", "120")]
    ['1/5', '1/4', '5', '200']
    """
    power = Fraction(10) ** math.floor(math.log10(size))
    while power > size:  # the logarithm of a float may be off by one
        power /= 10
    return next(factor * power for factor in (1, 2, Fraction(5, 2), 5, 10, 20) if factor * power >= size)


def text(value: Fraction, step: Fraction) -> str:
    """A number along an axis, with as many places as the steps need.

    >>> text(Fraction(1, 2), Fraction(1, 4)), text(Fraction(1500), Fraction(500))
    ('0.50', '1,500')
    >>> text(Fraction(3_000_000), Fraction(10**6)), text(Fraction(1, 10**8), Fraction(1, 10**8))
    ('3M', '1e-08')
    """
    for size, sign in ((BILLION, "G"), (MILLION, "M")):
        if step >= size:
            return f"{_plain(value / size, step / size)}{sign}" if value else "0"
    if step < Fraction(1, MILLION):
        return f"{float(value):g}"
    return _plain(value, step)


def _plain(value: Fraction, step: Fraction) -> str:
    places = next(places for places in range(9) if (step * 10**places).denominator == 1)
    exact = Decimal(int(value * 10**places)).scaleb(-places)
    return f"{exact:,.{places}f}"
