"""Whatever somebody changes in a bundle, a receipt or a history, and however well they seal it again, is found."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli
from ragworthy import flow, starter
from repacked import Files, canonical, files_of, packed, sealed

ENDING = "not verified: the bundle says SHIP, but it does not re-derive (exit 1)"
TRACES = Path("runs/latest/traces.jsonl")
STORE = Path(".ragworthy/history.db")
RECEIPT = Path(".ragworthy/receipt.json")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGWORTHY_STORE", raising=False)
    monkeypatch.setenv("RAGWORTHY_COMMIT", "c0ffee0123456789")
    starter.init(Path())


# bundles


def bundle(name: str = "e.zip") -> Files:
    assert run_cli("gate", "-q", "--bundle", name).code in (0, 1, 3, 4)
    return files_of(Path(name))


def forged(files: Files, *, manifest: bool = True) -> list[str]:
    """What `verify` says of a bundle with these files: it must not be 'verified'."""
    done = run_cli("verify", packed(Path("forged.zip"), sealed(files) if manifest else files))
    assert done.code == 1, done
    return done.out.splitlines()


GOLD = "inputs/01-gold/answers.jsonl"


def test_a_swapped_file_is_found_by_the_manifest_and_by_the_receipt() -> None:
    files = bundle()
    other = files | {GOLD: files[GOLD].replace(b"answerable", b"answerablE", 1)}
    first, *_, last = forged(other, manifest=False)
    assert first.startswith(f"forged.zip: {GOLD}: expected the sha256 ")
    assert (first[-9:], last) == (" [RW-R05]", ENDING)
    lines = forged(other)
    assert lines[0].startswith("forged.zip: receipt.json: expected the inputs of the bundle, got gold with the sha256 ")
    said = f"forged.zip: {GOLD}: expected an input of the receipt, got a file that it does not name [RW-R05]"
    assert lines[1:] == [said, ENDING]


@pytest.mark.parametrize("name", ["inputs/09-more/own.py", "notes.txt", "inputs/01-gold/answers.lock"])
def test_an_added_file_is_found_by_the_manifest_and_by_the_receipt(name: str) -> None:
    files = bundle() | {name: b"print('run')\n"}
    said = f"forged.zip: {name}: expected a file of the manifest, got one that it does not list [RW-R05]"
    assert forged(files, manifest=False) == [said, ENDING]
    said = f"forged.zip: {name}: expected an input of the receipt, got a file that it does not name [RW-R05]"
    assert forged(files) == [said, ENDING]


@pytest.mark.parametrize("name", ["report.md", "rows.jsonl", GOLD])
def test_a_removed_file_is_found(name: str) -> None:
    files = bundle()
    del files[name]
    said = f"forged.zip: {name}: expected a file that the manifest lists, got none [RW-R05]"
    assert said in forged(files, manifest=False)
    assert "[RW-R05]" in forged(files)[0]


def test_an_edited_manifest_is_found() -> None:
    files = bundle()

    def change(body: Any) -> None:
        body["files"][0]["sha256"] = "0" * 64

    files["manifest.json"] = canonical(files["manifest.json"], change)
    assert forged(files, manifest=False)[0].startswith(f"forged.zip: {GOLD}: expected the sha256 {'0' * 64} of the ")


def test_the_receipt_of_another_run_is_found() -> None:
    good = bundle("good.zip")
    TRACES.write_text("".join(TRACES.read_text().splitlines(keepends=True)[1:]))
    bad = bundle("bad.zip")
    lines = forged(bad | {"receipt.json": good["receipt.json"]})
    assert lines[0].startswith(
        "forged.zip: receipt.json: expected the inputs of the bundle, got trace with the sha256 "
    )
    assert lines[-1] == ENDING
    lines = forged(bad | {"receipt.json": good["receipt.json"], "inputs/03-trace/traces.jsonl":
                          good["inputs/03-trace/traces.jsonl"]})  # fmt: skip
    assert lines[0] == "forged.zip: report.json: expected the report that re-derives, got another one [RW-R05]"


def test_a_changed_row_is_found() -> None:
    files = bundle()
    rows = files["rows.jsonl"].splitlines(keepends=True)
    rows[2] = rows[2].replace(b'"qid":"', b'"qid":"x', 1)
    lines = forged(files | {"rows.jsonl": b"".join(rows)})
    assert lines[0].startswith('forged.zip: rows.jsonl:3: expected {"qid":"')
    assert (', got {"qid":"x' in lines[0], lines[-1]) == (True, ENDING)
    lines = forged(files | {"rows.jsonl": b"".join(rows[:2])})
    assert lines[0].endswith(", got nothing [RW-R05]")


def _renamed(data: bytes) -> bytes:
    """The first warning under another name, written as reports are."""
    report = json.loads(data)
    report["suites"]["answers"]["warnings"][0]["name"] = "harmless"
    return flow.render(report, "json").encode()


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("report.json", lambda data: data.replace(b'"verdict": "SHIP"', b'"verdict": "NO-SHIP"'),
         "report.json: expected the report that re-derives, got another one"),
        ("report.json", lambda data: b"[]", "report.json: expected the report that re-derives, got another one"),
        ("report.json", lambda data: b"{", "report.json: expected the report that re-derives, got another one"),
        ("report.json", lambda data: data + b"\n", "report.json: expected the report that re-derives, got another one"),
        ("report.json", lambda data: data.replace(b'": ', b'":  ', 1),
         "report.json: expected the report that re-derives, got another one"),
        ("report.json", _renamed, "report.json: expected the report that re-derives, got another one"),
        ("report.md", lambda data: data.replace(b"SHIP", b"SHOP"),
         "report.md: expected report.json as Markdown, got another text"),
    ],
)  # fmt: skip
def test_another_report_than_what_was_derived_is_found(name: str, change: Callable[[bytes], bytes], said: str) -> None:
    files = bundle()
    assert change(files[name]) != files[name]
    assert forged(files | {name: change(files[name])})[0] == f"forged.zip: {said} [RW-R05]"


def test_a_swapped_policy_is_found_even_where_the_receipt_names_it() -> None:
    files = bundle()
    policy = "inputs/02-policy/ragworthy.toml"
    softer = files[policy].replace(b"0.80", b"0.10")
    assert softer != files[policy]

    def name_it(body: Any) -> None:
        for one in body["inputs"]:
            if one["role"] == "policy":
                one["sha256"] = hashlib.sha256(softer).hexdigest()

    receipt = canonical(files["receipt.json"], name_it)
    lines = forged(files | {policy: softer, "receipt.json": receipt})
    assert 'gates[0].threshold: the receipt says "0.80", re-derived "0.10"' in lines
    assert lines[-1] == ENDING


def test_a_policy_that_names_what_the_receipt_does_not_is_not_followed(tmp_path: Path) -> None:
    """It could name any file of whoever verifies."""
    files = bundle()
    policy = "inputs/02-policy/ragworthy.toml"
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"password": "hunter2"}\n')
    longer = files[policy].replace(b"[answers]", f'[answers]\ncorpus = "{secret}"'.encode())

    def name_it(body: Any) -> None:
        for one in body["inputs"]:
            if one["role"] == "policy":
                one["sha256"] = hashlib.sha256(longer).hexdigest()

    lines = forged(files | {policy: longer, "receipt.json": canonical(files["receipt.json"], name_it)})
    assert lines[0].startswith('policy: corpus: expected an input of the receipt, got "/')
    assert lines[0].endswith('" [RW-R13]')
    assert "hunter2" not in "".join(lines)


# receipts, and the history beside them


def attempts(*, kept: bool = True) -> None:
    """Three tries on the same gold set and commit: two that fail, and one that ships."""
    good = TRACES.read_text()
    for cut in (3, 2):
        lines = good.splitlines(keepends=True)
        bad = [json.loads(line) for line in lines]
        for row in bad[:cut]:
            row["answer_json"]["claim"] = "something else"
        TRACES.write_text("".join(json.dumps(row) + "\n" for row in bad))
        assert run_cli("gate", "-q", *([] if kept else ["--no-history"])).code == 1
    TRACES.write_text(good)


def test_a_ship_after_some_tries_says_so_everywhere() -> None:
    attempts()
    done = run_cli("gate", "-o", "r.md", "-o", "r.json", "--bundle", "e.zip")
    note = "attempt 3 on this gold set and commit c0ffee012345"
    assert done.out.startswith("SHIP: all 5 gates hold\n") and f"  {note}\n" in done.out
    assert run_cli("gate", "--full").out.splitlines()[0] == f"SHIP: all 5 gates hold ({note})"
    assert f"- {note}" in Path("r.md").read_text().replace("`", "")
    told = json.loads(RECEIPT.read_text())["request"]["attempts"]
    assert (told["count"], len(told["chain"]), told["commit"]) == (3, 3, "c0ffee0123456789")
    assert json.loads(Path("r.json").read_text())["attempts"] == told
    for name in (RECEIPT, "e.zip"):
        for more in ((), ("--store", STORE)):
            done = run_cli("verify", name, *more)
            assert (done.code, note in done.out) == (0, True), done


def test_the_same_run_again_is_the_same_attempt_with_the_same_bytes() -> None:
    attempts()
    assert run_cli("gate", "-q").code == 0
    first = RECEIPT.read_bytes()
    assert run_cli("gate", "-q").code == 0
    assert RECEIPT.read_bytes() == first


def test_without_a_history_or_a_commit_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts(kept=False)
    assert run_cli("gate", "-q", "--no-history").code == 0
    assert "attempts" not in json.loads(RECEIPT.read_text())["request"]
    assert "attempts: not counted" in run_cli("verify", RECEIPT).out.splitlines()
    monkeypatch.delenv("RAGWORTHY_COMMIT")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/")
    for name in ("GITHUB_SHA", "CI_COMMIT_SHA"):
        monkeypatch.delenv(name, raising=False)
    assert run_cli("gate", "-q").code == 0
    assert "attempts: not counted" in run_cli("verify", RECEIPT, "--store", STORE).out.splitlines()


def shortened(body: Any) -> None:
    told = body["request"]["attempts"]
    told |= {"count": 1, "chain": told["chain"][:1]}


def removed(body: Any) -> None:
    del body["request"]["attempts"]


def only_the_last(body: Any) -> None:
    told = body["request"]["attempts"]
    told |= {"count": 1, "chain": told["chain"][-1:]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shortened, "attempts: expected the verdict NO-SHIP of attempt 1, got SHIP"),
        (only_the_last,
         "attempts: expected the attempts of the store (3 on this gold set and commit), got 1 with another chain"),
        (removed, "receipt: expected a receipt of this store, got one that it does not hold"),
    ],
)  # fmt: skip
def test_attempts_removed_from_a_receipt_are_found_beside_the_store(change: Callable[[Any], None], said: str) -> None:
    attempts()
    assert run_cli("gate", "-q").code == 0
    body = json.loads(RECEIPT.read_text())
    change(body)
    # The report says it, too, and so does its hash: a forger derives it again without the store.
    RECEIPT.write_bytes(canonical(RECEIPT.read_bytes(), change))
    done = run_cli("verify", RECEIPT)
    derived = done.out.splitlines()[0].rpartition('re-derived "')[2].rstrip('"')
    RECEIPT.write_bytes(canonical(RECEIPT.read_bytes(), lambda body: body.update(report_sha256=derived)))
    assert run_cli("verify", RECEIPT).code == 0  # nothing but the store can know
    done = run_cli("verify", RECEIPT, "--store", STORE)
    assert done.code == 1
    assert done.out.splitlines()[0] == f"{STORE}: {said} [RW-R14]"
    ending = "not verified: the receipt says SHIP and re-derives, but the history disagrees (exit 1)"
    assert done.out.splitlines()[-1] == ending


def edited(*commands: str) -> None:
    """The store, changed by somebody who knows SQL."""
    with sqlite3.connect(STORE) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for one in commands:
            assert connection.execute(one).rowcount > 0, one
    connection.close()


@pytest.mark.parametrize(
    "command",
    [
        "DELETE FROM ragworthy_attempts WHERE number = 1",
        "UPDATE ragworthy_attempts SET verdict = 'SHIP' WHERE number = 1",
        "UPDATE ragworthy_rows SET sha256 = '0'",
        "UPDATE ragworthy_runs SET verdict = 'SHIP'",
        "UPDATE ragworthy_summaries SET num = num + 1",
        "DELETE FROM ragworthy_ledger WHERE number = 1",
    ],
)
def test_a_changed_store_is_found(command: str) -> None:
    attempts()
    assert run_cli("gate", "-q").code == 0
    edited(command)
    done = run_cli("verify", RECEIPT, "--store", STORE)
    assert (done.code, done.out.splitlines()[0][-9:]) == (1, " [RW-R07]"), done


def blessed() -> None:
    """A blessed run that the policy compares with, and a run beside it that nobody blessed."""
    assert run_cli("gate", "-q", "-o", "base.json").code == 0
    store = ("--store", STORE)
    run = json.loads(run_cli("history", "list", "--format", "json", *store).out)["runs"][-1]["run"]
    done = run_cli("history", "bless", run, "--by", "Ada", "--reason", "accepted", "--single", *store)
    assert done.code == 0, done
    policy = Path("ragworthy.toml")
    policy.write_text(f'baseline = "base.json"\n{policy.read_text()}')


def test_a_baseline_that_was_blessed_is_known_by_its_bytes() -> None:
    blessed()
    assert run_cli("gate", "-q").code == 0
    assert run_cli("verify", RECEIPT, "--store", STORE).code == 0


def test_a_baseline_that_nobody_blessed_is_found() -> None:
    blessed()
    good, own = TRACES.read_text(), Path("base.json").read_text()
    rows = [json.loads(line) for line in good.splitlines()]
    rows[0]["answer_json"]["claim"] = "something else"  # a true report of a worse run, which is easier to beat
    TRACES.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run_cli("gate", "-q", "--no-history", "-o", "weak.json").code in (0, 1, 3)
    assert Path("weak.json").read_text() != own
    shutil.copy("weak.json", "base.json")
    TRACES.write_text(good)
    assert run_cli("gate", "-q").code == 0
    assert run_cli("verify", RECEIPT).code == 0
    done = run_cli("verify", RECEIPT, "--store", STORE)
    assert done.code == 1
    assert done.out.splitlines()[0].startswith(
        f"{STORE}: baseline: expected the report of a run that was blessed (main: "
    )
    assert done.out.splitlines()[0].endswith("), got another one [RW-R15]")


def test_a_moved_blessing_is_found() -> None:
    blessed()
    attempts()
    assert run_cli("gate", "-q").code == 0
    assert run_cli("verify", RECEIPT, "--store", STORE).code == 0
    edited("UPDATE ragworthy_baselines SET run = (SELECT id FROM ragworthy_runs WHERE verdict = 'NO-SHIP' LIMIT 1)")
    done = run_cli("verify", RECEIPT, "--store", STORE)
    assert (done.code, ": it was moved to " in done.out, done.out.splitlines()[0][-9:]) == (1, True, " [RW-R07]")


def test_a_store_of_somebody_else_does_not_have_the_run() -> None:
    attempts()
    assert run_cli("gate", "-q").code == 0
    shutil.copytree(".", "../other", ignore=shutil.ignore_patterns(".ragworthy"))
    done = run_cli("gate", "-q", "-c", "../other/ragworthy.toml", "--store", "other.db")
    assert done.code == 0
    done = run_cli("verify", RECEIPT, "--store", "other.db")
    assert (done.code, done.out.splitlines()[0][-9:]) == (1, " [RW-R14]")


def test_a_count_that_does_not_fit_its_chain_does_not_re_derive() -> None:
    attempts()
    assert run_cli("gate", "-q").code == 0
    change: Callable[[Any], None] = lambda body: body["request"]["attempts"].update(count=1)  # noqa: E731
    RECEIPT.write_bytes(canonical(RECEIPT.read_bytes(), change))
    done = run_cli("verify", RECEIPT)
    message = "request.attempts.count: expected the number of hashes in its chain (3), got 1 [RW-R01]"
    assert (done.code, done.out.splitlines()[0]) == (1, message)
