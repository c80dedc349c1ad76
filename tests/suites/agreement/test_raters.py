"""Several raters and operators: pairwise agreement, Fleiss' κ, spread, the marking rule, escalations; W-51."""

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy.metrics.facts import raters as r
from ragworthy.records import Mark, Rating
from ragworthy.suites.agreement.suite import SUITE

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table(*items: str) -> list[Rating]:
    """Votes from one text an item, one letter a rater; a dot is not a vote."""
    return [
        Rating(f"r{rater}", label, qid=f"q{nth}")
        for nth, item in enumerate(items)
        for rater, label in enumerate(item)
        if label != "."
    ]


def score(form: str, rows: list[Row], *args: str) -> tuple[int, Row, Row]:
    """The exit code, the report and the suite's part of it."""
    write_jsonl(Path("votes.jsonl"), rows)
    done = run_cli("score", "agreement", f"--{form}", "votes.jsonl", "--format", "json", *args)
    assert done.err == ""
    report = json.loads(done.out)
    return done.code, report, report["suites"]["agreement"]


def votes(*items: str) -> list[Row]:
    return [{"qid": one.qid, "rater": one.rater, "label": one.label} for one in table(*items)]


W51 = ("ccc", "ccc", "ccw", "www")


def test_w51_three_raters_four_items() -> None:
    code, report, body = score("raters", votes(*W51), "--tsv", "apart.tsv")
    # (1 + 1 + 1/3 + 1) / 4 = 5/6 < 0.85
    assert body["metrics"]["agreement.pairwise"]["exact"] == "5/6"
    # 8 of 12 votes are c, 4 are w: Pe = 4/9 + 1/9 = 5/9; (5/6 − 5/9) / (4/9) = 5/8
    assert body["metrics"]["agreement.fleiss"]["exact"] == "5/8"
    assert body["metrics"]["agreement.raters"]["value"] == 3
    assert [(gate["metric"], gate["outcome"]) for gate in report["gates"]] == [("agreement.pairwise", "fail")]
    assert code == 1
    assert body["disagreements"] == [{"qid": "q2", "votes": {"r0": "c", "r1": "c", "r2": "w"}}]
    written = Path("apart.tsv").read_text()
    assert written == "qid\tr0\tr1\tr2\nq2\tc\tc\tw\n"
    assert body["by_pair"] == [
        {"raters": ["r0", "r1"], "same": 4, "both": 4},
        {"raters": ["r0", "r2"], "same": 3, "both": 4},
        {"raters": ["r1", "r2"], "same": 3, "both": 4},
    ]


def brute_pairwise(items: list[str]) -> Fraction:
    """The mean over items of agreeing pairs of raters, pair by pair."""
    shares = []
    for item in items:
        both = list(combinations(item, 2))
        shares.append(Fraction(sum(one == other for one, other in both), len(both)))
    return sum(shares, Fraction(0)) / len(shares)


def brute_fleiss(items: list[str]) -> float | None:
    """Fleiss' κ in the matrix form of the paper, in floating point."""
    labels = sorted({label for item in items for label in item})
    raters, total = len(items[0]), len(items)
    matrix = [[item.count(label) for label in labels] for item in items]
    shares = [sum(row[j] for row in matrix) / (total * raters) for j in range(len(labels))]
    agreed = [(sum(n * n for n in row) - raters) / (raters * (raters - 1)) for row in matrix]
    chance = sum(share * share for share in shares)
    if len(labels) == 1:
        return None
    return (sum(agreed) / total - chance) / (1 - chance)


@st.composite
def full_tables(draw: st.DrawFn) -> list[str]:
    raters = draw(st.integers(2, 5))
    item = st.text("abcd", min_size=raters, max_size=raters)
    return draw(st.lists(item, min_size=1, max_size=12))


@given(full_tables())
@settings(derandomize=True, database=None)
def test_agreement_is_that_of_a_brute_force(items: list[str]) -> None:
    ballots = r.ballots(table(*items))
    shares = [share for one in ballots if (share := r.agreeing(one)) is not None]
    assert sum(shares, Fraction(0)) / len(shares) == brute_pairwise(items)
    expected, found = brute_fleiss(items), r.fleiss_kappa(ballots)
    if expected is None:
        assert found == "every vote has the same label"
    else:
        assert isinstance(found, Fraction)
        assert math.isclose(float(found), expected, abs_tol=1e-12)
        assert found == r.fleiss_kappa(list(reversed(r.ballots(reversed(table(*items))))))


def test_fleiss_has_no_value_where_items_have_different_numbers_of_votes() -> None:
    _, report, body = score("raters", votes("cc.", "ccw", "www"), "--gates", "fleiss=0.4")
    assert body["metrics"]["agreement.fleiss"]["undefined"] == "items have different numbers of votes"
    assert report["verdict"] == "INVALID"
    # items with two votes and three still agree or not: (1 + 1/3 + 1) / 3
    assert body["metrics"]["agreement.pairwise"]["exact"] == "7/9"
    warning = next(one for one in body["warnings"] if one["code"] == "RW-W75")
    assert (warning["message"], warning["qids"]) == ("1 item lacks the vote of a rater", ["q0"])


def test_one_rater_shows_nothing() -> None:
    code, report, body = score("raters", votes("c", "w"))
    assert (code, report["verdict"]) == (4, "INVALID")
    assert report["invalid"] == ["agreement.pairwise was not measured: no item has two votes"]
    assert body["labels"] == {"SINGLE": 2}
    assert body["metrics"]["agreement.pairwise"]["ledger"]["not_applicable"] == 2


def test_complete_agreement_on_one_label_passes_a_gate_on_fleiss() -> None:
    code, _, body = score("raters", votes("cc", "cc"), "--gates", "fleiss=0.75")
    assert (code, body["metrics"]["agreement.fleiss"]["value"]) == (0, None)


def test_the_last_vote_of_a_rater_counts() -> None:
    again = [*votes("cc", "cw"), {"qid": "q1", "rater": "r1", "label": "c"}]
    code, _, body = score("raters", again)
    assert (code, body["counts"]["duplicates"], body["counts"]["agreed"]) == (0, 1, 2)
    assert [one["message"] for one in body["warnings"] if one["code"] == "RW-W73"] == [
        "1 vote was replaced by a later one"
    ]


# spread


def test_spread_is_the_population_deviation_over_the_mean() -> None:
    """Rates 0.9, 0.8, 0.7: σ² = (0.01 + 0 + 0.01) / 3, μ = 0.8; σ/μ = 0.10206…"""
    found = r.variation([Fraction(9, 10), Fraction(8, 10), Fraction(7, 10)])
    assert found is not None
    assert math.isclose(float(found), math.sqrt(0.02 / 3) / 0.8, rel_tol=1e-15)


@given(st.lists(st.fractions(0, 1, max_denominator=50), min_size=2, max_size=6))
@settings(derandomize=True, database=None)
def test_spread_is_on_the_right_side_of_every_threshold(rates: list[Fraction]) -> None:
    found = r.variation(rates)
    mean = sum(rates, Fraction(0)) / len(rates)
    if mean == 0:
        assert found is None
        return
    assert found is not None
    square = sum(((one - mean) ** 2 for one in rates), Fraction(0)) / len(rates) / mean**2
    for threshold in (Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(1)):
        assert (found <= threshold) == (square <= threshold**2)


# operators


def record(operator: str, qid: str, correct: bool = True, **fields: Any) -> Row:
    row: Row = {"operator": operator, "q_id": qid, "question": "?", "expected_snippet": "null keys"}
    row |= {"candidate_snippet": "Null keys are rejected.", "ΔS": 0.3, "λ_state": "→", "correct": correct}
    return row | {"cost_usd": 0.01, "notes": ""} | fields


def records(*items: str, **fields: Any) -> list[Row]:
    """Records from one text an item: c is correct, w is wrong."""
    return [
        record(f"op{nth}", f"q{item}", label == "c", **fields)
        for item, labels in enumerate(items)
        for nth, label in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("candidate", "distance", "expected"),
    [
        ("null keys", 0.45, "correct"),
        ("It says:  NULL\nkeys are bad", 0.1, "correct"),
        ("null keys", 0.450001, "review"),
        ("null keys", 0.599999, "review"),
        ("null keys", None, "review"),
        ("null keys", 0.60, "fail"),
        ("null key", 0.1, "fail"),
        ("", 0.1, "fail"),
        (None, 0.1, "fail"),
        ("  ", 0.1, "fail"),
    ],
)
def test_the_marking_rule(candidate: str | None, distance: float | None, expected: str) -> None:
    mark = Mark("op", True, expected_snippet="Null keys", candidate_snippet=candidate, delta_s=distance)
    assert r.marked(mark) == expected


def test_nothing_expected_is_nothing_right() -> None:
    assert r.marked(Mark("op", True, expected_snippet=" ", candidate_snippet="x", delta_s=0.1)) == "fail"


@pytest.mark.parametrize("key", ["delta_s", "ΔS", "deltaS", "dS", "∆S", "Î”S", "ŒîS"])
def test_a_distance_is_read_under_every_spelling(key: str) -> None:
    given_mark = msgspec.json.decode(
        json.dumps({"operator": "op", "correct": True, "qid": "q", key: 0.45}).encode(), type=Mark
    )
    assert r.distance_of(given_mark) == Fraction("0.45")


@pytest.mark.parametrize("key", ["lambda_state", "λ_state", "λ", "Î»_state", "Œª_state"])
def test_a_state_is_read_under_every_spelling(key: str) -> None:
    given_mark = msgspec.convert({"operator": "op", "correct": True, "qid": "q", key: "→"}, Mark)
    assert given_mark.state == "→"


def test_operators_who_agree_ship() -> None:
    code, report, body = score("operators", records("ccc", "ccc", "www"))
    assert (code, report["verdict"]) == (0, "SHIP")
    assert {name: one["value"] for name, one in body["metrics"].items()} == {
        "agreement.pairwise": 1.0,
        "agreement.fleiss": 1.0,
        "agreement.raters": 3,
        "agreement.operator_variance": 0.0,
        "agreement.audit_reproducibility": None,
        "agreement.delta_s_drift": 0.0,
    }
    assert body["raters"] == {f"op{nth}": {"votes": 3, "correct": 2} for nth in range(3)}
    assert body["inputs"][0]["role"] == "operators"
    assert (body["escalations"], body["lambda"], body["mean_cost_usd"]) == ([], {"→": 9}, 0.01)
    assert body["marking"] == {"correct": 9}
    differs = next(one for one in body["warnings"] if one["code"] == "RW-W77")
    assert differs["message"] == "3 records are marked in another way than by the marking rule"


def test_disagreement_above_fifteen_percent_is_escalated() -> None:
    code, report, body = score("operators", records(*["ccc"] * 3, "ccw"))
    # (3 + 1/3) / 4 = 5/6; rates 1, 1, 3/4: μ = 11/12, σ² = 1/72, σ/μ = √(2/121) = 0.12856
    assert (code, body["escalations"][0]["what"]) == (1, "disagreement")
    assert [(gate["metric"], gate["outcome"]) for gate in report["gates"]] == [
        ("agreement.pairwise", "fail"),
        ("agreement.operator_variance", "fail"),
    ]
    assert math.isclose(body["metrics"]["agreement.operator_variance"]["value"], math.sqrt(2) / 11)
    warning = next(one for one in body["warnings"] if one["code"] == "RW-W76")
    assert warning["message"] == "disagreement 0.1667 is above 0.15: a third person decides"


def test_exactly_fifteen_percent_is_not_escalated() -> None:
    marks = [msgspec.convert(row, Mark) for row in records("cc")]
    assert r.escalations(marks, Fraction("0.85"), None) == []
    assert [one.what for one in r.escalations(marks, Fraction("0.849"), None)] == ["disagreement"]


def test_a_distance_out_of_band_that_is_labelled_correct_is_escalated() -> None:
    _, _, body = score("operators", [*records("ccc"), *records("ccc", ΔS=0.46)][:4])
    assert body["escalations"] == [{"what": "distance", "value": 1.0, "limit": None, "qids": ["q0"]}]
    assert body["labels"] == {"ESCALATED": 1}
    warning = next(one for one in body["warnings"] if one["code"] == "RW-W76")
    assert warning["message"] == "1 record is labelled correct although the distance is above 0.45"


def test_dearer_than_half_as_much_again_is_escalated() -> None:
    rows = records("ccc", cost_usd=0.03)
    assert score("operators", rows, "--baseline-cost", "0.02")[2]["escalations"] == []
    _, _, body = score("operators", rows, "--baseline-cost", "0.0199")
    assert [(one["what"], one["value"]) for one in body["escalations"]] == [("cost", 0.03)]
    warning = next(one for one in body["warnings"] if one["code"] == "RW-W76")
    assert warning["message"] == "a record costs 0.03 USD on average, above 0.0298: halt"


def test_two_operators_may_mark_but_not_release() -> None:
    code, _, body = score("operators", records("cc", "ww"))
    assert code == 0
    warning = next(one for one in body["warnings"] if one["code"] == "RW-W74")
    assert warning["message"] == "2 operators: a release needs 3"
    code, report, _ = score("operators", records("cc", "ww"), "--release")
    assert (code, report["gates"][-1]["metric"], report["gates"][-1]["outcome"]) == (1, "agreement.raters", "fail")
    assert score("operators", records("ccc", "www"), "--release")[0] == 0


def test_nothing_marked_correct_leaves_the_spread_without_a_value() -> None:
    code, report, _ = score("operators", records("www", "www"))
    assert code == 4
    assert report["invalid"] == [
        "agreement.operator_variance was not measured: nothing was marked correct, or there is one operator only"
    ]


def test_rows_have_the_votes_of_every_item() -> None:
    score("operators", [*records("cw", "cc"), record("op0", "q2")], "--rows", "rows.jsonl")
    told = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert [row["label"] for row in told] == ["DISAGREED", "OK", "SINGLE"]
    assert told[0]["votes"] == {"op0": "correct", "op1": "wrong"}
    assert told[0]["metrics"] == {"agreement.pairwise": 0.0}
    assert told[2]["facts"] == {"agreed": False, "complete": False, "escalated": False}
    assert told[2]["undefined"]["agreement.pairwise"] == "fewer than two votes"


def test_receipts_of_both_forms_verify() -> None:
    for form, rows in (("raters", votes(*W51)), ("operators", records("ccc", "cww"))):
        score(form, rows, "--receipt", "receipt.json", "-o", "report.json")
        assert run_cli("verify", "receipt.json").code == 0


def test_what_people_read() -> None:
    _, _, body = score("operators", records("ccc", "ccw"))
    assert SUITE.counts_line(body["counts"]) == "2 items, 3 raters, 6 votes: 1 agreed, 1 not, 0 with one vote only"
    assert SUITE.lines(body) == [
        "correct by operator: op0 2/2, op1 2/2, op2 1/2",
        "agreeing: op0 and op1 2/2, op0 and op2 1/2, op1 and op2 1/2",
        "by the marking rule: correct 6",
    ]


def test_votes_of_several_raters_are_not_written_as_pairs() -> None:
    write_jsonl(Path("votes.jsonl"), [{"qid": "q1", "rater": "r0", "label": "c"}])
    Path("keep.jsonl").write_text("mine")
    for flag in ("--raters", "--operators"):
        done = run_cli("score", "agreement", flag, "votes.jsonl", "--pairs-out", "keep.jsonl")
        assert done.code == 2
        assert done.err.startswith(f"--pairs-out: expected the votes of two validators, got {flag} [RW-U01]")
    assert Path("keep.jsonl").read_text() == "mine"
