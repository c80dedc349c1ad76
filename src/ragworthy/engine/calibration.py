"""What raw distances mean: the calibration of one model on one gold set."""

from collections.abc import Sequence
from fractions import Fraction

from ragworthy.metrics.distance import PLACES, Calibration
from ragworthy.stats import auc, percentile


def calibrate(
    model: str,
    weights: str,
    *,
    relevant: Sequence[Fraction],
    first: Sequence[Fraction],
    unrelated: Sequence[Fraction],
    negatives: Sequence[Fraction],
) -> Calibration:
    """The calibration from raw distances: question to relevant block, to a block of another document, to a negative.

    `first` holds the distances that citing the first relevant block of each question would have.
    """
    ordered, cited = sorted(relevant), sorted(first)
    return Calibration(
        model=model,
        weights=weights,
        r90=round(percentile(ordered, 90), PLACES),
        n10=round(percentile(sorted(unrelated), 10), PLACES),
        relevant_pairs=len(relevant),
        unrelated_pairs=len(unrelated),
        perfect_median=round(percentile(cited, 50), PLACES),
        perfect_p90=round(percentile(cited, 90), PLACES),
        perfect_mean=round(sum(cited, Fraction(0)) / len(cited), PLACES),
        auc=auc([float(one) for one in relevant], [float(one) for one in negatives]),
    )
