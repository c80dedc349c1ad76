"""Orders of runs, distances of everything returned, what reranking gains, and a run beside that of the index in use."""

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import ragworthy as rw
from conftest import run_cli, write_jsonl
from ragworthy.errors import PolicyError
from ragworthy.metrics.facts.orders import alike, kendall_tau_b, spearman
from ragworthy.names import Verdict

Row = dict[str, Any]
RUNS = [(paraphrase, seed) for seed in (1, 2) for paraphrase in (0, 1, 2)]


def block(section: int, number: int = 1) -> str:
    return f"S.{section}.p.Bk{number:03d}"


def question(n: int = 1, **extra: Any) -> Row:
    return {
        "qid": f"Q{n}",
        "paraphrases": [f"wording {nth} of Q{n}" for nth in range(3)],
        "relevant": [block(n)],
        "anchor_section": f"S.{n}",
        "relevant_offsets": {block(n): [1000, 1100]},
        **extra,
    }


def trace(n: int = 1, paraphrase: int = 0, seed: int = 1, **extra: Any) -> Row:
    return {
        "qid": f"Q{n}",
        "paraphrase": paraphrase,
        "seed": seed,
        "query": f"wording {paraphrase} of Q{n}",
        "topk": [{"id": block(n)}, {"id": block(90)}, {"id": block(91)}, {"id": block(92)}],
        "ΔS": [0.3, 0.5, 0.6, 0.7],
        "answer_citations": [{"id": block(n), "offsets": [1000, 1100]}],
        "index_hash": "shadow",
        **extra,
    }


def traces(n: int = 1, /, **extra: Any) -> list[Row]:
    return [trace(n, *key, **extra) for key in RUNS]


def returning(letters: str, **extra: Any) -> Row:
    """What a run returns: one block for each letter."""
    return {"topk": [{"id": block(50 + ord(one) - ord("a"))} for one in letters], "ΔS": None, **extra}


def score(gold: list[Row], given: list[Row], **options: Any) -> rw.Result:
    return rw.score("retrieval", gold=gold, traces=given, **options)


def value(found: rw.Result, metric: str) -> float | None:
    return found.metrics[f"retrieval.{metric}"].value


def reason(found: rw.Result, metric: str) -> str | None:
    return found.metrics[f"retrieval.{metric}"].undefined


def body(found: rw.Result) -> Row:
    told: Row = found.report["suites"]["retrieval"]
    return told


def warnings(found: rw.Result) -> dict[str, str]:
    return {one["code"]: one["message"] for one in body(found)["warnings"]}


def symptoms(found: rw.Result) -> dict[str, int]:
    return {one["symptom"]: one["questions"] for one in body(found)["diagnosis"]}


# two orders


@given(st.lists(st.sampled_from("abcdefgh"), max_size=8), st.lists(st.sampled_from("abcdefgh"), max_size=8))
def test_spearman_equals_scipy(a: list[str], b: list[str]) -> None:
    one, other = list(dict.fromkeys(a)), list(dict.fromkeys(b))
    items = list(dict.fromkeys([*one, *other]))
    ranks = [[order.index(item) if item in order else len(order) for item in items] for order in (one, other)]
    ours = spearman(a, b, 8)
    if any(len(set(column)) < 2 for column in ranks):
        assert ours is None
    else:
        assert ours == pytest.approx(stats.spearmanr(*ranks).statistic, abs=1e-12)


def test_two_orders_worked_out() -> None:
    # abcd against abce: d has rank 4 and 4.5, e has 5 and 4 … by places: x = 1 2 3 4 5, y = 1 2 3 5 4, Σd² = 2
    assert spearman("abcd", "abce", 4) == pytest.approx(1 - 6 * 2 / (5 * 24))
    # abc against xyz: 1 2 3 5 5 5 against 5 5 5 1 2 3; both have Σ(r − 3.5)² = 6.25 + 2.25 + 0.25 + 3 · 2.25 = 15.5,
    # and Σ(x − 3.5)(y − 3.5) = 2 · 1.5 · (−2.5 − 1.5 − 0.5) = −13.5
    assert spearman("abc", "xyz", 3) == pytest.approx(-13.5 / 15.5)
    assert alike(kendall_tau_b, "a", "a", 10) == 1 and alike(kendall_tau_b, "", "", 10) == 1
    assert alike(kendall_tau_b, "ab", "", 10) == -1 and alike(spearman, "", "ab", 10) == -1


# the orders of a question's runs


def tau(a: str, b: str) -> float:
    items = sorted({*a, *b})
    ranks = [[order.index(item) + 1 if item in order else 11 for item in items] for order in (a, b)]
    return float(stats.kendalltau(*ranks, variant="b").statistic)


def test_tau_is_the_mean_over_pairs_of_wordings() -> None:
    lists = ["abcd", "abdc", "abce"]
    given = [trace(1, nth, 1, **returning(letters)) for nth, letters in enumerate(lists)]
    found = score([question()], given, gates="missing=0")
    wanted = [tau(a, b) for a, b in combinations(lists, 2)]
    assert wanted[:2] == [pytest.approx(4 / 6), pytest.approx(0.8)]  # 5 − 1 of 6 pairs; 9 − 1 of 10
    assert value(found, "rank_tau") == pytest.approx(math.fsum(wanted) / 3)
    assert next(found.rows())["metrics"]["retrieval.rank_tau"] == pytest.approx(math.fsum(wanted) / 3)


def test_a_second_seed_that_changes_nothing_does_not_change_tau() -> None:
    lists = ["abcd", "dcba", "abxy"]
    once = [trace(1, nth, 1, **returning(letters)) for nth, letters in enumerate(lists)]
    twice = once + [one | {"seed": 2} for one in once]
    assert value(score([question()], once, gates="missing=0"), "rank_tau") == pytest.approx(
        value(score([question()], twice, gates="missing=0"), "rank_tau")
    )


def test_tau_of_one_wording_is_between_its_seeds_and_only_ten_results_count() -> None:
    letters = "abcdefghij"
    given = [trace(1, 0, 1, **returning(letters + "kl")), trace(1, 0, 2, **returning(letters + "lk"))]
    gold = question(paraphrases=["wording 0 of Q1"])
    assert value(score([gold], given, gates="missing=0"), "rank_tau") == 1
    given[1] |= returning(letters[::-1])
    assert value(score([gold], given, gates="missing=0"), "rank_tau") == -1


def test_tau_needs_two_runs_with_results_and_nothing_against_something_is_the_worst() -> None:
    gold = question(paraphrases=["wording 0 of Q1"])
    found = score([gold], [trace(1, 0, 1)], gates="missing=0,rank_tau=0.6")
    assert reason(found, "rank_tau") == "no question has results in two runs"
    assert found.verdict is Verdict.INVALID
    assert "retrieval.rank_tau" not in score([gold], [trace(1, 0, 1)], gates="missing=0").metrics
    given = [trace(1, 0, 1, topk=[], ΔS=None), trace(1, 0, 2)]
    assert value(score([gold], given, gates="missing=0"), "rank_tau") == -1


def test_lists_reversed_under_another_seed_are_an_order_that_flips() -> None:
    """The same block is cited each time, so nothing else shows it."""
    given = [one | ({"topk": one["topk"][::-1], "ΔS": one["ΔS"][::-1]} if one["seed"] == 2 else {}) for one in traces()]
    found = score([question()], given, gates="rank_tau=0.60")
    assert symptoms(found)["order flips across runs"] == 1
    assert body(found)["lambda"]["marks"]["→"] == 1
    # 12 pairs of runs in two wordings: 6 under one seed (τ = 1), 6 under two (τ = −1)
    assert value(found, "rank_tau") == 0
    assert found.verdict is Verdict.NO_SHIP
    assert ("order flips across runs", "make the reranker deterministic: pin model, ties and seeds") in [
        (one["pattern"], one["do"]) for one in found.report["next"]
    ]
    assert "order flips across runs" not in symptoms(score([question()], traces(), gates="rank_tau=0.60"))


def test_wordings_with_other_results_are_no_flip() -> None:
    given = [trace(1, nth, seed, **returning("abc" if nth else "xyz")) for nth, seed in RUNS]
    found = score([question()], given, gates="missing=0")
    assert value(found, "rank_tau") is not None and "order flips across runs" not in symptoms(found)


# ΔS of each citation, and of everything returned


@pytest.mark.parametrize(
    ("distance", "verdict"), [(0.44, "SHIP"), (0.45, "SHIP"), (0.450001, "NO-SHIP"), (0.46, "NO-SHIP")]
)
def test_every_cited_snippet_must_be_within_the_distance(distance: float, verdict: str) -> None:
    far = [trace(2, *key, ΔS=[distance, 0.5, 0.6, 0.7]) for key in RUNS]
    found = score([question(1), question(2)], traces(1) + far, gates="delta_s_within=1.0")
    assert found.verdict.value == verdict
    assert value(found, "delta_s_within") == (1 if verdict == "SHIP" else 0.5)


def test_one_run_that_is_too_far_is_a_part_of_its_question() -> None:
    given = [one | {"ΔS": [0.5 if one["seed"] == 2 else 0.3, 0.5, 0.6, 0.7]} for one in traces()]
    found = score([question()], given, gates="delta_s_within=0.9")
    assert value(found, "delta_s_within") == 0.5  # three of six runs
    assert next(found.rows())["metrics"]["retrieval.delta_s_within"] == 0.5


def test_a_question_that_must_pass_is_within_when_all_its_runs_are(tmp_path: Path) -> None:
    gate = '[[gate]]\nmetric = "retrieval.delta_s_within"\nmust_pass = ["Q1"]\n'
    policy = tmp_path / "policy.toml"
    policy.write_text(f'version = 1\n[retrieval]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n\n{gate}')
    write_jsonl(tmp_path / "gold.jsonl", [question(1), question(2)])
    for distance, code in ((0.45, 0), (0.5, 1)):
        write_jsonl(tmp_path / "traces.jsonl", traces(1, ΔS=[distance, 0.5, 0.6, 0.7]) + traces(2))
        assert run_cli("gate", "-c", policy, "--unfrozen").code == code, distance


def test_the_log_of_an_index_alone_has_its_distances_measured() -> None:
    """The record of eval_rag_precision_recall.md, as it is there: ΔS [0.31, 0.59], and no answer."""
    gold = {
        "qid": "Q-0137",
        "paraphrases": ["How does SCU unlock safety refusals?", "Explain symbolic constraint unlock.", "SCU?"],
        "relevant": ["S.4.2.p.Bk011a", "S.4.2.p.Bk011b"],
        "anchor_section": "S.4.2",
    }
    log = {
        "qid": "Q-0137",
        "query": "Explain symbolic constraint unlock.",
        "topk": [
            {"id": "S.4.2.p.Bk011a", "score": 0.83, "offsets": [204611, 205279], "type": "prose"},
            {"id": "S.4.1.p.Bk010", "score": 0.79, "offsets": [198002, 199112], "type": "prose"},
        ],
        "ΔS": [0.31, 0.59],
        "λ_state": "→",
        "anchor": "S.4.2",
        "index_hash": "faiss:v3:hnsw:cos",
        "ts": "2025-08-27T12:30:22Z",
    }
    found = score([gold], [log], gates="delta_s_topk_median=0.45,delta_s_topk_p90=0.60")
    assert (value(found, "delta_s_topk_median"), value(found, "delta_s_topk_p90")) == (0.45, 0.562)  # 0.31 + 0.9 · 0.28
    assert found.verdict is Verdict.SHIP
    assert reason(found, "delta_s_median") == "the traces carry no answers (answer_citations)"


def test_distances_of_results_are_the_mean_over_runs_then_the_median_over_questions() -> None:
    gold = [question(1), question(2), question(3)]
    lists = {1: ([0.1, 0.2, 0.3, 0.4], [0.3, 0.4, 0.5, 0.6]), 2: ([0.2] * 4, [0.2] * 4), 3: ([0.9] * 4, [0.7] * 4)}
    given = [trace(n, 0, seed, ΔS=distances) for n, both in lists.items() for seed, distances in enumerate(both)]
    found = score(gold, given, gates="missing=0")
    # medians: Q1 (0.25 + 0.45) / 2 = 0.35, Q2 0.2, Q3 0.8; 90th percentiles: Q1 (0.37 + 0.57) / 2 = 0.47, 0.2, 0.8
    assert (value(found, "delta_s_topk_median"), value(found, "delta_s_topk_p90")) == (0.35, 0.47)


def test_results_without_a_distance_are_counted_and_said() -> None:
    given = [trace(1, 0, 1, ΔS=[0.3, None, None, 0.5])]
    found = score([question(1)], given, gates="missing=0")
    assert value(found, "delta_s_topk_median") == 0.4
    assert warnings(found)["RW-W125"] == (
        "2 results have no distance, and others have one: the distances of results are of the others"
    )
    bare = score([question(1), question(2)], [*given, trace(2, 0, 1, ΔS=None)], gates="missing=0")
    for name in ("delta_s_topk_median", "delta_s_topk_p90", "delta_s_top1_within"):
        assert reason(bare, name) == "1 of 2 runs with results has no distance of the first of them (ΔS)"
    assert "RW-W125" not in warnings(score([question()], traces(), gates="missing=0"))


def test_distances_of_several_models_are_not_mixed() -> None:
    models = [{"name": name, "weights": name} for name in ("one", "two")]
    given = [trace(n, 0, 1, delta_s_model=model) for n, model in enumerate(models, 1)]
    found = score([question(1), question(2)], given, gates="missing=0")
    assert reason(found, "delta_s_topk_median") == "the recorded distances come from several models"


def test_the_first_result_is_near_for_so_many_questions() -> None:
    """reranker_sanity.md: ΔS(question, top1) ≤ 0.45 for 70 % of the queries."""
    near = {n: [0.45, 0.9, 0.9, 0.9] for n in range(1, 8)}
    gold = [question(n) for n in range(1, 11)]
    given = [trace(n, 0, 1, ΔS=near.get(n, [0.46, 0.1, 0.1, 0.1])) for n in range(1, 11)]
    found = score(gold, given, gates="delta_s_top1_within=0.70", defaults=False)
    assert (value(found, "delta_s_top1_within"), found.verdict) == (0.7, Verdict.SHIP)  # 7 of 10, whatever is behind
    worse = [one | {"ΔS": [0.450001, 0.9, 0.9, 0.9]} if one["qid"] == "Q1" else one for one in given]
    found = score(gold, worse, gates="delta_s_top1_within=0.70", defaults=False)
    assert (value(found, "delta_s_top1_within"), found.verdict) == (0.6, Verdict.NO_SHIP)
    assert "results are far from the question" in [one["pattern"] for one in found.report["next"]]


def test_nothing_returned_is_not_near_and_a_first_result_without_a_distance_is_not_left_out() -> None:
    gold = [question(1), question(2), question(3)]
    given = [
        trace(1, 0, 1),
        trace(2, 0, 1, topk=[], ΔS=[], answer_citations=[]),
        {"qid": "Q3", "paraphrase": 0, "seed": 1, "error": "timeout"},
    ]
    found = score(gold, given, gates="delta_s_top1_within=0.3", defaults=False)
    assert value(found, "delta_s_top1_within") == pytest.approx(1 / 3)  # Q1 of Q1, Q2 and Q3
    assert [row["metrics"].get("retrieval.delta_s_top1_within") for row in found.rows()] == [1, 0, 0]
    bare = [*given, trace(4, 0, 1, ΔS=[None, 0.1, 0.1, 0.1])]
    found = score([*gold, question(4)], bare, gates="delta_s_top1_within=0.3", defaults=False)
    assert found.verdict is Verdict.INVALID
    assert reason(found, "delta_s_top1_within") == (
        "1 of 2 runs with results has no distance of the first of them (ΔS)"
    )


def test_a_first_result_on_the_scale_of_a_model_is_not_held_against_a_threshold() -> None:
    given = traces(delta_s_model={"name": "one", "weights": "one"})
    found = score([question()], given, gates="delta_s_top1_within=0.7", defaults=False)
    assert found.verdict is Verdict.INVALID
    assert reason(found, "delta_s_top1_within") == (
        "distances are raw: the thresholds mean nothing for this model until it is calibrated"
    )
    assert value(found, "delta_s_topk_median") == 0.55  # it has no threshold inside


# λ by question


def test_the_share_of_questions_whose_runs_all_agree_is_gated() -> None:
    other = [trace(2, *key) for key in RUNS]
    other[4] = other[4] | {"answer_citations": [block(90)]}  # one run of six
    found = score([question(1), question(2)], traces(1) + other, gates="lambda_rate=1.0")
    assert (value(found, "lambda_rate"), found.verdict) == (0.5, Verdict.NO_SHIP)
    assert body(found)["lambda"]["question_rate"] == 0.5
    assert [row["metrics"]["retrieval.lambda_rate"] for row in found.rows()] == [1, 0]
    assert value(found, "triplet_rate") == 0.75  # three of four triplets


# one seed


def sampled(several: int, single: int, **extra: Any) -> tuple[list[Row], list[Row]]:
    count = several + single
    runs = [(n, nth, seed) for n in range(1, count + 1) for nth in range(3) for seed in (1, 2)[: 1 + (n <= several)]]
    return [question(n) for n in range(1, count + 1)], [trace(*run, **extra) for run in runs]


def test_one_seed_is_enough_when_fifty_nine_questions_show_that_another_changes_nothing() -> None:
    assert Fraction(95, 100) ** 59 < Fraction(5, 100) < Fraction(95, 100) ** 58
    gold, given = sampled(59, 11)
    found = score(gold, given, gates="triplet_rate=0.95,lambda_rate=0.95")
    assert found.verdict is Verdict.SHIP
    why = "59 others came out the same under every seed, results and citations"
    assert body(found)["lambda"]["one_seed"] == {"questions": 11, "why": why}
    assert f"λ: one seed is enough for 11 questions: {why}" in found.text(full=True)
    assert f"λ: one seed is enough for 11 questions: {why}" in found.markdown()
    short, runs = sampled(58, 12)
    missed = score(short, runs, gates="triplet_rate=0.95")
    lacks = "questions were asked under one seed, which is enough where 59 others come out the same under two"
    assert reason(missed, "triplet_rate") == f"12 of 70 {lacks}"
    assert (missed.verdict, body(missed)["lambda"]["one_seed"]) == (Verdict.INVALID, None)


def test_one_question_that_differs_between_seeds_settles_it() -> None:
    gold, given = sampled(60, 5)
    given[1] = given[1] | {"topk": given[1]["topk"][::-1], "ΔS": given[1]["ΔS"][::-1]}
    found = score(gold, given, gates="triplet_rate=0.95")
    assert reason(found, "triplet_rate") == (
        "5 of 65 questions were asked under one seed, which is enough where 59 others come out the same under two"
    )
    fewer = [one for one in given if (one["qid"], one["paraphrase"]) != (given[-1]["qid"], 2)]  # a wording less, too
    missed = score(gold, fewer, gates="triplet_rate=0.95")
    assert reason(missed, "triplet_rate") == "5 of 65 questions were not asked in three wordings under two seeds"


OPEN = (
    "141 of 200 questions were asked under one seed: what the 59 others show under two leaves more open than this gate"
)


@pytest.mark.parametrize(
    ("gate", "shown"),
    [
        ({"lambda_rate": 1}, False),  # of 141 questions nobody saw a second seed: that all are at → is not shown
        ({"lambda_rate": 0.96}, False),  # 0.96^59 = 0.09, more than 0.05
        ({"lambda_rate": 0.95}, True),  # 0.95^59 = 0.0485
        ({"triplet_rate": 0.95}, True),
        ({"lambda_split": 0.04}, False),  # the same from the other side
        ({"lambda_split": 0.05}, True),
        ({"collapsed": 0}, True),  # what is at → under one seed cannot be at × under two
    ],
)
def test_a_gate_that_asks_for_more_than_the_others_show_is_not_measured(gate: Row, shown: bool) -> None:
    gold, given = sampled(59, 141)
    found = score(gold, given, gates=gate)
    judged = next(one for one in found.gates if one["metric"] == f"retrieval.{next(iter(gate))}")
    assert (judged["outcome"], judged["reason"]) == (("pass", None) if shown else ("not_measured", OPEN))
    assert found.verdict is (Verdict.SHIP if shown else Verdict.INVALID)
    gold, given = sampled(200, 0)  # with a second seed for all of them every gate passes
    assert score(gold, given, gates=gate).verdict is Verdict.SHIP


@pytest.mark.parametrize(("apart", "shown"), [(0, True), (1, False), (8, False)])
def test_a_number_near_its_limit_is_not_shown_by_one_seed(apart: int, shown: bool) -> None:
    """Of 141 questions under one seed seven may differ under another: 0.96 may be 0.925, and the limit is 0.95."""
    gold, given = sampled(59, 141)
    last = {f"Q{n}" for n in range(201 - apart, 201)}
    given = [
        one | {"answer_citations": [block(90)]} if one["qid"] in last and one["paraphrase"] == 2 else one
        for one in given
    ]
    found = score(gold, given, gates={"lambda_rate": 0.95}, defaults=False)
    assert value(found, "lambda_rate") == 1 - apart / 200
    judged = next(one for one in found.gates if one["metric"] == "retrieval.lambda_rate")
    assert (judged["outcome"], judged["reason"]) == (("pass", None) if shown else ("not_measured", OPEN))
    assert found.verdict is (Verdict.SHIP if shown else Verdict.INVALID)


def test_acceptance_targets_ask_for_two_seeds() -> None:
    for several, verdict in ((59, Verdict.INVALID), (200, Verdict.SHIP)):
        gold, given = sampled(several, 200 - several, index_hash="new")
        live = [one | {"index_hash": "old"} for one in given]
        assert score(gold, given, live=live, packs=["acceptance"]).verdict is verdict


def test_a_failing_gate_fails_whatever_the_other_seed_would_show() -> None:
    gold, given = sampled(59, 141)
    given[-1] = given[-1] | {"answer_citations": [block(70)]}  # Q200 is divided: 199/200 are at → at most
    found = score(gold, given, gates={"lambda_rate": 1})
    assert (found.verdict, value(found, "lambda_rate")) == (Verdict.NO_SHIP, 0.995)


def test_a_question_that_must_be_at_one_place_is_asked_under_two_seeds(tmp_path: Path) -> None:
    gold, given = sampled(59, 1)
    write_jsonl(tmp_path / "gold.jsonl", gold)
    write_jsonl(tmp_path / "traces.jsonl", given)
    for qid, outcome in (("Q59", "pass"), ("Q60", "not_measured")):
        (tmp_path / "ragworthy.toml").write_text(
            'version = 1\ndefaults = false\n[retrieval]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'
            f'[[gate]]\nmetric = "retrieval.lambda_rate"\nmust_pass = ["{qid}"]\n',
            encoding="utf-8",
        )
        assert rw.gate(tmp_path / "ragworthy.toml").gates[0]["outcome"] == outcome


def test_one_seed_says_what_two_would_where_others_show_it() -> None:
    gold, given = sampled(59, 3)
    # of Q62 every wording leads elsewhere: three runs that share nothing; with their likes under a second seed: divided
    given[-3:] = [one | {"answer_citations": [block(70 + nth)]} for nth, one in enumerate(given[-3:])]
    once = score(gold, given, gates="triplet_rate=0.5")
    twice = score(gold, given + [one | {"seed": 2} for one in given[-9:]], gates="triplet_rate=0.5")
    for name in ("convergence", "lambda_rate", "collapsed", "rank_tau"):
        assert value(once, name) == pytest.approx(value(twice, name)), name
    assert value(once, "triplet_rate") == pytest.approx(1 - 1 / (59 * 2 + 3))  # triplets are counted as they were run
    assert value(twice, "triplet_rate") == pytest.approx(1 - 2 / (62 * 2))
    assert body(once)["lambda"]["marks"] == body(twice)["lambda"]["marks"] == {"→": 61, "←": 0, "<>": 1, "×": 0}
    assert body(once)["lambda"]["one_seed"]["questions"] == 3
    assert body(twice)["lambda"]["one_seed"] is None
    # under another seed its wordings might lead to three more places: that none collapses is not shown
    assert score(gold, given, gates={"collapsed": 0}).verdict is Verdict.INVALID


@pytest.mark.parametrize(
    "extra",
    [
        {"deterministic": True},
        {"cited_by": "rank"},
        {"deterministic": False, "cited_by": "rank"},
        {"deterministic": True, "cited_by": "rank"},
    ],
)
def test_what_traces_say_of_themselves_is_no_proof(extra: Row) -> None:
    """Anybody can write it: only runs under two seeds show that another changes nothing."""
    gold, given = sampled(0, 3, **extra)
    assert value(score(gold, given, gates="missing=0"), "triplet_rate") is None


def test_traces_that_are_belied_by_their_seeds_are_named() -> None:
    gold, given = sampled(2, 1, cited_by="rank", deterministic=True)
    given[1] = given[1] | {"topk": given[1]["topk"][::-1], "ΔS": given[1]["ΔS"][::-1]}
    found = score(gold, given, gates="missing=0")
    assert value(found, "triplet_rate") is None
    assert warnings(found)["RW-W124"] == (
        "1 question comes out differently under another seed, though the traces say that no seed goes into their "
        "results (deterministic)"
    )


# what reranking gains


def test_uplift_is_over_the_better_list_before_it() -> None:
    gold = [question(n, relevant=[block(n), block(n, 2)], relevant_offsets=None) for n in (1, 2)]
    hits = [{"id": block(1)}, {"id": block(1, 2)}], [{"id": block(2)}, {"id": block(80)}]
    before = (
        {"bm25": [block(1), block(80)], "ann": [{"id": block(80)}, {"id": block(1, 2)}]},
        {"bm25": [block(80), block(81)], "ann": [{"id": block(2)}, {"id": block(2, 2)}]},
    )
    given = [
        trace(n, 0, 1, topk=hits[n - 1], ΔS=None, answer_citations=None, before_rerank=before[n - 1]) for n in (1, 2)
    ]
    found = score(gold, given, gates="rerank_uplift@2=0.05", k=[1, 2])
    # recall@2 after (1 + 1/2) / 2 = 0.75; bm25 (1/2 + 0) / 2 = 0.25, ann (1/2 + 1) / 2 = 0.75: no uplift
    assert value(found, "rerank_uplift@2") == 0
    assert [row["metrics"]["retrieval.rerank_uplift@2"] for row in found.rows()] == [0.5, -0.5]
    # recall@1 after 1/2; bm25 1/4 (Q1), ann 1/4 (Q2): alike, so the first by name, ann: Q1 1/2 − 0, Q2 1/2 − 1/2
    assert value(found, "rerank_uplift@1") == 0.25
    assert found.verdict is Verdict.NO_SHIP


def test_one_list_before_reranking_may_be_plain() -> None:
    given = [trace(n, 0, 1, before_rerank=[block(80), block(n)][:n]) for n in (1, 2)]
    found = score([question(1), question(2)], given, gates="rerank_uplift@1=1.0", k=[1])
    assert (value(found, "rerank_uplift@1"), found.verdict) == (1, Verdict.SHIP)


def test_an_error_counts_against_the_uplift() -> None:
    gold = [question(n) for n in range(1, 5)]
    given = [trace(n, 0, 1, before_rerank=[block(80)]) for n in (1, 2, 3)]
    given.append({"qid": gold[3]["qid"], "paraphrase": 0, "seed": 1, "topk": [], "error": "timeout"})
    found = score(gold, given, gates="rerank_uplift@1=0.6", k=[1])
    # three times 1 − 0; the search before reranking might have found everything, and nothing came of it: 0 − 1
    assert (value(found, "rerank_uplift@1"), found.verdict) == (0.5, Verdict.NO_SHIP)
    given[3] |= {"before_rerank": [block(80)]}  # what is known to have found nothing has nothing to lose
    assert value(score(gold, given, gates="rerank_uplift@1=0.6", k=[1]), "rerank_uplift@1") == 0.75


def test_uplift_is_not_measured_where_runs_lack_a_list() -> None:
    given = [trace(1, 0, 1, before_rerank={"bm25": [], "ann": []}), trace(2, 0, 1, before_rerank={"bm25": []})]
    found = score([question(1), question(2)], given, gates="missing=0")
    assert reason(found, "rerank_uplift@5") == (
        "1 of 2 runs do not hold what was found before reranking (before_rerank)"
    )
    none = score([question()], traces(), gates="missing=0,rerank_uplift@10=0.05")
    assert reason(none, "rerank_uplift@10") == "no trace holds what was found before reranking (before_rerank)"
    assert "retrieval.rerank_uplift@5" not in score([question()], traces(), gates="missing=0").metrics


# beside the index in use


def test_rho_and_identical_citations_are_those_beside_live() -> None:
    gold = [question(1), question(2)]
    live = [one | {"index_hash": "live"} for one in traces(1) + traces(2)]
    shadow = traces(1) + [
        one | {"topk": [one["topk"][nth] for nth in (0, 1, 3, 2)], "answer_citations": [block(90)]}
        if one["qid"] == "Q2" and one["seed"] == 2
        else one
        for one in traces(2)
    ]
    found = score(gold, shadow, live=live, gates="rank_rho=0.9,identical_citations=0.98")
    # Q2 under the second seed: 1 2 3 4 against 1 2 4 3, ρ = 1 − 6 · 2 / (4 · 15) = 0.8; its mean 0.9, of both 0.95
    assert value(found, "rank_rho") == pytest.approx(0.95)
    assert value(found, "identical_citations") == 0.75
    outcomes = {one["metric"]: one["outcome"] for one in found.report["gates"]}
    assert (outcomes["retrieval.rank_rho"], outcomes["retrieval.identical_citations"]) == ("pass", "fail")
    delta = body(found)["live"]["deltas"]["retrieval.rank_rho"]
    assert (delta["live"], delta["delta"]) == (None, None)  # the index in use beside itself says nothing
    # different pairs of lists: three of Q1, three of Q2 under the first seed, three under the second
    assert body(found)["live"]["churn"]["rho_mean"] == pytest.approx((6 * 1 + 3 * 0.8) / 9, abs=1e-6)


def test_gates_on_correlations_and_gains_may_be_below_nothing() -> None:
    given = [trace(1, 0, 1, **returning("ab")), trace(1, 1, 1, **returning("ba"))]
    found = score([question()], given, gates="rank_tau=-0.5")
    assert (value(found, "rank_tau"), found.verdict) == (-1, Verdict.NO_SHIP)
    assert found.metrics["retrieval.rank_tau"].low is None
    for gate, message in (
        ("rank_tau=-1", "min = -1 can never fail: the metric is never below -1"),
        ("rank_tau=1.1", "min = 1.1 can never pass: the metric is never above 1"),
    ):
        with pytest.raises(PolicyError, match=message):
            score([question()], given, gates=gate)


def test_without_live_they_are_not_measured_and_only_named_when_gated() -> None:
    found = score([question()], traces(), gates="rank_rho=0.9")
    assert reason(found, "rank_rho") == "no traces of the index in use were given (--live)"
    assert found.verdict is Verdict.INVALID
    plain = score([question()], traces(), gates="missing=0")
    assert not {"retrieval.rank_rho", "retrieval.identical_citations"} & plain.metrics.keys()


def test_two_builds_of_the_same_documents_are_alike(tmp_path: Path) -> None:
    """`index diff`: the same documents, one of them longer; what is not touched cites what it cited."""
    docs = {"a.md": "# Locks\n\nA lock is held for 45 days.\n", "b.md": "# Keys\n\nA key is rotated each year.\n"}
    for build, more in (("live", ""), ("shadow", "\nNobody rotates paper.\n")):
        (tmp_path / build).mkdir()
        for name, text in docs.items():
            (tmp_path / build / name).write_text(text + (more if name == "b.md" else ""))
        assert run_cli("index", "build", "--docs", tmp_path / build, "--out", tmp_path / f"i-{build}").code == 0
    write_jsonl(tmp_path / "gold.jsonl", [{"qid": "1", "question": "how long is a lock held", "gold_source": ["a.md"]}])
    run = run_cli("index", "diff", tmp_path / "i-live", tmp_path / "i-shadow", "--gold", tmp_path / "gold.jsonl",
                  "-o", tmp_path / "report.json", "--full")  # fmt: skip
    found = json.loads((tmp_path / "report.json").read_text())["suites"]["retrieval"]
    assert found["metrics"]["retrieval.identical_citations"]["value"] == 1, run.out
    rho = found["metrics"]["retrieval.rank_rho"]["value"]
    assert 0 < rho <= 1 and found["live"]["churn"]["rho_mean"] == pytest.approx(rho, abs=1e-6)
    assert "(Spearman)" in run.out


# the canary without an index in use


UNSEEN = "recall@5 against the index in use (give its traces with --live)"


def test_a_canary_without_live_says_what_was_not_looked_at() -> None:
    found = rw.score("retrieval", gold=[question()], traces=traces())
    assert found.verdict is Verdict.SHIP  # the gates that were judged hold
    line = f"canary: not eligible yet: 6 of 7 checks hold, and one was not looked at: {UNSEEN}"
    assert line in found.text(full=True) and line in found.markdown().replace("`", "")
    canary = body(found)["canary"]
    assert (canary["eligible"], canary["not_looked_at"], len(canary["checks"])) == (False, ["retrieval.recall@5"], 7)
    assert canary["checks"][-1] == {
        "metric": "retrieval.recall@5",
        "op": "drop<=",
        "threshold": "0.02",
        "value": None,
        "outcome": "not_measured",
        "reason": "no traces of the index in use were given (--live)",
    }


def test_a_canary_with_live_is_eligible_and_other_gates_are_none() -> None:
    live = [one | {"index_hash": "live"} for one in traces()]
    found = rw.score("retrieval", gold=[question()], traces=traces(), live=live)
    assert body(found)["canary"] is None and body(found)["live"]["canary"]["eligible"]
    text = found.text(full=True)
    assert "canary: eligible, every check holds" in text and "not looked at" not in text
    other = score(
        [question()], [trace(1, 0, 1)], gates="recall@5=0.5"
    )  # one wording: the λ of the canary is not judged
    assert body(other)["canary"] is None and "canary" not in other.text()


# records without results


def test_a_record_without_results_is_named() -> None:
    odd = {"qid": "Q2", "paraphrase": 0, "results": [{"id": block(2)}], "answer_citations": [block(2)]}
    found = score([question(1), question(2)], [trace(1, 0, 1), odd], gates="missing=0")
    assert value(found, "recall@5") == 0.5
    assert warnings(found)["RW-W05"] == (
        "1 question has a trace without topk and retrieved_ids, which counts as nothing returned, e.g. Q2"
    )
    live = {"qid": "Q2", "retrieval": {"topk": [{"id": block(2)}]}, "answer": {"citations": [block(2)]}}
    assert "RW-W05" in warnings(score([question(1), question(2)], [trace(1, 0, 1), live], gates="missing=0"))
    empty = score([question(1), question(2)], [trace(1, 0, 1), odd | {"topk": []}], gates="missing=0")
    assert "RW-W05" not in warnings(empty)


def test_records_that_name_their_wording_by_its_text_alone_stay_apart() -> None:
    """As eval_rag_precision_recall.md writes them: no `paraphrase`, no `seed`."""
    given = [
        {"qid": "Q1", "query": f"wording {nth} of Q1", "topk": [{"id": block(1 if nth == 1 else 90)}]}
        for nth in range(3)
    ]
    found = score([question()], given, gates="missing=0")
    assert value(found, "recall@5") == pytest.approx(1 / 3)
    assert "RW-W06" not in warnings(found) and body(found)["counts"]["runs"] == 3


# what was lost against another run


@pytest.mark.parametrize(
    ("metric", "drop", "worse"),
    [
        ("delta_s_within", "0.05", {"ΔS": [0.5, 0.5, 0.6, 0.7]}),
        ("delta_s_top1_within", "0.05", {"ΔS": [0.5, 0.3, 0.3, 0.3]}),
        ("delta_s_topk_median", "0.05", {"ΔS": [0.3, 0.8, 0.8, 0.9]}),
        ("delta_s_topk_p90", "0.05", {"ΔS": [0.3, 0.5, 0.9, 0.9]}),
    ],
)
def test_losses_are_proven_question_by_question(tmp_path: Path, metric: str, drop: str, worse: Row) -> None:
    gates = tmp_path / "gates.toml"
    gates.write_text(f'[[gate]]\nmetric = "retrieval.{metric}"\nmax_drop = {drop}\n')
    gold = [question(n) for n in range(1, 31)]
    live = [one | {"index_hash": "live"} for n in range(1, 31) for one in traces(n)]
    shadow = [one | worse | {"index_hash": "shadow"} for one in live]
    found = score(gold, shadow, live=live, gates=gates)
    gate = next(one for one in found.report["gates"] if one["metric"] == f"retrieval.{metric}")
    assert (gate["outcome"], gate["paired"]["worse"], gate["paired"]["better"]) == ("fail", 30, 0), gate
    same = score(gold, [one | {"index_hash": "shadow"} for one in live], live=live, gates=gates)
    assert next(one for one in same.report["gates"] if one["metric"] == f"retrieval.{metric}")["outcome"] == "pass"


def test_losses_of_order_and_agreement_are_proven_too(tmp_path: Path) -> None:
    gates = tmp_path / "gates.toml"
    gates.write_text(
        '[[gate]]\nmetric = "retrieval.rank_tau"\nmax_drop = 0.1\n\n'
        '[[gate]]\nmetric = "retrieval.lambda_rate"\nmax_drop = 0.1\n'
    )
    gold = [question(n) for n in range(1, 31)]
    live = [one | {"index_hash": "live"} for n in range(1, 31) for one in traces(n)]
    other = {"topk": [{"id": block(90)}, {"id": block(95)}], "ΔS": None, "answer_citations": [block(90)]}
    shadow = [one | (other if one["paraphrase"] == 2 else {}) | {"index_hash": "shadow"} for one in live]
    found = score(gold, shadow, live=live, gates=gates)
    outcomes = {one["metric"]: one["outcome"] for one in found.report["gates"]}
    assert (outcomes["retrieval.rank_tau"], outcomes["retrieval.lambda_rate"]) == ("fail", "fail")


def test_what_fails_comes_with_what_to_do() -> None:
    live = [one | {"index_hash": "live", "before_rerank": [block(1)]} for one in traces()]
    other = {"topk": [{"id": block(90)}, {"id": block(1)}], "ΔS": [0.9, 0.9], "answer_citations": [block(90)]}
    shadow = [one | {"index_hash": "shadow"} | (other if one["paraphrase"] else {}) for one in live]
    gates = "delta_s_topk_median=0.3,rank_tau=0.9,rerank_uplift@1=0.05,rank_rho=0.9,identical_citations=0.98"
    found = score([question()], shadow, live=live, gates=gates, k=[1, 5])
    told = [one["pattern"] for one in found.report["next"]]
    for pattern in (
        "results are far from the question",
        "runs of a question return results in different orders",
        "reranking gains too little",
        "results or citations are not those of the index in use",
    ):
        assert pattern in told, told


def test_a_value_is_not_rounded_across_the_edge_of_a_review_band(tmp_path: Path) -> None:
    gates = tmp_path / "gates.toml"
    gates.write_text('[[gate]]\nmetric = "retrieval.delta_s_median"\nmax = 0.45\nreview = [0.45, 0.599999]\n')
    found = score([question()], traces(ΔS=[0.599999, 0.5, 0.6, 0.7]), gates=str(gates), defaults=False)
    assert found.report["gates"][0]["shown"]["value"] == "0.599999"


def test_bytes_of_several_normalisers_carry_no_verdict_on_offsets() -> None:
    mixed = [trace(1, *key, normaliser_id=f"n/{key[1]}") for key in RUNS]
    found = score([question()], mixed, gates="citation_accuracy=0.5", defaults=False)
    told = "retrieval.citation_accuracy compares bytes, and the traces come from several normalisers: n/1, n/2"
    assert found.report["invalid"] == [told]
    assert score([question()], mixed, gates="recall@5=0.5", defaults=False).report["invalid"] == []
