"""A second look at operator records: what is drawn, what comes of it, and how it is kept."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Done, run_cli, write_jsonl
from ragworthy.metrics.facts import audits as a
from ragworthy.records import Mark

Row = dict[str, Any]
STEADY = settings(deadline=None, derandomize=True, database=None)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def record(operator: str, nth: int, correct: bool = True, distance: float | None = 0.30) -> Row:
    found = {"expected_snippet": "null keys", "candidate_snippet": "X rejects null keys"}
    return {"qid": f"A{nth}", "operator": operator, "correct": correct, "ΔS": distance, **found}


def records(items: int = 20) -> list[Row]:
    return [record(operator, nth, correct=nth % 4 > 0) for nth in range(items) for operator in ("ada", "ben")]


def draw(rows: list[Row], *flags: str) -> list[Row]:
    write_jsonl(Path("marks.jsonl"), rows)
    done = run_cli("score", "agreement", "--operators", "marks.jsonl", "--spot-check", "check.jsonl", *flags)
    assert done.err == ""
    return [json.loads(line) for line in Path("check.jsonl").read_text().splitlines()]


def filled(sheet: list[Row], rows: list[Row], **fields: Any) -> list[Row]:
    """The sheet as somebody fills it in who comes to the same."""
    known = {(row["qid"], row["operator"]): row for row in rows}
    marks = [known[one["qid"], one["operator"]] for one in sheet]
    own = [{"auditor": "eve", "correct": mark["correct"], "delta_s": mark["ΔS"]} for mark in marks]
    return [one | more | fields for one, more in zip(sheet, own, strict=True)]


def audit(rows: list[Row], looks: list[Row], *flags: str) -> Done:
    write_jsonl(Path("marks.jsonl"), rows)
    write_jsonl(Path("checked.jsonl"), looks)
    return run_cli("score", "agreement", "--operators", "marks.jsonl", "--audit", "checked.jsonl", *flags)


def body(done: Done) -> Row:
    assert done.err == ""
    found: Row = json.loads(done.out)["suites"]["agreement"]
    return found


def warned(done: Done) -> dict[str, str]:
    return {one["code"]: one["message"] for one in body(done)["warnings"]}


# what is drawn


def test_a_tenth_of_the_records_of_each_operator_is_drawn_without_marks_and_distances() -> None:
    sheet = draw(records(21))
    assert [one["operator"] for one in sheet] == ["ada"] * 3 + ["ben"] * 3  # 21 / 10, rounded up
    assert {(one["auditor"], one["correct"], one["delta_s"], one["notes"]) for one in sheet} == {(None,) * 4}
    assert list(sheet[0]) == [
        "qid", "operator", "question", "expected_snippet", "candidate_snippet", "record", "records",
        "auditor", "correct", "delta_s", "notes",
    ]  # fmt: skip
    assert "ΔS" not in Path("check.jsonl").read_text()


def test_the_same_records_give_the_same_file_in_any_order_and_another_seed_another_one() -> None:
    rows = records(60)
    first = [(one["qid"], one["operator"]) for one in draw(rows)]
    assert [(one["qid"], one["operator"]) for one in draw(rows[::-1])] == first
    assert [(one["qid"], one["operator"]) for one in draw(rows, "--seed", "1")] != first


MARKS = st.lists(
    st.builds(
        Mark,
        operator=st.sampled_from("abc"),
        correct=st.booleans(),
        qid=st.integers(0, 60).map(str),
        delta_s=st.none() | st.integers(0, 100).map(lambda one: one / 100),
    ),
    max_size=80,
    unique_by=lambda one: (one.operator, one.qid),
)


@STEADY
@given(MARKS, st.integers(0, 3))
def test_every_operator_gets_a_tenth_looked_at_and_no_record_twice(marks: list[Mark], seed: int) -> None:
    chosen = a.drawn(marks, seed)
    assert chosen == a.drawn(marks[::-1], seed)
    assert len({(one.operator, one.qid) for one in chosen}) == len(chosen)
    for operator in "abc":
        own, some = (sum(one.operator == operator for one in those) for those in (marks, chosen))
        assert some == (own + 9) // 10
    looks = [Mark(one.operator, one.correct, qid=one.qid, auditor="eve") for one in chosen]
    assert a.lacking(marks, looks) == {}


@STEADY
@given(MARKS)
def test_distances_move_as_a_brute_force_says(marks: list[Mark]) -> None:
    def places(one: Mark) -> Fraction:
        return Fraction(round((one.delta_s or 0) * 100), 100)

    measured = [one for one in marks if one.delta_s is not None]
    expected = []
    for nth, one in enumerate(measured):
        earlier = [other for other in measured[:nth] if other.qid == one.qid]
        if earlier:
            expected.append(abs(places(one) - places(earlier[0])))
    assert [one.by for one in a.moves(marks, [])] == expected


def test_other_snippets_are_not_compared() -> None:
    both = [Mark(who, True, qid="q", candidate_snippet=text, delta_s=d) for who, text, d in
            (("a", "One  text", 0.1), ("b", "other", 0.9), ("c", "one text", 0.2))]  # fmt: skip
    assert [(one.who, one.by) for one in a.moves(both, [])] == [("c", Fraction(1, 10))]


# what comes of it


def test_who_comes_to_the_same_everywhere_ships() -> None:
    rows = records()
    done = audit(rows, filled(draw(rows), rows), "--format", "json")
    found = body(done)
    assert done.code == 0
    metric = found["metrics"]["agreement.audit_reproducibility"]
    assert (metric["num"], metric["den"], metric["value"]) == (4, 4, 1)
    assert (found["audit"]["records"], found["audit"]["again"], found["audit"]["auditors"]) == (40, 4, ["eve"])
    assert [one["role"] for one in found["inputs"]] == ["operators", "audit"]
    assert not {"RW-W135", "RW-W136", "RW-W137"} & set(warned(done))


def test_nineteen_of_twenty_pass_and_eighteen_do_not() -> None:
    rows = records(100)  # 10 of each of two are drawn
    looks = filled(draw(rows), rows)
    looks[0]["correct"] = not looks[0]["correct"]
    done = audit(rows, looks, "--format", "json")
    metric = body(done)["metrics"]["agreement.audit_reproducibility"]
    assert (done.code, metric["num"], metric["den"]) == (0, 19, 20)
    n, p, z = len({one["qid"] for one in looks}), 0.95, 1.959964  # Wilson, over items: two looks at one are not apart
    half = z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    bounds = [(p + z * z / 2 / n + side) / (1 + z * z / n) for side in (-half, half)]
    assert [metric["low"], metric["high"]] == pytest.approx(bounds, abs=1e-6)
    looks[1]["correct"] = not looks[1]["correct"]
    done = audit(rows, looks, "--format", "json")
    metric = body(done)["metrics"]["agreement.audit_reproducibility"]
    assert (done.code, metric["num"], metric["den"]) == (1, 18, 20)
    differing = [(one["qid"], one["operator"], one["auditor"]) for one in body(done)["audit"]["differing"]]
    assert differing == [(one["qid"], one["operator"], "eve") for one in looks[:2]]
    labels = {one["qid"]: one["label"] for one in body(done)["offenders"]}
    assert labels == {one["qid"]: "ESCALATED" for one in looks[:2]}
    assert "a second look comes to another mark" in audit(rows, looks).out


@pytest.mark.parametrize(("moved", "code"), [(0.05, 0), (-0.05, 0), (0.051, 1), (-0.06, 1)])
def test_a_distance_may_move_by_five_hundredths_and_no_more(moved: float, code: int) -> None:
    rows = records()
    looks = filled(draw(rows), rows)
    looks[2]["delta_s"] = round(0.30 + moved, 3)
    done = audit(rows, looks, "--format", "json")
    metric = body(done)["metrics"]["agreement.delta_s_drift"]
    assert (done.code, metric["value"]) == (code, pytest.approx(abs(moved)))
    told = "1 item has a ΔS that moved by more than 0.05 when it was recorded again"
    assert warned(done).get("RW-W137") == (told if code else None)


def test_without_distances_the_drift_is_not_judged() -> None:
    rows = [row | {"ΔS": None} for row in records()]
    done = audit(rows, filled(draw(rows), rows), "--format", "json")
    metric = body(done)["metrics"]["agreement.delta_s_drift"]
    assert (metric["value"], metric["undefined"]) == (None, "no distance was recorded a second time")
    assert done.code == 0


def test_without_an_audit_the_gates_are_those_of_before() -> None:
    write_jsonl(Path("marks.jsonl"), records())
    done = run_cli("score", "agreement", "--operators", "marks.jsonl", "--format", "json")
    gates = [one["metric"] for one in json.loads(done.out)["gates"]]
    assert gates == ["agreement.pairwise", "agreement.operator_variance"]
    assert body(done)["metrics"]["agreement.audit_reproducibility"]["undefined"] == (
        "no record was looked at again (audit)"
    )


def test_too_few_and_ones_own_are_warned_of() -> None:
    rows = records(11)  # 2 of each
    looks = filled(draw(rows), rows)[:3]
    looks[2]["auditor"] = "Ben "
    assert warned(audit(rows, looks, "--format", "json")) | {} == {
        **warned(audit(rows, looks, "--format", "json")),
        "RW-W135": "3 second looks at 22 records: fewer than a tenth of those of ben (1 more)",
        "RW-W136": "1 second look by the operator who made the record",
    }


def test_the_last_of_several_second_looks_at_a_record_counts() -> None:
    rows = records()
    looks = filled(draw(rows), rows)
    wrong = looks[0] | {"correct": not looks[0]["correct"]}
    assert body(audit(rows, [wrong, *looks], "--format", "json"))["audit"]["again"] == 4
    assert audit(rows, [wrong, *looks]).code == 0
    assert audit(rows, [*looks, wrong]).code == 1


def test_a_spot_check_of_another_file_is_named() -> None:
    rows = records()
    looks = filled(draw(rows), rows)
    assert "RW-W165" not in warned(audit(rows, looks, "--format", "json"))
    changed = [row | {"cost_usd": 0.5} if row["qid"] not in {one["qid"] for one in looks} else row for row in rows]
    told = warned(audit(changed, looks, "--format", "json"))["RW-W165"]
    assert told == "4 second looks were drawn from other records than these"


def test_what_people_read() -> None:
    rows = records()
    done = audit(rows, filled(draw(rows), rows), "--full")
    assert "  looked at again: 4 of 40 records, 4 marked the same\n" in done.out


# what is refused


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("auditor", None, "auditor: expected a non-empty string, got nothing [RW-V02]"),
        ("auditor", " ", "auditor: expected a non-empty string, got nothing [RW-V02]"),
        ("auditor", 7, "auditor: expected a string, got a whole number [RW-V02]"),
        ("correct", None, "correct: expected true or false, got null [RW-V02]"),
        ("qid", "A99", "qid: expected a record of the operators, got A99 by ada [RW-V05]"),
        ("operator", "zoe", "qid: expected a record of the operators, got {qid} by zoe [RW-V05]"),
    ],
)
def test_a_line_that_is_not_filled_in_or_is_about_nothing_is_an_error(field: str, value: Any, message: str) -> None:
    rows = records()
    looks = filled(draw(rows), rows)
    said = message.format(qid=looks[0]["qid"])
    looks[0][field] = value
    done = audit(rows, looks)
    assert (done.code, done.err.splitlines()[0]) == (2, f"checked.jsonl:1: {said}")


def test_a_record_that_was_changed_after_it_was_drawn_is_an_error() -> None:
    rows = records()
    looks = filled(draw(rows), rows)
    first = next(row for row in rows if (row["qid"], row["operator"]) == (looks[0]["qid"], looks[0]["operator"]))
    before, first["correct"] = looks[0]["record"], not first["correct"]
    now = a.record_of(msgspec.convert(first, Mark))
    done = audit(rows, looks)
    assert done.err.splitlines() == [
        f"checked.jsonl:1: record: expected the record as it is now ({now[:12]}…), got {before[:12]}… [RW-V05]",
        "  audit_record: Draw the spot check again from these records (--spot-check), or give the records that it was "
        "drawn from.",
    ]


@pytest.mark.parametrize("flag", ["--audit", "--spot-check"])
def test_without_operators_there_is_nothing_to_look_at_again(flag: str) -> None:
    write_jsonl(Path("raters.jsonl"), [{"qid": "q", "rater": "a", "label": "x"}])
    done = run_cli("score", "agreement", "--raters", "raters.jsonl", flag, "other.jsonl")
    assert done.code == 2
    message = f"{flag}: expected operator records with it (--operators), got none [RW-U01]"
    assert done.err.splitlines()[0] == message
    assert not Path("other.jsonl").exists()


def test_records_of_questions_that_the_gold_set_lacks_are_an_error() -> None:
    write_jsonl(Path("gold.jsonl"), [{"qid": "A0", "question": "?", "answerable": False}])
    write_jsonl(Path("marks.jsonl"), [record("ada", 0), record("ben", 1)])
    done = run_cli("score", "agreement", "--operators", "marks.jsonl", "--gold", "gold.jsonl")
    assert done.err.splitlines()[0] == 'marks.jsonl:2: qid: expected a qid of the gold set, got "A1" [RW-T11]'


# the archive

POLICY = """version = 1
[agreement]
operators = "marks.jsonl"
audit = "checked.jsonl"
gold = "gold.jsonl"
[history]
eval = "eval"
"""


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an audit that was judged, kept in the history and in a bundle."""
    monkeypatch.delenv("RAGWORTHY_STORE")
    rows = records()
    golds = [{"qid": f"A{nth}", "question": f"{nth}?", "answerable": False} for nth in range(20)]
    write_jsonl(Path("gold.jsonl"), golds)
    audit(rows, filled(draw(rows), rows))
    Path("ragworthy.toml").write_text(POLICY)
    run_cli("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "first", "--label", "v1")
    done = run_cli("gate", "-q", "--bundle", "audit.zip", "-o", "report.json")
    assert done.code == 0, done.err
    return Path("audit.zip")


def test_a_bundle_holds_records_looks_and_gold_set_and_verifies(kept: Path) -> None:
    done = run_cli("verify", str(kept))
    assert done.code == 0
    assert "(v1)\n" in done.out
    assert "verified: SHIP re-derives byte for byte from 5 inputs (exit 0)\n" in done.out
    report = json.loads(Path("report.json").read_text())["suites"]["agreement"]
    assert [one["role"] for one in report["inputs"]] == ["gold", "operators", "audit"]
    assert report["frozen"] == "frozen"


def test_the_history_keeps_what_the_second_look_found_and_says_that_nothing_was_changed(kept: Path) -> None:
    [line] = map(json.loads, Path("eval/history.jsonl").read_text().splitlines())
    assert line["metrics"]["agreement.audit_reproducibility"] == {"num": 4, "den": 4, "value": 1.0}
    assert (
        line["gold_sha256"] == json.loads(Path("report.json").read_text())["suites"]["agreement"]["inputs"][0]["sha256"]
    )
    assert run_cli("history", "verify").code == 0


def test_every_gate_of_an_audit_can_fail(kept: Path) -> None:
    done = run_cli("gate", "--selftest")
    assert "can fail     agreement.audit_reproducibility ≥ 0.95: every second vote made another → fail\n" in done.out
    assert "can fail     agreement.delta_s_drift ≤ 0.05: every distance made another → fail\n" in done.out
    assert done.code == 0


def test_an_index_beside_the_records_is_kept_by_its_hash() -> None:
    write_jsonl(Path("marks.jsonl"), records())
    chunk = {"chunk_id": "d#1", "text": "X rejects null keys.", "doc_id": "d"}
    write_jsonl(Path("chunks.jsonl"), [chunk])
    done = run_cli("score", "agreement", "--operators", "marks.jsonl", "--corpus", "chunks.jsonl", "--format", "json")
    assert [(one["role"], one["records"]) for one in body(done)["inputs"]] == [("operators", 40), ("corpus", 1)]
