"""ΔS: bands, and what a raw distance means for one model and one gold set."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

ACCEPT, BLOCK = Fraction("0.45"), Fraction("0.60")
"""As near as relevant text, and as far as unrelated text."""
BANDS = (("stable", Fraction("0.40")), ("transitional", BLOCK), ("risk", Fraction("0.85")))
PLACES = 6


def exact(value: float) -> Fraction:
    """A distance as the decimal number it is written as, cut to the range from 0 to 1.

    >>> exact(0.4), exact(1.7), exact(-0.0000001)
    (Fraction(2, 5), Fraction(1, 1), Fraction(0, 1))
    """
    return min(Fraction(1), max(Fraction(0), Fraction(f"{value:.{PLACES}f}")))


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

    @property
    def separates(self) -> bool:
        """Whether relevant text is nearer than unrelated text."""
        return self.r90 < self.n10

    def of(self, raw: Fraction) -> Fraction:
        """A raw distance on the calibrated scale."""
        return scaled(raw, self.r90, self.n10)

    def as_json(self) -> dict[str, Any]:
        """The calibration as the lock keeps it."""
        return {
            **{key: getattr(self, key) for key in ("model", "weights", "relevant_pairs", "unrelated_pairs")},
            **{key: f"{float(getattr(self, key)):.{PLACES}f}" for key in ("r90", "n10")},
            "perfect_raw": self.perfect_raw.as_json(),
            "perfect": self.perfect.as_json(),
            "auc": None if self.auc is None else round(self.auc, PLACES),
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> "Calibration":
        """The calibration that a lock keeps."""
        spreads = {key: Spread.from_json(given[key]) for key in ("perfect_raw", "perfect")}
        numbers = {key: Fraction(given[key]) for key in ("r90", "n10")}
        return cls(**{**{key: given[key] for key in cls._fields}, **numbers, **spreads})


def scaled(raw: Fraction, r90: Fraction, n10: Fraction) -> Fraction:
    """A raw distance on the scale of the bands: 0 → 0, r90 → 0.45, n10 → 0.60, 1 → 1, straight in between.

    >>> [float(scaled(Fraction(text), Fraction("0.71"), Fraction("0.86"))) for text in ("0", "0.71", "0.86", "1")]
    [0.0, 0.45, 0.6, 1.0]
    """
    if raw <= r90:
        value = raw / r90 * ACCEPT if r90 else Fraction(0)
    elif raw <= n10:
        value = ACCEPT + (raw - r90) / (n10 - r90) * (BLOCK - ACCEPT)
    else:
        value = BLOCK + (raw - n10) / (1 - n10) * (1 - BLOCK)
    return round(value, PLACES)
