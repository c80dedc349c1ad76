"""Metrics of the agreement suite: of one pair of labels, of one item with several votes, or of all of them at once."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import Voted
from ragworthy.metrics.registry import metric

SOURCE = "ProblemMap eval/eval_cross_agent_consistency.md §3"
OPERATORS = "ProblemMap eval/eval_operator_guidelines.md"
TWO = ("agreement.percent", "agreement.kappa", "agreement.abstain")
"""What two validators are measured by."""
SEVERAL = ("agreement.pairwise", "agreement.fleiss", "agreement.raters")
"""What several raters are measured by."""
OF_OPERATORS = (*SEVERAL, "agreement.operator_variance")
WHOLE = frozenset({"agreement.kappa", "agreement.fleiss", "agreement.raters", "agreement.operator_variance"})
"""Numbers of all items at once: no single item has one."""


@metric(
    better="higher",
    short=("pa", "percent_agreement"),
    cases="pairs",
    event="agreeing",
    undefined="there is no pair",
    source=SOURCE,
)
def percent(pair: Voted) -> bool | None:
    """Share of pairs in which both validators give the same label."""
    return pair.agreed


@metric(
    better="higher",
    kind="mean",
    cases="pairs",
    event="agreeing beyond chance",
    undefined=r.ONE_LABEL,
    source=SOURCE,
)
def kappa(pairs: Sequence[Voted]) -> Fraction | None:
    """Cohen's κ over the four labels: agreement beyond what the shares of the labels alone would give."""
    total = len(pairs)
    if not total:
        return None
    scholar, auditor = Counter(one.scholar for one in pairs), Counter(one.auditor for one in pairs)
    observed = Fraction(sum(one.agreed for one in pairs), total)
    by_chance = Fraction(sum(count * auditor[label] for label, count in scholar.items()), total * total)
    return None if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


@metric(
    better="lower",
    short=("abstain_rate",),
    cases="pairs",
    event="with an abstention",
    undefined="there is no pair",
    source=SOURCE,
)
def abstain(pair: Voted) -> bool | None:
    """Share of pairs in which at least one validator does not decide."""
    return pair.abstained


@metric(
    better="higher",
    kind="mean",
    cases="items",
    event="agreeing",
    undefined="no item has two votes",
    source=OPERATORS,
)
def pairwise(ballot: r.Ballot) -> Fraction | None:
    """Mean over items of the share of pairs of raters who give the same label."""
    return r.agreeing(ballot)


@metric(
    better="higher",
    kind="mean",
    cases="items",
    event="agreeing beyond chance",
    undefined=r.ONE_LABEL,
    source="Fleiss 1971, Measuring nominal scale agreement among many raters",
)
def fleiss(ballots: Sequence[r.Ballot]) -> Fraction | None:
    """Fleiss' κ: agreement of several raters beyond what the shares of the labels alone would give."""
    found = r.fleiss_kappa(ballots)
    return None if isinstance(found, str) else found


@metric(
    better="higher",
    kind="count",
    cases="raters",
    event="voting",
    undefined="never: a count of nothing is 0",
    source=OPERATORS,
)
def raters(ballots: Sequence[r.Ballot]) -> int:
    """Number of raters who voted on at least one item."""
    return len(r.raters_of(ballots))


@metric(
    better="lower",
    kind="mean",
    highest=None,
    cases="operators",
    event="apart",
    undefined="nothing was marked correct, or there is one operator only",
    source=OPERATORS,
)
def operator_variance(ballots: Sequence[r.Ballot]) -> Fraction | None:
    """Spread of the operators' correct rates: their standard deviation over their mean."""
    return r.variation(r.by_operator(r.correct_rates(ballots)))
