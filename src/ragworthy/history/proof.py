"""What the questions of two runs, or of many, say: whether a number fell, and where in a line of runs it did."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.differences import PLAIN, Difference, difference, pair
from ragworthy.errors import data_error, usage_error
from ragworthy.history.points import Point
from ragworthy.history.pooled import parts, pooled, rate
from ragworthy.loss_tests import prove
from ragworthy.metrics.fold import percent_of
from ragworthy.metrics.registry import Metric, all_metrics
from ragworthy.paired.exact import evalue
from ragworthy.paired.family import e_holm
from ragworthy.proving import Proving
from ragworthy.rows import Rows

ALPHA = 0.05


class Look(NamedTuple):
    """What the questions say of one metric: the last run of a line against the run that it is compared with."""

    worse: int
    better: int
    p: float
    """Of this look alone, as if nobody had looked before or would again."""
    evalue: float
    """What a bet on "worse" has made of 1. Clusters bet, so that a document counts once."""
    looks: int
    """How many runs were compared with that one by now, this among them."""
    adjusted: float
    """The e-value for all metrics that moved (e-Holm)."""

    @property
    def proven(self) -> bool:
        """Whether a loss is proven, although one looks each time; a p-value would soon be small by luck."""
        return self.adjusted >= 1 / ALPHA


def looked(old: Rows, new: Rows, metrics: Sequence[str], looks: int) -> dict[str, Look]:
    """Every metric that has a test, of two runs."""
    known, pairs = all_metrics(), pair(old, new)
    found: dict[str, Difference] = {}
    for name in metrics:
        metric = known.get(name.partition("@")[0])
        one = difference(_gate(name), metric, pairs) if metric is not None else ""
        if isinstance(one, Difference):
            found[name] = one
    tested = prove(found, Proving())
    bets = {name: _bet(one) for name, one in found.items() if any(one.column.values())}
    family = dict(zip(bets, e_holm(list(bets.values())), strict=True))
    return {
        name: Look(one.worse, one.better, tested[name].p, bets.get(name, 1.0), looks, family.get(name, 1.0))
        for name, one in found.items()
    }


def _bet(one: Difference) -> float:
    return evalue(*(sum(sign * value > 0 for value in one.column.values()) for sign in (1, -1)))


def _gate(metric: str) -> g.Gate:
    """The rule that nothing may be lost."""
    return g.Gate(metric, g.DROP, "0")


# where it fell


class Fall(NamedTuple):
    """Between which two runs of a line a metric fell most, and how sure that is."""

    metric: str
    points: tuple[Point, ...]
    split: int
    """The first point after the fall."""
    before: Fraction | None
    """The mean over the runs before it: of all their cases together, which is what is tested."""
    after: Fraction | None
    worse: tuple[str, ...]
    """The questions that are worse after it, those that lost most first."""
    better: int
    p: float
    adjusted: float
    """For all places at which it could have fallen."""
    alone: tuple[int, int, float]
    """The two runs by themselves: questions worse, better, and the p-value."""

    @property
    def proven(self) -> bool:
        """Whether it is not luck."""
        return self.adjusted <= ALPHA


def fall(metric: str, line: Sequence[Point]) -> Fall:
    """Where two means tell the runs of a line apart best (least squares), and what the questions say of that place: the
    runs before it pooled, against those after it pooled.
    """
    known = all_metrics().get(metric.partition("@")[0])
    if known is None:
        raise usage_error(f"expected a metric, got {metric}: 'ragworthy explain' lists them")
    rows = _all_rows(metric, line)
    values = [one.metrics.get(metric) for one in line]
    split = _place(values, 1 if known.better == "higher" else -1)
    sides = pooled(rows[:split], rows[split:])
    most = _between(metric, known, *sides)
    p = prove({metric: most}, Proving())[metric].p
    alone = difference(_gate(metric), known, pair(rows[split - 1], rows[split]))
    assert isinstance(alone, Difference)  # noqa: S101 - the pooled runs had one
    return Fall(
        metric,
        tuple(line),
        split,
        _mean(metric, known, sides[0], values[:split]),
        _mean(metric, known, sides[1], values[split:]),
        _worse(metric, known, *sides),
        most.better,
        p,
        min(1.0, p * (len(rows) - 1)),
        (alone.worse, alone.better, prove({metric: alone}, Proving())[metric].p),
    )


def _all_rows(metric: str, line: Sequence[Point]) -> list[Rows]:
    found = []
    for one in line:
        rows = one.rows()
        if rows is None or metric not in rows.words:
            message = (
                f"expected rows with {metric}, got none: it cannot be compared with the others question by question"
            )
            raise data_error("RW-H14", message, where=one.name)
        found.append(rows)
    return found


def _between(metric: str, known: Metric, before: Rows, after: Rows) -> Difference:
    found = difference(_gate(metric), known, pair(before, after))
    if isinstance(found, str):
        raise data_error("RW-H14", f"expected a metric that single questions speak of, got {metric}: {found}")
    return found


def _mean(metric: str, known: Metric, side: Rows, values: Sequence[Fraction | None]) -> Fraction | None:
    """The number of the runs of a side together; of counts and percentiles the mean of the runs."""
    if known.kind in PLAIN or percent_of(known.kind) is not None:
        return _middle(values)
    return rate(side.words[metric])


def _place(values: Sequence[Fraction | None], sign: int) -> int:
    """The first run after the sharpest fall: k·m/(k+m) times the square of the fall is what two means explain.

    >>> _place([Fraction(9), Fraction(9), Fraction(8), Fraction(5), Fraction(4), Fraction(5)], 1)
    3
    """

    def explained(split: int) -> Fraction:
        before, after = _middle(values[:split]), _middle(values[split:])
        if before is None or after is None:
            return Fraction(-1)
        lost = sign * (before - after)
        return lost * abs(lost) * split * (len(values) - split)

    return max(range(1, len(values)), key=lambda split: (explained(split), -split))


def _middle(values: Sequence[Fraction | None]) -> Fraction | None:
    there = [value for value in values if value is not None]
    return sum(there, Fraction(0)) / len(there) if there else None


def _worse(metric: str, known: Metric, before: Rows, after: Rows) -> tuple[str, ...]:
    """The questions that took something away from the number, those that took most first."""
    sign, places = 1 if known.better == "higher" else -1, before.places()
    both = [(qid, before.words[metric][places[qid]], word) for qid, word in zip(after.qids, after.words[metric],
            strict=True) if qid in places]  # fmt: skip
    counted = known.kind not in PLAIN and percent_of(known.kind) is None
    mean = rate([word for _, *words in both for word in words]) if counted else None
    lost = {qid: sign * (_weight(old, mean) - _weight(new, mean)) for qid, old, new in both}
    order = {qid: nth for nth, qid in enumerate(lost)}
    return tuple(sorted((qid for qid in lost if lost[qid] > 0), key=lambda qid: (-lost[qid], order[qid])))


def _weight(word: Any, mean: Fraction | None) -> Fraction:
    """What a question adds to the number: its part, less what the mean question would have of its whole."""
    part, whole = map(Fraction, parts(word))
    return part - (mean or 0) * whole


def neighbours(found: Fall) -> tuple[Point, Point]:
    """The last run before the fall and the first after it."""
    return list(pairwise(found.points))[found.split - 1]


def as_json(found: Fall) -> Mapping[str, Any]:
    """The fall as it is written."""
    last, first = neighbours(found)
    return {
        "schema": "ragworthy.bisect/1",
        "metric": found.metric,
        "runs": [one.name for one in found.points],
        "fell": found.proven,
        "between": [last.name, first.name],
        "commits": [last.commit or None, first.commit or None],
        "before": None if found.before is None else float(found.before),
        "after": None if found.after is None else float(found.after),
        "worse": list(found.worse),
        "better": found.better,
        "p": found.p,
        "adjusted": found.adjusted,
        "alone": {"worse": found.alone[0], "better": found.alone[1], "p": found.alone[2]},
    }
