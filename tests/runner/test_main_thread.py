"""At concurrency 1 a sync callable runs in the main thread: what belongs to that thread works, and time limits hold."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Cli, Row, write_jsonl
from places import SERVERS
from ragworthy.runner.contract import Reply
from ragworthy.runner.targets.mainthread import MainThread, possible


@pytest.fixture(autouse=True)
def callables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(SERVERS)
    yield
    sys.modules.pop("unfit_callables", None)


def gold_of(folder: Path, texts: list[str]) -> Path:
    rows = [{"qid": f"Q{n}", "question": text, "answerable": True} for n, text in enumerate(texts)]
    return write_jsonl(folder / "gold.jsonl", rows)


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def run_of(name: str, gold: Path, out: Path, *more: object) -> tuple[object, ...]:
    return ("run", "--target", f"unfit_callables:{name}", "--gold", gold, "--out", out, "--concurrency", 1, *more)


def test_a_connection_of_sqlite_that_was_made_at_import_works(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, [f"what {n}?" for n in range(12)])
    done = cli(*run_of("found", gold, tmp_path / "one"))
    assert (done.code, done.out.splitlines()[-1]) == (0, "run: 12 replies (exit 0)")
    claims = [one["answer_json"]["claim"] for one in lines(tmp_path / "one" / "traces.jsonl")]
    assert claims == [f"what {n}? True" for n in range(12)]
    # in other threads sqlite3 refuses, and the run says what helps
    done = cli(*run_of("found", gold, tmp_path / "four", "--concurrency", 4))
    assert done.code == 2
    assert "raised: ProgrammingError: SQLite objects created in a thread" in done.err.splitlines()[0]
    assert done.err.splitlines()[-1] == "  With --concurrency 1 a callable is called in the main thread."


def test_time_is_up_in_the_main_thread_too(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, ["what?", "long?", "why?"])
    handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    begun = time.monotonic()
    for name in ("sleeps", "swallows"):  # the second catches the first alarm, and the one after it
        done = cli(*run_of(name, gold, tmp_path / name, "--timeout", "0.3"))
        assert (done.code, done.out.splitlines()[0]) == (1, "asked 3 = answered 2 + refused 0 + errored 1")
        errors = [one.get("error") for one in lines(tmp_path / name / "traces.jsonl")]
        assert errors == [None, "timeout: no reply within 0.3 s", None]
    assert time.monotonic() - begun < 20
    assert {one: signal.getsignal(one) for one in handlers} == handlers
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_reply_that_came_too_late_is_late_even_where_no_alarm_could_interrupt_it(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, ["long?", "what?"])
    done = cli(*run_of("takes_the_signals", gold, tmp_path / "out", "--timeout", "0.2"))
    assert done.code == 1
    errors = [one.get("error") for one in lines(tmp_path / "out" / "traces.jsonl")]
    assert errors == ["timeout: no reply within 0.2 s", None]


def test_a_callable_may_run_a_loop_of_its_own(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, ["what?", "why?"])
    assert cli(*run_of("runs_a_loop", gold, tmp_path / "out")).code == 0


def test_the_same_traces_and_journal_entries_as_in_threads(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, [f"what {n}?" for n in range(20)])
    seen = []
    for concurrency in (1, 4):
        out = tmp_path / str(concurrency)
        assert cli(*run_of("found_by_hand", gold, out, "--concurrency", concurrency)).code == 0
        entries = sorted(lines(out / "journal.jsonl")[1:], key=lambda one: int(one["n"]))
        plain = [{key: one[key] for key in ("n", "fields", "attempts")} for one in entries]
        seen.append(((out / "traces.jsonl").read_bytes(), (out / "run.json").read_bytes(), plain))
    assert seen[0] == seen[1]


def started(name: str, gold: Path, out: Path) -> "subprocess.Popen[str]":
    words = [sys.executable, "-m", "ragworthy", *map(str, run_of(name, gold, out))]
    return subprocess.Popen(words, cwd=SERVERS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_replies(out: Path, count: int) -> None:
    end = time.monotonic() + 30
    while not (out / "journal.jsonl").exists() or (out / "journal.jsonl").read_bytes().count(b"\n") < count + 1:
        assert time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.2)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_second_ctrl_c_stops_a_call_and_keeps_what_was_answered(tmp_path: Path, how: int) -> None:
    gold = gold_of(tmp_path, ["what?", "why?", "long?", "last?"])
    out = tmp_path / "out"
    with started("sleeps", gold, out) as process:
        wait_for_replies(out, 2)
        assert process.stderr is not None
        process.send_signal(how)
        assert process.stderr.readline() == "stopping when what is in flight is done; Ctrl-C again stops at once\n"
        assert process.poll() is None
        time.sleep(1.1)  # within a second the same SIGTERM is one
        begun = time.monotonic()
        process.send_signal(how)
        told, complaint = process.communicate(timeout=20)
    assert time.monotonic() - begun < 10
    assert (process.returncode, complaint) == (130, "")
    assert told.splitlines()[-1] == (
        f"stopped: 2 of 4 replies are safe in {out}; the same command with --resume goes on from there (exit 130)"
    )
    assert [one["n"] for one in lines(out / "journal.jsonl")[1:]] == [0, 1]


def test_the_first_ctrl_c_lets_the_call_finish(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "def answer(question):\n"
        "    time.sleep(0.5)\n"
        "    return {'answer_json': {'claim': question}, 'retrieved_ids': ['a']}\n"
    )
    gold = gold_of(tmp_path, [f"what {n}?" for n in range(20)])
    out = tmp_path / "out"
    words = [sys.executable, "-m", "ragworthy", "run", "--target", f"{tmp_path / 'slow.py'}:answer"]
    words += ["--gold", str(gold), "--out", str(out), "--concurrency", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for_replies(out, 1)
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    kept = lines(out / "journal.jsonl")[1:]
    assert [one["n"] for one in kept] == list(range(len(kept)))
    assert not [one for one in kept if "error" in one]
    assert told.splitlines()[0] == f"asked {len(kept)} = answered {len(kept)} + refused 0 + errored 0"


def test_the_third_ctrl_c_ends_a_call_that_catches_everything(tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text(
        "import time\n"
        "def answer(question):\n"
        "    while True:\n"
        "        try:\n"
        "            time.sleep(60)\n"
        "        except BaseException:\n"
        "            continue\n"
    )
    gold = gold_of(tmp_path, ["what?"])
    out = tmp_path / "out"
    words = [sys.executable, "-m", "ragworthy", "run", "--target", f"{tmp_path / 'deaf.py'}:answer"]
    words += ["--gold", str(gold), "--out", str(out), "--concurrency", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for_replies(out, 0)
        for _ in range(3):
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert len(lines(out / "journal.jsonl")) == 1


def test_a_child_of_the_pipeline_does_not_answer_our_signals(tmp_path: Path) -> None:
    heard: list[int] = []
    with MainThread(lambda: heard.append(1)) as here:

        def forks() -> Reply:
            child = os.fork()
            if child == 0:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGINT
            return Reply({})

        assert here.within(10, forks) == Reply({})
    assert heard == []


def test_only_the_main_thread_can_have_an_alarm() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(possible()))
    thread.start()
    thread.join()
    assert (possible(), found) == (True, [False])
