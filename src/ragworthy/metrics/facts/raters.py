"""Several raters of the same items: how far they agree; and the marks of human operators."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from ragworthy.ids import natural
from ragworthy.metrics.facts.distance import ACCEPT, BLOCK, exact
from ragworthy.records import Mark, Rating
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


class NoValue(StrEnum):
    """Why a number of all votes does not exist."""

    NO_PAIR = "there is no pair"
    NO_VOTE = "there is no vote"
    SINGLE = "no item has two votes"
    UNEVEN = "items have different numbers of votes"
    ONE_LABEL = "every vote has the same label"
    ONCE = "no distance was recorded a second time"


class Ballot(NamedTuple):
    """All votes on one item, by rater."""

    qid: str
    votes: tuple[tuple[str, str], ...]
    again: tuple[bool, ...] = ()
    """Of every second look at a record of an operator, whether it comes to the same mark."""
    moved: tuple[Fraction, ...] = ()
    """How far every distance that was recorded again is from the first one."""

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


def fleiss_kappa(given: Sequence[Ballot]) -> Fraction | NoValue:
    """Fleiss' κ: agreement beyond what the shares of the labels alone would give; else why there is none."""
    if not given:
        return NoValue.NO_VOTE
    shares = [share for ballot in given if (share := agreeing(ballot)) is not None]
    if not shares:
        return NoValue.SINGLE
    if len({len(ballot.votes) for ballot in given}) > 1:
        return NoValue.UNEVEN
    labels: Counter[str] = Counter()
    for ballot in given:
        labels += ballot.labels
    total = labels.total()
    by_chance = Fraction(sum(count * count for count in labels.values()), total * total)
    if by_chance == 1:
        return NoValue.ONE_LABEL
    return (sum(shares, Fraction(0)) / len(shares) - by_chance) / (1 - by_chance)


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


def rating_of(mark: Mark) -> Rating:
    """The record of an operator as a vote."""
    return Rating(mark.operator, CORRECT if mark.correct else WRONG, qid=mark.name)


def fixes_of(mark: Mark) -> list[str]:
    """The fixes that a record names."""
    return [mark.fix] if isinstance(mark.fix, str) else mark.fix or []


def distance_of(mark: Mark) -> Fraction | None:
    """The recorded distance as the decimal number it is written as."""
    return None if mark.distance is None else exact(mark.distance)


def is_right(mark: Mark) -> bool:
    """Whether the snippet found is the one expected, or holds it; case and spaces do not count."""
    expected, found = (squeeze(text or "").casefold() for text in (mark.expected_snippet, mark.candidate_snippet))
    return bool(expected) and expected in found


def marked(mark: Mark) -> str:
    """What the marking rule says of a record: correct, review or fail.

    >>> one = {"expected_snippet": "Null keys", "candidate_snippet": "null  keys"}
    >>> [marked(Mark("op", True, **one, delta_s=distance)) for distance in (0.45, 0.46, 0.6)]
    ['correct', 'review', 'fail']
    """
    distance = distance_of(mark)
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
    return [one for one in marks if one.correct and (distance_of(one) or 0) > ACCEPT]


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
