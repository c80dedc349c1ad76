"""One number for every question: against the definition gone through by hand, by every swap, and by SciPy."""

import itertools
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy import gates as g
from ragworthy import proving
from ragworthy.differences import Difference, difference, pair
from ragworthy.loss_tests import prove
from ragworthy.metrics.registry import Metric, all_metrics
from ragworthy.paired.exact import mcnemar
from ragworthy.proving import Proving
from ragworthy.rows import Rows, Word

PRECISION, CHR = "answers.precision", "answers.chr"
METRICS = all_metrics()


def rows_of(words: Mapping[str, Sequence[Word]], clusters: list[str] | None = None, **more: list[str | None]) -> Rows:
    size = len(next(iter(words.values())))
    qids = tuple(f"q{nth}" for nth in range(size))
    return Rows(
        qids,
        tuple(clusters or qids),
        tuple(more.get("labels") or [None] * size),
        (None,) * size,
        (1,) * size,
        ((),) * size,
        {name: tuple(said) for name, said in words.items()},
    )


def metric_of(name: str) -> Metric:
    return METRICS[name.partition("@")[0]]


def of(
    old: Sequence[Word], new: Sequence[Word], name: str = PRECISION, clusters: list[str] | None = None
) -> Difference:
    gate = g.Gate(name, g.DROP, "0.02", evidence="paired")
    found = difference(gate, metric_of(name), pair(rows_of({name: old}, clusters), rows_of({name: new}, clusters)))
    assert not isinstance(found, str), found
    return found


def proven(one: Difference) -> proving.Tested:
    return prove({"gate": one}, Proving())["gate"]


def definition(old: Sequence[Word], new: Sequence[Word]) -> list[Fraction]:
    """(N − R·D) before less after, as it is written."""
    counted = [one for one in (*old, *new) if one is not None]
    rate = Fraction(sum(map(Fraction, counted)), len(counted))  # type: ignore[arg-type]

    def part(word: Word) -> Fraction:
        return Fraction(0) if word is None else Fraction(word) - rate  # type: ignore[arg-type]

    return [part(before) - part(after) for before, after in zip(old, new, strict=True)]


def by_every_swap(moved: list[Fraction]) -> float:
    changed = [one for one in moved if one]
    reached = sum(
        sum(sign * one for sign, one in zip(signs, changed, strict=True)) >= sum(changed)
        for signs in itertools.product((1, -1), repeat=len(changed))
    )
    return float(Fraction(reached, 2 ** len(changed)))


YES_NO = st.sampled_from([True, False, None])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(YES_NO, YES_NO), min_size=1, max_size=9))
def test_the_test_of_a_rate_is_that_of_its_definition(both: list[tuple[bool | None, bool | None]]) -> None:
    old, new = [list[Word](side) for side in zip(*both, strict=True)]
    if not any(word is not None for word in (*old, *new)):
        return
    moved = definition(old, new)
    one = of(old, new)
    assert (one.worse, one.better) == (sum(each > 0 for each in moved), sum(each < 0 for each in moved))
    assert proven(one).p == pytest.approx(by_every_swap(moved), abs=1e-12)
    lower = of([None if word is None else not word for word in old], [None if w is None else not w for w in new],
               "answers.under_refusal")  # fmt: skip
    assert (lower.worse, lower.better) == (one.worse, one.better)
    assert proven(lower).p == pytest.approx(proven(one).p, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=8))
def test_the_test_of_a_mean_is_that_of_its_definition(both: list[tuple[int, int]]) -> None:
    old, new = [[Fraction(one, 6) for one in side] for side in zip(*both, strict=True)]
    one = of([*old], [*new], "retrieval.recall@5")
    moved = [before - after for before, after in zip(old, new, strict=True)]
    assert proven(one).p == pytest.approx(by_every_swap(moved), abs=1e-12)
    floats = of(list(map(float, old)), list(map(float, new)), "retrieval.ndcg@5")
    assert (floats.worse, floats.better) == (one.worse, one.better)


@pytest.mark.parametrize(
    ("worse", "better", "p"),
    [(4, 0, 0.0625), (5, 0, 0.03125), (8, 1, 0.01953125), (10, 3, 0.046142578125), (20, 10, 0.0493685733527)],
)
def test_where_denominators_agree_it_is_mcnemars_test(worse: int, better: int, p: float) -> None:
    old: Sequence[Word] = [True] * worse + [False] * better + [True] * 100
    new: Sequence[Word] = [False] * worse + [True] * better + [True] * 100
    tested = proven(of(old, new))
    assert tested.p == pytest.approx(p, rel=1e-11) and tested.adjusted == tested.p == mcnemar(worse, better)
    assert tested.method == "McNemar, exact"


def test_the_swap_of_questions_where_they_do_not() -> None:
    """(10, 3), (4, 2), (5, 1) at a rate of 3/4: 58 right and 20 wrong on both sides besides."""
    turns = [(True, False)] * 10 + [(False, True)] * 3 + [(None, False)] * 4 + [(False, None)] * 2
    turns += [(True, None)] * 5 + [(None, True)] * 1 + [(True, True)] * 34 + [(False, False)] * 6
    old, new = [list[Word](side) for side in zip(*turns, strict=True)]
    one = of(old, new)
    assert one.flips is not None
    right = 13 + 6 + 68
    wrong = 13 + 6 + 12
    assert one.flips.rate == Fraction(right, right + wrong)
    assert one.flips[:3] == ((10, 3), (4, 2), (5, 1))
    assert proven(one).method == "swap of questions, exact"


def test_questions_of_one_document_change_sides_together() -> None:
    """Six questions of two documents are worse: two clusters, so 1/4, where six questions alone would give 1/64."""
    old: Sequence[Word] = [True] * 20
    new: Sequence[Word] = [False] * 6 + [True] * 14
    clusters = ["a"] * 3 + ["b"] * 3 + [f"d{nth}" for nth in range(14)]
    alone, together = proven(of(old, new)), proven(of(old, new, clusters=clusters))
    assert (alone.p, alone.changed, alone.clusters) == (1 / 64, 6, 20)
    assert (together.p, together.changed, together.clusters) == (1 / 4, 2, 16)
    assert together.worse == 6 and together.method == "all swaps of clusters"
    assert alone.upper is not None and together.upper is not None and together.upper > alone.upper


def test_tangos_bound_for_a_plain_rate() -> None:
    old: Sequence[Word] = [True] * 10 + [False] * 3 + [True] * 187
    new: Sequence[Word] = [False] * 10 + [True] * 3 + [True] * 187
    assert proven(of(old, new)).upper == pytest.approx(0.068958, abs=5e-7)
    assert proven(of([True] * 133, [True] * 133)).upper == pytest.approx(0.019937, abs=5e-7)


def test_the_bound_of_a_mean_is_students() -> None:
    """Ten times 0.1, 0.2, 0.0, 0.3: mean 0.15, deviation √(0.5/39), t(39) = 1.684875 at 95 %."""
    old: Sequence[Word] = [Fraction(n, 10) for n in (5, 6, 7, 8)] * 10
    new: Sequence[Word] = [Fraction(n, 10) for n in (4, 4, 7, 5)] * 10
    upper = proven(of(old, new, "retrieval.recall@5")).upper
    assert upper == pytest.approx(0.15 + 1.684875 * (0.5 / 39 / 40) ** 0.5, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from("abcdefgh")), min_size=8, max_size=60))
def test_the_bound_with_clusters_is_never_below_that_of_the_questions(rows: list[tuple[bool, bool, str]]) -> None:
    old, new, clusters = [list(column) for column in zip(*rows, strict=True)]
    together, alone = of(old, new, "answers.chr", clusters), of(old, new, "answers.chr")
    if together.upper is not None and alone.upper is not None:
        assert together.upper >= alone.upper - 1e-12
        assert together.upper >= 2.705543 / (together.clusters + 2.705543) - 1e-6  # nothing changed: z² / (G + z²)


def test_a_question_more_that_breaks_does_not_lower_the_bound() -> None:
    """12 documents of 8: z² / (12 + z²) = 0.184 with no change; by the delta method alone one change gave 0.029."""
    clusters, old = [f"d{nth // 8}" for nth in range(96)], list[Word]([True] * 96)
    uppers = [of(old, [False] * worse + [True] * (96 - worse), "answers.chr", clusters).upper for worse in range(9)]
    assert uppers[0] == pytest.approx(0.18399, abs=1e-5)
    assert uppers == sorted(uppers, key=lambda one: one or 0)
    # Means and ratios of 100 questions: 0.0263 with no change, and no less with one.
    half: Sequence[Word] = [Fraction(1, 2)] + [Fraction(1)] * 99
    assert of([Fraction(1)] * 100, half, "retrieval.recall@5").upper == pytest.approx(0.02634, abs=1e-5)
    assert of([True] * 100, [None] + [True] * 99).upper == pytest.approx(0.02634, abs=1e-5)


def test_a_cluster_that_fell_as_a_whole_is_named() -> None:
    clusters = ["doc=fees"] * 8 + ["doc=cards"] * 2 + ["doc=rooms"] * 5
    old: Sequence[Word] = [True] * 7 + [False] + [True] * 7
    new: Sequence[Word] = [False] * 10 + [True] + [False] * 4
    found = of(old, new, "answers.chr", clusters)
    assert found.felled == (("doc=fees", 7),)  # of cards only two, of rooms one is left
    assert found.hit == 3
    rises = of([False] * 3 + [True], [True] * 4, "answers.over_refusal", ["a"] * 3 + ["b"])
    assert rises.felled == (("a", 3),)


def test_an_error_in_one_run_is_no_change_of_what_it_left_without_a_word() -> None:
    name = "answers.under_refusal"
    old, new = [None] * 10 + [False] * 20, [True] * 10 + [False] * 20
    labels: list[str | None] = ["ERROR"] * 6 + ["MISSING"] * 3 + [None] * 21
    gate = g.Gate(name, g.DROP, "0.02", evidence="paired")
    for before, after, lost in ((old, new, True), (new, old, False)):
        sides = [rows_of({name: before}), rows_of({name: after})]
        at = 0 if before is old else 1
        sides[at] = sides[at]._replace(labels=tuple(labels))
        found = difference(gate, metric_of(name), pair(*sides))
        assert not isinstance(found, str)
        assert (found.errored, found.cases, found.worse, found.better) == (9, 21, int(lost), int(not lost))


def test_a_share_weighs_by_its_wholes_and_a_count_is_added_up() -> None:
    share = next(one for one in METRICS.values() if one.kind == "share")
    old: Sequence[Word] = [(3, 4), (1, 2), (2, 2)]
    new: Sequence[Word] = [(2, 4), (1, 2), (2, 2)]
    one = of(old, new, share.id)
    assert (one.worse, one.better) == ((1, 0) if share.better == "higher" else (0, 1))
    count = of([0, 0, 1], [1, 1, 1], "answers.scu_violations")
    assert (count.worse, count.better, sum(count.column.values())) == (2, 0, 2)
    assert count.upper is not None and count.upper > 2  # in the unit of the count


def test_a_percentile_is_tested_beyond_its_tolerance() -> None:
    """P95 may rise by 15 %. Twice as slow everywhere: of the top tenth of both runs all are new ones."""
    gate = g.Gate("latency.p95", g.WORSE, "0.15", evidence="paired")
    times: Sequence[Word] = [100 + nth for nth in range(100)]
    for factor, sure, most in ((1, False, 0.06), (1.1, False, 0.17), (2, True, 1.09)):
        slower: Sequence[Word] = [int(time * factor) for time in range(100, 200)]
        found = difference(
            gate, METRICS["latency.p95"], pair(rows_of({"latency.p95": times}), rows_of({"latency.p95": slower}))
        )
        assert not isinstance(found, str)
        tested = proven(found)
        assert tested.proven is sure, factor
        assert tested.upper is not None and factor - 1 <= tested.upper / 194.05 <= most, factor
        assert tested.worse == (100 if factor > 1 else 0)


def test_a_percentile_is_tested_beyond_min_effect() -> None:
    """All are slower by 14 of 100 ms: with a tolerance of 15 % this is not a loss, with min_effect = 0 it is one."""
    gate = g.Gate("latency.p95", g.WORSE, "0.15", evidence="paired")
    both = (rows_of({"latency.p95": [Fraction(one)] * 60}) for one in (100, 114))
    pairs = pair(*both)
    p: dict[str | None, float] = {}
    for effect in (None, "0.14", "0"):
        found = difference(gate._replace(min_effect=effect), METRICS["latency.p95"], pairs)
        assert not isinstance(found, str)
        tested = proven(found)
        assert (tested.worse, tested.better) == (60, 0)
        assert tested.method == ("no cluster counts as changed" if effect == "0.14" else "9,999 swaps of questions")
        p[effect] = tested.p
    assert p["0"] == 0.0001 and p["0.14"] == p[None] == 1.0


def test_kappa_by_what_each_pair_contributes() -> None:
    votes = ["yes", "no"] * 60
    turned = [("no" if vote == "yes" else "yes") if nth < 12 else vote for nth, vote in enumerate(votes)]
    base = rows_of({"agreement.percent": [True] * 120})
    old = base._replace(own={"vote:auditor": tuple(votes), "vote:scholar": (*votes[:118], "yes", "yes")})
    new = base._replace(own={"vote:auditor": tuple(votes), "vote:scholar": (*turned[:118], "yes", "yes")})
    gate = g.Gate("agreement.kappa", g.DROP, "0.05", evidence="paired")
    found = difference(gate, METRICS["agreement.kappa"], pair(old, new))
    assert not isinstance(found, str)
    tested = proven(found)
    assert (tested.worse, tested.better) == (12, 0) and tested.proven
    loss = Fraction(sum(found.column.values()), 120 * 10**9)
    assert float(loss) == pytest.approx(0.2, abs=0.01)  # 12 of 120 pairs, each worth 2 of the 1 that chance leaves
    assert tested.upper is not None and tested.upper > 0.2


def test_questions_of_one_run_only_are_counted_and_no_part_of_the_test() -> None:
    old = rows_of({PRECISION: [True, True, True]})
    new = rows_of({PRECISION: [False, True]})._replace(qids=("q0", "q9"))
    found = difference(g.Gate(PRECISION, g.DROP, "0.02"), METRICS[PRECISION], pair(old, new))
    assert not isinstance(found, str)
    tested = proven(found)
    assert (tested.cases, tested.worse) == (1, 1)
    assert (tested.only_old, tested.only_new) == (("q1", "q2"), ("q9",))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("latency.tail", "of such a number one question alone says nothing"),
        ("agreement.fleiss", "no test is known for a number of all questions at once"),
        ("answers.chr", "the rows of the baseline do not have it"),
        ("agreement.kappa", "the rows hold no votes"),
    ],
)
def test_what_has_no_test_says_why(name: str, why: str) -> None:
    rows = rows_of({PRECISION: [True]})
    assert difference(g.Gate(name, g.DROP, "0.02"), METRICS[name], pair(rows, rows)) == why


@pytest.mark.parametrize("word", [float("nan"), float("inf"), (1, -1), (float("nan"), 2)])
@pytest.mark.parametrize("name", [PRECISION, "latency.p95"])
def test_rows_that_somebody_wrote_by_hand_are_no_crash(name: str, word: Word) -> None:
    gate = g.Gate(name, g.WORSE, "0.02", evidence="paired")
    found = difference(gate, METRICS[name], pair(rows_of({name: [1, word]}), rows_of({name: [1, 1]})))
    assert found == "the rows hold something that is not a number"


def test_without_a_case_there_is_nothing_to_test() -> None:
    gate = g.Gate(PRECISION, g.DROP, "0.02", evidence="paired")
    for words in ([None, None], [(0, 0), (0, 0)]):
        rows = rows_of({PRECISION: words})
        assert difference(gate, METRICS[PRECISION], pair(rows, rows)) == "no question is a case of it"
    empty = rows_of({PRECISION: []})
    assert difference(gate, METRICS[PRECISION], pair(empty, empty)) == "the two runs share no question"


def test_whether_a_question_is_good_is_read_off_its_label() -> None:
    old = rows_of({PRECISION: [None] * 6}, labels=["OK", "REFUSAL_OK", "OK", "OK", "OK", "OK"])
    new = rows_of({PRECISION: [None] * 6}, labels=["OK", "HALLUCINATION", "ANS_NO_HIT", "OK", "ERROR", "OK"])
    gate = g.Gate("answers.good", g.DROP, "1", evidence="paired", min_effect="0")
    found = difference(gate, METRICS["answers.good"], pair(old, new))
    assert not isinstance(found, str)
    assert (found.worse, found.better, found.cases) == (3, 0, 6)


def test_that_a_question_changed_is_another_thing_than_that_it_is_worse() -> None:
    """Nothing is right before and after: whether a wrong answer is given makes no rate better or worse."""
    tested = proven(of([False, False, False], [False, None, False]))
    assert (tested.worse, tested.better, tested.p) == (0, 0, 1.0)
    assert tested.moved == 1 and not tested.unchanged
    assert proven(of([False, None], [False, None])).unchanged


# the family


def test_one_family_over_all_gates_is_no_smaller_than_each_alone() -> None:
    dice = random.Random(4)
    found = {}
    for name in range(12):
        old: Sequence[Word] = [dice.random() < 0.8 for _ in range(200)]
        new: Sequence[Word] = [word if dice.random() < 0.9 else dice.random() < 0.7 for word in old]
        found[name] = of(old, new)
    tested = prove(found, Proving())
    assert all(one.adjusted >= one.p for one in tested.values())
    assert all(one.gates == 12 and "max-T over 12 gates" in one.method for one in tested.values())
    assert prove(found, Proving()) == tested
    assert prove(found, Proving(seed=1)) != tested
    smallest = min(tested.values(), key=lambda one: one.p)
    assert smallest.adjusted <= 12 * smallest.p + 0.01  # never worse than Bonferroni's, but for the draws


def test_gates_in_which_nothing_changed_cost_nothing() -> None:
    same: Sequence[Word] = [True] * 50
    worse: Sequence[Word] = [False] * 5 + [True] * 45
    tested = prove({"a": of(same, same), "b": of(same, worse), "c": of(same, same)}, Proving())
    assert (tested["b"].adjusted, tested["b"].gates) == (1 / 32, 1)
    assert tested["a"].unchanged and not tested["a"].proven


def test_the_same_column_twice_is_adjusted_for_nothing() -> None:
    worse: Sequence[Word] = [False] * 5 + [True] * 45
    one = of([True] * 50, worse)
    tested = prove({"a": one, "b": one}, Proving())
    assert tested["a"].adjusted == tested["b"].adjusted == 1 / 32
