"""A canary from the command line, on logs: from the first traffic to promotion, and back."""

import json
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from conftest import run_cli, write_jsonl
from rollouts_laid import NOON, SIGNED, advanced, begun, judged, lay, log, moves, record, verified

AT = "%Y-%m-%dT%H:%M:%SZ"


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A rollout that got 5 % of the traffic at noon."""
    lay(tmp_path)
    report, _ = judged(tmp_path)
    ledger = begun(tmp_path, "--at", (NOON - timedelta(hours=2)).strftime(AT))
    for hour in (1, 0):
        at = (NOON - timedelta(hours=hour)).strftime(AT)
        assert advanced(ledger, "--report", report, "--at", at)[0] == 0
    return ledger


def checked(ledger: Path, *more: object) -> tuple[int, str]:
    done = run_cli("rollout", "check", "--ledger", ledger, *more)
    return done.code, done.out + done.err


def test_from_the_first_traffic_to_promotion(canary: Path) -> None:
    folder = canary.parent
    report, receipt = folder / "b.report.json", folder / "b.receipt.json"
    first = log(folder / "log1.jsonl", NOON, 60)
    code, said = checked(canary, "--log", first)
    assert code == 0 and said.endswith("go on (exit 0)\n"), said
    at = (NOON + timedelta(hours=1)).strftime(AT)
    assert advanced(canary, "--report", report, "--log", first, "--at", at)[0] == 0
    # the next share is on its own records
    code, said = checked(canary, "--log", first)
    assert code == 3 and "too early: 0 of 60 minutes passed\n" in said
    second = log(folder / "log2.jsonl", NOON + timedelta(hours=1), 60)
    later = ("--log", first, "--log", second, "--at", (NOON + timedelta(hours=2)).strftime(AT))
    code, said = advanced(canary, "--report", report, *later)
    assert code == 1
    assert "expected a receipt or a bundle to promote, got a report, which nothing vouches for [RW-Z03]\n" in said
    assert advanced(canary, "--receipt", receipt, *later)[0] == 0
    assert [one["state"] for one in moves(canary)] == ["shadow", "eligible", "canary", "canary", "promoted"]
    assert moves(canary)[-1]["share"] == "1"
    assert verified(canary)[0] == 0
    # what was promoted is still watched
    third = log(folder / "log3.jsonl", NOON + timedelta(hours=2), 50)
    assert checked(canary, "--log", third)[0] == 0
    third = log(folder / "log3.jsonl", NOON + timedelta(hours=2), 10)
    code, said = checked(canary, "-q", "--log", third)
    assert (code, said) == (3, "wait: p95_over_target, empty_rate, error_rate (exit 3)\n")


def test_the_check_of_a_move_can_be_made_again(canary: Path) -> None:
    """The ledger keeps the hash of the check: the same logs give the same bytes."""
    import hashlib

    folder = canary.parent
    first = log(folder / "log1.jsonl", NOON, 60)
    assert checked(canary, "--log", first, "-o", folder / "check.json")[0] == 0
    data = (folder / "check.json").read_bytes()
    at = (NOON + timedelta(hours=1)).strftime(AT)
    assert advanced(canary, "--report", folder / "b.report.json", "--log", first, "--at", at)[0] == 0
    assert moves(canary)[-1]["check"] == {
        "sha256": hashlib.sha256(data).hexdigest(), "decision": "go on", "until": "2026-11-02T13:00:00Z",
    }  # fmt: skip


def test_a_check_as_json(canary: Path) -> None:
    first = log(canary.parent / "log1.jsonl", NOON, 60)
    done = run_cli("rollout", "check", "--ledger", canary, "--log", first, "--format", "json")
    body = json.loads(done.out)
    assert (done.code, body["schema"], body["decision"], body["exit_code"]) == (
        0, "ragworthy.rollout-check/1", "go on", 0,
    )  # fmt: skip
    assert (body["state"], body["share"], body["records"]) == ("canary", "0.05", {"live": 1200, "canary": 300})
    assert (body["since"], body["until"], body["minutes"]) == ("2026-11-02T12:00:00Z", "2026-11-02T13:00:00Z", 60)
    rules = {one["rule"]: one for one in body["promotion"]}
    assert rules["coverage"] == {
        "rule": "coverage", "outcome": "holds", "value": 1.0, "exact": "1", "sign": ">=", "limit": 1.0,
        "samples": 300, "source": "live traffic", "at": None, "why": None,
    }  # fmt: skip
    assert body["head"] == moves(canary)[-1]["hash"]


def test_two_logs_are_as_good_as_one(canary: Path) -> None:
    folder = canary.parent
    whole = log(folder / "both.jsonl", NOON, 60)
    rows = [json.loads(line) for line in whole.read_text(encoding="utf-8").splitlines()]
    parts = {
        build: write_jsonl(folder / f"{build}.jsonl", [row for row in rows if row["context"]["build"] == build])
        for build in ("v1", "v2")
    }
    apart = ("--live-log", parts["v1"], "--canary-log", parts["v2"])
    assert checked(canary, *apart) == checked(canary, "--log", whole)


def test_w49_a_second_index_hash_rolls_back_at_once(canary: Path) -> None:
    folder = canary.parent
    odd = record(NOON + timedelta(minutes=7, seconds=50), "v2", 99)
    odd["retrieval"]["index_hash"] = "h-other"
    first = log(folder / "log1.jsonl", NOON, 60)
    rows = [json.loads(line) for line in first.read_text(encoding="utf-8").splitlines()]
    rows.insert(8 * 25, odd)
    write_jsonl(first, rows)
    code, said = checked(canary, "--log", first)
    assert code == 1 and said.endswith("roll back: index_drift (exit 1)\n")
    assert "at 2026-11-02T12:08:00Z" in said
    code, said = advanced(canary, "--report", folder / "b.report.json", "--log", first)
    assert code == 1 and said.endswith("not moved: roll back: index_drift (exit 1)\n")
    done = run_cli("rollout", "rollback", *SIGNED, "--ledger", canary)
    assert done.code == 0 and done.out.endswith("rollout docs-2: rolled_back (exit 0)\n")
    assert checked(canary, "--log", first)[0] == 1


def test_errors_of_the_canary_roll_back(canary: Path) -> None:
    folder = canary.parent
    rows = [json.loads(line) for line in log(folder / "log1.jsonl", NOON, 60).read_text(encoding="utf-8").splitlines()]
    for nth, row in enumerate(row for row in rows if row["context"]["build"] == "v2"):
        if nth % 20 == 0:
            row |= {"error": {"status": 500}, "answer": {"citations": []}}
    code, said = checked(canary, "--log", write_jsonl(folder / "log1.jsonl", rows))
    assert code == 1 and said.endswith("roll back: error_rate (exit 1)\n"), said


def test_too_little_traffic_waits(canary: Path) -> None:
    folder = canary.parent
    few = log(folder / "few.jsonl", NOON, 30)
    code, said = checked(canary, "--log", few, "--until", (NOON + timedelta(hours=1)).strftime(AT))
    assert code == 3 and "the canary has 150 samples of 200" in said
    code, said = checked(canary, "--log", few)
    assert code == 3 and "too early: 30 of 60 minutes passed\n" in said
    # a log that stopped is not a log that says all is well
    full = log(folder / "full.jsonl", NOON, 60)
    assert checked(canary, "--log", full)[0] == 0
    assert checked(canary, "--log", full, "--until", "now")[0] == 3


def test_records_that_cannot_be_counted_are_named(canary: Path) -> None:
    first = log(canary.parent / "log1.jsonl", NOON, 60)
    with first.open("a", encoding="utf-8") as file:
        file.write('{"qid": "x", "question": "?", "context": {"build": "v2"}}\nnot json\n')
    code, said = checked(canary, "--log", first)
    assert code == 0 and "records with problems: 1 unreadable, 1 untimed\n" in said
    with first.open("a", encoding="utf-8") as file:
        file.write('{"qid": "y", "question": "?", "context": {"build": "v2"}}\nnot json\n')
    code, said = checked(canary, "-q", "--log", first)  # 4 of 304 are more than 1 %
    assert code == 3
    assert said == "wait: 4 of 304 records of the canary have problems (2 unreadable, 2 untimed) (exit 3)\n"


def test_a_log_without_any_record_is_no_log(canary: Path) -> None:
    junk = canary.parent / "junk.json"
    junk.write_text("not json\n", encoding="utf-8")
    code, said = checked(canary, "--log", junk)
    assert code == 2 and f"{junk}: expected live records, got a log without one (1 unreadable line) [RW-O01]\n" in said


def test_a_move_looks_at_all_of_the_log_and_is_not_before_its_end(canary: Path) -> None:
    folder = canary.parent
    first = log(folder / "log1.jsonl", NOON, 60)
    words = ("--report", folder / "b.report.json", "--log", first)
    code, said = advanced(canary, *words, "--at", "2026-11-02T12:00:30Z")
    assert code == 2
    end = "--at: expected a time from 2026-11-02T13:00:00Z on, the end of what is looked at, got 2026-11-02T12:00:30Z"
    assert end in said
    code, said = advanced(canary, *words, "--until", "2026-11-02T12:59:00Z", "--at", "2026-11-02T13:00:00Z")
    assert code == 2
    assert "--until: expected a time from 2026-11-02T13:00:00Z on, where the log ends, got 2026-11-02T12:59:00Z" in said
    code, said = advanced(canary, *words, "--at", "2026-11-02T13:11:00Z")
    assert code == 3 and said.endswith("not moved: wait: the log ended 11 minutes before the move (exit 3)\n")
    assert advanced(canary, *words)[0] == 3  # now is later still
    assert len(moves(canary)) == 3
    assert advanced(canary, *words, "--at", "2026-11-02T13:10:00Z")[0] == 0
    # the hour that was looked at counts for one share only
    receipt = folder / "b.receipt.json"
    code, said = advanced(canary, "--receipt", receipt, "--log", first, "--at", "2026-11-02T13:10:10Z")
    assert code == 3 and "too early: 0 of 60 minutes passed\n" in said
    assert verified(canary)[0] == 0


def test_numbers_at_their_limits_are_short() -> None:
    from ragworthy.rollout.reads import Held, Read
    from ragworthy.rollout.told import _line

    one = Read("lambda_flip", Held.HOLDS, Fraction(1, 104), "<=", Fraction(1, 104), source="the gold set")
    assert _line(one).split()[:5] == ["lambda_flip", "0.0096", "<=", "0.0096", "holds"]


def test_without_a_log_nothing_is_decided(canary: Path) -> None:
    code, said = checked(canary)
    assert code == 2 and "expected --log, or --live-log and --canary-log, got no log of live traffic [RW-U01]\n" in said
    code, said = checked(canary, "--log", canary.parent / "none.jsonl")
    assert code == 2 and "[RW-F01]" in said
    code, said = checked(canary, "--log", canary.parent / "gold.jsonl", "--until", "noon")
    assert code == 2 and "--until: expected a time like 2026-03-01T12:00:00Z, got noon" in said


def test_times_are_told_in_order(canary: Path) -> None:
    report = canary.parent / "b.report.json"
    early = datetime.strftime(NOON - timedelta(days=1), AT)
    code, said = advanced(canary, "--report", report, "--log", log(canary.parent / "l.jsonl", NOON, 60), "--at", early)
    assert code == 2
    assert "--at: expected a time from 2026-11-02T12:00:00Z until now, got 2026-11-01T12:00:00Z" in said


# evidence that a check is given


def test_a_check_asks_of_evidence_what_a_move_asks(canary: Path) -> None:
    folder = canary.parent
    first = log(folder / "log1.jsonl", NOON, 60)
    assert checked(canary, "-q", "--log", first, "--receipt", folder / "b.receipt.json") == (0, "go on (exit 0)\n")
    lay(folder, shadow="c")
    other, _ = judged(folder, shadow="c")
    said = "wait: expected the index that was found eligible (b), got another (c) (exit 3)\n"
    assert checked(canary, "-q", "--log", first, "--report", other) == (3, said)
    lay(folder, change={n: {"answer_citations": []} for n in range(1, 8)})
    report, receipt = judged(folder, code=1)
    for words in (("--report", report), ("--receipt", receipt)):
        code, said = checked(canary, "-q", "--log", first, *words)
        assert code == 3 and said.startswith("wait: expected the verdict SHIP, got NO-SHIP"), said
    done = run_cli("rollout", "check", "--ledger", canary, "--log", first, "--report", report, "--format", "json")
    assert done.code == 3 and json.loads(done.out)["waits_for"][0] == "expected the verdict SHIP, got NO-SHIP"


def test_gates_of_ones_own_and_another_gold_set_promote_nothing(canary: Path) -> None:
    folder = canary.parent
    first = log(folder / "log1.jsonl", NOON, 60)
    at = ("--at", (NOON + timedelta(hours=1)).strftime(AT))
    lay(folder, change={n: {"answer_citations": []} for n in range(1, 8)})
    weak, _ = judged(folder, "--no-default-gates", "--gates", "recall@5=0.1")
    code, said = advanced(canary, "--report", weak, "--log", first, *at)
    assert code == 1 and "expected an index that is eligible for a canary, got one that is not [RW-Z03]\n" in said
    lay(folder, count=19)
    other, _ = judged(folder)
    code, said = advanced(canary, "--report", other, "--log", first, *at)
    assert code == 1 and "expected the gold set of the first move (" in said
