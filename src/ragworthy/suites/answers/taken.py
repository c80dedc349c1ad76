"""Cases that errors took away: a rate over what is left says little where they are many."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from ragworthy import gates as g
from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.registry import MetricName, Word, find
from ragworthy.names import DEFAULT_K, Outcome
from ragworthy.report.show import plural
from ragworthy.suites.answers.reruns import asked_in
from ragworthy.suites.evidence import Case, Evidence

_SHARE = 10
"""Up to a tenth of the cases may be lost."""
_FEW = 2
"""And so many of a small set, as long as they are not most of it: an error or two in five questions are named, and the
other gates count them. Where they might have failed the gate it is undecided."""
_AGAIN = "ask them again (run --resume --retry-errors)"
Says = Callable[[MetricName, Facts], Word]
"""What a metric says of a question."""


def with_errors(judged: list[g.Judged], evidence: Evidence, says: Says) -> list[g.Judged]:
    """The outcomes; a gate is not measured where errors took away too many of its cases, and undecided where these few
    would fail it, were they bad.

    A metric that counts an error as a case loses none. In an outage nothing is measured, and that is said already.
    """
    errored, total = evidence.counts["errored"], asked_in(evidence.counts)
    if not errored or 2 * errored > total or evidence.profile == "reference":
        return judged
    return [_with_errors(one, evidence.cases, says) for one in judged]


def _with_errors(one: g.Judged, cases: Sequence[Case], says: Says) -> g.Judged:
    name = find(one.gate.metric, default_k=DEFAULT_K)
    rate = one.value is not None and one.value.den is not None and one.gate.op != g.EACH
    if name is None or not rate or name.metric.over == "all":
        return one
    asked = [case for case in cases if says(name, _answered(case.facts)) is not None]
    lost = [case for case in asked if case.facts.errored and says(name, case.facts) is None]
    total, gone = _size(asked, one.gate.slice), _size(lost, one.gate.slice)
    few = gone * _SHARE <= total or (gone <= _FEW and 2 * gone <= total)
    hidden = any(not case.facts.answerable for case in lost)  # of an answerable one it is a wrong answer elsewhere
    if few and not (hidden and _might_fail(one, gone)):
        return one
    which = {case.facts.answerable for case in asked}
    kind = "question" if len(which) > 1 else "answerable question" if which == {True} else "unanswerable question"
    ended = f"{gone:,} of {plural(total, kind)} ended in errors"
    if few:
        reason = f"{ended}, and it would fail were these bad: {_AGAIN}"
        return one._replace(outcome=Outcome.UNDECIDED, reason=reason)
    reason = f"{ended}: {_AGAIN}"
    return one._replace(outcome=Outcome.NOT_MEASURED, reason=reason, waiver=None, by_errors=True)


def _might_fail(one: g.Judged, gone: int) -> bool:
    """Whether a limit that holds would not, had every case that errors took away been a bad one."""
    value, gate = one.value, one.gate
    if one.outcome is not Outcome.PASS or value is None or not value.den or not value.counts:
        return False
    limit = Fraction(gate.threshold)
    if gate.op == g.MAX:
        return Fraction(value.num + gone, value.den + gone) > limit
    return gate.op == g.MIN and Fraction(value.num, value.den + gone) < limit


def _size(cases: Sequence[Case], group: str | None) -> int:
    return sum(case.weight if group is None else case.own.slices.get(group, 0) for case in cases)


def _answered(facts: Facts) -> Facts:
    """The same question, had it been answered."""
    return facts._replace(present=True, refused=False, errored=False)
