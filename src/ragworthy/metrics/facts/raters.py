"""Several raters of the same items: how far they agree; and the marks of human operators."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from ragworthy.ids import natural
from ragworthy.metrics.facts.distance import ACCEPT, BLOCK, exact
from ragworthy.stats import variation_squared
from ragworthy.text import squeeze

CORRECT, WRONG = "correct", "wrong"
REVIEW, FAIL = "review", "fail"
DISAGREEMENT = Fraction("0.15")
"""Operators who disagree more often than this need somebody else to look."""
DEARER = Fraction("1.5")
"""And so does work that costs more than so many times what it did."""
RELEASE_RATERS = 3
"""How many operators a release needs; two may do for other work."""
_DIGITS = 40


class Rating(msgspec.Struct, frozen=True, gc=False):
    """What one rater says of one item."""

    rater: str
    label: str
    qid: str | None = None
    q_id: str | None = None

    @property
    def name(self) -> str:
        """The id of the item, under whichever key it was written."""
        return self.qid or self.q_id or ""


class Mark(msgspec.Struct, frozen=True, gc=False):
    """What one operator wrote down about one question; distances are taken under every spelling in use."""

    operator: str
    correct: bool
    qid: str | None = None
    q_id: str | None = None
    question: str | None = None
    expected_snippet: str | None = None
    candidate_snippet: str | None = None
    cost_usd: float | None = None
    fix: str | list[str] | None = None
    delta_s: float | None = None
    delta_s_1: float | None = msgspec.field(default=None, name="ΔS")
    delta_s_2: float | None = msgspec.field(default=None, name="deltaS")
    delta_s_3: float | None = msgspec.field(default=None, name="dS")
    delta_s_4: float | None = msgspec.field(default=None, name="∆S")
    delta_s_5: float | None = msgspec.field(default=None, name="Î”S")
    delta_s_6: float | None = msgspec.field(default=None, name="ŒîS")
    lambda_state: str | None = None
    lambda_1: str | None = msgspec.field(default=None, name="λ_state")
    lambda_2: str | None = msgspec.field(default=None, name="λ")
    lambda_3: str | None = msgspec.field(default=None, name="Î»_state")
    lambda_4: str | None = msgspec.field(default=None, name="Œª_state")

    @property
    def name(self) -> str:
        """The id of the question, under whichever key it was written."""
        return self.qid or self.q_id or ""

    @property
    def distance(self) -> Fraction | None:
        """The recorded distance, under whichever key it was written."""
        given = (self.delta_s, self.delta_s_1, self.delta_s_2, self.delta_s_3, self.delta_s_4, self.delta_s_5)
        return next((exact(one) for one in (*given, self.delta_s_6) if one is not None), None)

    @property
    def state(self) -> str | None:
        """The convergence mark, under whichever key it was written."""
        return self.lambda_state or self.lambda_1 or self.lambda_2 or self.lambda_3 or self.lambda_4

    @property
    def fixes(self) -> list[str]:
        """The fixes that the record names."""
        return [self.fix] if isinstance(self.fix, str) else self.fix or []

    @property
    def rating(self) -> Rating:
        """The record as a vote."""
        return Rating(self.operator, CORRECT if self.correct else WRONG, qid=self.name)


class Ballot(NamedTuple):
    """All votes on one item, by rater."""

    qid: str
    votes: tuple[tuple[str, str], ...]

    @property
    def labels(self) -> "Counter[str]":
        """How many votes each label has."""
        return Counter(label for _, label in self.votes)


def ballots(ratings: Iterable[Rating]) -> list[Ballot]:
    """Votes by item, in the order in which the items come; the last vote of a rater on an item counts."""
    found: dict[str, dict[str, str]] = {}
    for one in ratings:
        found.setdefault(one.name, {})[one.rater] = one.label
    return [Ballot(qid, tuple(sorted(votes.items(), key=_by_rater))) for qid, votes in found.items()]


def _by_rater(vote: tuple[str, str]) -> Any:
    return natural(vote[0])


def raters_of(given: Iterable[Ballot]) -> list[str]:
    """Everybody who voted, in natural order."""
    return sorted({rater for ballot in given for rater, _ in ballot.votes}, key=natural)


def agreeing(ballot: Ballot) -> Fraction | None:
    """The share of pairs of votes on an item that are the same; None below two votes.

    >>> agreeing(Ballot("q", (("a", "yes"), ("b", "yes"), ("c", "no"))))
    Fraction(1, 3)
    """
    total = len(ballot.votes)
    if total < 2:
        return None
    same = sum(count * (count - 1) for count in ballot.labels.values())
    return Fraction(same, total * (total - 1))


def fleiss_kappa(given: Sequence[Ballot]) -> Fraction | str:
    """Fleiss' κ: agreement beyond what the shares of the labels alone would give; else why there is none."""
    shares = [share for ballot in given if (share := agreeing(ballot)) is not None]
    if not shares:
        return "no item has two votes"
    if len({len(ballot.votes) for ballot in given}) > 1:
        return "items have different numbers of votes"
    labels: Counter[str] = Counter()
    for ballot in given:
        labels += ballot.labels
    total = labels.total()
    by_chance = Fraction(sum(count * count for count in labels.values()), total * total)
    if by_chance == 1:
        return ONE_LABEL
    return (sum(shares, Fraction(0)) / len(shares) - by_chance) / (1 - by_chance)


ONE_LABEL = "every vote has the same label"


class PairOfRaters(NamedTuple):
    """How often two raters agree on the items that both voted on."""

    raters: tuple[str, str]
    same: int
    both: int


def by_pair(given: Sequence[Ballot]) -> list[PairOfRaters]:
    """Every two raters with how often they agree."""
    votes = [dict(ballot.votes) for ballot in given]
    found = []
    for one, other in combinations(raters_of(given), 2):
        common = [ballot[one] == ballot[other] for ballot in votes if one in ballot and other in ballot]
        found.append(PairOfRaters((one, other), sum(common), len(common)))
    return found


def correct_rates(given: Iterable[Ballot]) -> dict[str, tuple[int, int]]:
    """How many of the items each rater marked are correct by that rater, and how many there are."""
    found: dict[str, tuple[int, int]] = {}
    for ballot in given:
        for rater, label in ballot.votes:
            good, total = found.get(rater, (0, 0))
            found[rater] = (good + (label == CORRECT), total + 1)
    return {rater: found[rater] for rater in sorted(found, key=natural)}


def variation(rates: Iterable[Fraction]) -> Fraction | None:
    """σ/μ over a whole population, to 40 places; None where the mean is 0 or fewer than two rates are there.

    >>> variation([Fraction(1), Fraction(1, 2)]), variation([Fraction(0), Fraction(0)])
    (Fraction(1, 3), None)
    """
    values = list(rates)
    square = variation_squared(values)
    return None if len(values) < 2 or square is None else _root(square)


def _root(square: Fraction) -> Fraction:
    """The square root: exact where it is a fraction, else cut off so far behind that no threshold is met by it."""
    num, den = square.numerator, square.denominator
    root = Fraction(math.isqrt(num), math.isqrt(den))
    return root if root * root == square else Fraction(math.isqrt(num * den * 10 ** (2 * _DIGITS)), den * 10**_DIGITS)


# operators


def is_right(mark: Mark) -> bool:
    """Whether the snippet found is the one expected, or holds it; case and blanks do not count."""
    expected, found = (squeeze(text or "").casefold() for text in (mark.expected_snippet, mark.candidate_snippet))
    return bool(expected) and expected in found


def marked(mark: Mark) -> str:
    """What the marking rule says of a record: correct, review or fail.

    >>> one = Mark("op", True, expected_snippet="Null keys", candidate_snippet="null  keys", delta_s=0.45)
    >>> [marked(msgspec.structs.replace(one, delta_s=distance)) for distance in (0.45, 0.46, 0.6)]
    ['correct', 'review', 'fail']
    """
    distance = mark.distance
    if not squeeze(mark.candidate_snippet or "") or not is_right(mark) or (distance is not None and distance >= BLOCK):
        return FAIL
    return CORRECT if distance is not None and distance <= ACCEPT else REVIEW


class Escalation(NamedTuple):
    """Something that somebody else has to look at."""

    what: str
    value: Fraction | None
    limit: Fraction | None
    qids: tuple[str, ...] = ()


def out_of_band(marks: Iterable[Mark]) -> list[Mark]:
    """Records labelled correct although the distance is not an accepted one."""
    return [one for one in marks if one.correct and one.distance is not None and one.distance > ACCEPT]


def mean_cost(marks: Iterable[Mark]) -> Fraction | None:
    """What a record costs on average, over those that say so."""
    costs = [Fraction(repr(one.cost_usd)) for one in marks if one.cost_usd is not None]
    return sum(costs, Fraction(0)) / len(costs) if costs else None


def escalations(marks: Sequence[Mark], agreement: Fraction | None, baseline_cost: str | None) -> list[Escalation]:
    """What has to be looked at: too much disagreement, distances that do not fit the label, and costs."""
    found = []
    if agreement is not None and 1 - agreement > DISAGREEMENT:
        found.append(Escalation("disagreement", 1 - agreement, DISAGREEMENT))
    if strange := out_of_band(marks):
        qids = tuple(dict.fromkeys(one.name for one in strange))
        found.append(Escalation("distance", Fraction(len(strange)), None, qids))
    cost = mean_cost(marks)
    if cost is not None and baseline_cost is not None and cost > DEARER * Fraction(baseline_cost):
        found.append(Escalation("cost", cost, DEARER * Fraction(baseline_cost)))
    return found


def by_operator(rates: Mapping[str, tuple[int, int]]) -> list[Fraction]:
    """The correct rates of all operators as numbers."""
    return [Fraction(good, total) for good, total in rates.values()]
