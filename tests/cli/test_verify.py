"""`verify` means it: byte equality and nothing else, waivers on their day, and nothing that a receipt can forge."""

import json
import os
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from conftest import Done, run_cli
from ragworthy import flow, receipts, starter
from ragworthy.policy.read import load_policy
from ragworthy.report import receipt
from ragworthy.suites import SUITES

Row = dict[str, Any]
RECEIPT = Path(".ragworthy/receipt.json")
WAIVER = '\n[[waiver]]\ngate = "answers.precision"\nreason = "known"\nowner = "search team"\nexpires = {}\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    starter.init(Path())


def rewritten(change: Callable[[Row], None], path: Path = RECEIPT) -> Done:
    """A receipt edited so that it is still canonical, verified."""
    body = json.loads(path.read_text())
    change(body)
    path.write_bytes(rfc8785.dumps(body) + b"\n")
    return run_cli("verify", path)


def gated() -> None:
    assert run_cli("gate", "-q").code == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: body.update(exit_code=False), "exit_code: the receipt says false, re-derived 0"),
        (lambda body: body.update(approved_by=None), "approved_by: the receipt says null, re-derived nothing"),
        (lambda body: body["gates"][2].update(num=False), "gates[2].num: the receipt says false, re-derived 0"),
        (lambda body: body["gates"][0].pop("waiver"), "gates[0].waiver: the receipt says nothing, re-derived null"),
    ],
)
def test_what_python_calls_equal_is_not_equal_here(change: Callable[[Row], None], said: str) -> None:
    gated()
    done = rewritten(change)
    assert (done.code, done.out.splitlines()[0]) == (1, said)
    assert done.out.splitlines()[-1] == "not verified: the receipt says SHIP, but it does not re-derive (exit 1)"


def test_a_difference_deep_inside_is_named_by_its_place() -> None:
    gated()
    done = rewritten(lambda body: body["inputs"][0].update(path="./" + body["inputs"][0]["path"]))
    assert done.code == 1
    assert done.out.startswith("inputs[0].path: the receipt says ")


def test_verify_shows_the_gates_and_what_was_left_out_of_account() -> None:
    text = Path("ragworthy.toml").read_text()
    optional = '\n[[gate]]\nmetric = "answers.support"\nmin = 0.9\noptional = true\n'
    Path("ragworthy.toml").write_text(text + optional)
    assert run_cli("gate", "-q", "--allow-gold-errors").code == 0
    lines = run_cli("verify", RECEIPT).out.splitlines()
    assert lines[0] == "gate: answers.precision >= 0.80: pass (1.0)"
    assert lines[4] == "gate: answers.support >= 0.9: not_measured (–), optional (it may be unmeasured)"
    assert "--allow-gold-errors: errors in the gold set were let pass" in lines


def test_verify_words_gates_that_compare_as_reports_do() -> None:
    assert run_cli("gate", "-q", "-o", "base.json").code == 0
    text = Path("ragworthy.toml").read_text()
    Path("ragworthy.toml").write_text(f'baseline = "base.json"\nregression = true\n{text}')
    assert run_cli("gate", "-q").code == 0
    lines = [line for line in run_cli("verify", RECEIPT).out.splitlines() if line.startswith("gate: ")]
    assert not [line for line in lines if "drop<=" in line]
    assert "gate: answers.good: no proven drop: pass (1.0 (was 1.0)), optional (it may be unmeasured)" in lines
    assert "gate: answers.over_refusal no proven rise, unproven ≤ 0.02: pass (0.0 (was 0.0))" in lines


def test_expect_makes_the_verdict_part_of_the_exit_code() -> None:
    gated()
    assert run_cli("verify", RECEIPT, "--expect", "SHIP").code == 0
    done = run_cli("verify", RECEIPT, "--expect", "NO-SHIP")
    assert (done.code, done.out.splitlines()[-1]) == (1, "verified, but the verdict is SHIP, not NO-SHIP (exit 1)")
    rows = [json.loads(line) for line in Path("runs/latest/traces.jsonl").read_text().splitlines()]
    for row in rows:
        row["answer_json"] = {"claim": "garbage", "citations": []}
    Path("runs/latest/traces.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run_cli("gate", "-q").code == 1
    assert run_cli("verify", RECEIPT).code == 0  # it is what it says
    assert run_cli("verify", RECEIPT, "--expect", "SHIP").code == 1  # and that is not what may be deployed


def waived(today: date, expires: date) -> Path:
    """The receipt of a policy with a waiver, judged on some day."""
    rows = [json.loads(line) for line in Path("runs/latest/traces.jsonl").read_text().splitlines()]
    for row in rows[:4]:
        row["answer_json"] = {"claim": "garbage", "citations": row["answer_json"]["citations"]}
    Path("runs/latest/traces.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    policy = Path("ragworthy.toml")
    policy.write_text(policy.read_text() + WAIVER.format(expires))
    requests = flow.from_policy(load_policy(policy, SUITES, today=today))
    run = flow.score_all(requests)
    assert run.verdict == "SHIP"
    receipt.write(Path("r.json"), receipts.make(run, requests, Path()))
    return Path("r.json")


def test_a_waiver_is_judged_on_the_day_of_the_receipt_and_named_as_it_is_today() -> None:
    path = waived(date(2019, 12, 1), date(2020, 1, 1))
    assert json.loads(path.read_text())["request"]["today"] == "2019-12-01"
    done = run_cli("verify", path)
    assert (done.code, done.out.splitlines()[-2:]) == (
        0,
        [
            "waived: answers.precision until 2020-01-01 (expired today), by search team: known",
            "verified: SHIP re-derives byte for byte from 3 inputs (exit 0)",
        ],
    )
    done = run_cli("verify", path, "--expect", "SHIP")
    assert (done.code, done.out.splitlines()[-1]) == (
        1,
        "verified, but the verdict rests on 1 waiver that expired since (exit 1)",
    )
    assert run_cli("gate", "-q").code == 2  # every other command refuses it today


def test_a_waiver_that_still_holds_is_named_too() -> None:
    today = date.today()
    path = waived(today, today + timedelta(days=30))
    done = run_cli("verify", path, "--expect", "SHIP")
    assert done.code == 0
    assert "(still holds today), by search team: known" in done.out


@pytest.mark.parametrize(
    ("day", "code"),
    [(None, 1), ("2020-06-01", 1), ("2999-01-01", 1), ("soon", 2), (20191201, 2)],
    ids=["none", "after it expired", "to come yet", "no day", "a number"],
)
def test_the_day_of_a_receipt_cannot_be_bent(day: Any, code: int) -> None:
    path = waived(date(2019, 12, 1), date(2020, 1, 1))

    def change(body: Row) -> None:
        if day is None:
            del body["request"]["today"]
        else:
            body["request"]["today"] = day

    assert rewritten(change, path).code == code


def test_without_waivers_the_day_does_not_matter() -> None:
    gated()
    first = RECEIPT.read_bytes()
    requests = flow.from_policy(load_policy(Path("ragworthy.toml"), SUITES, today=date(2001, 1, 1)))
    assert receipts.make(flow.score_all(requests), requests, RECEIPT.parent) + b"\n" == first


def test_a_receipt_cannot_write_to_the_terminal() -> None:
    gated()
    forged = "SHIP\x1b[2K\rverified: SHIP re-derives byte for byte from 2 inputs (exit 0)\x1b[8m"
    for change in (
        lambda body: body.update(verdict=forged),
        lambda body: body["tool"].update(version=forged),
        lambda body: body["inputs"][0].update(role=forged),
        lambda body: body["inputs"][0].update(path=forged),
        lambda body: body["request"].update({forged: 1}),
    ):
        gated()
        done = rewritten(change)
        assert done.code in (1, 2)
        assert not {sign for sign in done.out + done.err if ord(sign) < 32} - {"\n"}


def test_the_lock_cannot_be_left_out() -> None:
    run_cli("gold", "freeze", "gold/answers.jsonl", "--signer", "me", "--reason", "why")
    flags = ("--gold", "gold/answers.jsonl", "--trace", "runs/latest/traces.jsonl")
    assert run_cli("score", "answers", "-q", *flags, "--receipt", "r.json").code == 0

    def change(body: Row) -> None:
        body["request"]["trec"] = True
        body["inputs"] = [one for one in body["inputs"] if one["role"] != "lock"]

    done = rewritten(change, Path("r.json"))
    assert (done.code, "expected the suite retrieval for TREC files" in done.out) == (1, True)


def test_a_receipt_in_a_linked_folder_finds_its_inputs(tmp_path: Path) -> None:
    elsewhere = tmp_path / "deep/er/store"
    elsewhere.mkdir(parents=True)
    Path("out").symlink_to(elsewhere)
    assert run_cli("gate", "-q", "--receipt", "out/r.json").code == 0
    assert run_cli("verify", "out/r.json").code == 0
    assert run_cli("verify", elsewhere / "r.json").code == 0
    os.chdir(elsewhere)
    assert run_cli("verify", "r.json").code == 0


def test_inputs_that_are_not_here_are_another_answer_than_inputs_that_moved() -> None:
    gated()
    Path("gold/answers.jsonl").rename("gold/other.jsonl")
    assert run_cli("verify", RECEIPT).code == 2
    Path("gold/other.jsonl").rename("gold/answers.jsonl")
    with Path("gold/answers.jsonl").open("a") as file:
        file.write("\n")
    assert run_cli("verify", RECEIPT).code == 1


def test_a_receipt_of_another_version_says_so_in_one_sentence() -> None:
    gated()
    done = rewritten(lambda body: body["tool"].update(version="0.1.0"))
    first = done.out.splitlines()[0]
    assert (done.code, first) == (
        1,
        "tool: the receipt was made by version 0.1.0, this is 0.2.0: verify it with that version",
    )
