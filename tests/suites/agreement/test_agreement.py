"""Two validators: percent agreement, κ, abstentions, arbitration; worked examples W-41, W-42 and W-45."""

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy import flow
from ragworthy.metrics.agreement import kappa
from ragworthy.metrics.facts.arbitration import FLAGS, LABELS, Final, Voted, arbitrate, disagreements, tsv
from ragworthy.metrics.facts.raters import NoValue
from ragworthy.records import Pair, Vote
from ragworthy.suites.agreement import Agreement
from ragworthy.suites.agreement.advice import tsv_of
from ragworthy.suites.agreement.rules import AGREEMENT_GATES
from ragworthy.suites.agreement.suite import SUITE

Row = dict[str, Any]
V, N, R, A = LABELS
SHORT = {"V": V, "NIC": N, "R": R, "ABSTAIN": A}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def pairs(*labels: tuple[str, str], **fields: Any) -> list[Row]:
    return [
        {"qid": f"q{nth}", "scholar": {"label": one, "reason": "s"}, "auditor": {"label": other}} | fields
        for nth, (one, other) in enumerate(labels)
    ]


def score(rows: list[Row], *args: str) -> tuple[int, Row]:
    """The exit code and the report of a file of pairs."""
    write_jsonl(Path("pairs.jsonl"), rows)
    done = run_cli("score", "agreement", "--pairs", "pairs.jsonl", "--format", "json", *args)
    assert done.err == ""
    return done.code, json.loads(done.out)


def suite(report: Row) -> Row:
    body: Row = report["suites"]["agreement"]
    return body


def metric(report: Row, name: str) -> Row:
    found: Row = suite(report)["metrics"][f"agreement.{name}"]
    return found


W41 = [(V, V)] * 6 + [(N, N)] * 2 + [(R, R), (V, R)]


def test_w41_kappa_of_ten_pairs() -> None:
    code, report = score(pairs(*W41), "--tsv", "apart.tsv")
    assert (code, report["verdict"]) == (0, "SHIP")
    assert (metric(report, "percent")["num"], metric(report, "percent")["den"]) == (9, 10)
    # Pe = 0.7 · 0.6 + 0.2 · 0.2 + 0.1 · 0.2 = 0.48; κ = (0.9 − 0.48) / (1 − 0.48) = 42/52 = 21/26
    assert metric(report, "kappa")["exact"] == "21/26"
    assert round(metric(report, "kappa")["value"], 4) == 0.8077
    assert metric(report, "abstain")["value"] == 0.0
    assert suite(report)["disagreements"] == [
        {"qid": "q9", "scholar": V, "auditor": R, "final": R, "why": "auditor_veto"}
    ]
    written = Path("apart.tsv").read_bytes()
    assert written == b"qid\tscholar\tauditor\tfinal\twhy\nq9\tVALID\tREJECT\tREJECT\tauditor_veto\n"


def test_w42_one_label_only_passes_by_agreement() -> None:
    code, report = score(pairs(*[(V, V)] * 10), "--tsv", "apart.tsv")
    assert (code, report["verdict"]) == (0, "SHIP")
    assert metric(report, "percent")["value"] == 1.0
    assert metric(report, "kappa")["value"] is None
    assert metric(report, "kappa")["undefined"] == "every vote has the same label"
    gate = next(gate for gate in report["gates"] if gate["metric"] == "agreement.kappa")
    assert (gate["outcome"], gate["value"]) == ("pass", None)
    assert gate["reason"] == "every label is the same: agreement is complete"
    assert Path("apart.tsv").read_text() == "qid\tscholar\tauditor\tfinal\twhy\n"


def test_under_interval_one_label_only_is_undecided() -> None:
    policy = Path("ragworthy.toml")
    head = 'version = 1\nevidence = "interval"\ndefaults = false\n[agreement]\npairs = "pairs.jsonl"\n'
    kappa_gate = '[[gate]]\nmetric = "agreement.kappa"\nmin = 0.75\n'
    percent_gate = '[[gate]]\nmetric = "agreement.percent"\nmin = 0.5\n'
    waiver = '[[waiver]]\ngate = "agreement.kappa"\nreason = "r"\nowner = "o"\nexpires = 2999-01-01\n'
    write_jsonl(Path("pairs.jsonl"), pairs(*[(V, V)] * 10))
    policy.write_text(head + percent_gate + kappa_gate)
    done = run_cli("gate", "--format", "json")
    gate = json.loads(done.out)["gates"][1]
    assert (done.code, gate["outcome"]) == (3, "undecided")
    assert gate["reason"] == "every label is the same: agreement is complete, but it has no interval"
    policy.write_text(head + percent_gate + kappa_gate + waiver)
    assert run_cli("gate", "--format", "json").code == 0


@pytest.mark.parametrize(("size", "code"), [(4, 3), (26, 3), (28, 0)])
def test_under_interval_complete_agreement_needs_enough_pairs(size: int, code: int) -> None:
    """κ ≥ 0.75 with two labels, half each: Wilson's n / (n + 1.96²) must be 0.875, so n = 7 · 3.84 = 26.9."""
    rows = pairs(*[(V, V), (R, R)] * (size // 2))
    got, report = score(rows, "--gates", "kappa=0.75", "--evidence", "interval", "--no-default-gates")
    assert (got, metric(report, "kappa")["high"]) == (code, 1.0)


def test_complete_agreement_that_nothing_may_ship_does_not_ship() -> None:
    """Two validators who reject everything agree completely: the gates hold, and what they say is no."""
    code, report = score(pairs(*[(R, R)] * 10))
    assert (code, suite(report)["finals"]) == (4, {R: 10})
    assert report["invalid"] == ["all 10 pairs end as REJECT: nothing may ship"]
    assert [one["message"] for one in suite(report)["warnings"] if one["code"] == "RW-W78"] == [
        "all 10 pairs end as REJECT: agreement does not mean that answers are good"
    ]
    _, report = score(pairs(*[(R, R)] * 9, (V, V)))
    assert not [one for one in suite(report)["warnings"] if one["code"] == "RW-W78"]


def test_w42_six_and_four_agreed_is_one() -> None:
    code, report = score(pairs(*[(V, V)] * 6, *[(N, N)] * 4))
    assert (code, metric(report, "kappa")["value"]) == (0, 1.0)


def test_either_abstention_counts_once() -> None:
    """Five abstentions of the auditor, one of both, in ten pairs: 6/10, where the sources' program says 1/10."""
    code, report = score(pairs(*[(V, A)] * 5, (A, A), *[(V, V)] * 4))
    assert (metric(report, "abstain")["num"], metric(report, "abstain")["den"]) == (6, 10)
    failing = [gate["metric"] for gate in report["gates"] if gate["outcome"] == "fail"]
    assert (code, failing) == (1, ["agreement.percent", "agreement.kappa", "agreement.abstain"])
    assert suite(report)["labels"] == {"OK": 4, "ABSTAINED": 1, "DISAGREED": 5}


@pytest.mark.parametrize(
    ("scholar", "auditor", "final", "why"),
    [
        ("V", "NIC", R, "auditor_veto"),
        ("NIC", "V", V, "auditor_ok"),
        ("R", "V", R, "incoherent_pair"),
        ("ABSTAIN", "V", R, "incoherent_pair"),
        ("V", "ABSTAIN", R, "auditor_veto"),
        ("V", "V", V, "auditor_ok"),
        ("NIC", "NIC", N, "agreed_refusal"),
        ("R", "R", R, "auditor_veto"),
    ],
)
def test_w45_arbitration(scholar: str, auditor: str, final: str, why: str) -> None:
    assert arbitrate(Voted("q", SHORT[scholar], SHORT[auditor])) == Final(final, why)


def test_w45_flags_and_scope_come_first() -> None:
    assert arbitrate(Voted("q", N, V, flags=("provenance_violation",))) == Final(R, "hard_flag")
    assert arbitrate(Voted("q", N, V, citations=["x"], retrieved=("y",))) == Final(R, "citation_out_of_scope")
    assert arbitrate(Voted("q", N, N, citations=["x"], retrieved=("y",))) == Final(R, "citation_out_of_scope")
    assert arbitrate(Voted("q", V, V, citations=["x"], retrieved=("x", "y"))) == Final(V, "auditor_ok")


def test_w45_the_rule_of_the_sources_rejects_an_agreed_refusal() -> None:
    assert arbitrate(Voted("q", N, N), agreed_refusal=False) == Final(R, "auditor_veto")


@pytest.mark.parametrize("citations", ["x", {"x": 1}, [1], [None], [["x"]]])
def test_citations_that_are_no_list_of_retrieved_ids_are_out_of_scope(citations: Any) -> None:
    assert arbitrate(Voted("q", V, V, citations=citations, retrieved=("x",))).why == "citation_out_of_scope"


votes = st.sampled_from(LABELS)
voted = st.builds(
    Voted,
    st.just("q"),
    votes,
    votes,
    citations=st.sampled_from([None, [], ["x"], ["x", "z"], "x"]),
    retrieved=st.sampled_from([(), ("x",), ("x", "y")]),
    flags=st.lists(st.sampled_from(FLAGS), unique=True).map(tuple),
)


@given(voted)
@settings(derandomize=True, database=None)
def test_a_red_flag_always_ends_as_reject(one: Voted) -> None:
    outside = bool(one.citations) and not (isinstance(one.citations, list) and set(one.citations) <= set(one.retrieved))
    final = arbitrate(one)
    if one.flags or outside:
        assert final.label == R
    assert final.label in (V, N, R)
    assert final.label != V or one.auditor == V
    assert one.conflict == (one.scholar == N and final.label == V)


def brute_kappa(given: list[tuple[str, str]]) -> Fraction | NoValue:
    """κ from all n² ways to put a label of one next to a label of the other: the share that agrees is chance."""
    total = len(given)
    observed = Fraction(sum(one == other for one, other in given), total)
    mixed = [(one, other) for (one, _), (_, other) in itertools.product(given, given)]
    chance = Fraction(sum(one == other for one, other in mixed), len(mixed))
    return NoValue.ONE_LABEL if chance == 1 else (observed - chance) / (1 - chance)


@given(st.lists(st.tuples(votes, votes), min_size=1, max_size=25))
@settings(derandomize=True, database=None)
def test_kappa_is_that_of_a_brute_force_and_no_order_or_side_matters(labels: list[tuple[str, str]]) -> None:
    found = kappa([Voted("q", one, other) for one, other in labels])
    assert found == brute_kappa(labels)
    assert found == kappa([Voted("q", other, one) for one, other in reversed(labels)])
    if isinstance(found, Fraction):
        assert -1 <= found <= 1
        assert (found == 1) == all(one == other for one, other in labels)


def test_kappa_of_nothing_has_no_value() -> None:
    assert kappa([]) is NoValue.NO_PAIR


def test_kappa_can_be_negative() -> None:
    """Po = 0, Pe = 2 · 1/4 = 1/2: κ = −1."""
    code, report = score(pairs((V, R), (R, V)))
    assert (code, metric(report, "kappa")["value"]) == (1, -1.0)


def test_the_threshold_itself_passes_and_is_compared_exactly() -> None:
    """9 of 10 is 0.90, the threshold; as floats 1 − 0.1 would do, 0.3 + 0.6 would not."""
    assert score(pairs(*W41), "--gates", "percent=0.90")[0] == 0
    assert score(pairs(*W41), "--gates", "percent=0.9000000001")[0] == 1
    assert score(pairs(*W41), "--gates", "kappa=0.8076")[0] == 0
    assert score(pairs(*W41), "--gates", "kappa=0.8077")[0] == 1


def test_the_table_keeps_its_shape() -> None:
    rows = disagreements([Voted("a\tb\r\nc\u2028d", V, R), Voted("x", V, V), Voted("é", N, V)])
    assert tsv(rows) == (
        "qid\tscholar\tauditor\tfinal\twhy\na\\tb\\r\\nc\\u2028d\tVALID\tREJECT\tREJECT\tauditor_veto\n"
        "é\tNOT_IN_CONTEXT\tVALID\tVALID\tauditor_ok\n"
    )


@given(st.lists(st.tuples(st.text(max_size=8), votes, votes), max_size=8))
@settings(derandomize=True, database=None)
def test_every_row_of_the_table_is_one_line_of_five_fields(given_rows: list[tuple[str, str, str]]) -> None:
    made = [Voted(qid, one, other) for qid, one, other in given_rows]
    lines = tsv(disagreements(made)).split("\n")
    assert lines.pop() == ""
    assert len(lines) == 1 + sum(one != other for _, one, other in given_rows)
    assert all(line.count("\t") == 4 and len(line.splitlines()) == 1 for line in lines)


def test_a_conflict_of_labels_is_valid_and_warned_about() -> None:
    _, report = score(pairs((N, V), *[(V, V)] * 9))
    assert suite(report)["counts"]["label_conflicts"] == 1
    assert suite(report)["finals"] == {V: 10}
    warning = next(one for one in suite(report)["warnings"] if one["code"] == "RW-W71")
    assert (warning["name"], warning["qids"]) == ("label_conflict", ["q0"])
    assert warning["message"] == "1 pair ends as VALID although the scholar says NOT_IN_CONTEXT (label_conflict)"


def test_agreed_answers_that_break_a_rule_are_overruled() -> None:
    _, report = score(
        pairs((V, V), (N, V), answer_json={"claim": "c", "citations": ["x"]}, retrieved_ids=["y"]), "--gates", "kappa=1"
    )
    body = suite(report)
    assert body["labels"] == {"DISAGREED": 1, "OVERRULED": 1}
    assert body["why"] == {"citation_out_of_scope": 2}
    assert body["counts"]["red_flags"] == 2
    assert [(one["qid"], one["stage"]) for one in body["offenders"]] == [("q0", "citation"), ("q1", "citation")]
    assert body["offenders"][1]["why"] == (
        "scholar NOT_IN_CONTEXT (s), auditor VALID; ends as REJECT by citation_out_of_scope"
    )


def test_rows_say_what_became_of_every_pair() -> None:
    rows = pairs((V, R), (N, N))
    rows[1]["flags"] = {"provenance_violation": False, "constraints_mismatch": True}
    score(rows, "--rows", "rows.jsonl")
    told = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert told[0] == {
        "qid": "q0",
        "label": "DISAGREED",
        "stage": "generation",
        "cause": None,
        "metrics": {"agreement.percent": 0.0, "agreement.abstain": 0.0},
        "undefined": {"agreement.kappa": "a number of all items at once"},
        "facts": {"agreed": False, "abstained": False, "red_flag": False, "label_conflict": False},
        "scholar": {"label": V, "reason": "s"},
        "auditor": {"label": R, "reason": ""},
        "final": R,
        "why": "auditor_veto",
        "cluster": "q0",
    }
    assert (told[1]["label"], told[1]["stage"], told[1]["why"]) == ("OVERRULED", "constraints", "hard_flag")


def test_must_pass_items_have_to_agree() -> None:
    policy = '[[gate]]\nmetric = "agreement.percent"\nmust_pass = ["q9", "q0"]\n'
    write_jsonl(Path("pairs.jsonl"), pairs(*W41))
    Path("ragworthy.toml").write_text(f'version = 1\ndefaults = false\n[agreement]\npairs = "pairs.jsonl"\n{policy}')
    done = run_cli("gate", "--format", "json")
    (gate,) = json.loads(done.out)["gates"]
    assert (done.code, gate["outcome"], gate["failing"]) == (1, "fail", ["q9"])
    Path("ragworthy.toml").write_text(
        Path("ragworthy.toml").read_text().replace('"q9"', '"nobody"'),
    )
    done = run_cli("gate")
    assert done.code == 2
    assert 'agreement.percent: must_pass: expected the qid of a vote, got "nobody" [RW-P09]' in done.err


def test_a_baseline_is_compared_only_over_the_same_items() -> None:
    score(pairs(*W41), "-o", "before.json")
    drop = '[[gate]]\nmetric = "agreement.percent"\nmax_drop = 0.05\n'
    Path("ragworthy.toml").write_text(
        f'version = 1\ndefaults = false\nbaseline = "before.json"\n[agreement]\npairs = "pairs.jsonl"\n{drop}'
    )
    write_jsonl(Path("pairs.jsonl"), pairs(*W41[:-2], (V, R), (V, R)))
    (gate,) = json.loads(run_cli("gate", "--format", "json").out)["gates"]
    assert (gate["outcome"], gate["value"], gate["baseline"]) == ("undecided", 0.8, 0.9)
    write_jsonl(Path("pairs.jsonl"), pairs(*W41[:-1]))
    (gate,) = json.loads(run_cli("gate", "--format", "json").out)["gates"]
    assert gate["outcome"] == "not_measured"
    assert gate["reason"] == "the baseline is not comparable: its votes are about other items"


def test_a_receipt_verifies_and_notices_a_changed_vote() -> None:
    score(pairs(*W41), "--receipt", "receipt.json")
    assert run_cli("verify", "receipt.json").code == 0
    write_jsonl(Path("pairs.jsonl"), pairs(*W41[:-1], (R, V)))
    assert run_cli("verify", "receipt.json").code == 1


def test_the_same_votes_give_the_same_bytes_in_every_format() -> None:
    write_jsonl(Path("pairs.jsonl"), pairs(*W41, (A, V)))
    for name in ("json", "text", "markdown", "junit"):
        first, second = (run_cli("score", "agreement", "--pairs", "pairs.jsonl", "--format", name) for _ in range(2))
        assert first == second
        assert ("kappa" if name == "text" else "agreement.kappa") in first.out
        assert first.err == ""


def test_damage_reaches_every_pair() -> None:
    """What a selftest does to pairs makes each default gate fail."""

    def apart(pair: Pair) -> Pair:
        return Pair(qid=pair.qid, scholar=Vote(A), auditor=Vote(V if pair.name < "q5" else R))

    request = flow.Request("agreement", {"pairs": pairs(*W41)}, Agreement(), AGREEMENT_GATES)
    assert [one.outcome.value for one in flow.score(request).judged] == ["pass"] * 3
    assert [one.outcome.value for one in flow.score(request._replace(damage=apart)).judged] == ["fail"] * 3
    empty = flow.score(request._replace(damage=lambda pair: None))
    assert (empty.verdict.value, empty.report["suites"]["agreement"]["counts"]["pairs"]) == ("INVALID", 0)
    assert empty.judged[1].reason == "there is no pair"
    assert tsv_of(empty.report["suites"]["agreement"]) == "qid\tscholar\tauditor\tfinal\twhy\n"


def test_counts_in_one_line() -> None:
    body = suite(score(pairs(*W41, (A, A)))[1])
    assert SUITE.counts_line(body["counts"]) == "11 pairs: 10 agreed, 1 not, 1 with an abstention"
