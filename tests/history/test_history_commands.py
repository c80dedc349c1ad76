"""The history as somebody at the command line has it: what a gate keeps, baselines, the last report, tables."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli
from made_runs import answer, gated, ids, lay
from ragworthy import starter
from ragworthy.history import open_store
from ragworthy.load.lock import load_lock


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


HERE = Path()


# gate


def test_a_gate_keeps_its_run_and_counts_attempts() -> None:
    lay(HERE)
    first = gated(HERE, {1}, run="a")
    second = gated(HERE, {1, 2}, "--commit", "abc", run="b")
    third = gated(HERE, {1, 2}, "--commit", "abc", run="b")
    fourth = gated(HERE, {2}, "--commit", "abc", run="c")
    one, two, four = ids(HERE)
    assert first.err == f"history: run {one} (attempt 1 on this gold set, commit unknown)\n"
    assert second.err == f"history: run {two} (attempt 1 on this gold set and commit)\n"
    assert third.err == f"history: run {two} (kept before, as attempt 1 on this gold set and commit)\n"
    assert fourth.err == f"history: run {four} (attempt 2 on this gold set and commit)\n"
    assert first.out.splitlines()[-1] == "verdict: SHIP (exit 0)"
    store = open_store(".ragworthy/history.db", create=False)
    assert store.receipt(four) == Path(".ragworthy/receipt.json").read_bytes()
    assert store.rows(four, "answers") is not None
    assert run_cli("verify", ".ragworthy/receipt.json").code == 0


@pytest.mark.parametrize("how", ["flag", "environment", "selftest", "off"])
def test_a_gate_keeps_nothing_where_it_is_told_so(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(HERE)
    if how == "environment":
        monkeypatch.setenv("RAGWORTHY_STORE", "off")
    more = {"flag": ["--no-history"], "environment": [], "selftest": ["--selftest"], "off": ["--store", "off"]}[how]
    answer(HERE)
    assert run_cli("gate", *more).err == ""
    assert not Path(".ragworthy/history.db").exists() and not Path("off").exists()


@pytest.mark.parametrize("words", [["gate"], ["history", "list"], ["gate", "--no-history"]])
def test_a_store_without_a_name_is_a_mistake(words: list[str]) -> None:
    lay(HERE)
    answer(HERE)
    done = run_cli(*words, "--store", "")
    assert (done.code, done.err.splitlines()[0]) == (
        2, "--store: expected a file, postgresql://… or off, got nothing [RW-U01]",
    )  # fmt: skip


def test_a_commit_is_found_by_any_beginning_that_is_its_own() -> None:
    lay(HERE)
    for run, commit in (("a", "z"), ("b", "zz"), ("c", "y1")):
        gated(HERE, {1}, "--commit", commit, run=run)
    for named, place in (("commit:z", 0), ("commit:zz", 1), ("commit:y", 2)):
        assert run_cli("history", "show", named).out.startswith(f"run {ids(HERE)[place]}: ")
    gated(HERE, {1}, "--commit", "y2", run="d")
    assert run_cli("history", "show", "commit:y").err.splitlines()[0] == (
        ".ragworthy/history.db: expected runs of one commit, got several for y [RW-H07]"
    )


def test_a_store_that_cannot_be_written_changes_no_verdict() -> None:
    lay(HERE)
    Path("other.db").write_text("precious, and longer than sixteen bytes\n")
    done = gated(HERE, {1}, "--store", "other.db")
    assert done.err == ("history: this run was not kept: other.db: expected a store, got another file [RW-H02]\n")
    assert done.out.endswith("verdict: SHIP (exit 0)\n")
    assert Path("other.db").read_text() == "precious, and longer than sixteen bytes\n"


def test_help_and_score_do_not_load_the_database() -> None:
    starter.init(HERE)
    code = "import sys; from ragworthy.cli.main import main; main(sys.argv[1:]); print('sqlalchemy' in sys.modules)"
    scored = ["score", "answers", "--gold", "gold/answers.jsonl", "--trace", "runs/latest/traces.jsonl", "-q"]
    for words in (scored, ["gate", "-q", "--no-history"], ["history", "trend", "a.json", "b.json"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, encoding="utf-8", timeout=60)
        assert done.stdout.splitlines()[-1] == "False", words


# baselines


def test_a_baseline_changes_by_blessing_only_and_gates_use_it() -> None:
    lay(HERE, more='baseline = "history:main"\n')
    text = Path("ragworthy.toml").read_text().replace("min = 0.5", "max_drop = 0.02\nmin = 0.5")
    answer(HERE)
    done = run_cli("gate", "--baseline", "history:main")
    assert (done.code, done.err.splitlines()[0]) == (
        2, ".ragworthy/history.db: expected a run called main, got no history [RW-H08]",
    )  # fmt: skip
    lay(HERE)
    for run in "abc":
        gated(HERE, {1}, run=run)
    first = ids(HERE)[0]
    lay(HERE, more='baseline = "history:main"\n')
    Path("ragworthy.toml").write_text(text)
    done = run_cli("history", "bless", first, "--by", "Ada", "--reason", "release 1")
    assert (done.code, done.out.splitlines()) == (
        0, [f"blessed: {first} is main now", "wrote: .ragworthy/baselines/main.json"],
    )  # fmt: skip
    gated(HERE, {1}, run="d")
    gated(HERE, {1, *range(10, 20)}, run="e", code=1)  # ten worse, none better: proven
    assert run_cli("verify", ".ragworthy/receipt.json").code == 0
    assert gated(HERE, {1, *range(10, 20)}, "--baseline", f"history:{ids(HERE)[-1]}", run="f").code == 0
    kept = json.loads(Path(".ragworthy/baselines/main.json").read_text())
    assert kept["flips"]["answers.precision"] == "0/120"  # the three runs are alike
    assert gated(HERE, {1, *range(10, 20)}, "--commit", "feed", run="h", code=1)
    assert gated(HERE, {1, *range(10, 20)}, "--baseline", "commit:feed", run="i").code == 0
    Path(".ragworthy/baselines/main.json").unlink()  # the store has the last word
    gated(HERE, {1, *range(10, 20)}, run="g", code=1)
    assert Path(".ragworthy/baselines/main.json").exists()


def test_blessing_writes_the_file_that_the_policy_names() -> None:
    lay(HERE)
    gated(HERE, {1})
    Path("ragworthy.toml").write_text('baseline = "eval/baseline.json"\n' + Path("ragworthy.toml").read_text())
    run = ids(HERE)[0]
    done = run_cli("history", "bless", run, "--by", "Ada", "--reason", "first", "--single")
    assert "wrote: eval/baseline.json" in done.out.splitlines()
    assert run_cli("gate", "-q").code == 0
    other = run_cli("history", "bless", run, "--name", "next", "--by", "Ada", "--reason", "first", "--single")
    assert "wrote" not in other.out
    again = run_cli("history", "bless", run, "--by", "Ada", "--reason", "first", "--single")
    assert (again.code, again.err.splitlines()[0]) == (2, f"main is {run} already [RW-H13]")


def test_blessing_asks_for_three_runs_and_stores_how_much_they_differ() -> None:
    lay(HERE)
    gated(HERE, {1, 2}, run="a")
    done = run_cli("history", "bless", ids(HERE)[0], "--by", "Ada", "--reason", "first")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "expected 3 runs of this gold set and commit, got 1 run: one run may be a lucky one. Run the pipeline again "
        "and gate it, or give --single where it answers the same every time [RW-H09]",
    )
    gated(HERE, {1, 3}, run="b")
    gated(HERE, {3}, run="c")
    one, _, best = ids(HERE)
    done = run_cli("history", "bless", best, "--by", "Ada", "--reason", "first")
    assert done.out.splitlines()[0] == (
        "warning: this is the best of 3 runs: part of that is luck, and the next run will look worse than it is. "
        "Bless the first or the middle one"
    )
    # a–b differ in questions 2 and 3, b–c in 1, a–c in 1, 2 and 3: 6 of 3 · 40
    assert open_store(".ragworthy/history.db").blessings()[0].flips["answers.precision"] == "6/120"
    said = "changes from run to run: answers.precision in 5.0 % of the questions (6 of 120, two runs at a time)"
    assert said in done.out.splitlines()
    assert f"  {said}" in run_cli("history", "show", best).out.splitlines()
    assert not [line for line in (run_cli("history", "show", best).out + done.out).splitlines() if "scu" in line]
    assert "warning" not in run_cli("history", "bless", one, "--by", "Ada", "--reason", "the first").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", " ", "--reason", "x"], "--by: expected a text, got nothing [RW-U01]"),
        (["--by", "x", "--reason", ""], "--reason: expected a text, got nothing [RW-U01]"),
        (["--by", "x", "--reason", "y", "--name", "../x"],
         "--name: expected letters, digits, '.', '_' and '-', got ../x [RW-U01]"),
    ],
)  # fmt: skip
def test_a_blessing_has_a_name_and_a_reason(words: list[str], said: str) -> None:
    assert run_cli("history", "bless", "main", *words).err.splitlines()[0] == said


def test_what_is_no_evidence_is_no_baseline() -> None:
    lay(HERE)
    answer(HERE)
    Path("traces.jsonl").write_text("\n".join(Path("traces.jsonl").read_text().splitlines()[:30]) + "\n")
    assert run_cli("gate", "-q").code == 4
    done = run_cli("history", "bless", ids(HERE)[0], "--by", "Ada", "--reason", "x", "--single")
    assert done.err.splitlines()[0] == (
        ".ragworthy/history.db: expected a run with a verdict, got one that is INVALID (10 questions have no trace) "
        "[RW-H10]"
    )


def test_another_gold_set_than_the_frozen_one_is_no_baseline() -> None:
    lay(HERE)
    run_cli("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "first")
    lay(HERE, questions=41)
    gated(HERE, {1}, "--unfrozen")
    done = run_cli("history", "bless", ids(HERE)[0], "--by", "Ada", "--reason", "x", "--single")
    assert done.err.splitlines()[0] == (
        ".ragworthy/history.db: expected a run on the frozen gold set, got one whose set was not it (answers) [RW-H10]"
    )


# the last report


def test_the_last_report_and_a_line_for_each_run() -> None:
    lay(HERE)
    Path("ragworthy.toml").write_text(Path("ragworthy.toml").read_text() + '\n[history]\neval = "eval"\n')
    for run, wrong in (("a", {1}), ("b", {1, 2}), ("b", {1, 2})):  # the last one is the same run again
        gated(HERE, wrong, "-o", "out.json", run=run)
    assert Path("eval/last_report.json").read_bytes() == Path("out.json").read_bytes()
    assert Path("eval/report.md").read_text().startswith("## ✅ Ragworthy: SHIP: 4 gates hold, 1 not judged\n")
    lines = Path("eval/history.jsonl").read_text().splitlines()
    first, second = map(json.loads, lines)
    assert [one["run"] for one in (first, second)] == ids(HERE)
    assert (second["pass"], second["attempt"], second["commit"], second["baseline"]) == (True, 2, None, None)
    assert second["metrics"]["answers.precision"] == {"num": 38, "den": 40, "value": 0.95}
    assert second["gates_sha256"] == json.loads(Path("out.json").read_text())["provenance"]["policy"]["sha256"]
    run_cli("history", "bless", first["run"], "--by", "Ada", "--reason", "x", "--single")
    with Path("eval/history.jsonl").open("a") as file:
        file.write('{"run": "cut o')  # a writer died here
    gated(HERE, {3}, run="c")
    after = Path("eval/history.jsonl").read_text().splitlines()
    assert after[:2] == lines  # appending is the only change
    assert (json.loads(after[2])["baseline"], after[3][:14], json.loads(after[4])["attempt"]) == (
        "main", '{"run": "cut o', 3,
    )  # fmt: skip
    assert run_cli("history", "verify", "--against", "eval/history.jsonl").code == 0


def test_a_history_that_lost_its_end_is_found_by_the_lines() -> None:
    lay(HERE)
    Path("ragworthy.toml").write_text(Path("ragworthy.toml").read_text() + '\n[history]\neval = "eval"\n')
    gated(HERE, {1}, run="a")
    before = Path(".ragworthy/history.db").read_bytes()
    gated(HERE, {1, 2}, run="b")
    Path(".ragworthy/history.db").write_bytes(before)
    assert run_cli("history", "verify").code == 0
    done = run_cli("history", "verify", "--against", "eval/history.jsonl")
    line = json.loads(Path("eval/history.jsonl").read_text().splitlines()[1])
    assert (done.code, done.out.splitlines()) == (
        1,
        [f"ledger: expected the entry {line['head'][:12]} that was written down elsewhere, got none",
         f"eval/history.jsonl:2: run {line['run']}: expected an entry of the ledger, got none",
         "history: changed, 2 differences (exit 1)"],
    )  # fmt: skip


def written_down() -> list[Any]:
    """Three runs, and a blessing after the second: the lines of them."""
    lay(HERE)
    Path("ragworthy.toml").write_text(Path("ragworthy.toml").read_text() + '\n[history]\neval = "eval"\n')
    for run, wrong in (("a", {1}), ("b", {1, 2}), ("c", {3})):
        gated(HERE, wrong, run=run)
        if run == "b":
            assert run_cli("history", "bless", ids(HERE)[0], "--by", "Ada", "--reason", "x", "--single").code == 0
    return [json.loads(line) for line in Path("eval/history.jsonl").read_text().splitlines()]


def against(lines: list[Any]) -> list[str]:
    Path("eval/history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run_cli("history", "verify", "--against", "eval/history.jsonl")
    assert done.code == (1 if "difference" in done.out else 0), done
    return done.out.splitlines()[:-1]


def test_every_line_is_held_against_the_ledger() -> None:
    lines = written_down()
    assert against(lines) == []
    run, other = lines[1]["run"], lines[0]["run"]
    here = f"eval/history.jsonl:2: run {run}"
    changes = (
        ({"verdict": "NO-SHIP"}, [f"{here}: verdict: expected SHIP of the ledger, got NO-SHIP"]),
        ({"pass": False}, [f"{here}: pass: expected True of the ledger, got False"]),
        ({"attempt": 1}, [f"{here}: attempt: expected 2 of the ledger, got 1"]),
        ({"commit": "abc1234"}, [f"{here}: commit: expected nothing of the ledger, got abc1234"]),
        ({"metrics": {**lines[1]["metrics"], "answers.precision": {"num": 40, "den": 40, "value": 1.0}}},
         [f"{here}: metrics.answers.precision: expected 38/40 of the store, got 40/40"]),
        ({"run": "0123456789ab"},
         ["eval/history.jsonl:2: run 0123456789ab: expected an entry of the ledger, got none",
          f"eval/history.jsonl: run {run}: expected its line, got none: it was removed, or written to another copy"]),
    )  # fmt: skip
    for change, said in changes:
        assert against([lines[0], lines[1] | change, *lines[2:]]) == said
    blessed = f"blessing of {other} as"
    for change, said in (
        ({"by": "Eve"}, [f"eval/history.jsonl:3: {blessed} main: by: expected Ada of the ledger, got Eve"]),
        ({"baseline": "new"}, [f"eval/history.jsonl:3: {blessed} new: baseline: expected main of the ledger, got new"]),
    ):
        assert against([*lines[:2], lines[2] | change, lines[3]]) == said


def test_whatever_else_is_changed_in_a_line_is_found() -> None:
    lines = written_down()
    run = lines[1]["run"]
    here = f"eval/history.jsonl:2: run {run}"
    other = f"{here}: expected the line that was written, got another: something else in it was changed"
    precision = {"num": 38, "den": 40, "value": 0.99}
    for change, said in (
        ({"baseline": "main"}, f"{here}: baseline: expected nothing of the ledger, got main"),
        ({"made": {"answers": {"commit": "abc1234"}}}, other),
        ({"note": "fine"}, other),
        ({"previous": None}, other),
        ({"head": lines[0]["head"]}, f"{here}: head: expected entry 3 of the ledger or a later one, got entry 2"),
        ({"metrics": {**lines[1]["metrics"], "answers.precision": precision}},
         f"{here}: metrics.answers.precision: expected 38/40 = 0.95 of the store, got 38/40 = 0.99"),
    ):  # fmt: skip
        assert against([lines[0], lines[1] | change, *lines[2:]]) == [said]


def test_lines_hang_together_wherever_the_file_lies() -> None:
    lines = written_down()

    def elsewhere(some: list[Any]) -> list[str]:
        Path("copy.jsonl").write_text("".join(json.dumps(line) + "\n" for line in some))
        done = run_cli("history", "verify", "--against", "copy.jsonl")
        assert done.code == (1 if "difference" in done.out else 0), done
        return done.out.splitlines()[:-1]

    moved = [
        f"expected the line {line['previous'][:12]} before it, got none: it was removed or moved" for line in lines[1:]
    ]
    assert elsewhere(lines) == elsewhere(lines[:3]) == []
    assert elsewhere([lines[0], *lines[2:]]) == [f"copy.jsonl:2: {moved[1]}"]
    assert elsewhere([*lines[:2], lines[3]]) == [f"copy.jsonl:3: {moved[2]}"]
    assert elsewhere(lines[1:]) == [f"copy.jsonl:1: {moved[0]}"]
    assert elsewhere([lines[1], lines[0], *lines[2:]]) == [f"copy.jsonl:1: {moved[0]}"]
    run_cli("history", "prune", "--keep", "1")
    other = "expected the line that was written, got another: something else in it was changed"
    forged = [lines[0], lines[1] | {"made": {}}, *lines[2:]]
    assert elsewhere(forged) == [f"copy.jsonl:2: run {lines[1]['run']}: {other}"]


def test_lines_of_another_history_in_the_same_file_are_counted() -> None:
    """Two people with a history each, and one committed file."""
    lay(HERE)
    Path("ragworthy.toml").write_text(Path("ragworthy.toml").read_text() + '\n[history]\neval = "eval"\n')
    for store, wrong in (("ada", {1}), ("bob", {4}), ("bob", {2}), ("ada", {3})):
        gated(HERE, wrong, "--store", f"{store}.db")
    lines = [json.loads(line) for line in Path("eval/history.jsonl").read_text().splitlines()]
    for store, other in (("ada", lines[1]), ("bob", lines[0])):
        done = run_cli("history", "verify", "--store", f"{store}.db", "--against", "eval/history.jsonl")
        assert (done.code, done.out.splitlines()) == (
            0,
            [f"eval/history.jsonl: 2 lines of another history ({other['store'][:12]}), not looked at",
             "history: 2 runs and 0 blessings as they were written (exit 0)"],
        )  # fmt: skip
    merged = [lines[0], lines[1], lines[2], lines[1] | {"run": "0" * 12, "at": "x", "store": "0" * 64}]
    assert against_store("ada.db", [*merged, lines[3]])[0] == 0  # the same line before two
    assert against_store("ada.db", lines[1:3]) == (1, "eval/history.jsonl: expected lines of this history, got none")
    changed = lines[3] | {"verdict": "NO-SHIP", "store": lines[1]["store"]}
    code, said = against_store("ada.db", [*lines[:3], changed])
    assert (code, said.endswith("verdict: expected SHIP of the ledger, got NO-SHIP")) == (1, True)


def against_store(store: str, lines: list[Any]) -> tuple[int, str]:
    Path("eval/history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run_cli("history", "verify", "--store", store, "--against", "eval/history.jsonl")
    return done.code, done.out.splitlines()[0]


def test_lines_that_were_removed_in_the_middle_are_named() -> None:
    lines = written_down()
    gone = "expected its line, got none: it was removed, or written to another copy"
    assert against([lines[0], *lines[2:]]) == [f"eval/history.jsonl: run {lines[1]['run']}: {gone}"]
    blessed = f"eval/history.jsonl: blessing of {lines[0]['run']} as main: {gone}"
    assert against([*lines[:2], lines[3]]) == [blessed]
    assert against(lines[:2]) == []  # an earlier copy of the file
    run_cli("history", "prune", "--keep", "1")
    assert against(lines) == []


def test_runs_that_never_got_a_line_are_not_missed() -> None:
    lines = written_down()
    policy = Path("ragworthy.toml").read_text()
    Path("ragworthy.toml").write_text(policy.replace('[history]\neval = "eval"\n', ""))
    gated(HERE, {1, 2, 3}, run="d")
    Path("ragworthy.toml").write_text(policy)
    gated(HERE, {4}, run="e")
    assert len(Path("eval/history.jsonl").read_text().splitlines()) == len(lines) + 1
    assert run_cli("history", "verify", "--against", "eval/history.jsonl").code == 0


@pytest.mark.parametrize("text", ["", '{"run": "0123456789ab", "verdict": "SHIP"}\n', '{"run": "cut o'])
def test_a_file_that_names_no_entry_of_the_ledger_proves_nothing(text: str) -> None:
    lay(HERE)
    gated(HERE, {1})
    Path("none.jsonl").write_text(text)
    done = run_cli("history", "verify", "--against", "none.jsonl")
    assert (done.code, done.err.splitlines()[0]) == (
        2, 'none.jsonl: expected lines with "head", the hash of the ledger, got none [RW-H12]',
    )  # fmt: skip


def test_the_folder_of_the_last_report_stays_inside_and_replaces_only_our_files() -> None:
    lay(HERE)
    answer(HERE)
    policy = Path("ragworthy.toml").read_text()
    Path("ragworthy.toml").write_text(policy + '\n[history]\neval = "../out"\n')
    assert run_cli("gate").err.splitlines()[0].endswith("got a path that leads out of it [RW-U03]")
    Path("ragworthy.toml").write_text(policy + '\n[history]\neval = "eval"\n')
    Path("eval").mkdir()
    Path("eval/report.md").write_text("my own notes\n")
    done = run_cli("gate")
    assert (done.code, done.err.splitlines()[0]) == (
        2, "eval/report.md: expected a new file, or one of ours, got another file [RW-U03]",
    )  # fmt: skip
    assert Path("eval/report.md").read_text() == "my own notes\n"


def test_a_file_of_other_lines_is_no_history() -> None:
    lay(HERE)
    gated(HERE, {1})
    Path("other.jsonl").write_text("[1]\n")
    assert run_cli("history", "verify", "--against", "other.jsonl").err.splitlines()[0] == (
        "other.jsonl:1: expected a line of a run, got another [RW-H12]"
    )


# tables and reports again


def test_runs_are_listed_shown_and_written_again() -> None:
    lay(HERE)
    gated(HERE, {1}, "-o", "out.json", run="a")
    run = ids(HERE)[0]
    done = run_cli("history", "show", run[:6], "-o", "again.json", "-o", "again.md", "-o", "receipt.json")
    assert done.code == 0
    assert done.out.splitlines()[0].startswith(f"run {run}: SHIP, ")
    assert any(line.split()[:3] == ["answers.precision", "0.975", "39/40"] for line in done.out.splitlines())
    assert Path("again.json").read_bytes() == Path("out.json").read_bytes()
    assert Path("receipt.json").read_bytes() == Path(".ragworthy/receipt.json").read_bytes()
    body = json.loads(run_cli("history", "show", run, "--format", "json").out)
    assert (body["run"], len(body["attempts"]), body["summaries"][0]["suite"]) == (run, 1, "answers")
    assert run_cli("history", "show", "none").err.splitlines()[0] == (
        ".ragworthy/history.db: expected the id of a run, the name of a baseline or commit:SHA, got none for none "
        "[RW-H07]"
    )


def test_reports_of_other_machines_are_added() -> None:
    lay(HERE)
    gated(HERE, {1}, "--no-history", "-o", "out.json")
    done = run_cli("history", "add", "out.json", "--commit", "abc", "--at", "2026-03-01T12:00:00+02:00")
    run = ids(HERE)[0]
    assert (done.code, done.out) == (0, f"history: run {run} (attempt 1 on this gold set and commit)\n")
    assert run_cli("history", "list").out.splitlines()[1].split()[:2] == [run, "2026-03-01T10:00:00Z"]
    wrong = run_cli("history", "show", run, "-o", "receipt.json")
    assert wrong.err.splitlines()[0] == "receipt.json: expected a run with a receipt, got one without [RW-H11]"
    assert run_cli("history", "add", "out.json", "--receipt", ".ragworthy/receipt.json", "--commit", "abc").code == 0
    assert run_cli("history", "show", run, "-o", "receipt.json").code == 0
    assert run_cli("history", "add", "gold.jsonl").code == 2


def test_exports_have_every_number_and_every_row() -> None:
    lay(HERE)
    for run, wrong in (("a", {1}), ("b", {1, 2})):
        gated(HERE, wrong, run=run)
    assert run_cli("history", "export", "-o", "runs.csv").code == 0
    with Path("runs.csv").open() as file:
        numbers = [one for one in csv.DictReader(file) if one["metric"] == "answers.precision"]
    assert [(one["run"], one["num"], one["den"]) for one in numbers] == [
        (ids(HERE)[0], "39", "40"), (ids(HERE)[1], "38", "40"),
    ]  # fmt: skip
    run_cli("history", "export", "--rows", "-o", "rows.jsonl")
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert len(rows) == 80
    missed = [(one["run"], one["qid"]) for one in rows if one["metrics"]["answers.precision"] == 0]
    assert missed == [(ids(HERE)[0], "q001"), (ids(HERE)[1], "q001"), (ids(HERE)[1], "q002")]
    parquet = pytest.importorskip("pyarrow.parquet")
    run_cli("history", "export", "--rows", "-o", "rows.parquet")
    assert parquet.read_table("rows.parquet").column("qid").to_pylist() == [one["qid"] for one in rows]
    assert run_cli("history", "export", "-o", "runs.txt").code == 2


def test_pruning_says_what_it_does() -> None:
    lay(HERE)
    for run in "abcd":
        gated(HERE, {1}, run=run)
    run_cli("history", "bless", ids(HERE)[0], "--by", "Ada", "--reason", "x")
    said = "would remove 2 runs, 2 left (1 blessed run among them)\n"
    assert run_cli("history", "prune", "--keep", "1", "--dry-run").out == said
    assert run_cli("history", "prune", "--keep", "1").out == "removed 2 runs, 2 left (1 blessed run among them)\n"
    assert run_cli("history", "verify").code == 0
    assert run_cli("history", "prune").code == run_cli("history", "prune", "--before", "May").code == 2
    assert run_cli("history", "prune", "--before", "2026-01-01").out.startswith("removed 0 runs, 2 left")


def test_gold_sets_have_labels() -> None:
    lay(HERE)
    signed = ["gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "new"]
    done = run_cli(*signed, "--label", "v3")
    assert done.out.splitlines()[0].startswith("frozen: 40 items as v3, sha256 ")
    assert load_lock(Path("gold.lock")).label == "v3"
    gated(HERE, {1}, "-o", "out.json")
    assert json.loads(Path("out.json").read_text())["provenance"]["lock"]["label"] == "v3"
    assert run_cli("history", "list").out.splitlines()[1].split()[3] == "v3"
    assert run_cli(*signed, "--label", "x" * 61).code == 2
    run_cli(*signed)
    assert load_lock(Path("gold.lock")).label is None
