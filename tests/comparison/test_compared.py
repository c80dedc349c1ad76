"""Two runs of the same questions: differences, intervals, p-values and flips, against numbers worked out elsewhere."""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, t

from places import ROOT
from ragworthy.comparison.compared import Run, Text, compare, values_only
from ragworthy.comparison.records import Number, Suite
from ragworthy.metrics.registry import all_metrics
from ragworthy.paired.kappa import cohen, jackknife
from ragworthy.rows import Rows

ANSWERS, RETRIEVAL, LATENCY = (all_metrics(suite) for suite in ("answers", "retrieval", "latency"))
KNOWN = ANSWERS | RETRIEVAL | LATENCY


def rows(
    words: Mapping[str, Sequence[Any]],
    clusters: Sequence[str] | None = None,
    labels: Sequence[str | None] | None = None,
    qids: Sequence[str] | None = None,
) -> Rows:
    size = len(next(iter(words.values())))
    names = tuple(qids or (f"q{nth}" for nth in range(size)))
    none = (None,) * size
    return Rows(
        names,
        tuple(clusters or names),
        tuple(labels or none),
        none,
        (1,) * size,
        ((),) * size,
        {name: tuple(column) for name, column in words.items()},
    )


def number(metric: str, a: Sequence[Any], b: Sequence[Any], clusters: Sequence[str] | None = None) -> Number:
    found = compare(Run(rows({metric: a}, clusters)), Run(rows({metric: b}, clusters)), KNOWN)
    return found.metrics[metric]


def column(*runs: tuple[Any, int]) -> list[Any]:
    return [word for word, times in runs for _ in range(times)]


# rates


def test_a_rate_whose_cases_agree_is_mcnemars_test_and_tangos_interval() -> None:
    # 21 questions: 1 right → wrong, 7 wrong → right, 12 right in both, 1 wrong in both. 13 of 21 become 19 of 21.
    # Two-sided exact: 2 · (C(8,0) + C(8,1)) / 2⁸ = 18/256. The interval is the published one of (1, 1, 7, 12).
    a = column((True, 1), (False, 7), (True, 12), (False, 1))
    b = column((False, 1), (True, 7), (True, 12), (False, 1))
    found = number("answers.containment", a, b)
    assert (found.a, found.b) == (13 / 21, 19 / 21) and found.difference == pytest.approx(6 / 21, abs=1e-15)
    assert (found.fixed, found.broken, found.cases, found.method) == (7, 1, 21, "mcnemar")
    assert found.p == 18 / 256
    assert [found.low, found.high] == pytest.approx([0.026003, 0.517232], abs=1e-6)


def test_where_lower_is_better_the_difference_keeps_its_sign_and_worse_is_broken() -> None:
    # A rate of wrong answers that rises from 1 of 10 to 7 of 10: six broken, none fixed, p = 2 / 2⁶.
    a, b = column((True, 1), (False, 9)), column((True, 7), (False, 3))
    found = number("answers.under_refusal", a, b)
    assert found.difference == pytest.approx(0.6) and found.low is not None and found.low > 0
    assert (found.fixed, found.broken, found.better, found.p) == (0, 6, "lower", 2 / 64)


def test_answers_that_appear_or_vanish_are_part_of_the_exact_swap() -> None:
    # right→wrong 10, wrong→right 3, none→wrong 4, wrong→none 2, right→none 5, none→right 1, and 19 right in both:
    # R = (34 + 23) / (39 + 37) = 3/4, for which the one-sided p-value is 0.0110462009907.
    yes, no = True, False
    a = column((yes, 10), (no, 3), (None, 4), (no, 2), (yes, 5), (None, 1), (yes, 19))
    b = column((no, 10), (yes, 3), (no, 4), (None, 2), (None, 5), (yes, 1), (yes, 19))
    found = number("answers.precision", a, b)
    assert found.method == "swap" and found.p == pytest.approx(2 * 0.0110462009907, abs=1e-12)
    assert (found.fixed, found.broken, found.cases) == (3 + 2 + 1, 10 + 4 + 5, 44)
    # The delta method, written out: u = (N_b − p_b·D_b)/D̄_b − (N_a − p_a·D_a)/D̄_a, and t with 43 degrees.
    p_a, p_b, size = 34 / 39, 23 / 37, 44
    pulls = [
        ((bool(new) - p_b) / (37 / size) if new is not None else 0)
        - ((bool(old) - p_a) / (39 / size) if old is not None else 0)
        for old, new in zip(a, b, strict=True)
    ]
    half = t.ppf(0.975, 43) * (44 / 43 * sum(one * one for one in pulls) / size**2) ** 0.5
    assert found.low == pytest.approx(p_b - p_a - half, abs=1e-9)
    assert found.high == pytest.approx(p_b - p_a + half, abs=1e-9)


def test_questions_of_one_document_are_swapped_together() -> None:
    # Five documents with two questions each, all broken: 2 · 2⁻⁵. As ten questions of their own: 2 · 2⁻¹⁰.
    a, b = column((True, 20)), column((False, 10), (True, 10))
    clusters = [f"d{nth // 2}" for nth in range(20)]
    together, alone = number("answers.containment", a, b, clusters), number("answers.containment", a, b)
    assert (together.p, together.method, together.clusters) == (2 / 32, "clusters", 10)
    assert (alone.p, alone.method) == (2 / 1024, "mcnemar")
    # One question of each document broken: swapping documents is swapping questions, and the exact test holds.
    once = column(*[(False, 1), (True, 1)] * 5, (True, 10))
    assert number("answers.containment", a, once, clusters).p == 2 / 32
    # But questions of one document are not independent, and the interval minds that: below by the delta method, above
    # by Tango's score with two questions counted as one (deff 20/9), which is wider there.
    found = number("answers.containment", a, b, clusters)
    pulls = [(-1 + 0.5) * 2 / 20 if nth < 5 else 0.5 * 2 / 20 for nth in range(10)]
    half = t.ppf(0.975, 9) * (10 / 9 * sum(one * one for one in pulls)) ** 0.5
    assert found.low == pytest.approx(-0.5 - half)
    assert found.high is not None and -0.5 + half < found.high < 0.05


def test_a_count_is_compared_as_a_count() -> None:
    a, b = column((False, 20)), column((True, 5), (False, 15))
    found = number("answers.missing", a, b)
    assert (found.a, found.b, found.difference, found.broken, found.p) == (0, 5, 5, 5, 2 / 32)
    assert found.low is not None and found.high is not None and 0 < found.low < 5 < found.high < 20


# means, shares, percentiles


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_the_p_value_of_a_mean_is_the_share_of_all_swaps(pairs: list[tuple[int, int]]) -> None:
    a, b = ([Fraction(one, 4) for one in side] for side in zip(*pairs, strict=True))
    found = number("retrieval.ndcg@5", a, b)
    losses = [old - new for old, new in zip(a, b, strict=True)]
    seen = abs(sum(losses, Fraction(0)))
    sums = [
        sum((sign * loss for sign, loss in zip(signs, losses, strict=True)), Fraction(0))
        for signs in itertools.product((1, -1), repeat=len(losses))
    ]
    share = sum(one >= seen for one in sums) / len(sums)
    assert found.p == pytest.approx(min(1.0, 2 * share), abs=1e-12)
    assert (found.fixed, found.broken) == (sum(one < 0 for one in losses), sum(one > 0 for one in losses))
    assert found.difference == pytest.approx(float(sum(b) / len(b) - sum(a) / len(a)), abs=1e-12)


def test_the_interval_of_a_mean_is_that_of_the_paired_t_test() -> None:
    # Losses of single questions: the delta method is mean ± t · s/√n, in which s has n − 1 below.
    a = [0.5, 0.75, 0.25, 1.0, 0.5, 0.875]
    b = [0.25, 0.75, 0.5, 0.5, 0.125, 0.875]
    found = number("retrieval.ndcg@5", a, b)
    gains = [new - old for old, new in zip(a, b, strict=True)]
    mean = sum(gains) / 6
    spread = (sum((one - mean) ** 2 for one in gains) / 5) ** 0.5
    half = t.ppf(0.975, 5) * spread / 6**0.5
    assert [found.low, found.high] == pytest.approx([mean - half, mean + half])


def test_a_share_weighs_questions_by_their_wholes() -> None:
    share = next(name for name, one in KNOWN.items() if one.kind == "share" and not one.at_k and one.better == "higher")
    a, b = [(2, 2), (1, 4), (3, 4)], [(1, 2), (1, 4), (3, 4)]
    found = number(share, a, b)
    assert found.difference == pytest.approx(5 / 10 - 6 / 10)
    assert (found.fixed, found.broken, found.cases) == (0, 1, 3)


def test_a_percentile_is_tested_by_who_has_the_largest_values() -> None:
    # Twenty times, of which the new run's ten are larger: of the largest half of all (p50) all are new ones.
    a, b = [Fraction(nth) for nth in range(10)], [Fraction(100 + nth) for nth in range(10)]
    metric = next(name for name, one in LATENCY.items() if one.kind == "median" and one.better == "lower")
    found = number(metric, a, b)
    assert (found.method, found.broken, found.fixed, found.p) == ("exceedance", 10, 0, 2 / 1024)
    assert found.difference == 100 and found.low is not None and found.high is not None
    assert 90 < found.low < 100 < found.high < 110


def test_kappa_is_tested_by_what_each_item_contributes() -> None:
    votes = ["yes", "yes", "no", "no", "yes", "no", "yes", "no"]
    auditors = list(votes), ["no", "yes", "no", "yes", "yes", "no", "no", "no"]
    runs = [
        rows({"agreement.percent": [True] * 8})._replace(own={"vote:a": tuple(votes), "vote:b": tuple(auditor)})
        for auditor in auditors
    ]
    of = [jackknife(list(zip(votes, auditor, strict=True)), cohen) for auditor in auditors]
    assert of[0] is not None and of[1] is not None and of[0].value == 1
    values = [{"agreement.kappa": one.value} for one in of if one is not None]
    found = compare(Run(runs[0], values[0]), Run(runs[1], values[1]), all_metrics("agreement"))
    kappa = found.metrics["agreement.kappa"]
    losses = [old - new for old, new in zip(of[0].pseudo, of[1].pseudo, strict=True)]
    sums = [
        sum(sign * loss for sign, loss in zip(signs, losses, strict=True))
        for signs in itertools.product((1, -1), repeat=8)
    ]
    assert kappa.p == pytest.approx(2 * sum(one >= sum(losses) for one in sums) / 256)
    assert (kappa.fixed, kappa.broken) == (0, 3) and kappa.low is not None and kappa.high is not None
    assert kappa.low < float(values[1]["agreement.kappa"] - values[0]["agreement.kappa"]) < kappa.high


# the whole suite


def suite_of(a: Mapping[str, Sequence[Any]], b: Mapping[str, Sequence[Any]], **more: Any) -> Suite:
    one, other = more.pop("labels", (None, None))
    return compare(Run(rows(a, labels=one)), Run(rows(b, labels=other)), KNOWN, **more)


def test_questions_are_fixed_broken_or_wrong_in_another_way() -> None:
    before = ["OK", "OK", "ANS_NO_HIT", "ERROR", "REFUSAL_OK", "ANS_NO_HIT"]
    after = ["OK", "ANS_NO_HIT", "OK", "MISSING", "OK", "ANS_NO_HIT"]
    words = {"answers.containment": [True] * 6}
    texts = {"q1": Text("Why?", "because", "no idea")}
    found = suite_of(words, words, labels=(before, after), texts=lambda qids: texts)
    assert [one.qid for one in found.broken] == ["q1"] and [one.qid for one in found.fixed] == ["q2"]
    assert [one.qid for one in found.moved] == ["q3"]
    assert (found.changed, found.cases) == (4, 6)  # q4 is right in both, under another label
    broken = found.broken[0]
    assert (broken.label_a, broken.label_b) == ("OK", "ANS_NO_HIT")
    assert (broken.question, broken.claim_a, broken.claim_b) == ("Why?", "because", "no idea")


def test_only_questions_in_both_runs_are_compared_and_the_others_are_named() -> None:
    a = rows({"answers.containment": [True, False, True]}, qids=["x", "y", "z"])
    b = rows({"answers.containment": [True, False, False]}, qids=["z", "new", "x"])
    found = compare(
        Run(a, {"answers.containment": Fraction(2, 3)}), Run(b, {"answers.containment": Fraction(1, 3)}), KNOWN
    )
    assert (found.only_a, found.only_b, found.cases) == (["y"], ["new"], 2)
    one = found.metrics["answers.containment"]
    assert (one.a, one.b, one.difference, one.cases) == (1.0, 0.5, -0.5, 2)  # of x and z alone
    assert found.notes == ["the runs do not have the same questions: values are those of the questions in both"]


def test_identical_runs_say_that_nothing_changed() -> None:
    words: dict[str, list[Any]] = {"answers.containment": [True, False] * 20, "retrieval.ndcg@5": [0.5] * 40}
    found = suite_of(words, words)
    assert found.changed == 0 and not found.broken and not found.fixed
    for one in found.metrics.values():
        assert (one.difference, one.p, one.fixed, one.broken) == (0, 1, 0, 0)
        # no flips among n cases: z² / (n + z²) in either direction
        bound = 1.959963985**2 / (40 + 1.959963985**2)
        assert [one.low, one.high] == pytest.approx([-bound, bound], abs=1e-6)


def test_values_of_reports_count_and_metrics_of_one_run_alone_are_left_out() -> None:
    a, b = rows({"answers.containment": [True, True]}), rows({"answers.containment": [True, False]})
    values = {"answers.containment": Fraction(1, 1), "agreement.kappa": Fraction(3, 4), "answers.chr": Fraction(1)}
    later = {"answers.containment": Fraction(1, 2), "agreement.kappa": Fraction(1, 2)}
    found = compare(Run(a, values), Run(b, later), KNOWN | all_metrics("agreement"))
    assert list(found.metrics) == ["answers.containment", "agreement.kappa"]
    kappa = found.metrics["agreement.kappa"]
    assert (kappa.a, kappa.b, kappa.difference, kappa.p, kappa.low) == (0.75, 0.5, -0.25, None, None)
    assert kappa.without == "the rows hold no votes"


def test_where_nothing_changed_the_interval_is_that_of_all_cases() -> None:
    """120 questions of 10 documents: z² / (120 + z²) = 3.8415 / 123.84, whatever documents they are of."""
    same = column((True, 100), (False, 20))
    found = number("answers.containment", same, same, [f"d{nth % 10}" for nth in range(120)])
    assert (found.low, found.high) == pytest.approx((-0.031019, 0.031019), abs=1e-6)


def test_holm_corrects_for_every_metric_that_changed() -> None:
    # p of 2/1024 and 1: Holm gives twice the smaller one. Where nothing changed there is nothing to correct for.
    a = {"answers.containment": [True] * 10, "answers.chr": [True] * 10, "answers.hit@5": [True] * 10}
    b = {"answers.containment": [False] * 10, "answers.chr": [False] + [True] * 9, "answers.hit@5": [True] * 10}
    found = suite_of(a, b).metrics
    assert (found["answers.containment"].p, found["answers.containment"].holm) == (2 / 1024, 4 / 1024)
    assert (found["answers.chr"].p, found["answers.chr"].holm) == (1, 1)
    assert (found["answers.hit@5"].p, found["answers.hit@5"].holm) == (1, None)


def test_a_metric_that_nobody_knows_has_no_direction() -> None:
    found = compare(Run(rows({"own.thing": [0, 1, 1, 1]})), Run(rows({"own.thing": [0, 0, 0, 0]})), {})
    one = found.metrics["own.thing"]
    assert (one.a, one.b, one.difference) == (0.75, 0, -0.75)
    assert (one.better, one.fixed, one.broken, one.p) == (None, None, None, 2 / 8)


def test_without_rows_there_are_values_and_differences_only() -> None:
    found = values_only({"answers.chr": Fraction(4, 5)}, {"answers.chr": Fraction(3, 5)}, KNOWN, "it is old")
    one = found.metrics["answers.chr"]
    assert one.difference == pytest.approx(-0.2) and (one.p, one.fixed, one.without) == (
        None,
        None,
        "a run has no rows",
    )
    assert found.rowless == "it is old"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 30))
def test_mcnemars_test_is_scipys(worse: int, better: int, same: int) -> None:
    a = column((True, worse), (False, better), (True, same + 1))
    b = column((False, worse), (True, better), (True, same + 1))
    expected = binomtest(worse, worse + better).pvalue if worse + better else 1.0
    assert number("answers.containment", a, b).p == pytest.approx(expected, rel=1e-9)


def test_few_changed_documents_are_swapped_in_all_ways_whatever_else_changed() -> None:
    """Two documents lost something: 2 · 1/4. That a second metric changed in twenty is not a reason to draw."""
    clusters = [f"d{nth // 2}" for nth in range(40)]
    few, many = "answers.recall@1", "answers.recall@5"
    old = {few: [True] * 40, many: [True] * 40}
    new = {few: column((False, 4), (True, 36)), many: [False] * 40}
    found = compare(Run(rows(old, clusters)), Run(rows(new, clusters)), KNOWN).metrics
    assert (found[few].p, found[few].method) == (0.5, "clusters")
    assert (found[many].p or 1.0) < 0.001


def test_questions_without_a_trace_are_counted() -> None:
    labels = ["OK", "MISSING", "MISSING"]
    words = {"answers.missing": [False, True, True]}
    found = compare(Run(rows(words, labels=["OK", "OK", "MISSING"])), Run(rows(words, labels=labels)), KNOWN)
    assert (found.cases, found.missing) == (3, 2)


def test_a_small_p_beside_an_interval_that_holds_nothing() -> None:
    """The example of the page: 3 from right to wrong, 19 from no case to wrong. 2 · 2⁻²²; 3/80 ± 1.984 · SE."""
    before, after = [True] * 3 + [False] * 77 + [None] * 19, [False] * 99
    a, b = (Run(rows({"answers.precision": words})) for words in (before, after))
    number = compare(a, b, ANSWERS).metrics["answers.precision"]
    assert (number.p, number.fixed, number.broken) == (2 / 2**22, 0, 22)
    # each answer pulls by (right − 3/80) / 80: 3 · 77² + 77 · 3², over 80⁴, times n/(n − 1)
    error = (99 / 98 * (3 * 77**2 + 77 * 3**2)) ** 0.5 / 80**2
    assert number.low == pytest.approx(-3 / 80 - 1.984467 * error, abs=1e-6)
    assert number.high == pytest.approx(-3 / 80 + 1.984467 * error, abs=1e-6)
    line = f"{number.low:.3f} … {number.high:+.3f}"
    assert f"{line}  <0.0001  0      22" in (ROOT / "docs/compare.md").read_text(encoding="utf-8")
