"""Small things that the history must not mix up: gold sets that broke their lock, runs that are not a repetition."""

from pathlib import Path

import pytest

from conftest import run_cli
from made_runs import answer, gated, ids, lay

HERE = Path()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_gold_set_that_broke_its_lock_is_not_listed_as_its_version() -> None:
    lay(HERE)
    assert run_cli("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "x", "--label", "v1").code == 0
    gated(HERE, run="a")
    text = Path("gold.jsonl").read_text()
    Path("gold.jsonl").write_text(text.replace("What is number 7", "What then is number 7"))
    answer(HERE, run="b")
    assert run_cli("gate").code == 4
    frozen, broken = ids(HERE)
    shown = {run: run_cli("history", "show", run, "--no-color").out for run in (frozen, broken)}
    assert "gold: v1 (" in shown[frozen]
    assert "v1" not in shown[broken].split("gold: ")[1].splitlines()[0]


def test_repeated_says_which_runs_it_leaves_out() -> None:
    lay(HERE)
    for commit in ("aaaaaaa", "bbbbbbb"):
        gated(HERE, {1}, "--commit", commit, run=commit)
    assert run_cli("history", "trend").code == 0
    done = run_cli("history", "trend", "--repeated")
    assert (done.code, done.err.splitlines()[0].split("history.db: ")[1]) == (
        2,
        "expected two runs or more that can be compared, got 1: --repeated takes the runs of the last one's commit and "
        "gold set, and 1 other is of another [RW-H15]",
    )
