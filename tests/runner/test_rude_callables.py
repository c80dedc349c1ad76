"""Callables that harm the process they run in: their question is an error, the others are asked, the run ends well."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import write_jsonl
from places import SERVERS


def ran(folder: Path, target: str, questions: list[str], *more: str) -> "subprocess.CompletedProcess[str]":
    rows = [{"qid": f"Q{n}", "question": text, "answerable": True} for n, text in enumerate(questions)]
    gold = write_jsonl(folder / "gold.jsonl", rows)
    words = ["run", "--target", target, "--gold", str(gold), "--out", str(folder / "out"), "--timeout", "2", *more]
    command = [sys.executable, "-m", "ragworthy", *words, "--concurrency", "1"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path[:1], os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(command, capture_output=True, text=True, cwd=SERVERS, timeout=60, env=environment)


def errors(folder: Path) -> list[Any]:
    lines = (folder / "out" / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line).get("error") for line in lines]


RAISED = {
    "surrogate": "raised: ValueError: \\ud800 bad",
    "file_name": "raised: FileNotFoundError: [Errno 2] No such file or directory: '/no-such-folder/\\udcff.txt'",
    "speechless": "timeout: no reply within 2 s",
    "odd": "raised: an exception: but it speaks",
    "nowhere": "bad reply: expected what JSON can hold, got: LookupError: no such place",
    "ends": "raised: Exited: os._exit(0)",
    "ends_by_another_name": "raised: Exited: os._exit(0)",
    "ends_whatever": "raised: Exited: os._exit(0)",
    "ends_in_a_thread": None,
    "ends_a_child": None,
    "ends_a_process": None,
    "closes_stdout": None,
    "closes_both": None,
    "takes_stdout": None,
    "takes_both": None,
    "keeps_stdout": None,
    "little_stack": None,
    "much_stack": None,
}
RAISED_ASYNC = {
    "stops_the_loop": None,
    "exits_in_a_callback": None,
    "exits_in_a_task": "raised: SystemExit: 3",
    "cancels_all": "raised: CancelledError",
    "ends_async": "raised: Exited: os._exit(0)",
}


@pytest.mark.parametrize(
    ("name", "doing", "error"),
    [*(("ask", *one) for one in RAISED.items()), *(("ask_async", *one) for one in RAISED_ASYNC.items())],
)
def test_harm_is_an_error_of_its_own_question(tmp_path: Path, name: str, doing: str, error: str | None) -> None:
    done = ran(tmp_path, f"rude_callables:{name}", ["first?", doing, "last?"])
    assert errors(tmp_path) == [None, error, None]
    ending = "run: 3 replies (exit 0)" if error is None else "run: 1 of 3 replies is an error (exit 1)"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (int(error is not None), ending)
    assert done.stderr == ""
    again = ran(tmp_path, f"rude_callables:{name}", ["first?", doing, "last?"], "--resume")
    assert (again.returncode, again.stdout) == (done.returncode, done.stdout)


def test_a_stdout_that_is_closed_by_its_number_takes_the_summary_with_it(tmp_path: Path) -> None:
    done = ran(tmp_path, "rude_callables:ask", ["first?", "closes_by_number", "last?"])
    assert errors(tmp_path) == [None, None, None]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "cannot be read or written: Bad file descriptor [RW-F14]\n"


def test_a_module_that_ends_the_program_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("import os\nos._exit(0)\n")
    gold = write_jsonl(tmp_path / "gold.jsonl", [{"qid": "Q", "question": "a?", "answerable": True}])
    words = ["run", "--target", "ends:ask", "--gold", str(gold), "--out", "out"]
    done = subprocess.run([sys.executable, "-m", "ragworthy", *words], capture_output=True, text=True, cwd=tmp_path)
    expected = "ends: expected a module that can be imported, got Exited: os._exit(0) [RW-U01]"
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, expected)


def test_results_of_an_earlier_run_do_not_outlive_the_start_of_the_next(tmp_path: Path) -> None:
    assert ran(tmp_path, "rude_callables:ask", ["a?", "b?"]).returncode == 0
    out = tmp_path / "out"
    assert sorted(file.name for file in out.iterdir()) == ["journal.jsonl", "run.json", "timings.jsonl", "traces.jsonl"]
    journal = out / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))  # one reply is asked for again
    (tmp_path / "rude_callables.py").write_text("import os\ndef ask(**asked):\n    os.kill(os.getpid(), 9)\n")
    words = ["run", "--target", "rude_callables:ask", "--gold", str(tmp_path / "gold.jsonl"), "--out", str(out)]
    command = [sys.executable, "-m", "ragworthy", *words, "--resume"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == -9
    assert [file.name for file in out.iterdir()] == ["journal.jsonl"]
