"""The difference of two runs as one number for every question, positive where it is worse: what proofs are made of.

Whatever a gate is on, a rate, a mean, a ratio, a percentile or κ, becomes whole numbers over a common scale, summed by
cluster. So all of them can be tested on the same swaps of old and new.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.fold import percent_of
from ragworthy.metrics.of_runs import as_often, is_sound, is_uneven, said_of
from ragworthy.metrics.registry import Metric
from ragworthy.paired.bounds import tango
from ragworthy.paired.clusters import felled, mean_square, swap_effect
from ragworthy.paired.kappa import SCALE, cohen, jackknife
from ragworthy.paired.percentiles import tops
from ragworthy.paired.rises import Runs, between, rise
from ragworthy.paired.swaps import sums
from ragworthy.paired.widest import Changes, losses_of, still
from ragworthy.proving import UNCHANGED, UNEVEN
from ragworthy.rows import GONE, Rows, Word
from ragworthy.rows import Pairs as Pairs
from ragworthy.rows import pair as pair
from ragworthy.stats import Interval, percentile

KAPPA, VOTE = "agreement.kappa", "vote:"
"""The number of all items at once that has a test, and how rows name the votes that it is made of."""
TWO_SIDED = 0.95
CHANCE = 0.05
"""How often a bound on one side may miss."""
PLAIN = ("count", "sum")
"""Kinds that are added up and not divided by anything."""
NO_NUMBER = "the rows hold something that is not a number"
TOO_FEW_LARGEST = "too few questions are among the largest values of both runs"
ALONE = ("tail", "spread")
"""Kinds of which one question alone says nothing."""


class Flips(NamedTuple):
    """How many questions went from yes to no and back, where all words are yes or no: each pair (worse, better)."""

    right_wrong: tuple[int, int]
    counted_wrong: tuple[int, int]
    """From no case to a wrong one, and back."""
    right_counted: tuple[int, int]
    """From right to no case, and back."""
    rate: Fraction

    @property
    def plain(self) -> bool:
        """Whether no question is a case of one run only."""
        return not any((*self.counted_wrong, *self.right_counted))

    @property
    def turned(self) -> "Flips":
        """The same with old and new exchanged."""
        one, other, third = self.right_wrong, self.counted_wrong, self.right_counted
        return Flips(one[::-1], other[::-1], third[::-1], self.rate)


class Difference(NamedTuple):
    """What became worse and better, and by how much."""

    column: Mapping[str, int]
    """Sums by cluster, over a common scale."""
    moved: int
    """How many questions do not say the same in both runs."""
    worse: int
    better: int
    cases: int
    clusters: int
    flips: Flips | None = None
    """Where the exact test is known: words are yes or no, and no cluster has two questions that changed."""
    upper: float | None = None
    """The loss that is not excluded, in the unit of the metric."""
    rough: bool = False
    """Whether that is by the delta method, which takes many changes to hold."""
    unbounded: str = ""
    interval: Interval | None = None
    """The 95 % interval of new − old, in the unit of the metric."""
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    square: float | None = None
    """The mean square of what a question changed by, in the unit of the metric: of rates the share that flipped."""
    deff: float = 1.0
    """How many times more questions it takes because those of one cluster change together."""
    hit: int = 0
    """How many clusters hold a question that is worse."""
    felled: tuple[tuple[str, int], ...] = ()
    """The clusters in which every question that was good is not now, each with how many those are."""
    errored: int = 0
    """How many questions are left out because an error in one of the runs left it without a word."""
    regrouped: int = 0
    """How many questions stand or fall with others in one of the runs than in the other."""
    counted: str = "changed"
    """What is counted of clusters that are no longer as they were."""
    slack: int = 0
    """By how much two equal sums may differ because words were rounded."""
    gone: tuple[int, int] = (0, 0)
    unerrored: Any = None  # questions that ended in an error in the old run, of how many; and the others (unerrored.py)


class _Words(NamedTuple):
    """The words of the questions that are cases of a run, in both, as whole numbers over one scale."""

    old: list[tuple[int, int]]
    new: list[tuple[int, int]]
    clusters: list[str]
    scale: int


def difference(gate: g.Gate, metric: Metric, pairs: Pairs) -> Difference | str:
    """The difference that a gate is on, from the questions that it is about; or why there is none."""
    found = _difference(gate, metric, pairs)
    if isinstance(found, str):
        return found
    return found._replace(only_old=pairs.only_old, only_new=pairs.only_new, regrouped=pairs.regrouped)


def _difference(gate: g.Gate, metric: Metric, pairs: Pairs) -> Difference | str:
    members = pairs.both
    if not members:
        return f"the rows name no question of {gate.slice}" if gate.slice else "the two runs share no question"
    sign = 1 if metric.better == "higher" else -1
    if metric.id == KAPPA:
        return _of_votes(pairs, members, sign)
    if metric.over == "all":
        return "no test is known for a number of all questions at once"
    if metric.kind in ALONE:
        return "of such a number one question alone says nothing"
    percent = percent_of(metric.kind)
    if percent is not None:
        return _exceeding(gate, metric, pairs, members, percent)
    before, after = (said_of(rows, gate.metric, metric) for rows in (pairs.old, pairs.new))
    if before is None or after is None:
        return f"the rows of {'the baseline' if before is None else 'this run'} do not have it"
    if is_uneven(metric, pairs, before, after):
        return UNEVEN
    members, errored = _answered(pairs, before, after)
    old, new = [before[nth] for nth, _ in members], [after[nth] for _, nth in members]
    if not all(map(is_sound, {*old, *new})):
        return NO_NUMBER
    words = _whole(old, new, [pairs.new.clusters[nth] for _, nth in members])
    plain = metric.kind in PLAIN
    if not plain and not any(whole for _, whole in (*words.old, *words.new)):
        return "no question is a case of it"
    return _of_words(words, sign, plain, metric.highest)._replace(errored=errored)


def _answered(pairs: Pairs, before: Sequence[Word], after: Sequence[Word]) -> tuple[tuple[tuple[int, int], ...], int]:
    """The questions without those that an error left without a word in one run only, and how many these are.

    Such a question did not change: nobody knows what it would have said.
    """
    gone = {
        (old, new)
        for old, new in pairs.both
        if (before[old] is None) is not (after[new] is None)
        and (pairs.old.labels[old] if before[old] is None else pairs.new.labels[new]) in GONE
    }
    return tuple(one for one in pairs.both if one not in gone), len(gone)


# rates, means, shares and ratios


def _whole(old: Sequence[Word], new: Sequence[Word], clusters: Sequence[str]) -> _Words:
    """Parts and wholes of the questions that are a case of either run."""
    distinct: set[Any] = {*old, *new} - {None}
    scale = _scale([word[0] if isinstance(word, tuple) else word for word in distinct])
    pairs = {word: word if isinstance(word, tuple) else (word, 1) for word in distinct}
    unit = _scale([whole for _, whole in pairs.values()])  # of several runs only some may be cases
    known: dict[Any, tuple[int, int]] = {None: (0, 0)}
    for word, (part, whole) in pairs.items():
        known[word] = (_scaled(part, scale * unit), _scaled(whole, unit))
    kept = [
        (known[before], known[after], cluster)
        for before, after, cluster in zip(old, new, clusters, strict=True)
        if before is not None or after is not None
    ]
    return _Words([one for one, _, _ in kept], [one for _, one, _ in kept], [one for _, _, one in kept], scale)


def _scale(parts: Iterable[Any]) -> int:
    """The denominator that all parts share, where it is not too large."""
    scale = 1
    for part in parts:
        if isinstance(part, float) and not part.is_integer():
            return SCALE
        scale = math.lcm(scale, 1 if isinstance(part, float) else part.denominator)
        if scale > SCALE:
            return SCALE
    return scale


def _scaled(part: Any, scale: int) -> int:
    number: int = round(part * scale if isinstance(part, float) else Fraction(part) * scale)
    return number


def _of_words(words: _Words, sign: int, plain: bool, highest: int | None) -> Difference:
    """By (N − R·D) of the old run less that of the new one, R the rate of both together; times its denominator."""
    part = sum(one for one, _ in (*words.old, *words.new))
    whole = sum(one for _, one in (*words.old, *words.new))
    same = plain or all(before[1] == after[1] for before, after in zip(words.old, words.new, strict=True))
    moved = [
        sign * (before[0] - after[0] if same else whole * (before[0] - after[0]) - part * (before[1] - after[1]))
        for before, after in zip(words.old, words.new, strict=True)
    ]
    clusters = len(set(words.clusters))
    column = sums(moved, words.clusters)
    found = Difference(
        column,
        sum(before != after for before, after in zip(words.old, words.new, strict=True)),
        sum(one > 0 for one in moved),
        sum(one < 0 for one in moved),
        len(moved),
        clusters,
        None if plain else _flips(words, sign, moved),
        square=None if plain else mean_square(moved, words.scale * (1 if same else whole) * whole),
        deff=swap_effect(moved, column),
        hit=len({cluster for one, cluster in zip(moved, words.clusters, strict=True) if one > 0}),
        felled=felled(words.old, words.new, words.clusters, (1, 1) if sign > 0 else (0, 1)),
        slack=2 * (1 if same else whole + len(moved)) * sum(map(bool, moved)) if words.scale == SCALE else 0,
    )
    flips = found.flips
    if flips is not None and flips.plain and same and clusters == len(moved):
        both = _turned(tango(*flips.right_wrong, len(moved), TWO_SIDED), sign)
        return found._replace(upper=tango(*flips.right_wrong, len(moved)).high, interval=both)
    return _bounded(found, words, sign, plain, highest)


def _flips(words: _Words, sign: int, moved: Sequence[int]) -> Flips | None:
    """How many questions changed in which way, where the exact test is known."""
    states = {(0, 0): "none", (1, 1): "right", (0, 1): "wrong"}
    if sign < 0:
        states = {(0, 0): "none", (0, 1): "right", (1, 1): "wrong"}
    if words.scale != 1 or not {*words.old, *words.new} <= states.keys():
        return None
    changed = [cluster for one, cluster in zip(moved, words.clusters, strict=True) if one]
    if len(set(changed)) < len(changed):
        return None
    turns = Counter((states[before], states[after]) for before, after in zip(words.old, words.new, strict=True))
    good = sum(states[one] == "right" for one in (*words.old, *words.new))
    counted = sum(one for _, one in (*words.old, *words.new))
    return Flips(
        (turns["right", "wrong"], turns["wrong", "right"]),
        (turns["none", "wrong"], turns["wrong", "none"]),
        (turns["right", "none"], turns["none", "right"]),
        Fraction(good, counted),
    )


def _bounded(found: Difference, words: _Words, sign: int, plain: bool, highest: int | None) -> Difference:
    """With the bound of the loss, clusters counted as one, and never below that of the questions one by one."""
    old, new = words.old, words.new
    if plain:  # a sum is so many times the mean over all questions
        old, new = [(one, 1) for one, _ in old], [(one, 1) for one, _ in new]
    losses = losses_of(old, new, words.clusters)
    if losses is None:
        return found._replace(unbounded="one of the runs has no case")
    if found.clusters < 2:
        return found._replace(unbounded="all questions are in one cluster")
    unit = sign * (found.cases if plain else 1) / words.scale
    if not losses[1].pulled:
        return _even(found, float(losses[0].loss) * unit, sign, highest)
    binary = words.scale == 1 and {*old, *new} <= {(0, 1), (1, 1)}
    changes = Changes(*losses, found.cases, unit, (found.worse, found.better) if binary else None, highest)
    return found._replace(rough=True, upper=changes.upper, interval=_turned(changes.told(TWO_SIDED), sign))


def _even(found: Difference, loss: float, sign: int, highest: int | None) -> Difference:
    """Where no question changed, or every one by as much: an interval of no width would claim too much."""
    if highest is None:
        return found._replace(unbounded="every question changed by as much" if found.moved else UNCHANGED)
    both = tango(0, 0, found.cases, TWO_SIDED).high * highest
    upper = loss + still(found.clusters, highest)
    return found._replace(upper=upper, interval=_turned(Interval(loss - both, loss + both), sign))


def _turned(loss: Interval, sign: int) -> Interval:
    """The interval of a loss as one of the difference; the loss is a rise where the sign is negative."""
    return Interval(-loss.high, -loss.low) if sign > 0 else loss


# percentiles


def _exceeding(
    gate: g.Gate, metric: Metric, pairs: Pairs, members: Sequence[tuple[int, int]], percent: int
) -> Difference | str:
    """How often a question is among the largest values of both runs together, now less than before.

    The new values are first taken back by `min_effect`: what is tested is whether the loss is beyond it. Where higher
    values are better, what counts is what is missing among them.
    """
    before, after = pairs.old.of_runs(gate.metric), pairs.new.of_runs(gate.metric)
    shared = [(before[old], after[new], pairs.new.clusters[new]) for old, new in members if before[old] and after[new]]
    if not shared:
        return "the rows do not have it"
    if any(isinstance(word, tuple) or not is_sound(word) for one in shared for word in (*one[0], *one[1])):
        return NO_NUMBER
    sign, effect = (1 if metric.better == "higher" else -1), Fraction(gate.effect_text)
    part = percent if sign < 0 else 100 - percent
    old, new = ([[-sign * Fraction(word) for word in one[side]] for one in shared] for side in (0, 1))  # type: ignore[arg-type]
    largest = tops(
        [value for some in old for value in some],
        [value for some in new for value in some],
        part,
        **({"shift": effect} if gate.op == g.DROP else {"ratio": -sign * effect}),
    )
    scale = math.lcm(*{len(some) for some in (*old, *new)})
    counts = zip(_counted(old, largest.old, scale), _counted(new, largest.new, scale), strict=True)
    clusters = [cluster for _, _, cluster in shared]
    changes = [_mean(other) - _mean(one) for one, other in zip(old, new, strict=True)]
    runs = Runs(_floats(old), _floats(new), clusters)
    was = float(percentile(sorted(value for some in runs.old for value in some), part))
    upper, interval = rise(runs, part, was, CHANCE, share=gate.op == g.WORSE), between(runs, part, was, TWO_SIDED)
    return Difference(
        sums([now - then for then, now in counts], clusters),
        sum(not as_often(one, other) for one, other in zip(old, new, strict=True)),
        sum(change > 0 for change in changes),
        sum(change < 0 for change in changes),
        len(shared),
        len(set(clusters)),
        upper=upper,
        unbounded=TOO_FEW_LARGEST if upper is None else "",
        interval=None if interval is None else _turned(interval, sign),
        hit=len({cluster for change, cluster in zip(changes, clusters, strict=True) if change > 0}),
        counted=f"gained or lost places among the {'largest' if sign < 0 else 'smallest'} values of both runs",
    )


def _floats(runs: Sequence[Sequence[Fraction]]) -> list[list[float]]:
    return [[float(value) for value in some] for some in runs]


def _counted(runs: Sequence[Sequence[Fraction]], marked: Sequence[bool], scale: int) -> Iterator[int]:
    """The share of each question's runs that are marked, as whole numbers."""
    start = 0
    for some in runs:
        yield sum(marked[start : start + len(some)]) * scale // len(some)
        start += len(some)


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


# κ


def _of_votes(pairs: Pairs, members: Sequence[tuple[int, int]], sign: int) -> Difference | str:
    """What each item contributes to κ, before and after."""
    old, new = votes_of(pairs.old), votes_of(pairs.new)
    if old is None or new is None:
        return "the rows hold no votes"
    before = jackknife([old[nth] for nth, _ in members], cohen)
    after = jackknife([new[nth] for _, nth in members], cohen)
    if before is None or after is None:
        return "one vote decides whether it has a value"
    clusters = [pairs.new.clusters[nth] for _, nth in members]
    words = _Words([(one, 1) for one in before.pseudo], [(one, 1) for one in after.pseudo], clusters, SCALE)
    found = _of_words(words, sign, False, 1)
    turned = [(old[one], new[other]) for one, other in members if old[one] != new[other]]
    worse = sum(one[0] == one[1] and other[0] != other[1] for one, other in turned)
    return found._replace(moved=len(turned), worse=worse, better=len(turned) - worse)


def votes_of(rows: Rows) -> Sequence[tuple[str, str]] | None:
    """The votes of two raters on every item."""
    columns = [column for name, column in sorted(rows.own.items()) if name.startswith(VOTE)]
    if len(columns) != 2 or any(one is None for column in columns for one in column):
        return None
    return [(str(one), str(other)) for one, other in zip(*columns, strict=True)]
