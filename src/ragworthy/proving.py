"""Whether a loss is proven: what the questions that changed say of a difference, and the rule that follows from it."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.names import Outcome

POINT, INTERVAL, PAIRED, ANYTIME = "point", "interval", "paired", "anytime"
"""What decides a gate: the number, its interval, the questions that changed, or these however often one looks."""
ABSOLUTE, DIFFERENCE = (POINT, INTERVAL), (POINT, INTERVAL, PAIRED, ANYTIME)
"""What can decide a gate on a number, and one on the difference of two."""


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
    """Questions of one run only, which are no part of the test."""
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
    """How many questions are no part of it because an error in one of the runs left it without a word."""

    @property
    def lacking(self) -> str:
        """Why nothing is measured: errors took too many of the questions away. Nothing where they did not.

        >>> Tested(cases=20, errored=10).lacking
        '10 of 30 questions ended in errors in one of the compared runs: ask them again (run --resume --retry-errors)'
        >>> Tested(cases=27, errored=3).lacking, Tested(cases=3, errored=2).lacking
        ('', '')
        """
        gone, every = self.errored, self.cases + self.errored
        if 10 * gone <= every or (gone <= 2 and 2 * gone <= every):
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
        return math.ceil(-math.log2(self.alpha) - 1e-12)


Tested.__test__ = False  # type: ignore[attr-defined]  # its name begins like a test of pytest
NO_TEST = Tested(without="the questions of both runs were not compared")
UNCHANGED = "no question changed"


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
        return Outcome.UNDECIDED, f"{worded}, but that is not proven{_too_few(tested)}"
    return Outcome.PASS, UNCHANGED if tested.unchanged else fallen(tested.felled)


def _strict(loss: Loss, tested: Tested) -> tuple[Outcome, str]:
    """Passed only where a loss beyond the tolerance is excluded."""
    if tested.unchanged and not loss.beyond(loss.tolerance):
        return Outcome.PASS, UNCHANGED
    if loss.upper is None:
        return Outcome.UNDECIDED, f"no bound of the loss is known: {tested.unbounded}"
    if loss.upper <= loss.tolerance and tested.rough and tested.changed < HOLDS:
        what = "questions" if tested.clusters == tested.cases else "clusters"
        few = f"{tested.changed} changed {what} are too few for a bound that holds: it takes {HOLDS}"
        return Outcome.UNDECIDED, few
    if loss.upper <= loss.tolerance:
        return Outcome.PASS, fallen(tested.felled)
    return Outcome.UNDECIDED, f"a loss beyond the tolerance is not excluded{_too_few(tested)}"


def _too_few(tested: Tested) -> str:
    """That so few changes prove nothing, whatever they are; and what fell as a whole."""
    fell = fallen(tested.felled)
    if tested.changed >= tested.fewest:
        return f"; {fell}" if fell else ""
    what = "question" if tested.clusters == tested.cases else "cluster"
    changed = f"{tested.changed} {what}{'s' if tested.changed != 1 else ''} changed"
    if tested.moved and not tested.changed:
        changed = f"no {what} changed on balance"
    few = f": {changed}, and fewer than {tested.fewest} prove nothing"
    return f"{few}; {fell}" if fell else few


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
