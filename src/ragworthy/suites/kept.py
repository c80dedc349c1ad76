"""The rows that a report keeps of every question, so that a later run can be compared with it one by one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragworthy import rows as r
from ragworthy.suites.evidence import Case, Evidence, Summary

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite
    from ragworthy.suites.request import Request

TOGETHER = "spread"
"""The kind of metrics whose words name what is summed together: one of them alone is not a number."""


def with_rows(suite: "Suite", request: "Request", evidence: Evidence, summary: Summary) -> Summary:
    """The numbers with the rows that they come from, or why there are none."""
    found = suite.kept_rows(request, evidence, summary)
    if isinstance(found, str):
        return summary._replace(rowless=found)
    return summary._replace(rows=found)


def too_many(questions: int) -> str:
    """Why a report of so many questions has no rows."""
    return f"{questions:,} questions: a report keeps the rows of up to {r.MOST:,}"


def rows_of(
    cases: Sequence[Case],
    words: Mapping[str, Sequence[Any]],
    clusters: Sequence[str],
    *,
    runs: Sequence[int],
    own: Mapping[str, Sequence[str | None]] | None = None,
) -> r.Rows | str:
    """The rows of cases that are one question each, or why there can be none."""
    if len(cases) > r.MOST:
        return too_many(len(cases))
    qids = tuple(case.qid for case in cases)
    if any(case.weight != 1 for case in cases) or len({*qids}) < len(qids) or not all(qids):
        return "its cases are not single questions"
    return r.Rows(
        qids=qids,
        clusters=tuple(clusters),
        labels=tuple(None if case.label is None else case.label.value for case in cases),
        causes=tuple(None if case.cause is None else case.cause.value for case in cases),
        runs=tuple(runs),
        slices=tuple(tuple(map(str, case.slices)) for case in cases),
        words={name: tuple(said) for name, said in words.items()},
        own={name: tuple(column) for name, column in (own or {}).items()} | _good(cases),
    )


def _good(cases: Sequence[Case]) -> dict[str, tuple[str | None, ...]]:
    """The share of good runs of every question that has several."""
    column = tuple(None if case.good is None else r.text_of(case.good) for case in cases)
    return {r.GOOD_RUNS: column} if any(column) else {}


def counted(summary: Summary) -> dict[str, Sequence[Any]]:
    """The words of metrics that have a number here, each question for itself."""
    return {
        name.id: summary.words[name.id]
        for name in summary.names
        if name.id in summary.words
        and name.metric.kind != TOGETHER
        and (value := summary.values.get((None, name.id))) is not None
        and value.undefined is None
    }
