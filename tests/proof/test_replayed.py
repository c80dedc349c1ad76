"""Runs that were picked, replayed or passed off as others: the history and the receipt tell them apart."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

import cases as c
from conftest import run_cli
from ragworthy import starter
from repacked import canonical, files_of, packed, sealed

COMMIT = "c0ffee0123456789"
TRACES, GOLD, POLICY = Path("runs/latest/traces.jsonl"), Path("gold/answers.jsonl"), Path("ragworthy.toml")
STORE, RECEIPT = Path("cp.db"), Path(".ragworthy/receipt.json")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGWORTHY_STORE", raising=False)
    monkeypatch.setenv("RAGWORTHY_COMMIT", COMMIT)
    starter.init(Path())


def worse(cut: int) -> str:
    """Traces in which the first answers are wrong; the good ones are handed back."""
    good = TRACES.read_text()
    rows = [json.loads(line) for line in good.splitlines()]
    for row in rows[:cut]:
        row["answer_json"]["claim"] = "something else"
    TRACES.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return good


def failed(*more: object, cuts: tuple[int, ...] = (3, 2)) -> None:
    for cut in cuts:
        good = worse(cut)
        assert run_cli("gate", "-q", "--store", STORE, *more).code == 1
        TRACES.write_text(good)


def first(*words: object) -> tuple[int, str]:
    done = run_cli(*words)
    return done.code, (done.out or done.err).splitlines()[0]


def count() -> int:
    return int(json.loads(RECEIPT.read_text())["request"]["attempts"]["count"])


# attempts


def picked() -> None:
    """Two attempts that are kept, and a good one behind the back of the history."""
    failed()
    more = ("--bundle", "good.zip", "--receipt", "good.receipt.json", "-o", "good.json")
    assert run_cli("gate", "-q", "--no-history", "--commit", COMMIT, *more).code == 0


ADD = ("history", "add", "good.json", "--receipt", "good.receipt.json", "--store", STORE)


def test_a_picked_run_that_counts_no_attempts_is_found() -> None:
    picked()
    said = f"{STORE}: receipt: expected a receipt of this store, got one that it does not hold [RW-R14]"
    assert first("verify", "good.zip", "--store", STORE, "--expect", "SHIP") == (1, said)
    assert run_cli(*ADD, "--commit", COMMIT).code == 0
    said = (
        f"{STORE}: attempts: expected the attempts of the store (3 on this gold set and commit), got a receipt that "
        "counts none [RW-R14]"
    )
    assert first("verify", "good.zip", "--store", STORE, "--expect", "SHIP") == (1, said)


def test_a_picked_run_cannot_hide_its_commit() -> None:
    picked()
    receipt = Path("good.receipt.json")
    receipt.write_bytes(canonical(receipt.read_bytes(), lambda body: body["request"].pop("commit")))
    done = run_cli("verify", receipt)  # the report that it seals says it too
    assert done.code == 1
    assert f'suites.answers.provenance.commit: the receipt says "{COMMIT}", re-derived null' in done.out
    assert run_cli("verify", receipt, "--commit", COMMIT).code == 1
    assert run_cli(*ADD, "--commit", COMMIT).code == 0
    assert run_cli("verify", receipt, "--store", STORE).code == 1


def test_the_first_attempt_may_be_added_by_hand() -> None:
    gate = ("gate", "-q", "--no-history", "--receipt", "good.receipt.json", "-o", "good.json")
    assert run_cli(*gate).code == 0
    assert json.loads(Path("good.receipt.json").read_text())["request"]["commit"] == COMMIT
    assert run_cli(*ADD).code == 0
    done = run_cli("verify", "good.receipt.json", "--store", STORE)
    assert (done.code, done.out.splitlines()[0]) == (0, f"store: {STORE} is whole, and has this run")


def test_the_same_questions_are_the_same_gold_set() -> None:
    failed()
    GOLD.write_text(GOLD.read_text() + "\n")
    assert run_cli("gate", "-q", "--store", STORE).code == 0
    assert count() == 3
    assert run_cli("verify", RECEIPT, "--store", STORE).code == 0


def test_another_suite_beside_it_makes_no_other_gold_set() -> None:
    failed()
    more = Path("gold/more.jsonl")
    more.write_text('{"qid":"r1","q":"where?","gold_citations":["sec1"]}\n')
    Path("runs/latest/more.jsonl").write_text('{"qid":"r1","q":"where?","retrieved_ids":["sec1"]}\n')
    section = '\n[retrieval]\ngold = "gold/more.jsonl"\ntraces = "runs/latest/more.jsonl"\n'
    POLICY.write_text(POLICY.read_text() + section)
    assert run_cli("gate", "-q", "--store", STORE).code in (0, 1, 3, 4)
    assert count() == 3
    assert run_cli("verify", RECEIPT, "--store", STORE).code == 0


def test_another_spelling_is_the_same_commit() -> None:
    failed("--commit", COMMIT.upper(), cuts=(3,))
    failed("--commit", COMMIT[:7], cuts=(2,))
    assert run_cli("gate", "-q", "--store", STORE, "--commit", COMMIT).code == 0
    assert count() == 3
    assert run_cli("verify", RECEIPT, "--store", STORE).code == 0
    assert run_cli("gate", "-q", "--store", STORE, "--commit", COMMIT[:6]).code == 0  # too short to be the same
    assert count() == 1


# what is added


def changed(name: str, change: Any) -> None:
    body = json.loads(Path(name).read_text())
    change(body)
    Path(name).write_text(json.dumps(body))


def test_a_report_with_a_verdict_of_its_own_is_not_kept() -> None:
    good = worse(3)
    assert run_cli("gate", "-q", "--no-history", "-o", "bad.json").code == 1
    TRACES.write_text(good)
    changed("bad.json", lambda body: body.update(verdict="SHIP"))
    said = "bad.json: verdict: expected NO-SHIP, which follows from the gates, got SHIP [RW-H16]"
    assert first("history", "add", "bad.json", "--store", STORE) == (2, said)
    changed("bad.json", lambda body: body.update(verdict="NO-SHIP", exit_code=0))
    said = "bad.json: exit_code: expected 1, which follows from the verdict, got 0 [RW-H16]"
    assert first("history", "add", "bad.json", "--store", STORE) == (2, said)
    changed("bad.json", lambda body: body.pop("invalid"))
    said = "bad.json: expected a verdict with its gates and what is not valid, got a report without [RW-H16]"
    assert first("history", "add", "bad.json", "--store", STORE) == (2, said)
    assert not STORE.exists()


def test_a_report_with_outcomes_of_its_own_is_not_kept() -> None:
    good = worse(3)
    assert run_cli("gate", "-q", "--no-history", "-o", "bad.json").code == 1
    TRACES.write_text(good)
    body = json.loads(Path("bad.json").read_text())
    nth, failing = next((nth, one) for nth, one in enumerate(body["gates"]) if one["outcome"] == "fail")
    shown = f"{failing['metric']} {failing['value']} {failing['op']} {failing['threshold']}"

    def refused(said: str, **told: Any) -> None:
        gates = [one | (told if nth == place else {}) for place, one in enumerate(body["gates"])]
        outcomes = {one["outcome"] for one in gates}
        verdict = "NO-SHIP" if "fail" in outcomes else "INCONCLUSIVE" if "undecided" in outcomes else "SHIP"
        code = {"SHIP": 0, "NO-SHIP": 1, "INCONCLUSIVE": 3}[verdict]
        Path("forged.json").write_text(json.dumps(body | {"gates": gates, "verdict": verdict, "exit_code": code}))
        line = f"forged.json: gates[{nth}].{said} [RW-H16]"
        assert first("history", "add", "forged.json", "--store", STORE) == (2, line)

    for outcome in ("pass", "undecided"):
        refused(f"outcome: expected fail, which follows from {shown}, got {outcome}", outcome=outcome, reason=None)
    easy = shown.replace(failing["threshold"], "0.01" if failing["op"] == ">=" else "0.99")
    refused(f"outcome: expected pass, which follows from {easy}, got fail", threshold=easy.split()[-1])
    refused(f"num: expected {failing['num']}, the number of the suite, got 1", num=1)
    refused(f"value: expected {failing['value']}, the number of the suite, got 0.5", value=0.5)
    assert not STORE.exists()
    assert run_cli("history", "add", "bad.json", "--store", STORE).code == 0


@pytest.mark.parametrize("name", c.EVERY)
def test_an_honest_report_of_any_suite_is_kept(name: str) -> None:
    case = c.EVERY[name](Path())
    for more in ((), ("--evidence", "interval")):
        assert run_cli(*c.command(case, "-q", "-o", "honest.json", *more)).code in (0, 1, 3, 4)
        assert run_cli("history", "add", "honest.json", "--store", STORE).code == 0


@pytest.mark.parametrize(
    ("gates", "invalid", "verdict"),
    [
        ([], [], "INCONCLUSIVE"),
        ([("pass", {})], ["a question has no trace"], "INVALID"),
        ([("pass", {}), ("fail", {}), ("undecided", {})], [], "NO-SHIP"),
        ([("pass", {}), ("fail", {"waiver": {"owner": "Ada"}})], [], "SHIP"),
        ([("pass", {}), ("undecided", {})], [], "INCONCLUSIVE"),
        ([("pass", {}), ("not_measured", {})], [], "INVALID"),
        ([("pass", {}), ("not_measured", {"optional": True})], [], "SHIP"),
        ([("pass", {}), ("not_measured", {"judged": False})], [], "SHIP"),
        ([("pass", {"metric": "answers.missing"})], [], "INVALID"),
    ],
)
def test_a_verdict_follows_from_gates_as_it_does_when_they_are_judged(
    gates: list[tuple[str, dict[str, Any]]], invalid: list[str], verdict: str
) -> None:
    from ragworthy.errors import DataError
    from ragworthy.names import Verdict, exit_code
    from ragworthy.proof.consistent import check_report

    entries = [{"metric": "answers.precision", "optional": False, "outcome": one, **more} for one, more in gates]
    for said in Verdict:
        body = {"gates": entries, "invalid": invalid, "verdict": said.value, "exit_code": int(exit_code(said))}
        if said.value == verdict:
            check_report(body, "r.json")
        else:
            with pytest.raises(DataError, match="RW-H16"):
                check_report(body, "r.json")


def test_the_receipt_of_another_run_or_commit_is_not_kept() -> None:
    picked()
    good = worse(1)
    assert run_cli("gate", "-q", "--no-history", "-o", "other.json").code == 0
    TRACES.write_text(good)
    code, line = first("history", "add", "other.json", *ADD[3:])
    assert (code, line[-9:]) == (2, " [RW-H16]")
    assert line.startswith("good.receipt.json: report_sha256: expected that of the report, ")
    worse(3)
    assert run_cli("gate", "-q", "--no-history", "-o", "other.json").code == 1
    said = "good.receipt.json: verdict: expected NO-SHIP of the report, got SHIP [RW-H16]"
    assert first("history", "add", "other.json", *ADD[3:]) == (2, said)
    said = f"good.receipt.json: request.commit: expected 1234567, got {COMMIT} [RW-H16]"
    assert first(*ADD, "--commit", "1234567") == (2, said)


# baselines

OWN = Path(".ragworthy/baselines/main.json")
"""Where the baseline of the policy is looked up; whoever names this very file names the policy's own."""


def bless(name: str) -> str:
    run = json.loads(run_cli("history", "list", "--format", "json", "--store", STORE).out)["runs"][-1]["run"]
    done = run_cli("history", "bless", run, "--name", name, "--by", "A", "--reason", "b", "--single", "--store", STORE)
    assert done.code == 0, done
    return str(run)


def test_a_run_blessed_under_another_name_is_not_the_baseline() -> None:
    assert run_cli("gate", "-q", "--store", STORE).code == 0
    main = bless("main")
    failed(cuts=(3,))
    bless("weak")
    POLICY.write_text(f'baseline = "history:main"\n{POLICY.read_text()}')
    assert run_cli("gate", "-q", "--store", STORE, "--bundle", "e.zip").code == 0
    assert run_cli("verify", "e.zip", "--store", STORE).code == 0
    assert run_cli("history", "show", "weak", "-o", "weak.json", "--store", STORE).code == 0
    shutil.copy("weak.json", OWN)
    assert run_cli("gate", "-q", "--no-history", "--baseline", OWN, "--receipt", "f.receipt.json").code == 0
    assert run_cli("verify", "f.receipt.json").code == 0
    said = f"baseline: expected the run that is blessed as main (main: {main}), got another one [RW-R15]"
    assert f"{STORE}: {said}" in run_cli("verify", "f.receipt.json", "--store", STORE).out.splitlines()


def test_what_was_blessed_at_that_time_is_the_baseline_of_that_time() -> None:
    assert run_cli("gate", "-q", "--store", STORE).code == 0
    bless("main")
    POLICY.write_text(f'baseline = "history:main"\n{POLICY.read_text()}')
    assert run_cli("gate", "-q", "--store", STORE, "--bundle", "old.zip").code == 0
    bless("main")
    assert run_cli("verify", "old.zip", "--store", STORE).code == 0
    assert run_cli("gate", "-q", "--store", STORE, "--bundle", "new.zip").code == 0
    assert run_cli("verify", "new.zip", "--store", STORE).code == 0


def test_a_baseline_says_of_its_noise_what_its_blessing_does() -> None:
    """How many questions flip by themselves widens gates: nobody may say it but the blessing."""
    for cut in (0, 1, 2):
        good = worse(cut)
        assert run_cli("gate", "-q", "--store", STORE).code in (0, 1)
        TRACES.write_text(good)
    run = json.loads(run_cli("history", "list", "--format", "json", "--store", STORE).out)["runs"][0]["run"]
    assert run_cli("history", "bless", run, "--by", "A", "--reason", "b", "--store", STORE).code == 0
    POLICY.write_text(f'baseline = "history:main"\n{POLICY.read_text()}')
    assert run_cli("gate", "-q", "--store", STORE).code == 0
    assert json.loads(OWN.read_text())["flips"]
    done = run_cli("verify", RECEIPT, "--store", STORE)
    assert done.code == 0, done
    changed(str(OWN), lambda body: body["flips"].update(dict.fromkeys(body["flips"], "9/10")))
    forged = run_cli("gate", "-q", "--no-history", "--baseline", OWN, "--receipt", "f.receipt.json")
    assert forged.code == 0, forged
    done = run_cli("verify", "f.receipt.json", "--store", STORE)
    assert (done.code, "blessed as main" in done.out, "[RW-R15]" in done.out) == (1, True, True), done


def test_a_baseline_of_the_command_line_is_announced_and_cannot_be_hidden() -> None:
    for name in ("base.json", "other.json"):
        assert run_cli("gate", "-q", "--no-history", "-o", name).code == 0
    POLICY.write_text(f'baseline = "base.json"\n{POLICY.read_text()}')
    assert run_cli("gate", "-q", "--no-history", "--baseline", "other.json", "--bundle", "e.zip").code == 0
    said = "--baseline: compared with ../other.json in place of the policy's base.json"
    assert said in run_cli("verify", "e.zip").out.splitlines()
    files = files_of(Path("e.zip"))
    hidden = canonical(files["receipt.json"], lambda body: body["request"].update(baseline_from_command_line=False))
    assert first("verify", packed(Path("f.zip"), sealed(files | {"receipt.json": hidden}))) == (
        1,
        "request.baseline_from_command_line: the receipt says false, re-derived true",
    )
    assert run_cli("gate", "-q", "--no-history", "--bundle", "own.zip").code == 0
    done = run_cli("verify", "own.zip")
    assert (done.code, "--baseline" in done.out) == (0, False)


# old bundles, and what is said of them


def test_another_commit_than_the_one_asked_for_is_not_enough() -> None:
    assert run_cli("gate", "-q", "--no-history", "--bundle", "e.zip").code == 0
    done = run_cli("verify", "e.zip", "--commit", COMMIT[:8].upper(), "--expect", "SHIP")
    assert (done.code, f"commit: {COMMIT}" in done.out.splitlines()) == (0, True)
    done = run_cli("verify", "e.zip", "--commit", "d" * 40)
    said = f"verified, but the commit is {COMMIT}, not {'d' * 40} (exit 1)"
    assert (done.code, done.out.splitlines()[-1]) == (1, said)
    assert run_cli("gate", "-q", "--no-history", "--commit", "", "--bundle", "n.zip").code == 0
    done = run_cli("verify", "n.zip", "--commit", COMMIT)
    assert done.out.splitlines()[-1] == f"verified, but the commit is not known, not {COMMIT} (exit 1)"


def swapped(body: Any) -> None:
    held = [one for one in body["files"] if one["roles"]]
    held[0]["roles"], held[1]["roles"] = held[1]["roles"], held[0]["roles"]


def unnamed(body: Any) -> None:
    for one in body["files"]:
        one["roles"] = []


def reversed_files(body: Any) -> None:
    body["files"].reverse()


def twice(body: Any) -> None:
    body["files"].insert(0, body["files"][0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (swapped, "expected the manifest that 'gate --bundle' writes, got other names or roles of inputs"),
        (unnamed, "expected the manifest that 'gate --bundle' writes, got other names or roles of inputs"),
        (reversed_files, "expected each file once, in the order of their names, got another list"),
        (twice, "expected each file once, in the order of their names, got another list"),
    ],
)
def test_another_manifest_than_the_canonical_one_is_found(change: Any, said: str) -> None:
    assert run_cli("gate", "-q", "--no-history", "--bundle", "e.zip").code == 0
    files = files_of(Path("e.zip"))
    files["manifest.json"] = canonical(files["manifest.json"], change)
    assert first("verify", packed(Path("f.zip"), files)) == (1, f"f.zip: manifest.json: {said} [RW-R05]")


def test_a_bundle_without_a_receipt_says_so() -> None:
    assert run_cli("gate", "-q", "--no-history", "--bundle", "e.zip").code == 0
    files = files_of(Path("e.zip"))
    del files["receipt.json"]
    done = run_cli("verify", packed(Path("f.zip"), sealed(files)))
    assert (done.code, done.out.splitlines(), done.err) == (
        1,
        ["f.zip: receipt.json: expected a file that every bundle has, got none [RW-R05]",
         "not verified: the bundle has no receipt (exit 1)"],
        "",
    )  # fmt: skip
    done = run_cli("verify", packed(Path("g.zip"), sealed(files | {"receipt.json": b"{"})))
    assert (done.code, done.err.startswith("g.zip: receipt.json: ")) == (2, True), done


def test_a_check_writes_nothing_where_there_is_no_history() -> None:
    assert run_cli("gate", "-q", "--no-history").code == 0
    Path("e.db").touch()
    assert first("verify", RECEIPT, "--store", "e.db") == (2, "e.db: expected a store, got an empty file [RW-H01]")
    assert Path("e.db").read_bytes() == b""
    with sqlite3.connect("o.db") as connection:
        connection.execute("CREATE TABLE mine (one TEXT)")
    connection.close()
    before = Path("o.db").read_bytes()
    said = "o.db: expected a store, got a database without one [RW-H01]"
    assert first("verify", RECEIPT, "--store", "o.db") == (2, said)
    assert Path("o.db").read_bytes() == before


def test_a_key_for_something_else_is_told_from_that_of_another() -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], check=True)
    Path("signers").write_text(f'ada@example.com namespaces="git" {Path("key.pub").read_text()}')
    assert run_cli("gate", "-q", "--no-history", "--sign", "key").code == 0
    code, line = first("verify", RECEIPT, "--signers", "signers")
    assert code == 1
    assert line.startswith(f"{RECEIPT}: signature: expected a key that may sign for ragworthy, got ")
    assert " of ada@example.com: " in line


PLUGIN = '''
import ragworthy

@ragworthy.metric(suite="answers", better="higher", cases="answers", event="in scope", undefined="none", source="x")
def in_scope(facts):
    """Share of answers in scope."""
    return facts.in_scope if facts.shipped else None
'''


def test_whoever_only_looks_is_told_whose_code_was_run() -> None:
    Path("own.py").write_text(PLUGIN)
    POLICY.write_text(f'plugins = ["own.py"]\n{POLICY.read_text()}')
    assert run_cli("gate", "-q", "--no-history", "-o", "r.json").code == 0
    qid = json.loads(TRACES.read_text().splitlines()[0])["qid"]
    for words in (["show", qid], ["show", qid, "--run", RECEIPT], ["show", qid, "--run", "r.json"], ["doctor"]):
        done = run_cli(*words)
        assert (done.code, done.err.startswith("ran the code of the plugin own.py ")) == (0, True), (words, done)
