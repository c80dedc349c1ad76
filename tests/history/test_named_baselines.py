"""A baseline that is a blessed run: before there is one, on a new gold set, and where somebody helped himself."""

import json
import sqlite3
from pathlib import Path

import pytest

import ragworthy
from conftest import run_cli
from made_runs import answer, gated, ids, lay

HERE = Path()
UNBLESSED = "no run is blessed as main yet (ragworthy history bless RUN --by NAME --reason TEXT)"
DATABASE, COPY = Path(".ragworthy/history.db"), Path(".ragworthy/baselines/main.json")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def compared(questions: int = 40) -> None:
    """A policy whose one comparing gate is compared with what is blessed as main."""
    lay(HERE, questions, more='baseline = "history:main"\n')
    more = '\n[[gate]]\nmetric = "answers.precision"\nmax_drop = 0.02\n'
    Path("ragworthy.toml").write_text(Path("ragworthy.toml").read_text() + more)


def bless(run: str, *more: str) -> list[str]:
    done = run_cli("history", "bless", run, "--by", "Ada", "--reason", "first", *more)
    assert done.code == 0, done.err
    return done.out.splitlines()


def test_the_first_run_is_kept_compared_with_nothing_and_can_be_blessed() -> None:
    compared()
    done = gated(HERE, {1}, "-o", "out.json", run="a", code=4)
    assert done.err.splitlines() == [
        "history: there is no history at .ragworthy/history.db: nothing is compared; bless a run when there is one",
        f"history: run {ids(HERE)[0]} (attempt 1 on this gold set, commit unknown)",
    ]
    body = json.loads(Path("out.json").read_text())
    assert body["invalid"] == [f"answers.precision was not measured: {UNBLESSED}"]
    assert [one["outcome"] for one in body["gates"] if one["metric"] == "answers.precision"] == ["pass", "not_measured"]
    do = "no run is blessed as main yet: bless this run or an earlier one (ragworthy history bless RUN --by NAME "
    assert body["next"][-1] == {"pattern": "nothing to compare with: answers.precision", "do": f"{do}--reason TEXT)"}
    assert run_cli("verify", ".ragworthy/receipt.json").code == 0
    done = gated(HERE, {2}, run="b", code=4)
    assert done.err.splitlines()[0] == (
        "history: .ragworthy/history.db has no run that is blessed as main: nothing is compared; bless a run when "
        "there is one"
    )
    gated(HERE, {2}, run="c", code=4)
    run = ids(HERE)[0]
    assert bless(run)[:2] == [  # three runs are known, all of them without a verdict
        "accepted: a run that was compared with nothing, since no run was blessed as main; no gate failed",
        f"blessed: {run} is main now",
    ]
    gated(HERE, {1}, run="d")
    gated(HERE, {1, *range(10, 20)}, run="e", code=1)
    assert run_cli("verify", ".ragworthy/receipt.json", "--store", str(DATABASE)).code == 0
    assert run_cli("history", "trend", "--metric", "answers.precision").out.startswith("answers: 5 runs, ")


def test_the_first_run_of_a_new_store_of_either_kind_is_kept_and_can_be_blessed(place: str) -> None:
    compared()
    first = gated(HERE, {1}, "--store", place, run="a", code=4)
    there, kept = first.err.splitlines()
    assert there.endswith(": nothing is compared; bless a run when there is one")
    assert kept.endswith(" (attempt 1 on this gold set, commit unknown)")
    run = kept.split()[2]
    assert bless(run, "--store", place, "--single")[1] == f"blessed: {run} is main now"
    gated(HERE, {1}, "--store", place, run="b")
    gated(HERE, {1, *range(10, 20)}, "--store", place, run="c", code=1)


def test_an_empty_file_is_a_store_that_was_not_made_yet() -> None:
    compared()
    Path("h.db").touch()
    assert gated(HERE, {1}, "--store", "h.db", run="a", code=4).err.count("history: run ") == 1


def test_a_policy_without_a_comparing_gate_does_not_ship_either() -> None:
    lay(HERE, more='baseline = "history:next"\n')
    gated(HERE, {1}, "-o", "out.json", code=4)
    assert json.loads(Path("out.json").read_text())["invalid"] == [
        "no run is blessed as next yet (ragworthy history bless RUN --name next --by NAME --reason TEXT)"
    ]


def test_a_new_gold_set_begins_with_a_run_that_is_blessed() -> None:
    compared()
    gated(HERE, {1}, run="a", code=4)
    bless(ids(HERE)[0], "--single")
    compared(41)
    done = gated(HERE, {1, *range(22)}, "-o", "out.json", run="b", code=4)
    assert "--no-default-gates" not in done.out
    assert json.loads(Path("out.json").read_text())["next"][-1] == {
        "pattern": "the baseline is of another gold set: answers.precision",
        "do": "bless a run on this gold set (ragworthy history bless RUN --by NAME --reason TEXT)",
    }
    assert bless(ids(HERE)[1], "--single")[0] == (
        "accepted: a run that was compared with nothing, since the baseline was of another gold set; these gates "
        "failed: answers.precision"
    )
    gated(HERE, {1}, run="c")


def test_other_reasons_are_not_accepted() -> None:
    compared()
    answer(HERE)
    Path("traces.jsonl").write_text("\n".join(Path("traces.jsonl").read_text().splitlines()[:30]) + "\n")
    assert run_cli("gate", "-q").code == 4
    done = run_cli("history", "bless", ids(HERE)[0], "--by", "Ada", "--reason", "x", "--single")
    assert done.err.splitlines()[0] == (
        ".ragworthy/history.db: expected a run with a verdict, got one that is INVALID (10 questions have no trace; "
        f"answers.precision was not measured: {UNBLESSED}) [RW-H10]"
    )


def blessed() -> str:
    compared()
    gated(HERE, {1}, run="a", code=4)
    run = ids(HERE)[0]
    bless(run, "--single")
    gated(HERE, {1}, run="b")
    return run


def test_without_its_history_a_copy_of_the_baseline_is_not_used() -> None:
    blessed()
    DATABASE.unlink()
    done = gated(HERE, {1}, run="c", code=4)
    assert done.err.splitlines()[0] == (
        "history: there is no history at .ragworthy/history.db; .ragworthy/baselines/main.json is a copy that nothing "
        "vouches for, and is not used: nothing is compared; restore the history, or bless a run again"
    )
    assert f"answers.precision was not measured: {UNBLESSED}" in done.out
    assert gated(HERE, {1}, run="d", code=4).out == done.out  # and again the same
    assert run_cli("doctor").code == 0
    assert run_cli("show", "q001").code == 1  # a wrong answer; nothing else is in the way


def test_a_copy_that_was_edited_is_written_again_from_the_history() -> None:
    blessed()
    sound = COPY.read_bytes()
    COPY.write_bytes(sound.replace(b'"num": 39', b'"num": 20'))
    gated(HERE, {1, *range(10, 20)}, run="c", code=1)
    assert COPY.read_bytes() == sound
    COPY.write_bytes(sound.replace(b'"num": 39', b'"num": 20'))
    assert ragworthy.gate("ragworthy.toml").verdict == "NO-SHIP"
    assert COPY.read_bytes() == sound


def test_whatever_somebody_writes_into_the_copy_is_replaced() -> None:
    blessed()
    sound = COPY.read_bytes()
    for text in (b"not a report\n", b"", b'{"schema": "other"}'):
        COPY.write_bytes(text)
        gated(HERE, {1}, run="b")
        assert COPY.read_bytes() == sound
    COPY.unlink()
    Path("notes.txt").write_text("my own notes\n")
    COPY.symlink_to(Path("notes.txt").resolve())  # what a link leads to is not ours
    done = run_cli("gate")
    assert (done.code, done.err.splitlines()[0]) == (
        2, f"{COPY}: expected a new file, or one of ours, got another file [RW-U03]",
    )  # fmt: skip
    assert Path("notes.txt").read_text() == "my own notes\n"


def test_a_blessing_that_was_moved_behind_the_ledger_is_refused() -> None:
    run = blessed()
    other = ids(HERE)[1]
    with sqlite3.connect(DATABASE) as connection:
        connection.execute("UPDATE ragworthy_baselines SET run = ?", (other,))
    done = run_cli("gate")
    assert (done.code, done.err.splitlines()[0]) == (
        2, f".ragworthy/history.db: blessing of {run} as main: it was moved to {other} [RW-R07]",
    )  # fmt: skip


def test_a_blessed_report_that_was_changed_in_the_history_is_refused() -> None:
    run = blessed()
    with sqlite3.connect(DATABASE) as connection:
        body = connection.execute("SELECT body FROM ragworthy_reports WHERE run != ?", (run,)).fetchone()[0]
        connection.execute("UPDATE ragworthy_reports SET body = ? WHERE run = ?", (body, run))
    assert run_cli("gate").err.splitlines()[0] == (f".ragworthy/history.db: run {run}: the report was changed [RW-R07]")


@pytest.mark.parametrize("there", [False, True])
def test_a_bundle_has_the_baseline_or_none(there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blessed()
    if not there:
        DATABASE.unlink()
    gated(HERE, {1}, "--bundle", "evidence.zip", run="c", code=0 if there else 4)
    away = tmp_path / "away"
    away.mkdir()
    Path("evidence.zip").rename(away / "evidence.zip")
    monkeypatch.chdir(away)
    done = run_cli("verify", "evidence.zip")
    verdict = "SHIP" if there else "INVALID"
    assert (done.code, done.out.splitlines()[-1][:24]) == (0, f"verified: {verdict} re-derives"[:24])


def test_a_run_that_was_changed_in_the_history_is_not_blessed() -> None:
    compared()
    gated(HERE, {1}, run="a", code=4)
    (run,) = ids(HERE)
    with sqlite3.connect(DATABASE) as connection:
        connection.execute("UPDATE ragworthy_runs SET verdict = 'SHIP'")
    done = run_cli("history", "bless", run, "--by", "Ada", "--reason", "first", "--single")
    assert done.code == 2 and done.err.splitlines()[0].startswith(f".ragworthy/history.db: run {run}: ")
    assert "[RW-R07]" in done.err and not COPY.exists()


def test_an_accepted_baseline_is_no_reason_to_warn_under_whatever_name_it_is_given() -> None:
    """The first run is INVALID for want of a baseline; whoever blessed it accepted that."""
    compared()
    gated(HERE, {1}, run="a", code=4)
    (run,) = ids(HERE)
    bless(run, "--single")
    for more in ((), ("--baseline", f"history:{run}")):
        done = gated(HERE, {1}, *more, run="b")
        assert "RW-W22" not in done.out and "verdict: SHIP" in done.out
        assert run_cli("verify", ".ragworthy/receipt.json", "--store", str(DATABASE)).code == 0
