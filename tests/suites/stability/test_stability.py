"""The stability suite: worked examples, an independent second computation, and what becomes of every run."""

import json
import random
import re
import statistics
import string
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Row, run_cli, write_jsonl
from ragworthy import flow
from ragworthy.errors import DataError, PolicyError
from ragworthy.gates import EACH, MAX, MIN, Gate
from ragworthy.metrics import stability as suite
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.registry import all_metrics
from ragworthy.records import Gold, Run
from ragworthy.suites.stability import Stability
from ragworthy.suites.stability.blame import fault
from ragworthy.suites.stability.rules import STABILITY_GATES

STEADY = settings(deadline=None, derandomize=True, database=None)
LIMITS = {"acr": "0.95", "cghc": "0.95", "css": "0.70", "ned50": "0.20", "refusal_rate": "0.98"}
NULL = "X rejects null keys."


def gold(qid: str = "q1", **more: Any) -> Row:
    return {
        "qid": qid,
        "question": f"Explain how X treats null keys in {qid}?",
        "answerable": True,
        "gold_claim_substr": ["rejects null keys"],
        "gold_citations": ["p1#2"],
    } | more


def none(qid: str = "q2") -> Row:
    return {"qid": qid, "question": f"What is Z in {qid}?", "answerable": False}


def run(qid: str, seed: int, claim: str, *cited: str, jitter: str = "none", **more: Any) -> Row:
    answer = {"claim": claim, "citations": list(cited)}
    retrieved = ["p1#1", "p1#2", "p2#1"]
    return {"qid": qid, "seed": seed, "jitter": jitter, "answer_json": answer, "retrieved_ids": retrieved} | more


def question_of(item: Row, rows: Sequence[Row], rules: f.Rules | None = None) -> suite.Question:
    rules = rules or f.Rules()
    said = suite.said_by(rules)
    record = msgspec.convert(item, Gold)
    runs = tuple(said(record, msgspec.convert(row, Run)) for row in rows)
    return suite.judged(suite.Question(record.answerable, rules.scu and bool(record.constraints), runs), LIMITS)


def scored(golds: Sequence[Row], runs: Sequence[Row], **options: Any) -> flow.Run:
    given = {"settings": Stability(), "gates": STABILITY_GATES} | options
    return flow.score(flow.Request("stability", {"gold": list(golds), "runs": list(runs)}, **given))


def body_of(done: flow.Run) -> dict[str, Any]:
    body: dict[str, Any] = done.report["suites"]["stability"]
    return body


def warned(done: flow.Run) -> dict[str, str]:
    return {one["code"]: one["message"] for one in body_of(done)["warnings"]}


# how claims are compared


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("X rejects null keys .", "x rejects null keys"),
        ("  A,b — c… ", "ab c"),
        ("Ｆｕｌｌ！　ＷＩＤＥ", "full wide"),
        ("「空键」，被拒绝。", "空键被拒绝"),
        ("C++ costs 5 $", "c++ costs 5 $"),
        ("?!.", ""),
    ],
)
def test_claims_are_compared_without_case_punctuation_and_blanks(text: str, wanted: str) -> None:
    assert suite.canon(text) == wanted


@STEADY
@given(st.text())
def test_canon_once_is_enough(text: str) -> None:
    once = suite.canon(text)
    assert once == " ".join(once.split())
    assert not set(once) & set(string.punctuation) - set("$+<=>^`|~")


@pytest.mark.parametrize(
    ("pieces", "claim", "wanted"),
    [
        (["only domain example.com"], "The only domain: example.com!", True),
        (["null keys"], "It rejects NULL-keys", False),
        (["null"], "It rejects null keys", False),
        (["?!?!?"], "It rejects null keys", False),
        (["?!?!?", "rejects"], "It rejects null keys", True),
        ([], "It rejects null keys", True),
        ([], "", False),
    ],
)
def test_containment(pieces: list[str], claim: str, wanted: bool) -> None:
    question = question_of(gold(gold_claim_substr=pieces), [run("q1", 0, claim, "p1#2")])
    assert question.runs[0].contains is wanted


def test_short_pieces_count_as_words_where_asked() -> None:
    record = msgspec.convert(gold(gold_claim_substr=["null"]), Gold)
    answer = msgspec.convert(run("q1", 0, "It rejects null keys", "p1#2"), Run)
    nulls = msgspec.convert(run("q1", 0, "It rejects nulls", "p1#2"), Run)
    said = suite.said_by(f.Rules(short_words=True))
    assert (said(record, answer).contains, said(record, nulls).contains) == (True, False)


# worked examples


def test_w43_default() -> None:
    question = question_of(
        gold(),
        [
            run("q1", 0, "X rejects null keys.", "p1#2"),
            run("q1", 1, "X rejects null keys", "p1#2"),
            run("q1", 2, "X always rejects null keys.", "p1#2", "p2#1"),
            run("q1", 3, "not in context"),
        ],
    )
    assert suite.acr(question) == (3, 4)
    assert suite.cghc(question) == (3, 4)
    assert suite.css(question) == 0  # the refusal cites nothing, so nothing is cited in all runs
    # "x rejects null keys" has 19 signs, "x always rejects null keys" 26: 7 are put in. 0, 7/26, 7/26 → 7/26.
    assert suite.ned50(question) == Fraction(7, 26)
    assert suite.rcr(question) == (3, 4)
    assert suite.iaa(question) == Fraction(1, 6)  # only the first two runs agree
    assert suite.scu_consistency(question) is None
    assert [one.name for one in question.broken] == ["acr", "cghc", "css", "ned50"]
    assert suite.failing_questions(question) is True
    assert fault(question)[1:3] == ("refusal", "refused in 1 of 4 runs")


def test_w43_a_blank_before_the_full_stop_does_not_count() -> None:
    claims = ["X rejects null keys."] * 3 + ["X rejects null keys ."]
    question = question_of(gold(), [run("q1", seed, claim, "p1#2") for seed, claim in enumerate(claims)])
    assert suite.ned50(question) == 0
    assert suite.iaa(question) == 1
    assert question.broken == ()


@pytest.mark.parametrize(("refusals", "rate"), [(0, "0"), (4, "4/5")])
def test_w44_always_answering_fails(refusals: int, rate: str) -> None:
    claims = ["not in context"] * refusals + ["Z is a thing"] * (5 - refusals)
    question = question_of(none(), [run("q2", seed, claim) for seed, claim in enumerate(claims)])
    assert question.broken == (suite.Broken("refusal_rate", Fraction(rate), "0.98"),)
    assert suite.rcr(question) == (max(refusals, 5 - refusals), 5)
    assert fault(question).label == "HALLUCINATION"


def test_limits_hold_at_the_edge() -> None:
    right, other = run("q1", 0, NULL, "p1#2"), run("q1", 0, "something else", "p1#2")
    assert question_of(gold(), [right] * 19 + [other]).broken == ()  # 19/20 = 0.95
    assert [one.name for one in question_of(gold(), [right] * 18 + [other]).broken] == ["acr"]  # 18/19 < 0.95
    apart = [run("q1", seed, claim, "p1#2") for seed, claim in enumerate(("abcde", "abcdx"))]
    question = question_of(gold(gold_claim_substr=[]), apart)
    assert (suite.ned50(question), question.broken) == (Fraction(1, 5), ())
    cited = [run("q1", 0, NULL, *(f"p{n}" for n in range(10))), run("q1", 1, NULL, *(f"p{n}" for n in range(7)))]
    assert suite.css(question_of(gold(), cited)) == Fraction(7, 10)
    assert "css" not in {one.name for one in question_of(gold(), cited).broken}


def test_fewer_than_two_claims_have_no_distance_and_fail_by_containment() -> None:
    question = question_of(gold(), [run("q1", 0, NULL, "p1#2"), run("q1", 1, "not in context")])
    assert suite.ned50(question) is None
    assert [one.name for one in question.broken] == ["acr", "cghc", "css"]


def test_constraints_must_be_echoed_in_every_run() -> None:
    def echoing(seed: int, echo: Any) -> Row:
        answer = {"claim": NULL, "citations": ["p1#2"], "constraints_echo": echo}
        return run("q1", seed, NULL, "p1#2", answer_json=answer)

    item, enforced = gold(constraints=["a", "b"]), f.Rules(scu=True)
    assert question_of(item, [echoing(0, ["b ", "a"]), echoing(1, ["a", "b"])], enforced).broken == ()
    for echo in (["a"], ["a", "b", "c"], None, "ab", ["a", 1]):
        assert question_of(item, [echoing(0, ["a", "b"]), echoing(1, echo)]).broken == ()
        question = question_of(item, [echoing(0, ["a", "b"]), echoing(1, echo)], enforced)
        assert question.broken == (suite.Broken("scu_consistency", Fraction(0), "1"),)
        assert fault(question).label == "SCU_VIOLATION"
        assert fault(question).stage == "constraints"


# a second computation, written apart


@cache
def levenshtein(a: str, b: str) -> int:
    """The edit distance by its definition."""
    if not a or not b:
        return len(a) + len(b)
    if a[-1] == b[-1]:
        return levenshtein(a[:-1], b[:-1])
    return 1 + min(levenshtein(a[:-1], b), levenshtein(a, b[:-1]), levenshtein(a[:-1], b[:-1]))


CLAIMS = ("not in context", "NOT in context ", "rejects null", "rejects null.", "Rejects a null", "keys", "", "nulls")
RUNS = st.lists(
    st.tuples(
        st.sampled_from(CLAIMS),
        st.sets(st.sampled_from(["g1", "g2", "n1", "out"])),
        st.permutations(["g1", "g2", "n1"]),
    ),
    min_size=1,
    max_size=7,
)


def brute(answerable: bool, runs: Sequence[tuple[str, set[str], list[str]]]) -> dict[str, Fraction | None]:
    """All numbers of one question from their definitions, with pairs counted one by one."""
    refused = [claim.strip().lower() == "not in context" for claim, _, _ in runs]
    plain = [re.sub(r"[^a-z ]", "", claim.lower()).strip() for claim, _, _ in runs]
    said = ["" if no else one for no, one in zip(refused, plain, strict=True)]
    cited = [set() if no else some for no, (_, some, _) in zip(refused, runs, strict=True)]
    size = len(runs)
    pairs = [(i, j) for i in range(size) for j in range(i)]
    alike = [(refused[i], said[i], cited[i]) == (refused[j], said[j], cited[j]) for i, j in pairs]
    spoken = [(i, j) for i, j in pairs if said[i] and said[j]]
    far = [Fraction(levenshtein(said[i], said[j]), max(len(said[i]), len(said[j]))) for i, j in spoken]
    contains = sum("rejects null" in one for one in said)
    hits = sum(bool(some & {"g1", "g2"}) and "out" not in some for some in cited)
    everywhere = [one for one in ("g1", "g2", "n1", "out") if all(one in some for some in cited)]
    anywhere = [one for one in ("g1", "g2", "n1", "out") if any(one in some for some in cited)]
    only = {
        "acr": Fraction(contains, size),
        "cghc": Fraction(hits, size),
        "css": Fraction(len(everywhere), len(anywhere)) if anywhere else Fraction(1),
        "ned50": Fraction(statistics.median(far)) if far else None,
    }
    return {
        **{name: number if answerable else None for name, number in only.items()},
        "refusal_rate": None if answerable else Fraction(sum(refused), size),
        "rcr": Fraction(max(sum(refused), size - sum(refused)), size),
        "iaa": Fraction(sum(alike), len(pairs)) if pairs else None,
    }


def number_of(word: Any) -> Fraction | None:
    return None if word is None else Fraction(*word) if isinstance(word, tuple) else Fraction(word)


@STEADY
@given(st.booleans(), RUNS)
def test_every_metric_equals_a_second_computation(
    answerable: bool, runs: list[tuple[str, set[str], list[str]]]
) -> None:
    item = gold(answerable=answerable, gold_claim_substr=["rejects null"], gold_citations=["g1", "g2"])
    rows = [
        run("q1", seed, claim, *sorted(cited), retrieved_ids=order) for seed, (claim, cited, order) in enumerate(runs)
    ]
    question = question_of(item, rows)
    wanted = brute(answerable, runs)
    for name, number in wanted.items():
        assert number_of(all_metrics("stability")[f"stability.{name}"].of(question)) == number, name
    assert all(number is None or 0 <= number <= 1 for number in wanted.values())
    shuffled = random.Random(len(rows)).sample(rows, len(rows))
    other = question_of(item, shuffled)
    assert other.broken == question.broken
    assert fault(other) == fault(question)


@STEADY
@given(st.booleans(), st.sampled_from(CLAIMS), st.sets(st.sampled_from(["p1#2", "p2#1"])), st.integers(2, 9))
def test_runs_that_are_the_same_are_perfectly_stable(answerable: bool, claim: str, cited: set[str], times: int) -> None:
    item = gold(answerable=answerable)
    question = question_of(item, [run("q1", seed, claim, *sorted(cited)) for seed in range(times)])
    assert suite.rcr(question) == (times, times)
    assert suite.iaa(question) == 1
    assert suite.css(question) in (None, 1)
    assert suite.ned50(question) in (None, 0)
    for word in (suite.acr(question), suite.cghc(question), suite.refusal_rate(question)):
        assert word is None or word in ((0, times), (times, times))


# whom to blame


@pytest.mark.parametrize(
    ("rows", "stage", "what"),
    [
        (
            [run("q1", 0, NULL, "p1#2"), run("q1", 1, NULL, "p2#1")],
            ("citation", "citations change between runs; every run retrieved the same"),
            "ANS_NO_HIT",
        ),
        (
            [run("q1", 0, NULL, "p1#2"), run("q1", 1, NULL, "p2#1", retrieved_ids=["p2#1"])],
            ("retrieval", "citations change between runs; what is retrieved changes too"),
            "ANS_NO_HIT",
        ),
        (
            [run("q1", seed, NULL, "p9", retrieved_ids=["p9"]) for seed in (0, 1)],
            ("retrieval", "no gold evidence cited in 2 of 2 runs; no gold evidence was retrieved"),
            "ANS_NO_HIT",
        ),
        (
            [run("q1", 0, NULL, "p1#2"), run("q1", 1, "Something else", "p1#2")],
            ("generation", "the claim changes between runs"),
            "ANS_NO_CONTAIN",
        ),
        (
            [run("q1", seed, "Wrong", "p1#2") for seed in (0, 1)],
            ("generation", "every claim lacks the gold text"),
            "ANS_NO_CONTAIN",
        ),
        (
            [run("q1", 0, NULL, "p1#2"), run("q1", 1, NULL, "p1#2", "p1#1", "p2#1")],
            ("citation", "citations change between runs; every run retrieved the same"),
            "UNSTABLE",
        ),
        (
            [run("q1", 0, NULL, "p1#2"), {"qid": "q1", "seed": 1, "error": "timeout"}],
            ("pipeline", "the pipeline reported an error in 1 of 2 runs"),
            "ERROR",
        ),
        ([], ("pipeline", "no run was written for this question"), "MISSING"),
    ],
)
def test_the_stage_to_blame(rows: list[Row], stage: tuple[str, str], what: str) -> None:
    question = question_of(gold(), rows)
    assert fault(question)[1:3] == stage
    assert fault(question).label == what


# what becomes of every run


def test_a_steady_pipeline_ships() -> None:
    golds = [gold(), none()]
    runs = [run("q1", seed, NULL, "p1#2", jitter=name) for seed in (0, 1) for name in ("none", "ws")]
    runs += [run("q2", seed, "not in context", jitter=name) for seed in (0, 1) for name in ("none", "ws")]
    done = scored(golds, runs)
    body = body_of(done)
    assert (done.verdict, done.report["invalid"]) == ("SHIP", [])
    assert body["labels"] == {"OK": 1, "REFUSAL_OK": 1}
    assert (body["stages"], body["offenders"], body["worst"]) == ({}, [], [])
    assert body["design"] == {
        "seeds": [0, 1],
        "jitters": ["none", "ws"],
        "paraphrases": [0],
        "configurations": 1,
        "variations": 4,
        "runs_per_question": {"least": 4, "most": 4},
        "noops": {},
        "uneven": 0,
        "uneven_qids": [],
    }
    values = {name: (one["num"], one["den"]) for name, one in body["metrics"].items()}
    assert values["stability.acr"] == (4, 4)
    assert values["stability.refusal_rate"] == (4, 4)
    assert values["stability.rcr"] == (8, 8)
    assert values["stability.failing_questions"] == (0, None)


def test_every_run_is_accounted_for() -> None:
    runs = [
        run("q1", 0, NULL, "p1#2", q="Explain X?"),
        run("q1", 0, NULL, "p1#2", jitter="ws", q="Explain X?"),  # the same text: a noop
        run("q1", 0, "Other words", "p2#1", jitter="syn", noop=True),  # said to be one, and answered differently
        run("q1", 0, NULL, "p1#2", jitter="punct", q="Explain X ?"),
        run("q1", 1, "Wrong", "p2#1", q="Explain X?"),
        run("q1", 1, NULL, "p1#2", q="Explain X?"),  # the last record of a run_id stands
        run("q1", 7, "Warm", warmup=True),
        run("q1", 2, "", error={"kind": "timeout"}),
    ]
    done = scored([gold(), none()], [*runs, run("q2", 0, "not in context")])
    counts = body_of(done)["counts"]
    assert counts["runs"] == 9
    ways = ("counted_runs", "noop_runs", "duplicate_runs", "warmup_runs")
    assert [counts[key] for key in ways] == [6, 1, 1, 1]
    assert counts["runs"] == sum(counts[key] for key in ways)
    assert (counts["errored_runs"], counts["refused_runs"]) == (1, 1)
    rows = list(done.rows())
    assert [(row["qid"], row["runs"], row["noops"]) for row in rows] == [("q1", 5, 1), ("q2", 1, 0)]
    assert rows[0]["metrics"]["stability.acr"] == 0.6  # the noop that answered differently counts
    assert body_of(done)["design"]["noops"] == {"ws": 1}
    said = warned(done)
    assert said["RW-W66"] == "1 run was replaced by a later one with its run_id"
    assert said["RW-W53"] == "1 run left out: the jitter changed nothing (ws 1)"
    assert said["RW-W54"] == "1 run answered differently for the same question and seed"
    assert said["RW-W55"] == "1 question has one run that counts"
    assert said["RW-W56"] == "1 question not asked in all 6 variations"
    assert said["RW-W24"] == "1 run with an error instead of an answer"


def test_without_the_plain_question_the_first_noop_stands_for_it() -> None:
    runs = [run("q1", 0, NULL, "p1#2", jitter=name, noop=True) for name in ("ws", "syn", "punct")]
    body = body_of(scored([gold()], runs))
    assert (body["counts"]["counted_runs"], body["counts"]["noop_runs"]) == (1, 2)
    assert body["design"]["noops"] == {"syn": 1, "ws": 1}


def test_a_plain_run_is_never_a_noop() -> None:
    runs = [run("q1", seed, NULL, "p1#2", noop=True, q="X?") for seed in (0, 1)]
    runs.append(run("q1", 0, NULL, "p1#2", noop=True, q="X?", run_id="once more"))
    counts = body_of(scored([gold()], runs))["counts"]
    assert (counts["counted_runs"], counts["noop_runs"]) == (3, 0)


def test_paraphrases_and_configurations_are_runs_of_their_own() -> None:
    runs = [run("q1", 0, NULL, "p1#2", paraphrase=n, q=f"X {n}?", config_id=name) for n in (0, 1) for name in "ab"]
    done = scored([gold()], runs)
    assert body_of(done)["counts"]["counted_runs"] == 4
    assert body_of(done)["design"]["paraphrases"] == [0, 1]
    assert warned(done)["RW-W57"] == "runs of 2 configurations are mixed"


def test_a_question_without_runs_fails_and_makes_the_evidence_invalid() -> None:
    done = scored([gold(), none()], [run("q1", seed, NULL, "p1#2") for seed in (0, 1)])
    assert (done.verdict, done.report["invalid"]) == ("INVALID", ["1 question has no run"])
    body = body_of(done)
    assert body["labels"] == {"OK": 1, "MISSING": 1}
    assert body["metrics"]["stability.failing_questions"]["value"] == 1
    assert body["metrics"]["stability.missing"]["value"] == 1
    assert body["offenders"][0] | {"question": ""} == {
        "qid": "q2", "label": "MISSING", "stage": "pipeline", "cause": "missing",
        "why": "no run was written for this question",
        "question": "", "claim": None, "citations": [], "retrieved_ids": [], "gold_citations": [], "runs": 0,
        "run": None, "broken": {},
    }  # fmt: skip
    ledger = body["metrics"]["stability.acr"]["ledger"]
    assert ledger == {"expected": 2, "scored": 1, "refused": 0, "missing": 1, "errored": 0, "not_applicable": 0}


def test_offenders_say_which_limits_with_numbers() -> None:
    claims = [NULL, NULL, "X always rejects null keys.", "not in context"]
    cited = [["p1#2"], ["p1#2"], ["p1#2", "p2#1"], []]
    runs = [run("q1", seed, claim, *some) for seed, (claim, some) in enumerate(zip(claims, cited, strict=True))]
    done = scored([gold()], runs)
    (one,) = body_of(done)["offenders"]
    wanted = "refused in 1 of 4 runs: acr 0.75 < 0.95, cghc 0.75 < 0.95, css 0.0 < 0.70, ned50 0.2692 > 0.20"
    assert (one["label"], one["why"], one["run"]) == ("OVER_REFUSAL", wanted, "q1#seed=3;j=none")
    assert one["broken"]["ned50"] == {"value": 7 / 26, "limit": "0.20"}
    assert (done.verdict, done.report["next"][0]["pattern"]) == ("NO-SHIP", "refusals come and go (1 question)")


@pytest.mark.parametrize(
    ("golds", "runs", "line"),
    [
        (
            [gold()],
            [run("q1", 0, NULL), run("q9", 0, NULL)],
            '<trace>:2: qid: expected a qid of the gold set, got "q9" [RW-T11]',
        ),
        ([gold()], [{"seed": 1}], "<trace>:1: qid: expected a non-empty string, got nothing [RW-T01]"),
        (
            [gold()],
            [run("q1", 0, NULL) | {"seed": "a"}],
            "<trace>:1: seed: expected a whole number, got a string [RW-T02]",
        ),
        ([gold(), gold()], [], '<gold>:2: qid: expected a unique id, got "q1" again [RW-G02]'),
        ([gold(qid="")], [], "<gold>:1: qid: expected a non-empty string, got nothing [RW-G01]"),
        ([], [], "<gold>: expected gold records, got none [RW-G05]"),
        (
            [gold(gold_citations=[], gold_claim_substr=[])],
            [],
            "<gold>:1: gold_citations: expected gold text or evidence for an answerable question, got neither [RW-G06]",
        ),
    ],
)
def test_faults_of_the_files_are_named(golds: list[Row], runs: list[Row], line: str) -> None:
    with pytest.raises(DataError) as caught:
        scored(golds, runs)
    assert str(caught.value).splitlines()[0] == line


def test_gold_errors_can_be_allowed() -> None:
    runs = [run("q1", seed, NULL) for seed in (0, 1)]
    done = scored([gold(gold_citations=[], gold_claim_substr=[])], runs, allow_gold_errors=True)
    assert body_of(done)["counts"]["counted_runs"] == 2


# splitting, single questions, damage


def test_slices() -> None:
    golds = [gold("a", topic="x"), gold("b", topic="y"), gold("c", topic=["x", "y"])]
    runs = [run(qid, seed, NULL if qid != "b" or seed else "Wrong", "p1#2") for qid in "abc" for seed in (0, 1)]
    done = scored(golds, runs, settings=Stability(slices=("topic",)))
    slices = body_of(done)["slices"]
    assert {name: one["stability.acr"]["num"] for name, one in slices.items()} == {"topic=x": 4, "topic=y": 3}
    assert slices["topic=y"]["stability.failing_questions"]["value"] == 1
    with pytest.raises(PolicyError) as caught:
        scored(golds, runs, settings=Stability(slices=("colour",)))
    assert (
        str(caught.value).splitlines()[0]
        == 'stability.slices: expected a field that gold items have, got "colour" [RW-P03]'
    )
    many = [gold(f"q{n}", topic=n) for n in range(201)]
    with pytest.raises(PolicyError, match="expected at most 200 slices, got 201"):
        scored(many, [], settings=Stability(slices=("topic",)))


def test_intervals_rest_on_questions_that_are_different() -> None:
    golds = [gold(f"q{n}", question="The same?") for n in range(3)]
    runs = [run(one["qid"], seed, NULL, "p1#2") for one in golds for seed in range(4)]
    done = scored(golds, runs)
    one = body_of(done)["metrics"]["stability.acr"]
    assert (one["num"], one["den"], one["distinct"]) == (12, 12, 1)
    assert one["low"] == pytest.approx(1 / (1 + 1.959963984540054**2))  # Wilson, one of one
    assert warned(done)["RW-W41"] == "3 questions, but only 1 different"


def test_must_pass_means_within_its_limit() -> None:
    golds = [gold("a"), gold("b")]
    runs = [run("a", seed, NULL, "p1#2") for seed in range(20)]
    runs += [run("b", seed, NULL if seed else "Wrong", "p1#2") for seed in range(20)]  # 19/20 is enough
    runs[0] = run("a", 0, "not in context")

    def outcome(metric: str, *qids: str) -> tuple[str, tuple[str, ...]]:
        gate = Gate(metric, EACH, str(len(qids)), must_pass=qids)
        judged = scored(golds, runs, gates=(gate,)).judged[0]
        return judged.outcome.value, judged.failing

    assert outcome("stability.acr", "a", "b") == ("pass", ())
    assert outcome("stability.css", "a", "b") == ("fail", ("a",))
    assert outcome("stability.failing_questions", "a", "b") == ("fail", ("a",))
    assert outcome("stability.ned50", "a", "b") == ("pass", ())
    assert outcome("stability.refusal_rate", "a") == ("not_measured", ())
    assert outcome("stability.rcr", "b") == ("pass", ())
    with pytest.raises(PolicyError) as caught:
        outcome("stability.acr", "zz")
    line = 'stability.acr: must_pass: expected a qid of the gold set, got "zz" [RW-P09]'
    assert str(caught.value).splitlines()[0] == line


def test_damage_is_done_to_every_run() -> None:
    runs = [run("q1", seed, NULL, "p1#2") for seed in (0, 1)]
    gone = scored([gold()], runs, damage=lambda record: None)
    assert (gone.verdict, body_of(gone)["counts"]["runs"]) == ("INVALID", 0)
    silent = scored([gold()], runs, damage=lambda record: msgspec.structs.replace(record, answer_json=None))
    assert body_of(silent)["metrics"]["stability.acr"]["num"] == 0


def test_limits_can_be_set() -> None:
    runs = [run("q1", 0, NULL, "p1#2"), run("q1", 1, "X always rejects null keys.", "p1#2")]
    loose = tuple(f"{name}={'0.30' if name == 'ned50' else limit}" for name, limit in LIMITS.items())
    assert body_of(scored([gold()], runs))["labels"] == {"UNSTABLE": 1}
    assert body_of(scored([gold()], runs, settings=Stability(limits=loose)))["labels"] == {"OK": 1}


def test_the_order_of_the_runs_changes_nothing() -> None:
    golds = [gold("a"), gold("b"), none("c")]
    chance = random.Random(7)
    claims = [NULL, "X always rejects null keys", "not in context", "Z"]
    runs = [
        run(
            qid,
            seed,
            chance.choice(claims),
            *chance.sample(["p1#1", "p1#2", "p2#1"], 2),
            jitter=name,
            noop=name == "ws",
        )
        for qid in "abc"
        for seed in range(3)
        for name in ("none", "ws", "syn")
    ]
    shuffled = chance.sample(runs, len(runs))
    first, second = scored(golds, runs), scored(golds, shuffled)
    assert list(first.rows()) == list(second.rows())
    bodies = [body_of(one) | {"inputs": []} for one in (first, second)]
    assert json.dumps(bodies[0]) == json.dumps(bodies[1])


# an error, one run, noops


def test_what_came_before_an_error_is_no_answer() -> None:
    runs = [run("q1", seed, NULL, "p1#2") for seed in (0, 1)]
    assert scored([gold()], runs).verdict == "SHIP"
    done = scored([gold()], [runs[0], runs[1] | {"error": "timeout"}])
    assert done.verdict == "NO-SHIP"
    metrics = body_of(done)["metrics"]
    assert [metrics[f"stability.{name}"]["num"] for name in ("acr", "cghc")] == [1, 1]
    assert body_of(done)["counts"]["errored_runs"] == 1
    question = question_of(gold(), [runs[0], runs[1] | {"error": "timeout"}])
    assert suite.css(question) == suite.iaa(question) == 0  # nothing is cited or said there
    assert suite.ned50(question) == 1  # an error is like nothing
    closed = [run("q2", seed, "not in context") for seed in (0, 1)]
    assert scored([none()], closed).verdict == "SHIP"
    assert scored([none()], [closed[0], closed[1] | {"error": "timeout"}]).verdict == "NO-SHIP"


def test_a_noop_that_answers_differently_counts() -> None:
    plain = [run("q1", seed, NULL, "p1#2", q="X?") for seed in (0, 1)]
    same = run("q1", 0, NULL, "p1#2", jitter="ws", q="X?")
    other = run("q1", 0, "Something else", "p2#1", jitter="ws", q="X?")
    steady = scored([gold()], [*plain, same])
    assert (steady.verdict, body_of(steady)["counts"]["counted_runs"]) == ("SHIP", 2)
    done = scored([gold()], [*plain, other])
    assert (done.verdict, body_of(done)["counts"]["counted_runs"]) == ("NO-SHIP", 3)
    assert (body_of(done)["counts"]["noop_runs"], body_of(done)["metrics"]["stability.acr"]["num"]) == (0, 2)
    assert warned(done)["RW-W54"] == "1 run answered differently for the same question and seed"


def test_one_run_of_a_question_shows_nothing(tmp_path: Path) -> None:
    reason = "1 of 2 questions have one run only: nothing to compare it with"
    twice = [run("q1", seed, NULL, "p1#2") for seed in (0, 1)]
    done = scored([gold(), none()], [*twice, run("q2", 0, "not in context")])
    (gate,) = [one for one in done.judged if one.gate.metric == "stability.failing_questions"]
    assert (done.verdict, gate.outcome.value, gate.reason) == ("INCONCLUSIVE", "undecided", reason)
    wrong = scored([gold(), none()], [*twice, run("q2", 0, "Z is a thing")])
    assert wrong.verdict == "NO-SHIP"  # what fails in one run fails
    files = (
        *("--gold", write_jsonl(tmp_path / "gold.jsonl", [gold()])),
        *("--runs", write_jsonl(tmp_path / "runs.jsonl", twice[:1])),
    )
    assert run_cli("score", "stability", *files).code == 3


def test_one_run_leaves_what_compares_runs_undecided_and_nothing_else() -> None:
    names = ("failing_questions", "css", "rcr", "acr", "cghc", "refusal_rate")
    gates = tuple(
        Gate("stability.failing_questions", MAX, "0") if name == names[0] else Gate(f"stability.{name}", MIN, "0.5")
        for name in names
    )
    golds = [gold(), none()]

    def outcomes(runs: list[Row]) -> dict[str, str]:
        judged = scored(golds, runs, gates=gates).judged
        return {one.gate.metric.removeprefix("stability."): one.outcome.value for one in judged}

    once = [run("q1", 0, NULL, "p1#2"), run("q2", 0, "not in context")]
    twice = [*once, run("q1", 1, NULL, "p1#2"), run("q2", 1, "not in context")]
    assert outcomes(twice) == dict.fromkeys((*names, "missing"), "pass")
    expected = {name: "undecided" if name in names[:3] else "pass" for name in (*names, "missing")}
    assert outcomes(once) == expected
    assert outcomes(twice[:3]) == expected  # one question with one run is enough
    moving = [*once[:1], run("q1", 1, NULL, "p2#1"), once[1]]
    assert outcomes(moving)["css"] == "fail"  # what fails is decided


@pytest.mark.parametrize("name", ["css", "rcr"])
def test_a_gate_that_only_compares_runs_is_inconclusive_with_one(name: str) -> None:
    gates = (Gate(f"stability.{name}", MIN, "0.5"),)
    runs = [run("q1", seed, NULL, "p1#2") for seed in (0, 1)]
    assert [scored([gold()], runs[:n], gates=gates).verdict for n in (1, 2)] == ["INCONCLUSIVE", "SHIP"]
    right = (Gate("stability.acr", MIN, "0.5"),)
    assert scored([gold()], runs[:1], gates=right).verdict == "SHIP"  # one run can be right


def test_a_noop_that_differs_in_its_echo_alone_counts() -> None:
    def echoing(echo: list[str], seed: int = 0, jitter: str = "none") -> Row:
        answer = {"claim": NULL, "citations": ["p1#2"], "constraints_echo": echo}
        return run("q1", seed, NULL, "p1#2", q="X?", jitter=jitter, answer_json=answer)

    item, plain = gold(constraints=["a", "b"]), [echoing(["a", "b"], seed) for seed in (0, 1)]
    enforced = {"settings": Stability(scu=True)}
    same = scored([item], [*plain, echoing(["b", "a"], jitter="ws")], **enforced)
    assert (same.verdict, body_of(same)["counts"]["noop_runs"], "RW-W54" in warned(same)) == ("SHIP", 1, False)
    unasked = scored([item], [*plain, echoing(["a"], jitter="ws")])
    assert (unasked.verdict, body_of(unasked)["counts"]["noop_runs"]) == ("SHIP", 1)
    done = scored([item], [*plain, echoing(["a"], jitter="ws")], **enforced)
    counts = body_of(done)["counts"]
    assert (done.verdict, counts["counted_runs"], counts["noop_runs"]) == ("NO-SHIP", 3, 0)
    assert warned(done)["RW-W54"] == "1 run answered differently for the same question and seed"
    assert [row["label"] for row in done.rows()] == ["SCU_VIOLATION"]


def test_a_noop_whose_citation_was_not_retrieved_counts() -> None:
    plain = [run("q1", seed, NULL, "p1#2", q="X?") for seed in (0, 1)]
    noop = run("q1", 0, NULL, "p1#2", jitter="ws", q="X?")
    other_order = scored([gold()], [*plain, noop | {"retrieved_ids": ["p1#2", "p9#9"]}])
    assert (other_order.verdict, body_of(other_order)["counts"]["noop_runs"]) == ("SHIP", 1)
    done = scored([gold()], [*plain, noop | {"retrieved_ids": ["p1#1"]}])
    cghc = body_of(done)["metrics"]["stability.cghc"]
    assert (done.verdict, cghc["num"], cghc["den"]) == ("NO-SHIP", 2, 3)
    assert body_of(done)["counts"]["noop_runs"] == 0
    assert warned(done)["RW-W54"] == "1 run answered differently for the same question and seed"


def test_a_noop_that_ended_in_an_error_counts() -> None:
    """Without claim and citations both say the same: nothing; one of them because it broke."""
    plain = [run("q2", seed, "not in context", q="Z?") for seed in (0, 1)]
    empty = run("q2", 2, "", q="Z?")
    broken = run("q2", 2, "", q="Z?", jitter="ws", error="timeout")
    done = scored([none()], [*plain, empty, broken])
    assert (body_of(done)["counts"]["noop_runs"], body_of(done)["counts"]["errored_runs"]) == (0, 1)


def test_a_design_of_noops_alone_shows_nothing() -> None:
    runs = [run("q1", 0, NULL, "p1#2", jitter=name, q="X?") for name in ("none", "ws", "syn")]
    done = scored([gold()], runs)
    assert (done.verdict, body_of(done)["counts"]["noop_runs"]) == ("INCONCLUSIVE", 2)


def test_what_never_cites_has_the_same_citations_in_every_run() -> None:
    question = question_of(gold(), [run("q1", seed, NULL) for seed in (0, 1)])
    assert suite.css(question) == 1
    assert suite.cghc(question) == (0, 2)
    assert [one.name for one in question.broken] == ["cghc"]


def test_what_is_the_same_and_wrong_is_no_matter_of_stability() -> None:
    golds = [gold("a"), gold("b")]
    runs = [run("a", seed, "Wrong", "p1#2") for seed in (0, 1)]
    runs += [run("b", seed, claim, "p1#2") for seed, claim in enumerate((NULL, "Other"))]
    done = scored(golds, runs)
    assert done.report["next"][0] == {
        "pattern": "the same in every run, and wrong (1 question)",
        "do": "not a matter of stability: 'ragworthy score answers' says what is wrong",
    }
    patterns = [one["pattern"] for one in done.report["next"]]
    assert sum("(1 question)" in pattern for pattern in patterns[1:]) == 1  # b alone is a matter of the generator


@pytest.mark.parametrize(
    ("name", "limit"), [("acr", "0"), ("cghc", "0.0"), ("css", "0"), ("refusal_rate", "0"), ("ned50", "1")]
)
def test_a_limit_that_can_never_fail_is_an_error(name: str, limit: str, tmp_path: Path) -> None:
    files = (
        *("--gold", write_jsonl(tmp_path / "gold.jsonl", [gold()])),
        *("--runs", write_jsonl(tmp_path / "runs.jsonl", [run("q1", 0, NULL, "p1#2")])),
    )
    done = run_cli("score", "stability", *files, "--limits", f"{name}={limit}")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == f"--limits: {name}: {name} = {limit} can never fail [RW-P05]"
    policy = tmp_path / "ragworthy.toml"
    policy.write_text(
        f'version = 1\n[stability]\ngold = "gold.jsonl"\nruns = "runs.jsonl"\n[stability.limits]\n{name} = {limit}\n'
    )
    done = run_cli("gate", "-c", policy)
    assert done.code == 2
    assert done.err.splitlines()[0].endswith(f"stability.limits.{name}: {name} = {limit} can never fail [RW-P05]")


def test_slices_are_shown_although_only_a_count_is_gated(tmp_path: Path) -> None:
    golds = [gold("a", topic="x"), gold("b", topic="y")]
    runs = [run(qid, seed, NULL if qid == "a" or seed else "Wrong", "p1#2") for qid in "ab" for seed in (0, 1)]
    files = (
        *("--gold", write_jsonl(tmp_path / "gold.jsonl", golds)),
        *("--runs", write_jsonl(tmp_path / "runs.jsonl", runs)),
    )
    done = run_cli("score", "stability", "--full", *files, "--slice", "topic")
    lines = [line.split() for line in done.out.splitlines()]
    (header,) = [line for line in lines if line[:1] == ["slice"]]
    shown = {line[0]: dict(zip(header[1:], line[1:], strict=False)) for line in lines if line and "topic=" in line[0]}
    assert header[1] == "acr"
    assert (shown["topic=x"]["acr"], shown["topic=y"]["acr"]) == ("1.0", "0.5")


@pytest.mark.parametrize("flag", ["--receipt", "--rows"])
def test_the_reference_profile_writes_no_receipts_or_rows(flag: str, tmp_path: Path) -> None:
    files = (
        *("--gold", write_jsonl(tmp_path / "gold.jsonl", [gold()])),
        *("--runs", write_jsonl(tmp_path / "runs.jsonl", [run("q1", 0, NULL, "p1#2")])),
    )
    done = run_cli("score", "stability", *files, "--profile", "reference", flag, tmp_path / "more.jsonl")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == "--profile reference writes no receipts or rows [RW-U01]"
    assert not (tmp_path / "more.jsonl").exists()


# the command line


def test_a_user_sees_all_of_it(tmp_path: Path) -> None:
    claims = [NULL, NULL, "X always rejects null keys.", "not in context"]
    runs = [run("q1", seed, claim, *(["p1#2"] if seed < 3 else [])) for seed, claim in enumerate(claims)]
    runs += [run("q2", seed, "not in context") for seed in range(4)]
    files = (
        *("--gold", write_jsonl(tmp_path / "gold.jsonl", [gold(), none()])),
        *("--runs", write_jsonl(tmp_path / "runs.jsonl", runs)),
    )
    done = run_cli(
        "score", "stability", "--full", *files, "--receipt", tmp_path / "r.json", "--rows", tmp_path / "rows.jsonl"
    )
    assert done.code == 1
    lines = [line.strip() for line in done.out.splitlines()]
    assert lines[0] == "NO-SHIP: stability.failing_questions fails"
    assert "8 runs, 4 a question" in lines
    assert "seeds 0, 1, 2, 3; jitters none; paraphrases 1" in lines
    assert "limits of each question: acr 0.95, cghc 0.95, css 0.70, ned50 0.20, refusal_rate 0.98" in lines
    assert "fails: q1: acr 0.75, cghc 0.75, css 0.0, ned50 0.2692, iaa 0.1667 (4 runs)" in lines
    assert lines[-1] == "verdict: NO-SHIP (exit 1): failing_questions 1 > 0"
    assert run_cli("verify", tmp_path / "r.json").code == 0
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["qid"] for row in rows] == ["q1", "q2"]
    assert rows[1]["undefined"]["stability.acr"] == "not answerable"
    again = run_cli("score", "stability", "--full", *files, "--limits", "acr=0.7,cghc=0.7", "css=0.01", "ned50=0.3")
    assert again.code == 1  # css is 0.0
    never = run_cli("score", "stability", "--full", *files, "--limits", "css=0")
    assert (never.code, never.err.splitlines()[0]) == (2, "--limits: css: css = 0 can never fail [RW-P05]")
    markdown = run_cli("score", "stability", "--full", *files, "--format", "markdown")
    assert "- fails: q1: acr 0.75" in markdown.out
    (tmp_path / "runs.jsonl").write_text("", encoding="utf-8")
    assert run_cli("verify", tmp_path / "r.json").code != 0


def test_rows_as_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    golds = write_jsonl(tmp_path / "gold.jsonl", [gold()])
    runs = write_jsonl(tmp_path / "runs.jsonl", [run("q1", seed, NULL, "p1#2") for seed in (0, 1)])
    run_cli("score", "stability", "--gold", golds, "--runs", runs, "--rows", tmp_path / "rows.parquet")
    (row,) = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert row["facts"] == {
        "answerable": True, "missing": False, "steady": True, "errored": False, "contains": True, "hit": True,
        "refused": False,
    }  # fmt: skip
