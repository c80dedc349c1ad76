"""A run with errors as a baseline: its errors hide what later runs lose, so it is blessed on purpose or not at all."""

from pathlib import Path

import pytest

from conftest import run_cli
from made_runs import failed, gated, ids, lay

HERE = Path()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_run_with_many_errors_is_blessed_on_purpose_only() -> None:
    lay(HERE, more="defaults = false")
    failed(HERE, range(5))
    assert run_cli("gate", "-q").code == 0
    (run,) = ids(HERE)
    bless = ("history", "bless", run, "--by", "Ada", "--reason", "first", "--single")
    done = run_cli(*bless)
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "expected a run without errors, got one in which 5 of 40 questions (answers) ended in errors: they count as "
        "wrong, and hide what later runs lose. Ask them again (ragworthy run --resume --retry-errors), or give "
        "--errors to bless it [RW-H17]",
    )
    done = run_cli(*bless, "--errors")
    warning = "5 of 40 questions (answers) ended in errors: they count as wrong, and hide what later runs lose of them"
    assert (done.code, done.out.splitlines()[0]) == (0, f"warning: {warning}")


def test_a_run_with_few_errors_is_blessed_with_a_warning() -> None:
    lay(HERE, more="defaults = false")
    failed(HERE, range(2))
    assert run_cli("gate", "-q").code == 0
    done = run_cli("history", "bless", *ids(HERE), "--by", "Ada", "--reason", "first", "--single")
    assert (done.code, "warning: 2 of 40 questions (answers) ended in errors" in done.out) == (0, True), done.err
    gated(HERE)
