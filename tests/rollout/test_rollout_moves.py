"""`rollout` from the command line: which evidence allows which move, and what is said where none does."""

from pathlib import Path

import pytest

from conftest import run_cli
from ragworthy.codes import CATALOGUE
from rollouts_laid import SIGNED, advanced, begun, block, judged, lay, moves, rolled_back

EXIT_1 = "(exit 1)\n"


def test_a_perfect_shadow_becomes_eligible_and_gets_its_first_traffic(tmp_path: Path) -> None:
    lay(tmp_path)
    report, receipt = judged(tmp_path)
    ledger = begun(tmp_path)
    code, said = advanced(ledger, "--receipt", receipt)
    assert code == 0 and said.endswith("rollout docs-2: eligible (exit 0)\n")
    code, said = advanced(ledger, "--report", report)
    assert code == 0 and said.endswith("rollout docs-2: canary 5 % (exit 0)\n")
    done = run_cli("rollout", "status", "--ledger", ledger)
    assert done.code == 0 and "next: canary 10 %\n" in done.out and done.out.endswith("canary 5 % (exit 0)\n")


def test_w50_triplets_at_95_of_100_are_eligible_and_94_are_not(tmp_path: Path) -> None:
    """50 questions under two seeds are 100 triplets; a wording that cites nothing breaks one of them."""
    from conftest import write_jsonl
    from rollouts_laid import traces

    for broken, code in ((5, 0), (6, 1)):
        folder = tmp_path / str(broken)
        folder.mkdir()
        lay(folder, count=50)
        rows = traces(50, "b", {})
        torn = [row for row in rows if row["paraphrase"] == 0 and row["seed"] == 1][:broken]
        for row in torn:
            row["answer_citations"] = []
        write_jsonl(folder / "b.jsonl", rows)
        _, receipt = judged(folder, code=code)
        ledger = begun(folder)
        assert advanced(ledger, "--receipt", receipt)[0] == code


@pytest.mark.parametrize(("lost", "code"), [(1, 0), (2, 3)])
def test_w50_recall_may_drop_from_50_to_49_of_50(tmp_path: Path, lost: int, code: int) -> None:
    """Two points are allowed. A loss of four, of two questions, proves nothing: INCONCLUSIVE, and not eligible."""
    away = {"topk": [{"id": block(99, 7)}, {"id": block(99, 8)}]}
    lay(tmp_path, count=50, change=dict.fromkeys(range(1, lost + 1), away))
    _, receipt = judged(tmp_path, code=code)
    ledger = begun(tmp_path)
    assert advanced(ledger, "--receipt", receipt)[0] == (1 if code else 0)
    if not code:
        assert moves(ledger)[-1]["evidence"]["recall"] == {"live": "1", "shadow": "49/50"}


def test_a_shadow_that_is_not_eligible_does_not_move(tmp_path: Path) -> None:
    lay(tmp_path, change={n: {"answer_citations": []} for n in range(1, 8)})
    _, receipt = judged(tmp_path, code=1)
    ledger = begun(tmp_path)
    code, said = advanced(ledger, "--receipt", receipt)
    assert code == 1 and len(moves(ledger)) == 1
    assert said == (
        f"{receipt}: expected the verdict SHIP, got NO-SHIP [RW-Z03]\n"
        f"{receipt}: expected an index that is eligible for a canary, got one that is not [RW-Z03]\n"
        "not moved: the receipt does not allow eligible (exit 1)\n"
    )


def test_ship_without_the_canary_is_not_enough(tmp_path: Path) -> None:
    """Judged by the index in use alone, a shadow may ship and not be eligible."""
    lay(tmp_path, change={n: {"answer_citations": []} for n in range(1, 8)})
    _, receipt = judged(tmp_path, "--against-live")
    code, said = advanced(begun(tmp_path), "--receipt", receipt)
    assert code == 1 and "expected an index that is eligible for a canary, got one that is not [RW-Z03]\n" in said


def test_a_report_without_the_index_in_use_is_not_enough(tmp_path: Path) -> None:
    lay(tmp_path)
    report = tmp_path / "alone.json"
    words = ("score", "retrieval", "-q", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "b.jsonl")
    assert run_cli(*words, "-o", report).code == 0
    code, said = advanced(begun(tmp_path), "--report", report)
    assert code == 1 and "expected a comparison with the index in use" in said


def test_the_evidence_of_another_index_does_not_carry_on(tmp_path: Path) -> None:
    lay(tmp_path)
    _, receipt = judged(tmp_path)
    lay(tmp_path, shadow="c")
    other, _ = judged(tmp_path, shadow="c")
    ledger = begun(tmp_path)
    assert advanced(ledger, "--receipt", receipt)[0] == 0
    code, said = advanced(ledger, "--report", other)
    assert code == 1 and "expected the index that was found eligible (b), got another (c) [RW-Z03]\n" in said


def test_a_forged_report_and_a_receipt_whose_inputs_changed_are_refused(tmp_path: Path) -> None:
    lay(tmp_path, change={n: {"answer_citations": []} for n in range(1, 8)})
    report, receipt = judged(tmp_path, code=1)
    ledger = begun(tmp_path)
    report.write_text(report.read_text(encoding="utf-8").replace("NO-SHIP", "SHIP"), encoding="utf-8")
    code, said = advanced(ledger, "--report", report)
    assert code == 2 and "[RW-H16]" in said
    text = receipt.read_text(encoding="utf-8").replace("NO-SHIP", "SHIP")
    receipt.write_text(text, encoding="utf-8")
    code, said = advanced(ledger, "--receipt", receipt)
    assert (
        code == 2 and f"{receipt}: expected a receipt that verifies, got one of which it does not re-derive: " in said
    )
    lay(tmp_path)
    _, receipt = judged(tmp_path)
    (tmp_path / "live.jsonl").unlink()
    code, said = advanced(ledger, "--receipt", receipt)
    assert code == 2 and "got one of which its inputs are not here: " in said
    assert len(moves(ledger)) == 1


def test_a_bundle_is_as_good_as_a_receipt(tmp_path: Path) -> None:
    lay(tmp_path)
    bundle = tmp_path / "proof.zip"
    judged(tmp_path, "--bundle", bundle)
    ledger = begun(tmp_path)
    assert advanced(ledger, "--receipt", bundle)[0] == 0
    assert moves(ledger)[-1]["evidence"]["kind"] == "bundle"


def test_an_unfrozen_gold_set_is_no_evidence(tmp_path: Path) -> None:
    lay(tmp_path)
    words = ("--signer", "Ada", "--reason", "first")
    assert run_cli("gold", "freeze", tmp_path / "gold.jsonl", *words).code == 0
    gold = tmp_path / "gold.jsonl"
    gold.write_text(gold.read_text(encoding="utf-8").replace("wording 0 of Q1", "wording 0  of Q1"), encoding="utf-8")
    report, _ = judged(tmp_path, "--unfrozen")
    code, said = advanced(begun(tmp_path), "--report", report)
    assert code == 2
    assert "expected a run on the frozen gold set, got one whose set was not it (retrieval) [RW-Z03]" in said


# moves that lead nowhere


def test_messages(tmp_path: Path) -> None:
    missing = tmp_path / "none.jsonl"
    hint = CATALOGUE["RW-Z01"]
    for verb in ("advance", "rollback"):
        done = run_cli("rollout", verb, *SIGNED, "--ledger", missing)
        assert (done.code, done.err) == (
            2,
            f"{missing}: expected a rollout, got none: 'ragworthy rollout start' begins one [RW-Z01]\n"
            f"  {hint.name}: {hint.do}\n",
        )
    ledger = begun(tmp_path)
    again = run_cli("rollout", "start", "x", "--live", "v1", "--shadow", "v2", *SIGNED, "--ledger", ledger)
    assert again.code == 2
    assert f"{ledger}: expected no rollout, or one that has ended, got docs-2 at shadow [RW-Z04]\n" in again.err
    assert "expected --receipt or --report with the verdict that allows the move, got neither" in advanced(ledger)[1]
    rolled_back(ledger)
    code, said = advanced(ledger)
    assert code == 2 and f"{ledger}: expected a rollout on its way, got one at rolled_back [RW-Z04]\n" in said
    assert run_cli("rollout", "rollback", *SIGNED, "--ledger", ledger).code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--shares", "0.1,0.05"), "--shares: expected rising shares between 0 and 1, got 0.1,0.05"),
        (("--shares", "1.5"), "--shares: expected a number from 0 to below 1, got 1.5"),
        (("--shares", "0"), "--shares: expected rising shares between 0 and 1, got 0"),
        (("--p95-ms", "-1"), "--p95-ms: expected a number above 0, got -1"),
        (("--alerts", "coverage"), "--alerts: expected all, or names out of coverage_drop, "),
        (("--by", " "), "--by: expected a text, got nothing"),
        (("--at", "2999-01-01"), "--at: expected a time from the past until now, got 2999-01-01T00:00:00Z"),
    ],
)
def test_what_start_refuses(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    ledger = tmp_path / "rollout.jsonl"
    done = run_cli("rollout", "start", "x", "--live", "a", "--shadow", "b", *SIGNED, "--ledger", ledger, *words)
    assert done.code == 2 and message in done.err, done.err
    assert not ledger.exists()


def test_before_the_canary_the_evidence_decides_a_check(tmp_path: Path) -> None:
    lay(tmp_path)
    report, _ = judged(tmp_path)
    ledger = begun(tmp_path)
    done = run_cli("rollout", "check", "--ledger", ledger)
    assert (done.code, done.out) == (3, "wait: no report or receipt was given (exit 3)\n")
    assert run_cli("rollout", "check", "--ledger", ledger, "--report", report).code == 0
    rolled_back(ledger)
    done = run_cli("rollout", "check", "--ledger", ledger, "--report", report)
    assert (done.code, done.out) == (1, "roll back: it was rolled back by Ada Byron: new chunker (exit 1)\n")
