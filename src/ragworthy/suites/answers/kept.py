"""The rows of the answers suite, from the flags of every question."""

from typing import Any

from ragworthy.rows import Rows
from ragworthy.suites.answers.offenders import case_of
from ragworthy.suites.answers.read import Alike, Kept
from ragworthy.suites.evidence import Summary
from ragworthy.suites.kept import TOGETHER
from ragworthy.suites.protocol import Suite


def rows_of_flags(suite: Suite, own: Kept, summary: Summary, clusters: tuple[str, ...]) -> Rows:
    """Every question; those with the same flags, and the same likeness to their references, say the same."""
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
    )


def _counts(summary: Summary, metric: str) -> bool:
    return summary.values[None, metric].undefined is None
