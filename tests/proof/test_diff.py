"""Two receipts side by side, in words: inputs by their roles first, then what follows from them."""

import json
from pathlib import Path

import pytest

from conftest import run_cli
from ragworthy import starter
from repacked import canonical

TRACES = Path("runs/latest/traces.jsonl")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    starter.init(Path())
    gated("a")


def gated(name: str, *more: object) -> None:
    done = run_cli("gate", "-q", "--no-history", "--receipt", f"{name}.json", "--bundle", f"{name}.zip", *more)
    assert done.code in (0, 1, 3, 4), done


def diff(old: str, new: str) -> list[str]:
    done = run_cli("receipt", "diff", old, new)
    assert (done.code, done.err) == (1, "")
    return done.out.splitlines()


def test_the_same_is_the_same() -> None:
    gated("b")
    for old, new in (("a.json", "b.json"), ("a.json", "b.zip"), ("a.zip", "b.zip")):
        done = run_cli("receipt", "diff", old, new)
        assert (done.code, done.out) == (0, "the same (exit 0)\n")


def test_the_input_that_changed_is_named_with_what_followed_from_it() -> None:
    rows = [json.loads(line) for line in TRACES.read_text().splitlines()]
    for row in rows[:5]:
        row["answer_json"]["claim"] = "something else"
    TRACES.write_text("".join(json.dumps(row) + "\n" for row in rows))
    gated("b")
    lines = diff("a.json", "b.zip")
    assert lines[0].startswith("input: trace changed: sha256 ")
    assert not any(line.startswith(("input: gold", "input: policy", "setting:", "gate:")) for line in lines)
    before, after = (json.loads(Path(f"{name}.json").read_text())["gates"][0] for name in "ab")
    moved = f"pass ({before['num']} of {before['den']}) → fail ({after['num']} of {after['den']})"
    assert f"outcome: answers.precision >= 0.80: {moved}" in lines
    assert f"number: answers.precision: {before['num']} of {before['den']} → {after['num']} of {after['den']}" in lines
    assert "outcome: verdict: SHIP → NO-SHIP" in lines
    assert lines[-1].startswith("different: 1 input, ") and lines[-1].endswith(" (exit 1)")


def test_another_commit_is_one_setting_and_no_evidence() -> None:
    gated("b", "--commit", "aaaa1111")
    gated("c", "--commit", "bbbb2222")
    assert diff("b.json", "c.json") == ["setting: commit: aaaa1111 → bbbb2222", "different: 1 setting (exit 1)"]


def test_settings_and_gates_are_named() -> None:
    policy = Path("ragworthy.toml")
    text = policy.read_text().replace("min = 0.80", "min = 0.70").replace("k = 5", "k = 3")
    policy.write_text(text + '\n[[gate]]\nmetric = "answers.recall@3"\nmin = 0.5\n')
    gated("b", "--allow-gold-errors")
    lines = diff("a.json", "b.json")
    assert lines[0].startswith("input: policy changed: sha256 ")
    assert "setting: allow_gold_errors: false → true" in lines
    assert "gate: answers.precision >= 0.80 → >= 0.70" in lines
    assert "gate: answers.recall@3 >= 0.5 was added" in lines
    assert any(line.startswith("setting: answers.k") for line in lines)


def test_inputs_that_came_and_went_and_moved_are_named() -> None:
    run_cli("gold", "freeze", "gold/answers.jsonl", "--signer", "Ada", "--reason", "first")
    Path("other").mkdir()
    TRACES.rename("other/traces.jsonl")
    policy = Path("ragworthy.toml")
    policy.write_text(policy.read_text().replace("runs/latest", "other"))
    gated("b")
    lines = diff("a.json", "b.json")
    assert "input: lock was added: gold/answers.lock" in lines
    assert "input: trace moved: runs/latest/traces.jsonl → other/traces.jsonl" in lines
    assert "setting: answers.frozen: unlocked → frozen" in lines
    assert "input: lock was removed: gold/answers.lock" in diff("b.json", "a.json")


def test_what_only_the_bytes_show_is_a_difference_too() -> None:
    Path("b.json").write_bytes(canonical(Path("a.json").read_bytes(), lambda body: body.update(report_sha256="0" * 64)))
    assert diff("a.json", "b.json") == ["part: report_sha256 differs", "different: 1 part (exit 1)"]


def test_a_receipt_without_its_parts_is_no_defect() -> None:
    for change in (lambda body: body.pop("gates"), lambda body: body.update(suites={"answers": 3})):
        Path("b.json").write_bytes(canonical(Path("a.json").read_bytes(), change))
        done = run_cli("receipt", "diff", "a.json", "b.json")
        assert done.code == 2
        assert done.err.startswith("expected a receipt with all of its parts, got one without (")
        assert "[RW-R01]" in done.err
    done = run_cli("receipt", "diff", "a.json", "ragworthy.toml")
    assert (done.code, "RW-R01" in done.err) == (2, True)
