"""Gates that compare, through real reports: what is proven fails, what is not is undecided, and the bound is said."""

import json
import random
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy as rw
from conftest import Done, run_cli, write_jsonl
from ragworthy import gates as g
from ragworthy import proving as pv
from ragworthy.differences import difference, pair
from ragworthy.loss_tests import prove
from ragworthy.metrics.registry import all_metrics
from ragworthy.names import Outcome, Verdict
from ragworthy.report.part import Frozen, release_warnings
from ragworthy.rows import Rows, decoded, encoded

Report = dict[str, Any]
SUITE = (
    'version = 1\nbaseline = "base.json"\ndefaults = false\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'
)
DROP = '[[gate]]\nmetric = "precision"\nmax_drop = 0.02\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lay(right: Sequence[bool], documents: int = 0, unanswerable: int = 0) -> None:
    """Answerable questions, each right or wrong; all of different documents, or spread over so many."""
    gold: list[Report] = [
        {"qid": f"u{nth}", "question": f"and {nth}?", "answerable": False} for nth in range(unanswerable)
    ]
    refused = {"claim": "not in context", "citations": []}
    traces: list[Report] = [{"qid": one["qid"], "retrieved_ids": [], "answer_json": refused} for one in gold]
    for nth, good in enumerate(right):
        cited = f"doc{nth % documents if documents else nth}#s01#p001"
        item = {"qid": f"q{nth}", "question": f"question {nth}", "answerable": True, "gold_claim_substr": ["gold text"]}
        gold.append(item | {"gold_citations": [cited]})
        told = {"claim": "the gold text" if good else "something else", "citations": [cited]}
        traces.append({"qid": f"q{nth}", "retrieved_ids": [cited], "answer_json": told})
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("traces.jsonl"), traces)


def flips(worse: int, better: int, cases: int, documents: int = 0, unanswerable: int = 0) -> None:
    """A baseline, and a run in which so many questions are worse and better."""
    lay([True] * worse + [False] * better + [True] * (cases - worse - better), documents, unanswerable)
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-o", "base.json", "-q",
                   "--gates", "precision=0.01", "--no-default-gates")  # fmt: skip
    assert done.code == 0
    lay([False] * worse + [True] * better + [True] * (cases - worse - better), documents, unanswerable)


def gated(gates: str = DROP, *args: str, top: str = "") -> tuple[int, Report]:
    Path("ragworthy.toml").write_text(top + SUITE + gates)
    done = run_cli("gate", "--format", "json", *args)
    assert done.err == ""
    report: Report = json.loads(done.out)
    return done.code, report


def shown(*args: str) -> Done:
    return run_cli("gate", "--full", *args)


# the rule


@pytest.mark.parametrize(
    ("worse", "better", "cases", "code", "p"),
    [
        (10, 3, 200, 1, 0.046142578125),  # a loss of 7/200 = 3.5 points, proven
        (4, 0, 100, 3, 0.0625),  # 4 points, and four questions prove nothing
        (5, 0, 100, 1, 0.03125),
        (6, 1, 100, 3, 0.0625),  # 5 points, not proven
        (8, 1, 100, 1, 0.01953125),
        (20, 10, 400, 1, 0.0493685733527),  # 2.5 points
        (60, 40, 2000, 0, 0.0284439668205),  # 1 point: proven, and less than is tolerated
        (3, 3, 100, 0, 0.65625),
    ],
)
def test_what_is_proven_and_beyond_the_tolerance_fails(
    worse: int, better: int, cases: int, code: int, p: float
) -> None:
    flips(worse, better, cases)
    done, report = gated()
    (gate, *_) = report["gates"]
    paired = gate["paired"]
    assert done == code
    assert paired["p"] == paired["adjusted"] == pytest.approx(p, rel=1e-11)
    assert (paired["worse"], paired["better"], paired["cases"], paired["clusters"]) == (worse, better, cases, cases)
    assert (paired["min_effect"], paired["method"]) == ("0.02", "McNemar, exact")
    assert paired["loss"] == pytest.approx((worse - better) / cases)


def test_the_bound_is_tangos_and_a_sentence_says_it() -> None:
    flips(20, 10, 500)  # exactly the two points that are tolerated; Tango's upper end for it is 0.039281
    _, report = gated()
    (gate, *_) = report["gates"]
    assert gate["paired"]["upper"] == pytest.approx(0.039281, abs=5e-7)
    assert gate["note"] == "20 questions worse, 10 better: p = 0.049; a loss up to 4.0 points is not excluded"
    assert gate["outcome"] == "pass" and gate["reason"] is None


def test_min_effect_zero_fails_every_proven_loss_and_a_smaller_one_is_a_warning() -> None:
    flips(60, 40, 2000)
    code, report = gated()
    (warning,) = [one for one in report["suites"]["answers"]["warnings"] if one["code"] == "RW-W106"]
    assert code == 0
    assert warning["message"] == "answers.precision: a loss is proven, and not beyond min_effect = 0.02"
    code, report = gated(DROP + "min_effect = 0\n")
    assert (code, report["gates"][0]["reason"]) == (1, "a loss is proven")
    assert report["gates"][0]["paired"]["min_effect"] == "0"
    assert gated(DROP + "min_effect = 0.01\n")[0] == 0  # exactly one point is not beyond it
    assert gated(DROP + "min_effect = 0.00999\n")[0] == 1


@pytest.mark.parametrize(
    ("worse", "outcome"),
    [(4, "pass"), (5, "fail"), (9, "fail"), (10, "fail"), (19, "fail"), (20, "fail"), (21, "fail")],
)
def test_a_proven_loss_fails_before_a_person_is_asked(worse: int, outcome: str) -> None:
    """Five of five are proven: more of them never help."""
    gate = g.Gate(METRIC.id, g.DROP, "0.2", evidence="paired", min_effect="0", review=("0.1", "0.2"))
    both = [True] * 100, [False] * worse + [True] * (100 - worse)
    assert judged(*both, gate).outcome.value == outcome
    usual = judged(*both, gate._replace(min_effect=None))  # nothing beyond 0.2 is proven: the band is looked at
    if worse in (10, 19):
        assert usual.reason == "in the review band 0.1 … 0.2: a person decides"
    point = judged(*both, gate._replace(evidence="point"))
    assert (point.outcome is Outcome.UNDECIDED) is (worse in (10, 19))


@pytest.mark.parametrize(
    ("better", "old", "new", "lost"),
    [
        ("higher", "0.8", "0.9", "-0.125"),
        ("higher", "0.8", "0.7", "0.125"),
        ("lower", "653", "522.4", "-0.2"),
        ("lower", "653", "783.6", "0.2"),
        ("higher", "0", "0.5", "0"),
        ("lower", "0", "0.5", None),
        ("lower", "0", "0", "0"),
    ],
)
def test_a_share_of_the_baseline_is_one_whichever_way_it_went(
    better: str, old: str, new: str, lost: str | None
) -> None:
    gate, number = g.Gate("m", g.WORSE, "0.15", evidence="point"), Fraction(new)
    value = g.Value(number.numerator, number.denominator, better=better, counts=False)
    (one,) = g.judge((gate,), {(None, "m"): value}, baseline=g.Baseline({(None, "m"): Fraction(old)}, {}))
    assert one.lost == (None if lost is None else Fraction(lost))
    assert one.margin == (None if lost is None else Fraction("0.15") - Fraction(lost))


def test_fewer_than_five_changes_prove_nothing_and_that_is_said() -> None:
    flips(4, 0, 50)
    code, report = gated()
    (gate, *_) = report["gates"]
    assert code == 3
    reason = "dropped too far, but that is not proven: 4 questions changed, and fewer than 5 prove nothing"
    assert gate["reason"] == reason
    assert report["next"][-1] == {
        "pattern": "a loss is neither proven nor excluded: answers.precision",
        "do": "look at the questions that are worse; about 60 more questions like them decide it, in both runs, "
        "and so may more runs",
    }
    assert gated(top="alpha = 0.1\n")[0] == 1  # then four are enough: 1/16 = 0.0625


def test_identical_traces_ship_and_no_question_changed() -> None:
    flips(0, 0, 20)
    for gates in (DROP, DROP + 'evidence = "interval"\n'):
        code, report = gated(gates)
        assert (code, report["gates"][0]["note"]) == (0, "no question changed")
    assert "\n  no question changed: answers.precision\n" in shown().out


def test_questions_of_one_document_are_one_and_a_policy_may_say_otherwise() -> None:
    flips(8, 0, 80, documents=4)  # two of each document: four clusters, so 1/16
    code, report = gated()
    paired = report["gates"][0]["paired"]
    assert (code, paired["p"], paired["clusters"], paired["changed"]) == (3, 1 / 16, 4, 4)
    assert "4 clusters changed, and fewer than 5 prove nothing" in report["gates"][0]["reason"]
    code, report = gated(top='cluster = "question"\n')
    paired = report["gates"][0]["paired"]
    assert (code, paired["p"], paired["clusters"]) == (1, 1 / 256, 80)


def test_under_interval_only_what_is_excluded_passes() -> None:
    """Two flips that cancel out: of 100 questions a loss of 2 points is not excluded, of 200 it is."""
    for cases, word in ((100, "undecided"), (200, "pass")):
        flips(1, 1, cases)
        code, report = gated(DROP + 'evidence = "interval"\n')
        gate = report["gates"][0]
        assert (gate["outcome"], code) == (word, 0 if word == "pass" else 3)
        assert (gate["paired"]["upper"] <= 0.02) is (word == "pass")
    flips(10, 3, 200)
    assert gated(DROP + 'evidence = "interval"\n')[0] == 1


def documents(lost: int, others: int, size: int = 8) -> None:
    """One document of which so many questions are lost, among others of which none is."""
    every = [(nth < lost, "fees" if nth < size else f"doc{nth // size}") for nth in range(size * (others + 1))]
    for name, right in (("base", [True] * len(every)), ("traces", [not gone for gone, _ in every])):
        lay(right)
        for file in ("gold.jsonl", "traces.jsonl"):
            text = Path(file).read_text()
            for nth, (_, document) in enumerate(every):
                text = text.replace(f'"doc{nth}#s01', f'"{document}:#s01')
            Path(file).write_text(text.replace(":#s01", "#s01"))
        if name == "base":
            done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-o", "base.json",
                           "-q", "--gates", "precision=0.01", "--no-default-gates")  # fmt: skip
            assert done.code == 0


def test_a_whole_document_lost_is_said_beside_the_verdict() -> None:
    documents(8, 9)
    fell = "all 8 questions of document fees that were good are not now"
    whole = f'{fell}: swapped as one document this proves nothing; cluster = "question" judges each for itself'
    code, report = gated('[[gate]]\nmetric = "precision"\nmax_drop = 0.2\n')
    (warning,) = [one for one in report["suites"]["answers"]["warnings"] if one["code"] == "RW-W109"]
    assert (code, warning["message"], report["gates"][0]["reason"]) == (0, whole, fell)
    assert whole in "\n".join(shown().out.splitlines()[:4])
    code, report = gated()  # 10 points where 2 are tolerated
    few = "dropped too far, but that is not proven: 1 cluster changed, and fewer than 5 prove nothing"
    assert (code, report["gates"][0]["reason"]) == (3, f"{few}; {fell}")
    assert " more questions of other documents decide it" in report["next"][-1]["do"]
    assert " documents) more" in report["next"][-1]["do"]
    assert gated(top='cluster = "question"\n')[0] == 1
    documents(6, 9)
    message = 'the 6 questions that are worse are of one document, which proves nothing; cluster = "question"'
    (warning,) = [one for one in gated()[1]["suites"]["answers"]["warnings"] if one["code"] == "RW-W109"]
    assert warning["message"] == f"{message} judges each for itself"


def test_a_bound_is_no_more_than_there_is_to_lose() -> None:
    flips(3, 0, 4, documents=2)
    for rule, most in (("max_drop = 0.02", "100.0 points"), ("max_worse = 0.02", "100.0 %")):
        paired = gated(f'[[gate]]\nmetric = "precision"\n{rule}\n')[1]["gates"][0]["paired"]
        assert (paired["upper"], paired["shown"]["upper"]) == (1, most)
    value = g.Value(1, 10, better="lower")
    rises = g.Judged(g.Gate("m", g.DROP, "0.1"), Outcome.PASS, "", value, Fraction(1, 10), tested=pv.Tested(upper=3.7))
    assert rises.upper == Fraction(9, 10)


def test_under_interval_few_changed_documents_are_no_bound_and_cancelling_changes_are_no_proof() -> None:
    """Two fixed and two broken in each of 10 documents of 8, and one broken more: not excluded, both times."""
    strict = '[[gate]]\nmetric = "precision"\nmax_drop = 0.04\nevidence = "interval"\n'
    base = [nth // 10 not in (0, 1) for nth in range(80)]
    for more in (0, 1):
        lay(base, 10)
        run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-o", "base.json", "-q",
                "--gates", "precision=0.01", "--no-default-gates")  # fmt: skip
        lay([nth // 10 not in (2, 3) and nth < 80 - more for nth in range(80)], 10)
        code, report = gated(strict)
        assert (code, report["gates"][0]["outcome"]) == (3, "undecided")
        if not more:
            assert "no cluster changed on balance, and fewer than 5 prove nothing" in report["gates"][0]["reason"]
    found = pv.decide(
        "interval",
        pv.Loss(Fraction(0), Fraction(1, 5), Fraction(1, 5), Fraction(1, 10)),
        pv.Tested(moved=4, changed=4, cases=400, clusters=80, rough=True),
        "dropped too far",
    )
    assert found == (Outcome.UNDECIDED, "4 changed clusters are too few for a bound that holds: it takes 10")


def test_errors_of_the_baseline_are_not_questions_that_got_worse() -> None:
    lay([True] * 10, unanswerable=30)
    traces = [json.loads(line) for line in Path("traces.jsonl").read_text().splitlines()]
    bad = {"claim": "a claim", "citations": ["doc1#s01#p001"]}
    for many, code in ((10, 4), (3, 0)):
        errors = [{"qid": one["qid"], "error": "timeout"} if nth < many else one for nth, one in enumerate(traces)]
        write_jsonl(Path("traces.jsonl"), errors)
        run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-o", "base.json", "-q",
                "--gates", "precision=0.01", "--no-default-gates")  # fmt: skip
        write_jsonl(Path("traces.jsonl"), [one | {"answer_json": bad} if nth < many else one
                                           for nth, one in enumerate(traces)])  # fmt: skip
        done, report = gated('[[gate]]\nmetric = "under_refusal"\nmax_drop = 0.5\n')
        gate = report["gates"][0]
        assert done == code
        if many == 10:
            why = "10 of 30 questions ended in errors in one of the compared runs: ask them again"
            assert gate["outcome"] == "not_measured" and gate["reason"].startswith(why)
        else:
            assert (gate["paired"]["errored"], gate["paired"]["worse"], gate["paired"]["cases"]) == (3, 0, 27)


def test_a_bound_below_zero_is_said_as_what_it_is() -> None:
    flips(0, 40, 200)
    gate = gated()[1]["gates"][0]
    assert gate["paired"]["upper"] < -0.15
    assert gate["paired"]["shown"]["upper"].startswith("better by at least 15.")
    assert gate["note"].endswith(f"p = 1; {gate['paired']['shown']['upper']}")


def test_a_baseline_without_rows_is_judged_by_the_point_and_that_is_said() -> None:
    flips(4, 0, 100)
    body = json.loads(Path("base.json").read_text())
    for key in ("rows", "can_show"):
        del body["suites"]["answers"][key]
    body["tool"]["version"] = "0.1.0"
    Path("base.json").write_text(json.dumps(body))
    code, report = gated()
    gate = report["gates"][0]
    why = "the baseline holds no rows (it was written by an earlier version, which kept no rows)"
    assert (code, gate["outcome"], gate["paired"]) == (1, "fail", {"without": why})
    assert gate["note"] == f"judged by its point: {why}"
    assert f"\n  judged by its point: {why}: answers.precision\n" in shown().out
    code, report = gated(DROP + 'evidence = "interval"\n')
    assert (code, report["gates"][0]["reason"]) == (3, f"no bound of the loss is known: {why}")


def test_a_baseline_whose_rows_name_other_questions_is_not_comparable() -> None:
    """The rows, the numbers and the labels go together: only the gold set says that a question is not there."""
    flips(5, 0, 100)
    body = json.loads(Path("base.json").read_text())
    whole = decoded(body["suites"]["answers"]["rows"])
    body["suites"]["answers"]["rows"] = encoded(whole._replace(qids=("other", *whole.qids[1:])))
    Path("base.json").write_text(json.dumps(body))
    code, report = gated()
    unlike = "its rows name other questions than the gold set has"
    reason = f"the baseline is not comparable: {unlike}"
    assert (code, report["invalid"]) == (4, [f"answers.precision was not measured: {reason}"])
    assert (report["gates"][0]["outcome"], report["gates"][0]["reason"]) == ("not_measured", reason)
    assert report["suites"]["answers"]["compared"]["unlike"] == [unlike]


def test_questions_that_one_run_lacks_are_counted_and_named() -> None:
    tested = pv.Tested(only_old=("q0",), only_new=("q1", "q0"))
    one = g.Judged(g.Gate(METRIC.id, g.DROP, "0.02"), Outcome.PASS, "", g.Value(1, 1), tested=tested)
    (warning,) = release_warnings(Frozen("frozen", ""), None, [one])
    assert (warning["code"], warning["count"], warning["qids"]) == ("RW-W107", 2, ["q0", "q1"])
    assert warning["message"] == "2 questions are in one of the compared runs only"


def test_the_point_still_decides_where_somebody_asks_for_it() -> None:
    flips(4, 0, 100)
    code, report = gated(DROP + 'evidence = "point"\n')
    assert (code, report["gates"][0]["paired"]) == (1, {"without": 'evidence = "point"'})
    assert gated(top='evidence = "interval"\n')[0] == 3  # what the policy says is for gates on one number


def test_all_outcomes_of_the_rule() -> None:
    """Every row of the table: evidence, whether it is proven, the loss against min_effect 1 and tolerance 2."""
    proven, open_ = pv.Tested(adjusted=0.01, moved=9, changed=9), pv.Tested(adjusted=0.2, moved=9, changed=9)
    for evidence, tested, lost, upper, outcome in (
        ("paired", proven, 3, 5, Outcome.FAIL),
        ("paired", proven, 1.5, 2, Outcome.FAIL),  # beyond min_effect is enough
        ("paired", proven, 1, 2, Outcome.PASS),
        ("paired", open_, 3, 5, Outcome.UNDECIDED),
        ("paired", open_, 2, 5, Outcome.PASS),
        ("paired", open_, None, None, Outcome.UNDECIDED),  # a share of nothing
        ("paired", proven, None, None, Outcome.FAIL),
        ("interval", proven, 3, 5, Outcome.FAIL),
        ("interval", open_, 0, 2, Outcome.PASS),
        ("interval", open_, 0, 2.1, Outcome.UNDECIDED),
        ("interval", open_, 0, None, Outcome.UNDECIDED),
        ("interval", pv.Tested(), 0, 9, Outcome.PASS),  # nothing changed
        ("point", proven, 2, None, Outcome.PASS),
        ("point", open_, 3, None, Outcome.FAIL),
        ("paired", pv.Tested(without="x"), 3, None, Outcome.FAIL),
        ("paired", pv.Tested(without="x"), 2, None, Outcome.PASS),
        ("interval", pv.Tested(without="x"), 0, None, Outcome.UNDECIDED),
    ):
        seen = [None if one is None else Fraction(one) for one in (lost, upper)]
        loss = pv.Loss(seen[0], tolerance=Fraction(2), min_effect=Fraction(1), upper=seen[1])
        assert pv.decide(evidence, loss, tested, "dropped too far")[0] is outcome, (evidence, lost, upper)


METRIC = all_metrics("answers")["answers.precision"]


def rows(words: Sequence[bool]) -> Rows:
    qids = tuple(f"q{nth}" for nth in range(len(words)))
    none = (None,) * len(words)
    return Rows(qids, qids, none, none, (1,) * len(words), ((),) * len(words), {METRIC.id: tuple(words)})


def judged(old: Sequence[bool], new: Sequence[bool], gate: g.Gate) -> g.Judged:
    found = difference(gate, METRIC, pair(rows(old), rows(new)))
    assert not isinstance(found, str)
    values: g.Values = {(None, METRIC.id): g.Value(sum(new), len(new))}
    baseline = g.Baseline({(None, METRIC.id): Fraction(sum(old), len(old))}, {})
    (one,) = g.judge((gate,), values, baseline=baseline, tested=prove({gate: found}, pv.Proving()))
    return one


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60),
    st.sampled_from(["0", "0.02", "0.05", "0.2"]),
    st.sampled_from([g.DROP, g.WORSE]),
)
def test_what_ships_is_exactly_what_ships_by_the_point(both: list[tuple[bool, bool]], limit: str, op: str) -> None:
    old, new = zip(*both, strict=True)
    by_pairs = judged(old, new, g.Gate(METRIC.id, op, limit, evidence="paired")).outcome
    by_point = judged(old, new, g.Gate(METRIC.id, op, limit)).outcome
    assert (by_pairs is Outcome.PASS) is (by_point is Outcome.PASS)
    assert by_pairs is not Outcome.FAIL or by_point is Outcome.FAIL


# chance


def aa(dice: random.Random, cases: int, share: float, loss: float = 0.0) -> tuple[list[bool], list[bool]]:
    """Two runs in which a share of the questions flips, as often one way as the other; and a planted loss."""
    old, new = [], []
    for _ in range(cases):
        good = dice.random() < 0.8
        other = not good if dice.random() < share else good
        pair_of = (good, other) if dice.random() < 0.5 else (other, good)
        old.append(pair_of[0])
        new.append(pair_of[1] and not dice.random() < loss)
    return old, new


def test_without_a_change_a_loss_is_called_proven_in_at_most_one_of_twenty() -> None:
    dice = random.Random(20261116)
    gate = g.Gate(METRIC.id, g.DROP, "0.02", evidence="paired", min_effect="0")
    outcomes = [judged(*aa(dice, 200, 0.1), gate).outcome for _ in range(400)]
    point = g.Gate(METRIC.id, g.DROP, "0.02")
    dice = random.Random(20261116)
    by_point = [judged(*aa(dice, 200, 0.1), point).outcome for _ in range(400)]
    assert outcomes.count(Outcome.FAIL) <= 400 * 0.05 + 2 * (400 * 0.05 * 0.95) ** 0.5
    assert by_point.count(Outcome.FAIL) > 40  # what a fixed tolerance calls a loss
    assert outcomes.count(Outcome.UNDECIDED) > 40


def test_a_family_of_twelve_is_called_proven_in_at_most_one_of_twenty() -> None:
    dice, proven = random.Random(7), 0
    gate = g.Gate(METRIC.id, g.DROP, "0.02", evidence="paired")
    for _ in range(100):
        found = {}
        for name in range(12):
            one = difference(gate, METRIC, pair(*map(rows, aa(dice, 60, 0.2))))
            assert not isinstance(one, str)
            found[name] = one
        proven += any(one.proven for one in prove(found, pv.Proving()).values())
    assert proven <= 100 * 0.05 + 2 * (100 * 0.05 * 0.95) ** 0.5


def test_a_true_loss_is_found() -> None:
    """Five points at 500 questions with 2 % flips: the exact test finds it in about nine of ten."""
    dice = random.Random(3)
    gate = g.Gate(METRIC.id, g.DROP, "0.02", evidence="paired", min_effect="0")
    outcomes = [judged(*aa(dice, 500, 0.02, 0.0625), gate).outcome for _ in range(60)]
    assert outcomes.count(Outcome.FAIL) >= 50


# the whole verdict


def test_regression_adds_a_guard_against_a_broad_drop() -> None:
    """Seven of 400 questions are worse: no gate loses more than 3 %, and together they are proven."""
    flips(7, 0, 400, unanswerable=3)
    code, report = gated("", top="regression = true\n")
    gates = {gate["metric"]: gate for gate in report["gates"] if "paired" in gate}
    good = gates["answers.good"]
    assert (code, good["outcome"], good["shown"]["rule"]) == (1, "fail", "no proven drop")
    assert good["paired"]["p"] == 1 / 128 and good["paired"]["min_effect"] == "0"
    assert gates["answers.precision"]["paired"]["min_effect"] == "0"
    assert gates["answers.precision"]["reason"] == "a loss is proven"
    assert shown().out.startswith("NO-SHIP: answers.precision, answers.containment, answers.good fail\n")


def both_suites(drop: int) -> None:
    """The same questions for answers and retrieval; `drop` of them are worse in both."""
    gold, traces, found = [], [], []
    for nth in range(40):
        cited = f"doc{nth}#s01#p001"
        right = nth >= drop
        gold.append({"qid": f"q{nth}", "question": f"question {nth}", "answerable": True,
                     "gold_claim_substr": ["gold text"], "gold_citations": [cited], "relevant": [cited]})  # fmt: skip
        told = {"claim": "the gold text" if right else "no", "citations": [cited]}
        traces.append({"qid": f"q{nth}", "retrieved_ids": [cited], "answer_json": told})
        found.append({"qid": f"q{nth}", "topk": [{"id": cited if right else "doc99#s01#p001"}]})
    for name, lines in (("gold", gold), ("traces", traces), ("found", found)):
        write_jsonl(Path(f"{name}.jsonl"), lines)


def test_all_suites_are_one_family_on_the_same_swaps() -> None:
    policy = (
        '{}version = 1\ndefaults = false\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'
        '[retrieval]\ngold = "gold.jsonl"\ntraces = "found.jsonl"\n{}'
    )
    low = '[[gate]]\nmetric = "precision"\nmin = 0.01\n[[gate]]\nmetric = "retrieval.recall@5"\nmin = 0.01\n'
    both_suites(0)
    Path("ragworthy.toml").write_text(policy.format("", low))
    assert run_cli("gate", "-o", "base.json").code == 0
    both_suites(5)
    Path("ragworthy.toml").write_text(
        policy.format('baseline = "base.json"\n', low.replace("min = 0.01", "max_drop = 0.05"))
    )
    done = run_cli("gate", "--format", "json")
    gates = [gate["paired"] for gate in json.loads(done.out)["gates"] if "paired" in gate]
    assert [(gate["gates"], gate["p"]) for gate in gates] == [(2, 1 / 32)] * 2
    # The same five questions are swapped together: both gates are one and the same, and nothing is to be adjusted.
    assert [gate["adjusted"] for gate in gates] == [1 / 32] * 2
    assert done.code == 1


def test_people_see_flips_p_and_bound_in_every_form() -> None:
    flips(6, 1, 100)  # Tango's upper end is 0.1034
    Path("ragworthy.toml").write_text(SUITE + DROP)
    done = shown("-o", "r.md", "-o", "r.xml")
    table = done.out[done.out.index("  gate that compares") :].splitlines()
    assert table[0].split() == ["gate", "that", "compares", "worse", "better", "p", "loss", "not", "excluded"]
    assert table[1].split() == ["answers.precision", "6", "1", "0.062", "10.4", "points"]
    assert max(map(len, table[:2])) <= 80
    assert "| answers.precision | 6 | 1 | 0.062 | 10.4 points |" in Path("r.md").read_text().replace("`", "")
    (case,) = [
        one for one in ElementTree.fromstring(Path("r.xml").read_text()).iter("testcase")
        if "drop" in (one.get("name") or "")
    ]  # fmt: skip
    (error,) = case
    assert "6 questions worse, 1 better: p = 0.062" in (error.get("message") or "")


def test_a_receipt_keeps_the_proof_and_re_derives() -> None:
    flips(10, 3, 200)
    Path("gates.toml").write_text(DROP)
    for more in ((), ("--alpha", "0.01", "--cluster", "question", "--seed", "7")):
        done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--baseline", "base.json",
                       "--gates", "gates.toml", "--no-default-gates", "--receipt", "r.json", "-q", *more)  # fmt: skip
        assert done.code == (3 if more else 1)
        receipt = json.loads(Path("r.json").read_text())
        paired = receipt["gates"][0]["paired"]
        assert (paired["p"], paired["worse"], paired["better"]) == ("0.046142578125", 10, 3)
        assert paired["alpha"] == ("0.01" if more else "0.05")
        assert ("alpha" in receipt["request"]) is bool(more)
        assert run_cli("verify", "r.json").code == 0


def test_from_python() -> None:
    flips(10, 3, 200)
    Path("gates.toml").write_text(DROP)
    given: Any = {"gold": "gold.jsonl", "traces": "traces.jsonl", "baseline": "base.json", "gates": "gates.toml"}
    assert rw.score("answers", defaults=False, **given).verdict is Verdict.NO_SHIP
    assert rw.score("answers", defaults=False, alpha=0.01, **given).verdict is Verdict.INCONCLUSIVE
    with pytest.raises(rw.RagworthyError, match="RW-P21"):
        rw.score("answers", alpha=0.51, **given)


def test_every_gate_that_compares_can_fail_in_a_selftest() -> None:
    flips(0, 0, 12)
    Path("ragworthy.toml").write_text(SUITE + DROP)
    done = shown("--selftest")
    assert done.code == 0 and "selftest: 2 of 2 gates can fail (exit 0)" in done.out


# what cannot be meant


@pytest.mark.parametrize(
    ("top", "gates", "line"),
    [
        ("", '[[gate]]\nmetric = "precision"\nmin = 0.8\nevidence = "paired"\n',
         'gate[0].evidence: expected "point" or "interval", got paired with min, which compares nothing [RW-P19]'),
        ("", DROP + "min_effect = 0.03\n",
         "gate[0].min_effect: expected at most the tolerance, 0.02, got 0.03 [RW-P20]"),
        ("", DROP + "min_effect = -1\n", "gate[0].min_effect: expected a number from 0 up, got -1 [RW-P20]"),
        ("", DROP + 'min_effect = 0\nevidence = "point"\n',
         'gate[0].min_effect: expected evidence = "paired" beside it, got "point", by which nothing is proven '
         "[RW-P20]"),
        ("", '[[gate]]\nmetric = "precision"\nmin = 0.8\nmin_effect = 0\n',
         "gate[0].min_effect: expected max_drop or max_worse beside it, got min [RW-P20]"),
        ("", DROP + 'min_effect = "x"\n', 'gate[0].min_effect: expected a number, got "x" [RW-P03]'),
        ("alpha = 0\n", DROP, "alpha: expected a number from 0.001 up to 0.5, got 0 [RW-P21]"),
        ("alpha = 1e-9\n", DROP, "alpha: expected a number from 0.001 up to 0.5, got 1E-9 [RW-P21]"),
        ("alpha = 0.51\n", DROP, "alpha: expected a number from 0.001 up to 0.5, got 0.51 [RW-P21]"),
        ("seed = -1\n", DROP, "seed: expected a whole number from 0 up, got -1 [RW-P21]"),
        ('cluster = "topic"\n', DROP, 'cluster: expected "document" or "question", got "topic" [RW-P03]'),
    ],
)  # fmt: skip
def test_nonsense_is_refused_by_its_key(top: str, gates: str, line: str) -> None:
    Path("ragworthy.toml").write_text(top + SUITE + gates)
    done = shown()
    assert (done.code, done.err.splitlines()[0]) == (2, f"ragworthy.toml: {line}")


def test_a_flag_that_cannot_be_meant() -> None:
    lay([True])
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--alpha", "much")
    expected = 'command line: alpha: expected a number from 0.001 up to 0.5, got "much" [RW-P21]'
    assert (done.code, done.err.splitlines()[0]) == (2, expected)


# numbers without an interval


def test_under_interval_a_number_without_one_decides_nothing() -> None:
    value = g.Value(3, 1, n=20, counts=False, rate=False, boundless="20 questions are too few to bound a percentile")
    gate = g.Gate("retrieval.delta_s_p90", g.MAX, "5", evidence="interval")
    (one,) = g.judge((gate,), {(None, gate.metric): value})
    assert one.outcome is Outcome.UNDECIDED
    assert one.reason == "it has no interval: 20 questions are too few to bound a percentile"
    (one,) = g.judge((gate,), {(None, gate.metric): value._replace(boundless="")})
    assert one.reason == "it has no interval: none is known for such a number"
    count = g.Value(0, None, most=20)
    gate = g.Gate("answers.missing", g.MAX, "0", evidence="interval")
    assert g.judge((gate,), {(None, gate.metric): count})[0].outcome is Outcome.PASS  # no estimate: it happened or not


def test_kappa_has_an_interval_and_it_decides() -> None:
    votes = [("VALID", "VALID")] * 40 + [("REJECT", "REJECT")] * 40 + [("VALID", "REJECT")] * 5
    pairs = [
        {"qid": f"q{nth}", "scholar": {"label": one, "reason": "s"}, "auditor": {"label": other}}
        for nth, (one, other) in enumerate(votes)
    ]
    write_jsonl(Path("pairs.jsonl"), pairs)
    for limit, word in (("0.5", "pass"), ("0.85", "undecided"), ("0.99", "fail")):
        done = run_cli("score", "agreement", "--pairs", "pairs.jsonl", "--gates", f"kappa={limit}", "--evidence",
                       "interval", "--no-default-gates", "--format", "json")  # fmt: skip
        gate = json.loads(done.out)["gates"][0]
        assert gate["outcome"] == word, gate
        assert 0.73 < gate["low"] < gate["value"] < gate["high"] < 0.985


# how long it takes


def test_ten_thousand_questions_and_twelve_gates_in_two_seconds() -> None:
    dice = random.Random(1)
    gate = g.Gate(METRIC.id, g.DROP, "0.02", evidence="paired")
    runs = [tuple(map(rows, aa(dice, 10_000, 0.05))) for _ in range(12)]
    start = time.process_time()
    found = {nth: difference(gate, METRIC, pair(*run)) for nth, run in enumerate(runs)}
    tested = prove({key: one for key, one in found.items() if not isinstance(one, str)}, pv.Proving())
    took = time.process_time() - start
    assert len(tested) == 12 and took < 2


# what people are told


def test_a_gate_that_was_not_measured_is_not_among_those_that_hold() -> None:
    flips(0, 0, 20)
    low = '[[gate]]\nmetric = "precision"\nmin = 0.6\n'
    Path("ragworthy.toml").write_text(SUITE.replace('baseline = "base.json"\n', "") + low + DROP + "optional = true\n")
    done = shown("-o", "r.md", "-o", "r.xml")
    told = "SHIP: 2 gates hold, 1 was not measured"
    assert (done.code, done.out.splitlines()[0]) == (0, told)
    assert Path("r.md").read_text().splitlines()[0] == "## ✅ Ragworthy: SHIP: 2 gates hold, 1 not measured"
    suite = ElementTree.fromstring(Path("r.xml").read_text())[0]
    assert (suite.get("name"), suite.get("skipped")) == (f"ragworthy {told}", "1")
    assert "\n  answers.precision (drop ≤ 0.02): no baseline was given\n" in done.out


def test_a_baseline_that_nothing_compares_with_is_warned_of() -> None:
    flips(3, 0, 20)
    low = '[[gate]]\nmetric = "precision"\nmin = 0.1\n'
    message = "a baseline is given, and no gate compares with it: max_drop, max_worse or regression = true judge a loss"

    def warned(gates: str, top: str = "") -> list[str]:
        warnings = gated(gates, top=top)[1]["suites"]["answers"]["warnings"]
        return [one["message"] for one in warnings if one["code"] == "RW-W108"]

    assert warned(low) == [message]
    assert f"\n  {message} [RW-W108]\n" in shown().out
    assert warned(low + DROP) == warned(low, "regression = true\n") == []


def test_a_suite_without_a_gate_that_compares_is_no_reason_to_warn_where_another_has_one() -> None:
    policy = (
        '{}version = 1\ndefaults = false\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'
        '[retrieval]\ngold = "gold.jsonl"\ntraces = "found.jsonl"\n{}'
        '[[gate]]\nmetric = "retrieval.recall@5"\nmin = 0.01\n'
    )
    both_suites(0)
    Path("ragworthy.toml").write_text(policy.format("", '[[gate]]\nmetric = "precision"\nmin = 0.01\n'))
    assert run_cli("gate", "--full", "-o", "base.json").code == 0
    Path("ragworthy.toml").write_text(policy.format('baseline = "base.json"\n', DROP))
    assert "RW-W108" not in shown().out
    Path("ragworthy.toml").write_text(
        policy.format('baseline = "base.json"\n', '[[gate]]\nmetric = "precision"\nmin = 0.01\n')
    )
    assert shown().out.count("RW-W108") == 1


def test_the_report_of_a_loss_leads_to_the_questions_that_are_newly_broken() -> None:
    flips(10, 3, 200)
    low = '[[gate]]\nmetric = "precision"\nmin = 0.6\n'
    Path("ragworthy.toml").write_text(SUITE + low + DROP + low.replace("min = 0.6", "max_worse = 0.01"))
    done = shown("-o", "REPORT.json")
    assert done.out.splitlines()[0] == ("NO-SHIP: answers.precision (drop ≤ 0.02), answers.precision (drop ≤ 1 %) fail")
    first = done.out.split("What to do next\n")[1].splitlines()[0]
    assert first == (
        "  10 questions are newly broken against base.json: see one of them with ragworthy show q0 -c ragworthy.toml, "
        "all with ragworthy compare base.json REPORT.json --all, where REPORT.json is this report (-o REPORT.json)"
    )
    look = run_cli("show", "q0", "-c", "ragworthy.toml")
    assert look.code == 1 and "something else" in look.out  # it is wrong
    every = run_cli("compare", "base.json", "REPORT.json", "--all")
    assert every.code == 0 and "Broken (10 questions)" in every.out


def test_nothing_is_said_of_broken_questions_where_the_run_ships() -> None:
    flips(1, 3, 200)
    gated()
    assert "newly broken" not in shown().out


def test_another_k_takes_nothing_away_from_metrics_that_both_have() -> None:
    """The baseline has k = 5 alone."""
    flips(1, 0, 20)
    asked = 'k = [3, 5]\n[[gate]]\nmetric = "answers.recall@5"\nmax_drop = 0.02\n'
    code, report = gated(asked)
    assert (code, report["gates"][0]["outcome"]) == (0, "pass")
    code, report = gated(asked.replace("recall@5", "recall@3"))
    gate = report["gates"][0]
    assert (code, gate["outcome"], gate["reason"]) == (4, "not_measured", "the baseline does not have this number")


def test_a_slice_that_the_baseline_was_not_scored_by_says_how_to_have_it() -> None:
    values: g.Values = {("topic=fees", "answers.chr"): g.Value(8, 10)}
    one: dict[tuple[str | None, str], Fraction] = {("topic=loans", "answers.chr"): Fraction(1)}
    gate = g.Gate("answers.chr", g.DROP, "0.02", slice="topic=fees")
    lacking = "the baseline does not have this number"
    for known, said in (
        ({}, f"{lacking}: score it with --slice topic (in a policy: slices), as it has no slices by topic"),
        (one, lacking),
    ):
        (judged,) = g.judge((gate,), values, baseline=g.Baseline(known, {}))
        assert (judged.outcome, judged.reason) == ("not_measured", said)
