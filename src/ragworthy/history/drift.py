"""How far one number moves: from window to window in time, or when the same thing is run again."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from ragworthy.stats import variation_squared

MOST_RUN_TO_RUN = Fraction("0.10")
"""How much precision and recall may vary from run to run, as a share of their mean."""
MOST_RERUN = Fraction("0.005")
"""How far apart the rates of the same thing run again may be."""
HELD = ("precision", "recall")
MOST_VARIATION = Fraction("0.15")
"""How large the coefficient of variation over seeds and paraphrases may be."""
MOST_SLOPE = Fraction("0.02")
"""How far a number may go per window."""
WINDOWS = 5
"""A slope over fewer windows is not measured."""
DECLINES = 3
"""So many declines in a row are an alert."""


def variation(values: Sequence[Fraction]) -> float | None:
    """The coefficient of variation σ/|μ|, σ of the whole population; None for no values or a mean of 0.

    >>> round(variation([Fraction("0.38"), Fraction("0.42"), Fraction("0.44")]), 4)
    0.0603
    """
    square = variation_squared(values)
    return None if square is None else math.sqrt(square)


def slope(values: Sequence[Fraction]) -> Fraction | None:
    """The least-squares slope per window, exact; None over fewer than five windows.

    >>> slope([Fraction(text) for text in ("0.90", "0.89", "0.87", "0.86", "0.84")])
    Fraction(-3, 200)
    """
    cases = len(values)
    if cases < WINDOWS:
        return None
    middle = Fraction(cases - 1, 2)
    mean = sum(values, Fraction(0)) / cases
    above = sum(((nth - middle) * (value - mean) for nth, value in enumerate(values)), Fraction(0))
    below = sum(((nth - middle) ** 2 for nth in range(cases)), Fraction(0))
    return above / below


def declines(values: Sequence[Fraction], *, better: str = "higher") -> int:
    """How many times in a row the number got worse, up to the last window.

    >>> declines([Fraction(4), Fraction(3), Fraction(2)]), declines([Fraction(4), Fraction(3)], better="lower")
    (2, 0)
    """
    count = 0
    for before, after in pairwise(values):
        worse = after < before if better == "higher" else after > before
        count = count + 1 if worse else 0
    return count


class Drift(NamedTuple):
    """What the windows of one metric say."""

    windows: int
    variation: float | None
    slope: Fraction | None
    declines: int
    alerts: tuple[str, ...]


def drift(values: Sequence[Fraction], *, better: str = "higher", rate: bool = True) -> Drift:
    """The alerts of one metric over its windows, oldest first.

    The slope is held to its limit only for numbers between 0 and 1; a millisecond is not a point.

    >>> drift([Fraction(text) for text in ("0.90", "0.89", "0.87", "0.86", "0.84")]).alerts
    ('got worse 4 windows in a row',)
    """
    spread, tilt, row = variation(values), slope(values), declines(values, better=better)
    alerts = []
    if spread is not None and len(values) > 1 and spread > float(MOST_VARIATION):
        alerts.append(f"varies by {spread:.3f} of its mean, more than {float(MOST_VARIATION):g}")
    if rate and tilt is not None and abs(tilt) > MOST_SLOPE:
        alerts.append(f"moves by {float(tilt):+.4f} a window, more than {float(MOST_SLOPE):g}")
    if row >= DECLINES:
        alerts.append(f"got worse {row} windows in a row")
    return Drift(len(values), spread, tilt, row, tuple(alerts))


def rerun(values: Sequence[Fraction], *, rate: bool, held: bool) -> list[str]:
    """What the same thing, run again, must not show; `held` are the numbers whose variation has a limit too.

    >>> rerun([Fraction(1, 2), Fraction(51, 100)], rate=True, held=False)
    ['0.0100 apart, more than 0.005']
    """
    alerts = []
    apart = max(values) - min(values)
    if rate and apart > MOST_RERUN:
        alerts.append(f"{float(apart):.4f} apart, more than {float(MOST_RERUN):g}")
    spread = variation(values)
    if held and spread is not None and spread > MOST_RUN_TO_RUN:
        alerts.append(f"varies by {spread:.3f} of its mean, more than {float(MOST_RUN_TO_RUN):g}")
    return alerts
