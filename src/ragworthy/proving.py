"""Whether a loss is proven: what the questions that changed say of a difference, and the rule that follows from it."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.names import Outcome

POINT, INTERVAL, PAIRED, ANYTIME = "point", "interval", "paired", "anytime"
"""What decides a gate: the number, its interval, the questions that changed, or these however often one looks."""
ABSOLUTE, DIFFERENCE = (POINT, INTERVAL), (POINT, INTERVAL, PAIRED, ANYTIME)
"""What can decide a gate on a number, and one on the difference of two."""
IMPLIED = ("missing", "errors")
"""Metrics that say nothing about an answer, only that there is one. A gate on them alone decides nothing."""
TIMED = ("latency", "cost")
"""What is measured of every run, those that ended in errors included."""


class Proving(NamedTuple):
    """How differences are tested; the same for all gates of a verdict."""

    alpha: str = "0.05"
    """How often a verdict may call a loss proven where nothing changed."""
    seed: int = 0


class Tested(NamedTuple):
    """What the questions of both runs say of one difference, or why they say nothing."""

    without: str | None = None
    """Why there was no test; None where there was one."""
    p: float = 1.0
    """How often chance alone would show such a loss."""
    adjusted: float = 1.0
    """The same for all gates of the verdict that compare: how often chance would show it in any of them."""
    alpha: float = 0.05
    moved: int = 0
    """How many questions do not say the same in both runs, whether or not that is for the better."""
    worse: int = 0
    better: int = 0
    changed: int = 0
    """How many clusters changed on balance."""
    cases: int = 0
    """How many questions both runs have a number for, or one of them."""
    clusters: int = 0
    method: str = ""
    gates: int = 1
    """How many gates were tested together."""
    upper: float | None = None
    """The loss that is not excluded, in the unit of the metric: a one-sided 95 % bound."""
    unbounded: str = ""
    """Why there is no bound."""
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    """Questions of one run only, which are not part of the test."""
    evalue: float | None = None
    """How many times likelier what changed is under a loss than by chance, for all gates that were tested so."""
    unweighed: str = ""
    """Why there is none, where one was asked for."""
    square: float | None = None
    """The mean square of what a question changed by: of rates the share that flipped; None where it says nothing."""
    flips: Fraction | None = None
    """The share of questions that changed between runs of the baseline itself, where that is known."""
    deff: float = 1.0
    """How many times more questions it takes because those of one cluster change together."""
    hit: int = 0
    """How many clusters hold a question that is worse."""
    felled: tuple[tuple[str, int], ...] = ()
    """The clusters in which every question that was good is not now, each with how many those are."""

    rough: bool = False
    """Whether the bound is by the delta method, which takes many changes to hold."""
    errored: int = 0
    """How many questions are not part of it because an error in one of the runs left it without a word."""
    regrouped: int = 0
    """How many questions stand or fall with others in one of the runs than in the other."""
    counted: str = "changed"
    """What `changed` counts: of percentiles not which questions took longer, but which are among the slowest."""
    least: int = 0
    """How many clusters must change before an e-value can prove anything; 0 where p-values decide."""
    gone: tuple[int, int] = (0, 0)
    """How many questions ended in an error in the old run, and of how many, where such a question counts."""
    unerrored: "Unerrored | None" = None
    """The same over the questions that ended in an error in neither run, where the old one has errors."""

    @property
    def lacking(self) -> str:
        """Why nothing is measured: errors took too many of the questions away. Nothing where they did not.

        >>> Tested(cases=20, errored=10).lacking
        '10 of 30 questions ended in errors in one of the compared runs: ask them again (run --resume --retry-errors)'
        >>> Tested(cases=27, errored=3).lacking, Tested(cases=3, errored=2).lacking
        ('', '')
        """
        gone, every = self.errored, self.cases + self.errored
        if not too_many(gone, every):
            return ""
        told = f"{gone:,} of {every:,} questions ended in errors in one of the compared runs"
        return f"{told}: ask them again (run --resume --retry-errors)"

    @property
    def proven(self) -> bool:
        """Whether a loss is proven, however small. With an e-value it is once that reaches 1/alpha, at any look."""
        if self.evalue is not None:
            return self.without is None and self.evalue * self.alpha >= 1
        return self.without is None and not self.unweighed and self.adjusted <= self.alpha

    @property
    def unchanged(self) -> bool:
        """Whether every question says the same in both runs."""
        return self.without is None and not self.moved

    @property
    def fewest(self) -> int:
        """How many clusters must change before anything can be proven.

        >>> Tested(alpha=0.05).fewest, Tested(alpha=0.01).fewest
        (5, 7)
        """
        return self.least or math.ceil(-math.log2(self.alpha) - 1e-12)


class Unerrored(NamedTuple):
    """What the questions say that ended in an error in neither run."""

    tested: Tested
    old: Fraction
    new: Fraction
    """The metric over these questions, in both runs."""
    questions: int

    @property
    def told(self) -> str:
        """Which questions these are, and what became of them.

        >>> Unerrored(Tested(worse=20), Fraction(1), Fraction(5, 7), 70).told
        'of the 70 questions that neither run errored on: 20 worse, 0 better'
        """
        counts = f"{self.tested.worse:,} worse, {self.tested.better:,} better"
        return f"of the {self.questions:,} questions that neither run errored on: {counts}"


def too_many(gone: int, every: int) -> bool:
    """Whether errors took so many cases that the rest shows little: more than a tenth, and three or more, or most.

    >>> too_many(3, 30), too_many(4, 30), too_many(2, 5), too_many(2, 3)
    (False, True, False, True)
    """
    return 10 * gone > every and (gone > 2 or 2 * gone > every)


Tested.__test__ = False  # type: ignore[attr-defined]  # its name begins like a test of pytest


def apart(count: int) -> str:
    """That two runs do not agree which questions are of one document.

    >>> apart(7)
    '7 questions are of one document in one run and not in the other: they are taken together only where both say so'
    """
    told = (
        "questions are of one document in one run and not in the other: they are taken together only where both say so"
    )
    return f"{count:,} {told}"


def lacks(name: str, group: str | None, known: Iterable[tuple[str | None, str]]) -> str:
    """That a baseline does not have a number; where it knows nothing of such slices, how to have them in it.

    >>> lacks("it", "topic=fees", [(None, "answers.chr")])
    'it does not have this number: score it with --slice topic (in a policy: slices), as it has no slices by topic'
    >>> lacks("it", "topic=fees", [("topic=loans", "answers.chr")])
    'it does not have this number'
    """
    told, field = f"{name} does not have this number", (group or "").partition("=")[0]
    if not field or any((one or "").startswith(f"{field}=") for one, _ in known):
        return told
    return f"{told}: score it with --slice {field} (in a policy: slices), as it has no slices by {field}"


def left_out(tested: Tested, lost: Fraction | None) -> str:
    """That errors left questions out, which are then all that differs where no other changed; nothing without errors.

    >>> left_out(Tested(errored=9), Fraction(1, 11))
    '9 questions that ended in an error in one of the runs are left out, and they are the difference'
    >>> left_out(Tested(errored=1, moved=2), Fraction(1, 11)), left_out(Tested(), Fraction(0))
    ('1 question that ended in an error in one of the runs is left out', '')
    """
    if not tested.errored:
        return ""
    many = tested.errored != 1
    told = f"{tested.errored:,} question{'s' if many else ''} that ended in an error in one of the runs"
    theirs = f", and {'they are' if many else 'it is'} the difference" if tested.unchanged and lost != 0 else ""
    return f"{told} {'are' if many else 'is'} left out{theirs}"


def unchanged(tested: Tested, lost: Fraction | None) -> str:
    """That no question changed, of those that both runs have an answer to."""
    gone = left_out(tested, lost)
    return f"{UNCHANGED} that both runs answered; {gone}" if gone else UNCHANGED


NO_TEST = Tested(without="the questions of both runs were not compared")
UNCHANGED = "no question changed"
UNEVEN = "it is a sum over all runs, and the two sides have other numbers of them"
"""Why two sums cannot be compared, not even by their values."""


class Loss(NamedTuple):
    """How much was lost, and how much may be: in the unit of the metric, or as a share of the baseline."""

    lost: Fraction | None
    """None for a share of nothing: more than any limit."""
    tolerance: Fraction
    min_effect: Fraction
    upper: Fraction | None = None
    """The loss that is not excluded."""

    def beyond(self, limit: Fraction) -> bool:
        """Whether more was lost than a limit."""
        return self.lost is None or self.lost > limit

    def shown_by(self, evidence: str, tested: Tested) -> bool:
        """Whether it is proven, and larger than it may be: then nobody has to look."""
        return evidence != POINT and tested.proven and self.beyond(self.min_effect)


def decide(evidence: str, loss: Loss, tested: Tested, worded: str) -> tuple[Outcome, str]:
    """The outcome of a gate on a difference, and the reason; `worded` says what too large a loss is called."""
    beyond = loss.beyond(loss.tolerance)
    if evidence == POINT or (evidence == PAIRED and tested.without is not None):
        return (Outcome.FAIL, worded) if beyond else (Outcome.PASS, "")
    if tested.without is not None:
        return Outcome.UNDECIDED, f"no bound of the loss is known: {tested.without}"
    if evidence == ANYTIME and tested.unweighed:
        return Outcome.UNDECIDED, f"no e-value is known: {tested.unweighed}"
    if loss.shown_by(evidence, tested):
        return Outcome.FAIL, f"{worded}: the loss is proven" if beyond else "a loss is proven"
    if evidence == INTERVAL:
        return _strict(loss, tested)
    if beyond:
        return Outcome.UNDECIDED, f"{worded}, but that is not proven{_too_few(tested, loss)}"
    return Outcome.PASS, unchanged(tested, loss.lost) if tested.unchanged else fallen(tested.felled)


def hidden_by_errors(metric: str) -> bool:
    """Whether a question that ended in an error counts as a bad one, which can only get better.

    >>> [hidden_by_errors(name) for name in ("answers.containment", "latency.p95", "answers.missing")]
    [True, False, False]
    """
    suite, _, what = metric.partition(".")
    return suite not in TIMED and what not in IMPLIED


def despite_errors(
    first: tuple[Outcome, str], second: tuple[Outcome, str] | None, tested: Tested, gone: tuple[int, int], name: str
) -> tuple[Outcome, str]:
    """The outcome where the run that is compared with has errors, which hide losses: the worse of that over all
    questions and that over those without errors; and no pass where there are too many errors.
    """
    order = (Outcome.PASS, Outcome.UNDECIDED, Outcome.FAIL)
    if second is not None and tested.unerrored is not None and order.index(second[0]) > order.index(first[0]):
        first = second[0], f"{second[1]}; {tested.unerrored.told}"
    if first[0] is Outcome.PASS and too_many(*gone):
        return Outcome.UNDECIDED, f"{errors_of(name, gone)}, too many to say that nothing was lost"
    return first


def errors_of(name: str, gone: tuple[int, int]) -> str:
    """How many questions a run does not know.

    >>> errors_of("the live index", (30, 100))
    '30 of 100 questions ended in errors in the live index'
    """
    return f"{gone[0]:,} of {gone[1]:,} questions ended in errors in {name}"


def _strict(loss: Loss, tested: Tested) -> tuple[Outcome, str]:
    """Passed only where a loss beyond the tolerance is excluded."""
    if tested.unchanged and not loss.beyond(loss.tolerance):
        return Outcome.PASS, unchanged(tested, loss.lost)
    if loss.upper is None:
        return Outcome.UNDECIDED, f"no bound of the loss is known: {tested.unbounded or OF_NOTHING}"
    if loss.upper <= loss.tolerance and tested.rough and tested.changed < HOLDS:
        what = "questions" if tested.clusters == tested.cases else "clusters"
        few = f"{tested.changed} changed {what} are too few for a bound that holds: it takes {HOLDS}"
        return Outcome.UNDECIDED, few
    if loss.upper <= loss.tolerance:
        return Outcome.PASS, fallen(tested.felled)
    return Outcome.UNDECIDED, f"a loss beyond the tolerance is not excluded{_too_few(tested, loss)}"


def _too_few(tested: Tested, loss: Loss) -> str:
    """That so few changes prove nothing, whatever they are; and what fell as a whole."""
    if tested.unchanged and tested.errored:
        return f": {unchanged(tested, loss.lost)}"
    fell = fallen(tested.felled)
    if tested.changed >= tested.fewest:
        return f"; {fell}" if fell else ""
    what = "question" if tested.clusters == tested.cases else "cluster"
    changed = f"{tested.changed} {what}{'s' if tested.changed != 1 else ''} {tested.counted}"
    if tested.moved and not tested.changed:
        changed = f"no {what} changed on balance"
    few = f": {changed}, and fewer than {tested.fewest} prove nothing"
    return f"{few}; {fell}" if fell else few


OF_NOTHING = "the baseline is 0, and there is no share of nothing"
HOLDS = 10
"""From so many changed clusters on the delta method holds what it says."""
NAMED = 3
"""So many clusters are named."""


def fallen(felled: Sequence[tuple[str, int]]) -> str:
    """Which documents fell as a whole; nothing where none did.

    >>> fallen([("doc=fees", 8), ("q7", 3)])
    'all 8 questions of document fees and all 3 of question q7 that were good are not now'
    """
    if not felled:
        return ""
    (first, many), *others = felled[:NAMED]
    told = [f"all {many} questions of {called(first)}", *(f"all {count} of {called(name)}" for name, count in others)]
    more = f" (and those of {len(felled) - NAMED} more)" if len(felled) > NAMED else ""
    return f"{' and '.join(told)}{more} that were good are not now"


def called(cluster: str) -> str:
    """A cluster as people name it.

    >>> called("doc=fees"), called("cluster=7"), called("q1")
    ('document fees', 'cluster 7', 'question q1')
    """
    kind, _, name = cluster.partition("=")
    words = {"doc": "document", "cluster": "cluster"}
    return f"{words[kind]} {name}" if kind in words and name else f"question {cluster}"
