"""What became of inputs: in place, moved with the same bytes, changed, or gone; each is another answer."""

import hashlib
import shutil
from pathlib import Path

import pytest

import cases as c
from conftest import run_cli
from ragworthy import starter

RECEIPT = Path(".ragworthy/receipt.json")
VERIFIED = "verified: SHIP re-derives byte for byte from 3 inputs (exit 0)"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    starter.init(Path())
    assert run_cli("gate", "-q").code == 0


def test_an_input_beside_the_receipt_has_moved_and_is_used() -> None:
    shutil.move("gold/answers.jsonl", ".ragworthy/answers.jsonl")
    done = run_cli("verify", RECEIPT)
    lines = done.out.splitlines()
    assert (done.code, lines[0], lines[-1]) == (
        0, "gold: ../gold/answers.jsonl moved: found as .ragworthy/answers.jsonl", VERIFIED,
    )  # fmt: skip


def test_inputs_are_found_by_their_bytes_anywhere_under_a_folder() -> None:
    Path("kept/deep/er").mkdir(parents=True)
    shutil.move("gold/answers.jsonl", "kept/deep/er/renamed.jsonl")
    shutil.move("runs/latest/traces.jsonl", "kept/traces.jsonl")
    shutil.move("ragworthy.toml", "kept/deep/policy.toml")
    assert run_cli("verify", RECEIPT).code == 2
    done = run_cli("verify", RECEIPT, "--inputs", "kept")
    assert done.code == 0, done
    assert done.out.splitlines()[:3] == [
        "gold: ../gold/answers.jsonl moved: found as kept/deep/er/renamed.jsonl",
        "policy: ../ragworthy.toml moved: found as kept/deep/policy.toml",
        "trace: ../runs/latest/traces.jsonl moved: found as kept/traces.jsonl",
    ]


def test_a_receipt_alone_in_another_folder_finds_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new/deep").mkdir(parents=True)
    shutil.copy(RECEIPT, "new/deep/receipt.json")
    monkeypatch.chdir(tmp_path / "new/deep")
    assert run_cli("verify", "receipt.json").code == 2
    assert run_cli("verify", "receipt.json", "--inputs", "../..").code == 0


def test_other_bytes_at_the_path_are_a_change_unless_the_right_ones_are_named() -> None:
    Path("kept").mkdir()
    shutil.copy("gold/answers.jsonl", "kept/answers.jsonl")
    shutil.copy("gold/answers.jsonl", ".ragworthy/answers.jsonl")
    was = hashlib.sha256(Path("gold/answers.jsonl").read_bytes()).hexdigest()
    Path("gold/answers.jsonl").write_text("{}\n")
    now = hashlib.sha256(b"{}\n").hexdigest()
    done = run_cli("verify", RECEIPT)
    assert (done.code, done.out.splitlines()) == (
        1,
        [
            f"gold: ../gold/answers.jsonl changed: sha256 was {was}, is {now}",
            "not verified: the receipt says SHIP, but it does not re-derive (exit 1)",
        ],
    )
    done = run_cli("verify", RECEIPT, "--inputs", "kept")
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "gold: ../gold/answers.jsonl moved: found as kept/answers.jsonl",
    )


def test_what_is_gone_is_not_what_has_changed() -> None:
    shutil.move("gold/answers.jsonl", "gold/other.jsonl")
    done = run_cli("verify", RECEIPT)
    assert (done.code, done.out.splitlines()) == (
        2,
        [
            "gold: ../gold/answers.jsonl: expected a file, got nothing at this path",
            "cannot be verified: inputs are not here (exit 2)",
        ],
    )


def test_a_namesake_with_other_bytes_is_not_what_moved() -> None:
    Path("kept").mkdir()
    shutil.move("gold/answers.jsonl", "kept/answers.jsonl")
    with Path("kept/answers.jsonl").open("a") as file:
        file.write("\n")
    assert run_cli("verify", RECEIPT, "--inputs", "kept").code == 2


def test_a_lock_that_moved_along_is_the_lock() -> None:
    assert run_cli("gold", "freeze", "gold/answers.jsonl", "--signer", "Ada", "--reason", "first").code == 0
    assert run_cli("gate", "-q").code == 0
    shutil.move("gold", "kept")
    done = run_cli("verify", RECEIPT, "--inputs", "kept")
    assert done.code == 0, done
    Path("kept/answers.lock").unlink()
    done = run_cli("verify", RECEIPT, "--inputs", "kept")
    assert (done.code, done.out.splitlines()[1]) == (
        2, "lock: ../gold/answers.lock: expected a file, got nothing at this path",
    )  # fmt: skip


def test_an_index_moves_as_a_whole() -> None:
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# S\n\nIt is q1.\n\n## T\n\nIt is q2.\n")
    assert run_cli("index", "build", "--docs", "docs", "--out", "index", "--dense", "none").code == 0
    case = c.retrieval(Path())
    done = run_cli(*c.command(case, "-q", "--receipt", "r.json", corpus="index"))
    assert done.code in (0, 1, 3, 4), done
    Path("kept/x").mkdir(parents=True)
    shutil.copy("index/manifest.json", "kept/x/manifest.json")  # half of it is not it
    shutil.move("index", "kept/y")
    done = run_cli("verify", "r.json", "--inputs", "kept")
    assert done.code == 0, done
    assert "corpus: index/manifest.json moved: found as kept/y/manifest.json" in done.out.splitlines()
    Path("kept/y/chunks.jsonl").unlink()
    done = run_cli("verify", "r.json", "--inputs", "kept")
    assert (done.code, done.out.splitlines()[-1]) == (2, "cannot be verified: inputs are not here (exit 2)")


def test_links_are_not_followed_when_inputs_are_looked_for(tmp_path: Path) -> None:
    shutil.move("gold/answers.jsonl", tmp_path.parent / f"{tmp_path.name}.jsonl")
    Path("kept").mkdir()
    Path("kept/answers.jsonl").symlink_to(tmp_path.parent / f"{tmp_path.name}.jsonl")
    assert run_cli("verify", RECEIPT, "--inputs", "kept").code == 2


def test_what_is_no_folder_is_refused() -> None:
    done = run_cli("verify", RECEIPT, "--inputs", "gold/answers.jsonl")
    assert (done.code, done.err.splitlines()[0]) == (2, "--inputs: expected a folder, got gold/answers.jsonl [RW-U01]")
