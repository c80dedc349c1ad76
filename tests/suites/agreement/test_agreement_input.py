"""What files of votes may hold: every mistake with its exact message, and everything that is counted, not dropped."""

import json
from pathlib import Path
from typing import Any

import pytest

import ragworthy
from conftest import Done, run_cli, write_jsonl
from ragworthy.errors import DataError

Row = dict[str, Any]
LABELS = "expected VALID, NOT_IN_CONTEXT, REJECT or ABSTAIN, got"
NIC = "(did you mean NOT_IN_CONTEXT?)"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(form: str, *lines: Row | str, args: tuple[str, ...] = ()) -> Done:
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    Path("v.jsonl").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return run_cli("score", "agreement", f"--{form}", "v.jsonl", "--format", "json", *args)


def suite(done: Done) -> Row:
    body: Row = json.loads(done.out)["suites"]["agreement"]
    return body


def codes(body: Row) -> dict[str, str]:
    return {one["code"]: one["message"] for one in body["warnings"]}


def pair(qid: str | None = "q", scholar: Any = "VALID", auditor: Any = "VALID", **fields: Any) -> Row:
    row = {"qid": qid, "scholar": {"label": scholar}, "auditor": {"label": auditor}} | fields
    return {key: value for key, value in row.items() if value is not None}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "expected a JSON object, got a list [RW-F08]"),
        ('{"qid": }', 'expected a JSON object, got {"qid": } (invalid character (byte 8)) [RW-F07]'),
        (pair(None), "qid: expected a non-empty string, got nothing [RW-V01]"),
        (pair(""), "qid: expected a non-empty string, got nothing [RW-V01]"),
        (pair() | {"qid": 7}, "qid: expected a string, got 7 [RW-V02]"),
        ({"qid": "q", "scholar": {"label": "VALID"}}, "auditor: expected an object with a label, got nothing [RW-V02]"),
        (pair() | {"scholar": "VALID"}, "scholar: expected an object, got a string [RW-V02]"),
        (pair() | {"scholar": {}}, "scholar.label: expected a string, got nothing [RW-V02]"),
        (pair(scholar=1), "scholar.label: expected a string, got a whole number [RW-V02]"),
        (pair(scholar="valid"), f'scholar.label: {LABELS} "valid" (did you mean VALID?) [RW-V03]'),
        (pair(auditor="Not in context"), f'auditor.label: {LABELS} "Not in context" {NIC} [RW-V03]'),
        (pair(auditor="REJECTED"), f'auditor.label: {LABELS} "REJECTED" (did you mean REJECT?) [RW-V03]'),
        (pair(auditor="xyz"), f'auditor.label: {LABELS} "xyz" [RW-V03]'),
        (pair(auditor=""), f'auditor.label: {LABELS} "" [RW-V03]'),
        (pair(flags={"provenance_violation": "no"}), "flags[...]: expected true or false, got a string [RW-V02]"),
        (pair(retrieved_ids="x"), "retrieved_ids: expected a list, got a string [RW-V02]"),
        (pair(answer_json="x"), "answer_json: expected an object, got a string [RW-V02]"),
    ],
)  # fmt: skip
def test_a_wrong_pair_is_named_by_its_line(line: Row | str, message: str) -> None:
    done = run("pairs", pair("first"), "", line)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == f"v.jsonl:3: {message}"


def test_all_problems_come_at_once() -> None:
    done = run("pairs", pair("a", "x", "y"), "nothing", pair("b", "z"))
    assert [line.split(": ")[0] for line in done.err.splitlines() if line.startswith("v.jsonl")] == [
        "v.jsonl:1",
        "v.jsonl:1",
        "v.jsonl:2",
        "v.jsonl:3",
    ]


def test_an_empty_file_shows_nothing() -> None:
    assert run("pairs", "").err.splitlines()[0] == "v.jsonl: expected votes, got none [RW-F04]"


def test_invalid_is_taken_as_reject_and_counted() -> None:
    done = run("pairs", pair("a", "INVALID", "REJECT"), pair("b"), pair("c", "VALID", "INVALID"))
    body = suite(done)
    assert (body["counts"]["renamed"], body["counts"]["agreed"]) == (2, 2)
    assert body["confusion"]["REJECT"]["REJECT"] == 1
    assert codes(body)["RW-W72"] == "2 labels INVALID taken as REJECT"


def test_of_pairs_with_one_id_the_last_counts_in_the_place_of_the_first() -> None:
    body = suite(run("pairs", pair("a", "REJECT", "VALID"), pair("b", "VALID", "REJECT"), pair("a")))
    assert (body["counts"]["pairs"], body["counts"]["duplicates"], body["inputs"][0]["records"]) == (2, 1, 3)
    assert [one["qid"] for one in body["disagreements"]] == ["b"]
    assert codes(body)["RW-W73"] == "1 vote was replaced by a later one"


def test_q_id_is_an_id_too() -> None:
    assert suite(run("pairs", {**pair(None), "q_id": "a"}, pair("b")))["counts"]["pairs"] == 2


# two files


def files(scholar: list[Row], auditor: list[Row], *args: str) -> Done:
    write_jsonl(Path("s.jsonl"), scholar)
    write_jsonl(Path("a.jsonl"), auditor)
    return run_cli(
        "score", "agreement", "--scholar", "s.jsonl", "--auditor", "a.jsonl", "--format", "json", *args
    )  # fmt: skip


def row(qid: str, label: str, **fields: Any) -> Row:
    return {"qid": qid, "label": label, **fields}


def test_two_files_are_joined_by_id_and_what_is_alone_is_listed() -> None:
    done = files(
        [row("c", "VALID", reason="why"), row("a", "REJECT"), row("x", "VALID"), row("a", "VALID")],
        [row("a", "REJECT"), row("y", "VALID"), row("z", "VALID"), row("c", "VALID")],
        "--rows", "rows.jsonl",
    )  # fmt: skip
    body = suite(done)
    assert [(one["role"], one["records"]) for one in body["inputs"]] == [("scholar", 4), ("auditor", 4)]
    assert (body["counts"]["pairs"], body["counts"]["unpaired"], body["counts"]["duplicates"]) == (2, 3, 1)
    assert body["unpaired"] == {"scholar": ["x"], "auditor": ["y", "z"]}
    assert body["metrics"]["agreement.percent"]["ledger"]["missing"] == 3
    assert body["metrics"]["agreement.percent"]["ledger"]["expected"] == 5
    told = [one["message"] for one in body["warnings"] if one["code"] == "RW-W70"]
    assert told == [
        "1 qid of the scholar without the auditor: left out, e.g. x",
        "2 qids of the auditor without the scholar: left out, e.g. y, z",
    ]
    told_rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert [(one["qid"], one["label"]) for one in told_rows] == [("a", "DISAGREED"), ("c", "OK")]
    assert told_rows[1]["scholar"] == {"label": "VALID", "reason": "why"}


def test_two_files_without_a_common_id_are_no_evidence() -> None:
    done = files([row("a", "VALID")], [row("b", "VALID")])
    assert (done.code, json.loads(done.out)["verdict"]) == (4, "INVALID")
    assert json.loads(done.out)["invalid"][:2] == [
        "2 qids have one vote only, and 0 have both",
        "agreement.percent was not measured: there is no pair",
    ]


@pytest.mark.parametrize(("strays", "code"), [("x", 0), ("xy", 0), ("xyz", 4)])
def test_more_qids_alone_than_in_pairs_are_no_evidence(strays: str, code: int) -> None:
    both = [row("a", "VALID"), row("b", "REJECT")]
    done = files([*both, row(strays[0], "VALID")], [*both, *(row(qid, "VALID") for qid in strays[1:])])
    assert done.code == code
    assert json.loads(done.out)["invalid"] == ["3 qids have one vote only, and 2 have both"] * (code == 4)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"qid": "a"}, "label: expected a string, got nothing [RW-V02]"),
        (row("a", "Valid"), f'label: {LABELS} "Valid" (did you mean VALID?) [RW-V03]'),
        ({"label": "VALID"}, "qid: expected a non-empty string, got nothing [RW-V01]"),
        (row("a", "VALID", reason=3), "reason: expected a string, got a whole number [RW-V02]"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(line: Row, message: str) -> None:
    done = files([row("a", "VALID")], [line])
    assert (done.code, done.err.splitlines()[0]) == (2, f"a.jsonl:1: {message}")


def test_the_receipt_of_two_files_verifies() -> None:
    files([row("a", "VALID"), row("b", "REJECT")], [row("a", "VALID"), row("b", "VALID")], "--receipt", "r.json")
    assert run_cli("verify", "r.json").code == 0
    write_jsonl(Path("a.jsonl"), [row("a", "VALID"), row("b", "REJECT")])
    assert run_cli("verify", "r.json").code == 1


# raters and operators


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"qid": "a", "label": "x"}, "rater: expected a string, got nothing [RW-V02]"),
        ({"qid": "a", "rater": "r"}, "label: expected a string, got nothing [RW-V02]"),
        ({"qid": "a", "rater": " ", "label": "x"}, 'rater: expected a non-empty string, got "" [RW-V02]'),
        ({"qid": "a", "rater": "r", "label": ""}, 'label: expected a non-empty string, got "" [RW-V02]'),
        ({"qid": "a", "rater": "r", "label": True}, "label: expected a string, got true or false [RW-V02]"),
        ({"rater": "r", "label": "x"}, "qid: expected a non-empty string, got nothing [RW-V01]"),
    ],
)
def test_a_wrong_rating_is_named_by_its_line(line: Row, message: str) -> None:
    done = run("raters", line)
    assert (done.code, done.err.splitlines()[0]) == (2, f"v.jsonl:1: {message}")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"correct": None}, "correct: expected true or false, got null [RW-V02]"),
        ({"correct": "yes"}, "correct: expected true or false, got a string [RW-V02]"),
        ({"operator": ""}, 'operator: expected a non-empty string, got "" [RW-V02]'),
        ({"ΔS": "0.4"}, "ΔS: expected a number, got a string [RW-V02]"),
        ({"cost_usd": -1}, "cost_usd: expected a number from 0, got -1 [RW-V02]"),
        ({"fix": 3}, "fix: expected a string or a list, got a whole number [RW-V02]"),
        ({"q_id": 3}, "q_id: expected a string, got 3 [RW-V02]"),
    ],
)
def test_a_wrong_operator_record_is_named_by_its_line(fields: Row, message: str) -> None:
    done = run("operators", {"operator": "o", "q_id": "a", "correct": True} | fields)
    assert (done.code, done.err.splitlines()[0]) == (2, f"v.jsonl:1: {message}")


def test_an_operator_record_has_to_say_whether_it_is_correct() -> None:
    done = run("operators", {"operator": "o", "q_id": "a"})
    assert done.err.splitlines()[0] == "v.jsonl:1: correct: expected true or false, got nothing [RW-V02]"


def test_fixes_have_to_be_on_the_list() -> None:
    records = [
        {"operator": operator, "q_id": "a", "correct": True, "fix": fix}
        for operator, fix in (("o", "rerank"), ("p", ["chunking", "rewire"]))
    ]
    write_jsonl(Path("v.jsonl"), records)
    policy = 'version = 1\n[agreement]\noperators = "v.jsonl"\nfixes = ["rerank", "chunking"]\n'
    Path("ragworthy.toml").write_text(policy)
    done = run_cli("gate")
    assert done.code == 2
    assert done.err.splitlines()[0].endswith(
        'v.jsonl:2: fix: expected one of the fixes rerank, chunking, got "rewire" [RW-V04]'
    )
    Path("ragworthy.toml").write_text(policy.replace('"chunking"]', '"chunking", "rewire"]'))
    assert run_cli("gate").code != 2


# the files of one form


@pytest.mark.parametrize(
    "args",
    [(), ("--scholar", "v.jsonl"), ("--pairs", "v.jsonl", "--raters", "v.jsonl"), ("--gold", "v.jsonl")],
)
def test_a_mixture_of_forms_is_refused(args: tuple[str, ...]) -> None:
    write_jsonl(Path("v.jsonl"), [pair()])
    done = run_cli("score", "agreement", *args)
    assert (done.code, done.out) == (2, "")
    assert "expected the files of one form" in done.err


def test_packed_files_and_byte_order_marks_are_read() -> None:
    Path("v.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(pair()).encode() + b"\r\n\n")
    done = run_cli("score", "agreement", "--pairs", "v.jsonl", "--format", "json")
    assert suite(done)["counts"]["pairs"] == 1


@pytest.mark.parametrize("form", ["pairs", "raters", "operators"])
def test_no_votes_from_python_are_none(form: str) -> None:
    given: Row = {form: []}
    with pytest.raises(DataError) as caught:
        ragworthy.score("agreement", **given)
    assert caught.value.lines()[0] == f"<{form}>: expected votes, got none [RW-F04]"


@pytest.mark.parametrize("flag", ["--receipt", "--rows"])
def test_the_reference_profile_writes_no_receipts_or_rows(flag: str) -> None:
    done = run("pairs", pair(), args=("--profile", "reference", flag, "more.jsonl"))
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == "--profile reference writes no receipts or rows [RW-U01]"
    assert not Path("more.jsonl").exists()
