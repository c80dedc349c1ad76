"""The rows of the answers suite, from the flags of every question."""

from collections import Counter
from typing import Any

from ragworthy.names import HARMLESS
from ragworthy.rows import Rows
from ragworthy.suites.answers.offenders import case_of
from ragworthy.suites.answers.read import Alike, Kept
from ragworthy.suites.answers.reruns import together
from ragworthy.suites.evidence import Case, Summary
from ragworthy.suites.kept import TOGETHER
from ragworthy.suites.protocol import Suite

GOOD = "answers.good"
"""What labels say; of several runs a label does not say it all."""


def rows_of_flags(suite: Suite, own: Kept, summary: Summary, clusters: tuple[str, ...]) -> Rows:
    """Every question; those with the same flags, and the same likeness to their references, say the same."""
    if own.reruns:
        return _of_runs(suite, own, summary, clusters)
    known = [(flags, own.compared.get(nth)) for nth, flags in enumerate(own.flags)]
    number = {one: nth for nth, one in enumerate(dict.fromkeys(known))}
    alike = [case_of(Alike(flags, compared=compared), own.ks, whole=own.whole) for flags, compared in number]
    places = list(map(number.__getitem__, known))

    def column(of: list[Any]) -> tuple[Any, ...]:
        return tuple(map(of.__getitem__, places))

    return Rows(
        qids=tuple(own.qids),
        clusters=clusters,
        labels=column([None if case.label is None else case.label.value for case in alike]),
        causes=column([None if case.cause is None else case.cause.value for case in alike]),
        runs=column([int(not case.facts.missing) for case in alike]),
        slices=tuple(map(tuple, own.slices)) if own.slices else ((),) * len(places),
        words={
            name.id: column([suite.word(name, case.facts) for case in alike])
            for name in summary.names
            if name.metric.over != "all" and name.metric.kind != TOGETHER and _counts(summary, name.id)
        },
        alike=places,
    )


def _of_runs(suite: Suite, own: Kept, summary: Summary, clusters: tuple[str, ...]) -> Rows:
    """Every question once, with the mean over its runs; those that say the same in the same runs are worked out once.

    It is called what most of its runs are called.
    """
    runs = [[(flags, compared.get(nth)) for nth, flags in enumerate(every)] for every, compared in own.runs]
    known = list(zip(*runs, strict=True))
    number = {one: nth for nth, one in enumerate(dict.fromkeys(known))}
    cases = {
        one: case_of(Alike(one[0], compared=one[1]), own.ks, whole=own.whole)
        for one in dict.fromkeys(one for some in number for one in some)
    }
    alike = [[cases[one] for one in some] for some in number]
    places, usual = list(map(number.__getitem__, known)), list(map(_usual, alike))

    def column(of: list[Any]) -> tuple[Any, ...]:
        return tuple(map(of.__getitem__, places))

    words = {
        name.id: column([together(name.metric.kind, (suite.word(name, case.facts) for case in some)) for some in alike])
        for name in summary.names
        if name.metric.over != "all" and name.metric.kind != TOGETHER and _counts(summary, name.id)
    }
    good = column([together("rate", (case.label in HARMLESS for case in some)) for some in alike])
    return Rows(
        qids=tuple(own.qids),
        clusters=clusters,
        labels=column([None if case.label is None else case.label.value for case in usual]),
        causes=column([None if case.cause is None else case.cause.value for case in usual]),
        runs=column([sum(not case.facts.missing for case in some) for some in alike]),
        slices=tuple(map(tuple, own.slices)) if own.slices else ((),) * len(places),
        words={GOOD: good, **words},
        alike=places,
    )


def _usual(cases: list[Case]) -> Case:
    """The run that stands for a question: one of its most frequent label, of two such the one with something wrong."""
    counts = Counter(case.label for case in cases)
    return max(cases, key=lambda case: (counts[case.label], case.label not in HARMLESS))


def _counts(summary: Summary, metric: str) -> bool:
    return summary.values[None, metric].undefined is None
