"""ΔS: bands, and what a raw distance means for one model and one gold set."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

ACCEPT, BLOCK = Fraction("0.45"), Fraction("0.60")
"""As near as relevant text, and as far as unrelated text."""
MIDDLE = Fraction("0.32")
"""Where half of the relevant text is, for a model whose distances are all far from 0; embeddings get there alone."""
STABLE = Fraction("0.40")
"""Where the band ends in which nothing moves."""
BANDS = (("stable", STABLE), ("transitional", BLOCK), ("risk", Fraction("0.85")))
PLACES = 6
_UNIT = 10**PLACES
_NEAREST, _FARTHEST = Fraction(0), Fraction(1)


SLACK = 1e-6
"""So much may rounding put a distance outside its range."""


def impossible(value: float) -> bool:
    """Whether a number is not a distance: 1 − cos lies between 0 and 2.

    >>> [impossible(one) for one in (-1, -0.0000001, 0, 2, 2.1)]
    [True, False, False, False, True]
    """
    return not -SLACK <= value <= 2 + SLACK


@lru_cache(maxsize=1 << 14)  # another seed mostly finds the same results
def plain(value: float) -> Fraction:
    """A distance as the decimal number it is written as.

    >>> plain(0.4), plain(1.5)
    (Fraction(2, 5), Fraction(3, 2))
    """
    digits = f"{value:.{PLACES}f}"
    return Fraction(int(digits[: -PLACES - 1] + digits[-PLACES:]), _UNIT)  # in a third of the time of its text


def cut(value: Fraction) -> Fraction:
    """A distance cut to the range from 0 to 1, which is that of the bands."""
    if value.numerator <= 0:
        return _NEAREST
    return _FARTHEST if value.numerator >= value.denominator else value


def exact(value: float) -> Fraction:
    """A distance as the decimal number it is written as, cut to the range from 0 to 1.

    >>> exact(0.4), exact(1.7), exact(-0.0000001)
    (Fraction(2, 5), Fraction(1, 1), Fraction(0, 1))
    """
    return cut(plain(value))


def band(value: Fraction) -> str:
    """Where a distance lies: stable, transitional, risk or danger.

    >>> [band(Fraction(text)) for text in ("0.39", "0.40", "0.60", "0.85")]
    ['stable', 'transitional', 'risk', 'danger']
    """
    return next((name for name, limit in BANDS if value < limit), "danger")


def verdict(value: Fraction) -> str:
    """Whether a distance alone is accepted, wants a look, or blocks.

    >>> [verdict(Fraction(text)) for text in ("0.45", "0.4501", "0.60")]
    ['accept', 'review', 'block']
    """
    return "accept" if value <= ACCEPT else "review" if value < BLOCK else "block"


class Spread(NamedTuple):
    """How distances are spread over questions."""

    median: Fraction
    p90: Fraction
    mean: Fraction

    @classmethod
    def of(cls, values: Sequence[Fraction], percentile: Callable[[Sequence[Fraction], int], Fraction]) -> "Spread":
        """The spread of some values."""
        ordered = sorted(values)
        numbers = percentile(ordered, 50), percentile(ordered, 90), sum(ordered, Fraction(0)) / len(ordered)
        return cls(*(round(one, PLACES) for one in numbers))

    @classmethod
    def from_json(cls, given: dict[str, str]) -> "Spread":
        """The numbers from their decimal texts."""
        return cls(*(Fraction(given[key]) for key in cls._fields))

    def as_json(self) -> dict[str, str]:
        """The numbers as decimal texts."""
        return {key: f"{float(value):.{PLACES}f}" for key, value in self._asdict().items()}


class Calibration(NamedTuple):
    """What raw distances of one model mean on one gold set, as the lock keeps it."""

    model: str
    weights: str
    r90: Fraction
    n10: Fraction
    relevant_pairs: int
    unrelated_pairs: int
    perfect_raw: Spread
    """What citing the first relevant block of every question scores."""
    perfect: Spread
    """The same on the calibrated scale."""
    auc: float | None
    """How well the model tells relevant blocks from hard negatives."""
    separation: float | None = None
    """How well it tells them from blocks of other documents; earlier locks do not say."""
    r50: Fraction | None = None
    """The middle of relevant text, for a model whose distances are all far from 0."""
    nearest: Fraction | None = None
    """The nearest of all relevant text, raw; earlier locks do not say."""

    @property
    def separates(self) -> bool:
        """Whether relevant text is nearer than unrelated text."""
        return self.r90 < self.n10

    def of(self, raw: Fraction) -> Fraction:
        """A raw distance on the calibrated scale."""
        return scaled(raw, self.r90, self.n10, self.r50)

    def as_json(self) -> dict[str, Any]:
        """The calibration as the lock keeps it."""
        told: dict[str, Any] = {} if self.separation is None else {"separation": round(self.separation, PLACES)}
        points = {"r50": self.r50, "nearest": self.nearest}
        told |= {key: f"{float(value):.{PLACES}f}" for key, value in points.items() if value is not None}
        return {
            **{key: getattr(self, key) for key in ("model", "weights", "relevant_pairs", "unrelated_pairs")},
            **{key: f"{float(getattr(self, key)):.{PLACES}f}" for key in ("r90", "n10")},
            "perfect_raw": self.perfect_raw.as_json(),
            "perfect": self.perfect.as_json(),
            "auc": None if self.auc is None else round(self.auc, PLACES),
            **told,
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> "Calibration":
        """The calibration that a lock keeps."""
        spreads = {key: Spread.from_json(given[key]) for key in ("perfect_raw", "perfect")}
        numbers = {key: Fraction(given[key]) for key in ("r90", "n10")}
        plain = {key: given[key] for key in cls._fields if key not in cls._field_defaults}
        points = {key: Fraction(given[key]) for key in ("r50", "nearest") if given.get(key) is not None}
        found = cls(**{**plain, **numbers, **spreads, "separation": given.get("separation"), **points})
        if wrong := found.wrong():
            raise ValueError(wrong)
        return found

    def wrong(self) -> str:
        """What no calibration can be: invalid names, distances and rates out of their range."""
        texts = {"model": self.model, "weights": self.weights}
        counts = {"relevant_pairs": self.relevant_pairs, "unrelated_pairs": self.unrelated_pairs}
        far = {"nearest": self.nearest, "r50": self.r50, "r90": self.r90, "n10": self.n10}  # raw: from 0 to 2
        shares: dict[str, Any] = {key: value / 2 for key, value in far.items() if value is not None}
        shares |= {"auc": self.auc, "separation": self.separation}
        shares |= {f"perfect.{key}": value for key, value in self.perfect._asdict().items()}
        wrong = [key for key, value in texts.items() if not isinstance(value, str) or not value]
        wrong += [key for key, value in counts.items() if type(value) is not int or value < 0]
        wrong += [key for key, value in shares.items() if value is not None and not _is_share(value)]
        return ", ".join(wrong) or ("r50" if self.r50 is not None and self.r50 > self.r90 else "")


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) and 0 <= value <= 1


def scaled(raw: Fraction, r90: Fraction, n10: Fraction, r50: Fraction | None = None) -> Fraction:
    """A raw distance on the scale of the bands: 0 → 0, r90 → 0.45, n10 → 0.60, 1 → 1, straight in between.

    Where r50 is given, that is at 0.32.

    >>> [float(scaled(Fraction(text), Fraction("0.71"), Fraction("0.86"))) for text in ("0", "0.71", "0.86", "1")]
    [0.0, 0.45, 0.6, 1.0]
    >>> [float(scaled(Fraction(text), Fraction("0.9"), Fraction("0.96"), Fraction("0.8"))) for text in ("0.4", "0.85")]
    [0.16, 0.385]
    """
    if r50 is not None and r50 < r90 and raw <= r50:
        value = raw / r50 * MIDDLE if r50 else Fraction(0)
    elif r50 is not None and r50 < raw <= r90:
        value = MIDDLE + (raw - r50) / (r90 - r50) * (ACCEPT - MIDDLE)
    elif raw <= r90:
        value = raw / r90 * ACCEPT if r90 else Fraction(0)
    elif raw <= n10:
        value = ACCEPT + (raw - r90) / (n10 - r90) * (BLOCK - ACCEPT)
    else:
        value = BLOCK + (raw - n10) / (1 - n10) * (1 - BLOCK) if n10 < 1 else Fraction(1)
    return round(value, PLACES)
