"""What is said of losses that are not proven: what was counted, how many it takes, and what was left out."""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from ragworthy import gates as g
from ragworthy.differences import difference
from ragworthy.loss_tests import prove
from ragworthy.metrics.registry import all_metrics
from ragworthy.names import Outcome
from ragworthy.paired.exact import evalue, fewest_bets
from ragworthy.proving import INTERVAL, PAIRED, Loss, Proving, Tested, decide
from ragworthy.report.compared import measured
from ragworthy.report.part import _lumped
from ragworthy.rows import Rows, Word, pair

P95 = "latency.p95"
SMALL = Loss(Fraction(1, 10), Fraction(1, 50), Fraction(1, 50))


def rows(metric: str, words: Sequence[Word], clusters: list[str] | None = None) -> Rows:
    qids = tuple(f"q{nth}" for nth in range(len(words)))
    nothing = (None,) * len(qids)
    runs, slices = (1,) * len(qids), ((),) * len(qids)
    return Rows(qids, tuple(clusters or qids), nothing, nothing, runs, slices, {metric: tuple(words)})


@pytest.mark.parametrize("alpha", ["0.05", "0.025", "0.01", "0.2"])
def test_fewer_changes_than_named_never_reach_what_an_e_value_must(alpha: str) -> None:
    least = fewest_bets(float(alpha))
    assert evalue(least - 1, 0) * float(alpha) < 1 <= evalue(least, 0) * float(alpha)


@pytest.mark.parametrize(("others", "named", "bound"), [(False, 7, "20"), (True, 8, "40")])
def test_the_counts_of_an_e_value_are_its_own(others: bool, named: int, bound: str) -> None:
    """With gates that are tested by p, it has half of alpha."""
    metric = "answers.over_refusal"
    gate = g.Gate(metric, g.DROP, "0.02", evidence="anytime")
    found = difference(gate, all_metrics()[metric], pair(rows(metric, [0] * 40), rows(metric, [1] * 4 + [0] * 36)))
    assert not isinstance(found, str)
    tested = prove({"e": found} | ({"p": found} if others else {}), Proving(), {"e"})["e"]
    outcome, said = decide("anytime", SMALL, tested, "rose too far")
    few = f"rose too far, but that is not proven: 4 questions changed, and fewer than {named} prove nothing"
    assert (outcome, said, measured(tested)) == (Outcome.UNDECIDED, few, f"e = 6.2, of {bound}")


def slower(clusters: list[str] | None = None) -> g.Judged:
    """Forty questions, of which seven took longer: p95 is not proven to be worse."""
    gate = g.Gate(P95, g.WORSE, "0.15", evidence=PAIRED)
    old: list[Word] = [100 + nth for nth in range(40)]
    new: list[Word] = [one + 5 if nth < 7 else one for nth, one in enumerate(range(100, 140))]
    found = difference(gate, all_metrics()[P95], pair(rows(P95, old, clusters), rows(P95, new, clusters)))
    assert not isinstance(found, str)
    assert (found.worse, found.better) == (7, 0)
    tested = prove({gate: found}, Proving())[gate]
    return g.Judged(gate, Outcome.PASS, "", None, tested=tested)


def test_a_percentile_of_questions_that_stand_alone_names_no_documents() -> None:
    judged = slower()
    assert judged.tested is not None
    assert (judged.tested.hit, _lumped([judged])) == (7, [])


def test_a_percentile_of_few_documents_names_how_many() -> None:
    (warning,) = _lumped([slower([f"doc=d{nth // 4}" for nth in range(40)])])
    assert warning["message"].startswith("the 7 questions that are worse are of 2 documents, which proves nothing")


def test_places_among_the_largest_are_not_called_changed_questions() -> None:
    gate = g.Gate(P95, g.WORSE, "0.15", evidence=PAIRED)
    old: list[Word] = [100 + nth for nth in range(40)]
    new: list[Word] = [*old[:2], 900, 901, *old[4:]]
    found = difference(gate, all_metrics()[P95], pair(rows(P95, old), rows(P95, new)))
    assert not isinstance(found, str)
    tested = prove({gate: found}, Proving())[gate]
    assert (found.worse, found.better, tested.changed > found.worse) == (2, 0, True)
    _, said = decide(PAIRED, SMALL, tested, "rose too far")
    counted = f"{tested.changed} questions gained or lost places among the largest values of both runs"
    assert said == f"rose too far, but that is not proven: {counted}, and fewer than 5 prove nothing"


def test_errors_that_are_all_the_difference_are_named() -> None:
    tested = Tested(cases=91, clusters=91, errored=9)
    gone = "9 questions that ended in an error in one of the runs are left out, and they are the difference"
    same = f"no question changed that both runs answered; {gone}"
    said = (Outcome.UNDECIDED, f"rose too far, but that is not proven: {same}")
    assert decide(PAIRED, SMALL, tested, "rose too far") == said
    assert decide(PAIRED, SMALL._replace(lost=Fraction(1, 100)), tested, "") == (Outcome.PASS, same)
    even = same.removesuffix(", and they are the difference")
    assert decide(PAIRED, SMALL._replace(lost=Fraction(0)), tested, "") == (Outcome.PASS, even)


def test_a_share_of_nothing_says_why_it_has_no_bound() -> None:
    tested = Tested(cases=40, clusters=40, moved=4, worse=4, changed=4, upper=0.2)
    loss = Loss(None, Fraction(1, 2), Fraction(1, 2))
    said = "no bound of the loss is known: the baseline is 0, and there is no share of nothing"
    assert decide(INTERVAL, loss, tested, "rose too far") == (Outcome.UNDECIDED, said)
