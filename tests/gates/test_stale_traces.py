"""`run` and `gate` agree on the trace file, and `gate` never judges what another run in the folder has overtaken."""

import json
import os
import shutil
from pathlib import Path

import pytest

import ragworthy as rw
from conftest import run_cli
from ragworthy import starter

RUN = ("run", "-q", "--gold", "gold/answers.jsonl", "--out", "runs/latest", "--target")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    starter.init(Path())
    shutil.copy("runs/latest/traces.jsonl", "recorded.jsonl")


def test_a_run_takes_the_place_of_the_example_and_the_gate_judges_the_run() -> None:
    assert run_cli("gate", "-q").code == 0  # the example itself
    Path("mine_broken.py").write_text("def answer(**asked):\n    raise RuntimeError('my pipeline is broken')\n")
    stopped = run_cli(*RUN, "mine_broken:answer")  # after ten of twelve
    assert (stopped.code, stopped.err.splitlines()[0].endswith("[RW-J09]")) == (2, True)
    assert run_cli("gate", "-q").code == 2  # the example is gone, and nothing has taken its place
    shutil.copy("recorded.jsonl", "runs/latest/traces.jsonl")
    assert "[RW-J08]" in run_cli("gate", "-q").err  # nor can anything else
    Path("runs/latest/traces.jsonl").unlink()
    assert run_cli(*RUN, "mine_broken:answer", "--keep-going").code == 1
    done = run_cli("gate")
    assert done.code == 4
    assert done.out.splitlines()[2] == (
        "  not valid: 12 of 12 questions ended in an error: this is an outage, not a measurement"
    )
    assert "raised: RuntimeError: my pipeline is broken" in done.out
    assert "HALLUCINATION" not in done.out and "grounding" not in done.out


def test_traces_of_somebody_are_not_replaced() -> None:
    Path("runs/latest/run.json").unlink()
    done = run_cli(*RUN, "replay:recorded.jsonl")
    assert (done.code, "[RW-U03]" in done.err) == (2, True)


def test_a_file_that_a_run_over_the_same_gold_set_has_overtaken_is_refused() -> None:
    assert run_cli(*RUN, "replay:recorded.jsonl").code == 0
    shutil.copy("recorded.jsonl", "runs/latest/answers.jsonl")
    policy = Path("ragworthy.toml")
    policy.write_text(policy.read_text().replace("latest/traces.jsonl", "latest/answers.jsonl"))
    done = run_cli("gate", "-q")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "runs/latest/answers.jsonl: expected traces.jsonl, which the run in this folder wrote over the same gold set, "
        "got another file [RW-J08]",
    )
    with pytest.raises(rw.RagworthyError, match="RW-J08"):
        rw.gate("ragworthy.toml")
    summary = json.loads(Path("runs/latest/run.json").read_text())
    summary["gold"]["sha256"] = "0" * 64  # a run over other questions is not a concern of ours
    Path("runs/latest/run.json").write_text(json.dumps(summary))
    assert run_cli("gate", "-q").code == 0


def test_a_run_that_has_not_ended_is_not_judged() -> None:
    assert run_cli(*RUN, "replay:recorded.jsonl").code == 0
    journal = Path("runs/latest/journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-3]))
    done = run_cli("gate", "-q")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "runs/latest/journal.jsonl: expected a run that has ended, got one with 9 of 12 replies: end it with --resume, "
        "or take another folder [RW-J08]",
    )
    assert run_cli(*RUN, "replay:recorded.jsonl", "--resume").code == 0
    assert run_cli("gate", "-q").code == 0


def test_the_times_of_files_do_not_matter() -> None:
    assert run_cli(*RUN, "replay:recorded.jsonl").code == 0
    for nth, path in enumerate(sorted(Path("runs/latest").iterdir())):
        os.utime(path, (1_000_000_000 - nth, 1_000_000_000 - nth))
    assert run_cli("gate", "-q").code == 0
    assert run_cli("verify", ".ragworthy/receipt.json").code == 0


def test_traces_that_somebody_put_in_the_place_of_those_of_a_run_are_refused() -> None:
    Path("mine_flaky.py").write_text("def answer(**asked):\n    raise RuntimeError('no')\n")
    assert run_cli(*RUN, "mine_flaky:answer", "--keep-going").code == 1
    shutil.copy("recorded.jsonl", "runs/latest/traces.jsonl")
    done = run_cli("gate", "-q")
    assert (done.code, "expected what the run in this folder wrote, got other bytes" in done.err) == (2, True)


def test_a_run_that_died_before_its_first_line_has_not_ended() -> None:
    Path("runs/latest/run.json").unlink()
    Path("runs/latest/journal.jsonl").write_bytes(b"")
    assert run_cli("gate", "-q").code == 2
