"""What raw distances mean: the calibration of one model on one gold set."""

from collections.abc import Sequence
from fractions import Fraction

from ragworthy.metrics.facts.distance import PLACES, Calibration, Spread, scaled
from ragworthy.stats import auc, percentile


def calibrate(
    model: str,
    weights: str,
    *,
    relevant: Sequence[Fraction],
    first: Sequence[Sequence[Fraction]],
    unrelated: Sequence[Fraction],
    negatives: Sequence[Fraction],
) -> Calibration:
    """The calibration from raw distances: question to relevant block, to a block of another document, to a negative.

    `first` holds, question by question, the distance of every wording to the first relevant block.
    """
    r90 = round(percentile(sorted(relevant), 90), PLACES)
    n10 = round(percentile(sorted(unrelated), 10), PLACES)
    mapped = [[scaled(one, r90, n10) for one in some] for some in first] if r90 < n10 else first
    return Calibration(
        model=model,
        weights=weights,
        r90=r90,
        n10=n10,
        relevant_pairs=len(relevant),
        unrelated_pairs=len(unrelated),
        perfect_raw=Spread.of([_mean(some) for some in first], percentile),
        perfect=Spread.of([_mean(some) for some in mapped], percentile),
        auc=auc([float(one) for one in relevant], [float(one) for one in negatives]),
    )


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
