"""How a rule came out, and the numbers of minutes that rules are about."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from ragworthy.live.minutes import Minute, unit_of
from ragworthy.live.watch import percentile_of


class Held(StrEnum):
    """How a rule came out."""

    HOLDS = "holds"
    FAILS = "fails"
    TOO_FEW = "too few"
    NOT_MEASURED = "not measured"


class Read(NamedTuple):
    """A rule, its number and what that is compared with."""

    rule: str
    held: Held
    value: Fraction | None = None
    sign: str = ""
    limit: Fraction | None = None
    samples: int | None = None
    """Of the canary; None where the number comes from a report."""
    source: str = "live traffic"
    at: int | None = None
    """The minute at which it took the canary back."""
    why: str = ""


# numbers of minutes


def count(minutes: Iterable[Minute], field: str) -> int:
    """How many records say something of a field."""
    return sum(one.count(field) for one in minutes)


def mean(minutes: Sequence[Minute], field: str) -> Fraction | None:
    """The exact mean of a field."""
    said = count(minutes, field)
    return sum((one.total(field) for one in minutes), Fraction(0)) / said if said else None


def middle(minutes: Iterable[Minute], field: str, percent: int) -> Fraction | None:
    """A percentile over all values of a field, from how often each occurs: an hour may hold millions of records."""
    together: Counter[int] = Counter()
    for one in minutes:
        together.update(one.values[field])
    return percentile_of(sorted(together.items()), together.total(), percent, unit_of(field)) if together else None
