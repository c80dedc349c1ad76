"""Metrics of the agreement suite: of one pair of labels, of one item with several votes, or of all of them at once.

`needs` says what a metric looks at: the pairs of two validators, the ballots of several raters, or those of operators.
Metrics of all items at once say why, where they have no value.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import Voted
from ragworthy.metrics.registry import metric

SOURCE = "ProblemMap eval/eval_cross_agent_consistency.md §3"
OPERATORS = "ProblemMap eval/eval_operator_guidelines.md"


@metric(
    better="higher",
    short=("pa", "percent_agreement"),
    needs="pairs",
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
    over="all",
    needs="pairs",
    cases="pairs",
    event="agreeing beyond chance",
    undefined=r.NoValue.ONE_LABEL.value,
    source=SOURCE,
)
def kappa(pairs: Sequence[Voted]) -> Fraction | r.NoValue:
    """Cohen's κ over the four labels: agreement beyond what the shares of the labels alone would give."""
    total = len(pairs)
    if not total:
        return r.NoValue.NO_PAIR
    scholar, auditor = Counter(one.scholar for one in pairs), Counter(one.auditor for one in pairs)
    observed = Fraction(sum(one.agreed for one in pairs), total)
    by_chance = Fraction(sum(count * auditor[label] for label, count in scholar.items()), total * total)
    return r.NoValue.ONE_LABEL if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


@metric(
    better="lower",
    short=("abstain_rate",),
    needs="pairs",
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
    needs="ballots",
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
    over="all",
    needs="ballots",
    cases="items",
    event="agreeing beyond chance",
    undefined=r.NoValue.ONE_LABEL.value,
    source="Fleiss 1971, Measuring nominal scale agreement among many raters",
)
def fleiss(ballots: Sequence[r.Ballot]) -> Fraction | r.NoValue:
    """Fleiss' κ: agreement of several raters beyond what the shares of the labels alone would give."""
    return r.fleiss_kappa(ballots)


@metric(
    better="higher",
    kind="count",
    over="all",
    needs="ballots",
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
    over="all",
    needs="operators",
    cases="operators",
    event="apart",
    undefined="nothing was marked correct, or there is one operator only",
    source=OPERATORS,
)
def operator_variance(ballots: Sequence[r.Ballot]) -> Fraction | r.NoValue | None:
    """Spread of the operators' correct rates: their standard deviation over their mean."""
    return r.NoValue.NO_VOTE if not ballots else r.variation(r.by_operator(r.correct_rates(ballots)))


@metric(
    better="higher",
    kind="share",
    short=("reproducibility",),
    needs="operators",
    cases="records looked at again",
    event="marked the same",
    undefined="no record was looked at again (audit)",
    source=f"{OPERATORS}: audit reproducibility",
)
def audit_reproducibility(ballot: r.Ballot) -> tuple[int, int] | None:
    """Share of the operator records that somebody looked at again which came to the same mark."""
    return (sum(ballot.again), len(ballot.again)) if ballot.again else None


@metric(
    better="lower",
    kind="mean",
    highest=None,
    over="all",
    needs="operators",
    cases="distances recorded again",
    event="apart",
    undefined=r.NoValue.ONCE.value,
    source=f"{OPERATORS}: ΔS within ±0.05 after evaluation",
)
def delta_s_drift(ballots: Sequence[r.Ballot]) -> Fraction | r.NoValue:
    """Largest difference between the ΔS that operators first recorded for a snippet and any recorded later."""
    return max((one for ballot in ballots for one in ballot.moved), default=r.NoValue.ONCE)
