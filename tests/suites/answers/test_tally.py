"""A million questions as a few cases: what is counted together gives the numbers of single questions."""

from collections import Counter
from fractions import Fraction

import pytest

from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.registry import MetricName, all_metrics
from ragworthy.suites.answers.parallel.job import Tally
from ragworthy.suites.answers.suite import SUITE
from ragworthy.suites.answers.tallied import cases_of

RIGHT = f.ANSWERABLE | f.EVIDENCE | f.PRESENT | f.CLAIM | f.CONTAINS | f.WELL_FORMED | f.IN_SCOPE | f.HIT | f.KEPT
WRONG = f.ANSWERABLE | f.EVIDENCE | f.PRESENT | f.CLAIM | f.WELL_FORMED | f.IN_SCOPE | f.KEPT
GONE = f.ANSWERABLE | f.EVIDENCE
TALLY: Tally = Counter(
    {(RIGHT, ("a=1", "b=1"), None): 6, (RIGHT, ("a=2",), None): 1, (WRONG, ("a=1",), None): 3, (GONE, (), None): 2}
)


def rate(name: str) -> MetricName:
    return MetricName(all_metrics("answers")[name], None)


def value(name: MetricName, group: str | None = None) -> tuple[int, int | None]:
    cases = cases_of(TALLY, (5,))
    some = [SUITE.within(cases[nth], group) for nth in SUITE.groups(cases)[group]]
    found = SUITE.value(name, some, [SUITE.word(name, case.facts) for case in some])
    return found.num, found.den


def test_a_case_is_a_set_of_flags() -> None:
    cases = cases_of(TALLY, (5,))
    assert [(case.own.flags, case.weight) for case in cases] == [(RIGHT, 7), (WRONG, 3), (GONE, 2)]


def test_the_whole_and_its_slices_count_questions() -> None:
    precision, missing = rate("answers.precision"), rate("answers.missing")
    assert value(precision) == (7, 10)
    assert [value(precision, group) for group in ("a=1", "a=2", "b=1")] == [(6, 9), (1, 1), (6, 6)]
    assert value(missing) == (2, None)


@pytest.mark.parametrize(("kind", "wanted"), [("mean", Fraction(17, 10)), ("median", 2), ("rate", Fraction(17, 10))])
def test_a_metric_that_says_more_than_yes_or_no_is_folded_question_by_question(kind: str, wanted: Fraction) -> None:
    def of(facts: f.Facts) -> int | None:
        return (2 if facts.hit else 1) if facts.present else None

    known = all_metrics("answers")["answers.precision"]
    metric = known._replace(id="answers.own", of=of, kind=kind, highest=2)
    num, den = value(MetricName(metric, None))
    assert Fraction(num, den or 1) == wanted


def test_every_field_has_its_own_bit() -> None:
    for bit, field in enumerate(f.Facts._fields[:-10]):
        facts = f.unpack(1 << bit, (5,))
        assert [name for name in f.Facts._fields[:-10] if getattr(facts, name)] == [field]
