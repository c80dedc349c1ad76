"""A target that is busy, loading, slow, or gone for a while: no answer is lost that asking again would have got."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import Cli, Row, write_jsonl
from places import SERVERS
from ragworthy.errors import DataError
from ragworthy.runner.contract import Ask, Reply
from ragworthy.runner.streak import Clock, Streak

Serving = tuple[str, "subprocess.Popen[str]"]


def gold_of(folder: Path, count: int) -> Path:
    rows = [{"qid": f"Q{n}", "question": f"what {n}?", "answerable": True} for n in range(count)]
    return write_jsonl(folder / "gold.jsonl", rows)


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


@contextmanager
def serving(folder: Path, *mood: object, port: int = 0) -> Iterator[Serving]:
    words = [sys.executable, str(SERVERS / "moody_server.py"), str(folder / "asked.jsonl"), str(port), *map(str, mood)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield f"http://127.0.0.1:{port}/ask", process
        finally:
            process.kill()


def wait_until(so: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < end
        time.sleep(0.02)


def most_flying(folder: Path) -> int:
    return max(int(one["flying"]) for one in lines(folder / "asked.jsonl"))


@pytest.mark.parametrize(
    "mood",
    [("limited", 12, 1), ("limited", 3, 0), ("loading", 3), ("resets", 3)],
    ids=["429 to come back", "429", "503 while loading", "resets"],
)
def test_no_answer_is_lost_that_asking_again_gets(tmp_path: Path, cli: Cli, mood: tuple[object, ...]) -> None:
    gold, out = gold_of(tmp_path, 20), tmp_path / "out"
    with serving(tmp_path, *mood) as (url, _):
        done = cli("run", "--target", url, "--gold", gold, "--out", out)
    assert done.out.splitlines()[0] == "asked 20 = answered 20 + refused 0 + errored 0"
    assert (done.code, done.err) == (0, "")
    assert [one["qid"] for one in lines(out / "traces.jsonl")] == [f"Q{n}" for n in range(20)]
    sent = sum(one["attempts"] for one in lines(out / "timings.jsonl"))
    assert sent == len(lines(tmp_path / "asked.jsonl")) > 20
    assert most_flying(tmp_path) <= 4


def test_a_server_that_is_killed_and_comes_back(tmp_path: Path, cli: Cli) -> None:
    gold, out = gold_of(tmp_path, 60), tmp_path / "out"
    codes: list[int] = []
    with serving(tmp_path, "slow", 0.05) as (url, process):
        args = ("run", "-q", "--target", url, "--gold", gold, "--out", out, "--timeout", 20)
        run = threading.Thread(target=lambda: codes.append(cli(*args).code))
        run.start()
        wait_until(lambda: len(lines(out / "journal.jsonl")) > 10)
        process.kill()
        time.sleep(3)
        with serving(tmp_path, "slow", 0.05, port=int(url.split(":")[2].partition("/")[0])):
            run.join(60)
    assert codes == [0]
    assert [one["qid"] for one in lines(out / "traces.jsonl")] == [f"Q{n}" for n in range(60)]
    assert most_flying(tmp_path) <= 4


def test_a_server_that_is_killed_for_good_stops_the_run_with_one_sentence(tmp_path: Path, cli: Cli) -> None:
    gold, out = gold_of(tmp_path, 60), tmp_path / "out"
    told: list[tuple[int, str]] = []
    with serving(tmp_path, "slow", 0.05) as (url, process):
        args = ("run", "--target", url, "--gold", gold, "--out", out, "--timeout", 3)

        def drive() -> None:
            done = cli(*args)
            told.append((done.code, done.err))

        run = threading.Thread(target=drive)
        run.start()
        wait_until(lambda: len(lines(out / "journal.jsonl")) > 10)
        process.kill()
        run.join(40)
    code, err = told[0]
    safe = len(lines(out / "journal.jsonl")) - 1
    first, advice, kept = err.splitlines()
    assert first.startswith(f"{url}: expected a target that can be reached, got in ")
    assert first.endswith(" questions in a row: unreachable: Connection refused [RW-J06]")
    assert advice == "  target_unreachable: Start it, or fix its address; then run the same command with --resume."
    assert kept == f"  {safe} replies are safe in {out / 'journal.jsonl'}"
    assert (code, any(one.get("error") for one in lines(out / "journal.jsonl"))) == (2, False)
    with serving(tmp_path, "well", port=int(url.split(":")[2].partition("/")[0])):
        again = cli(*args, "--resume")
    assert again.out.splitlines()[0] == "asked 60 = answered 60 + refused 0 + errored 0"


def test_a_server_that_stays_busy_stops_the_run_with_one_sentence(tmp_path: Path, cli: Cli) -> None:
    gold, out = gold_of(tmp_path, 40), tmp_path / "out"
    with serving(tmp_path, "always", 503) as (url, _):
        args = ("run", "--target", url, "--gold", gold, "--out", out, "--timeout", 2)
        done = cli(*args)
    first, advice = done.err.splitlines()
    assert first.startswith(f"{url}: expected a target that answers, got in ")
    assert first.endswith(", each asked several times: status 503: no [RW-J24]")
    assert advice == (
        "  target_busy: Wait until it answers, or ask it less at a time (--concurrency); then run the same command "
        "with --resume. --keep-going asks on, whatever comes."
    )
    assert done.code == 2
    assert len(lines(out / "journal.jsonl")) == 1
    assert len(lines(tmp_path / "asked.jsonl")) < 60  # not run down: 20 questions, three times each


def test_ten_timeouts_from_the_beginning_stop_the_run_with_a_hint(tmp_path: Path, cli: Cli) -> None:
    """One slot, 2 s an answer, four at once, 0.4 s of patience."""
    gold, out = gold_of(tmp_path, 30), tmp_path / "out"
    with serving(tmp_path, "slow", 2) as (url, _):
        args = ("run", "--target", url, "--gold", gold, "--out", out, "--timeout", 0.4)
        done = cli(*args)
        assert most_flying(tmp_path) <= 4
        assert len(lines(tmp_path / "asked.jsonl")) <= 13  # ten, and what was in flight
        assert done.err.splitlines() == [
            f"{url}: expected replies in time, got in the first 10 questions: timeout: no reply within 0.4 s [RW-J23]",
            "  target_too_slow: A server that answers one question at a time keeps the others waiting, and one that "
            "does not notice closed connections works on: lower "
            "--concurrency, raise --timeout ('ragworthy run --check' proposes both), then run the same command with "
            "--resume. --keep-going asks on, whatever comes.",
        ]
        assert (done.code, len(lines(out / "journal.jsonl"))) == (2, 1)
        kept = cli(*args, "--resume", "--keep-going", "--limit", 30)
    assert kept.code == 1
    assert kept.out.splitlines()[:4] == [
        "asked 30 = answered 0 + refused 0 + errored 30",
        "errors: timeout 30",
        "the first: timeout: no reply within 0.4 s",
        "timeouts: a lower --concurrency or a longer --timeout may help; --check proposes both",
    ]


def test_a_slow_server_has_no_more_in_flight_than_asked_for(tmp_path: Path, cli: Cli) -> None:
    """0.3 s an answer, one after the other, two at once, 0.45 s each: about every second one is late."""
    gold, out = gold_of(tmp_path, 12), tmp_path / "out"
    with serving(tmp_path, "slow", 0.3) as (url, _):
        cli("run", "-q", "--target", url, "--gold", gold, "--out", out, "--timeout", 0.45, "--concurrency", 2)
    errors = [one.get("error", "") for one in lines(out / "traces.jsonl")]
    assert {one.partition(":")[0] for one in errors} == {"", "timeout"}
    assert most_flying(tmp_path) == 2


COUNTING = """
import asyncio, threading, time
from pathlib import Path

LOCK, FLYING = threading.Lock(), 0

def entered(change):
    global FLYING
    with LOCK:
        FLYING += change
        with open(Path(__file__).parent / "flying.txt", "a") as log:
            log.write(f"{FLYING}\\n")

def sync(question):
    entered(1)
    try:
        time.sleep(1.1)
    finally:
        entered(-1)

async def cancelled(question):
    entered(1)
    try:
        await asyncio.sleep(60)
    finally:
        entered(-1)

async def stubborn(question):
    entered(1)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0.4)
    finally:
        entered(-1)

def stuck(question):
    time.sleep(60)
"""


@pytest.mark.parametrize("name", ["sync", "cancelled", "stubborn"])
def test_calls_whose_time_is_up_keep_their_place(tmp_path: Path, cli: Cli, name: str) -> None:
    (tmp_path / "mine.py").write_text(COUNTING)
    args = ("--concurrency", 3, "--timeout", 0.6, "--keep-going")
    target = f"{tmp_path / 'mine.py'}:{name}"
    done = cli("run", "--target", target, "--gold", gold_of(tmp_path, 9), "--out", tmp_path / "out", *args)
    assert done.out.splitlines()[1] == "errors: timeout 9"
    assert "left running" not in done.out
    flying = [int(line) for line in (tmp_path / "flying.txt").read_text().split()]
    assert max(flying) == 3
    assert any(later < earlier for earlier, later in pairwise(flying))  # calls end while others wait for their place
    times = [one["e2e_ms"] for one in lines(tmp_path / "out" / "timings.jsonl")]
    assert all(595 <= one < 950 for one in times)  # the wait after a timeout is not a time of the question


def test_calls_that_never_end_are_said_to_be_left_running(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(COUNTING)
    words = ["run", "--target", f"{tmp_path / 'mine.py'}:stuck", "--gold", str(gold_of(tmp_path, 4)), "--out",
             str(tmp_path / "out"), "--concurrency", "2", "--timeout", "0.3"]  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "ragworthy", *words], capture_output=True, text=True, timeout=30)
    assert done.stdout.splitlines()[3] == (
        "2 calls were left running: 0.3 s after a timeout they had not ended, and others took over"
    )


@pytest.mark.parametrize("concurrency", [1, 2])
def test_the_same_sigterm_twice_is_one(tmp_path: Path, concurrency: int) -> None:
    """GNU timeout signals the process, and then its group: what is in flight is waited for all the same."""
    (tmp_path / "mine.py").write_text(
        "import time\n"
        "def answer(question):\n"
        "    time.sleep(1)\n"
        "    return {'answer_json': {'claim': question}, 'retrieved_ids': ['a']}\n"
    )
    out = tmp_path / "out"
    words = ["run", "--target", f"{tmp_path / 'mine.py'}:answer", "--gold", str(gold_of(tmp_path, 9)), "--out",
             str(out), "--concurrency", str(concurrency)]  # fmt: skip
    with subprocess.Popen([sys.executable, "-m", "ragworthy", *words], stdout=subprocess.PIPE, text=True) as run:
        wait_until(lambda: len(lines(out / "journal.jsonl")) == 1 + concurrency)
        time.sleep(0.2)  # the next ones are in flight
        run.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        run.send_signal(signal.SIGTERM)
        told, _ = run.communicate(timeout=20)
    assert run.returncode == 130
    assert told.splitlines()[-1].startswith(f"stopped: {2 * concurrency} of 9 replies are safe in ")


def test_a_callable_that_is_away_for_a_while_is_asked_again(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "mine.py").write_text(
        "count = 0\n"
        "class ConnectError(Exception): pass\n"
        "def answer(question):\n"
        "    global count\n"
        "    count += 1\n"
        "    if 4 <= count < 8:\n"
        "        raise ConnectError('[Errno 111] Connection refused')\n"
        "    return {'answer_json': {'claim': question}, 'retrieved_ids': ['a']}\n"
    )
    target, out = f"{tmp_path / 'mine.py'}:answer", tmp_path / "out"
    done = cli("run", "--target", target, "--gold", gold_of(tmp_path, 9), "--out", out, "--concurrency", 1)
    assert done.out.splitlines()[0] == "asked 9 = answered 9 + refused 0 + errored 0"
    attempts = [one["attempts"] for one in lines(out / "timings.jsonl")]
    assert attempts == [1, 1, 1, 2, 2, 2, 2, 1, 1]


def streak_of(recorded: list[int], patience: float = 30) -> Streak:
    return Streak("it", lambda one: recorded.append(one.n), again=True, keep_going=False, patience=patience, sure=10)


def took(streak: Streak, n: int, error: str | None) -> None:
    ask = Ask(f"Q{n}", "?")
    streak.take(Clock().asked(n, ask, Reply({}, error, unreachable=(error or "").startswith("unreachable"))))


@pytest.mark.parametrize("error", ["unreachable: refused", "status 503: loading", "died: the connection broke: x"])
def test_a_stop_leaves_what_may_pass_to_the_next_run(error: str) -> None:
    recorded: list[int] = []
    streak = streak_of(recorded)
    took(streak, 0, None)
    for n in range(1, 5):
        took(streak, n, error)
    streak.end(stopped=True)
    assert recorded == [0]


def test_what_was_away_twice_is_an_error_of_its_question() -> None:
    recorded: list[int] = []
    streak = streak_of(recorded)
    for n, error in enumerate([None, "status 503: loading", "unreachable: refused", None]):
        took(streak, n, error)
    assert [n for n, _ in streak.later] == [1, 2]
    took(streak, 1, "status 503: loading")
    took(streak, 2, None)
    assert recorded == [0, 3, 1, 2]
    streak.end(stopped=False)


def test_questions_leave_more_slowly_while_a_target_is_away() -> None:
    streak = streak_of([])
    took(streak, 0, None)
    pauses = []
    for n in range(1, 8):
        took(streak, n, "unreachable: refused")
        pauses.append(streak.pause())
    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    took(streak, 9, None)
    assert streak.pause() == 0


def test_nobody_waits_for_a_target_that_never_was_there() -> None:
    streak = streak_of([])
    for n in range(9):
        took(streak, n, "unreachable: refused")
        assert streak.pause() == 0
    with pytest.raises(DataError, match="RW-J06"):
        took(streak, 9, "unreachable: refused")


def test_a_question_that_is_asked_twice_is_one_question() -> None:
    streak = streak_of([])
    took(streak, 99, None)
    with pytest.raises(DataError, match=r"got in 12 tries in a row at 6 questions: unreachable"):
        for n in (*range(6), *range(6)):
            took(streak, n, "unreachable: refused")
        streak.end(stopped=False)


def test_timeouts_after_a_reply_are_errors_and_no_reason_to_stop() -> None:
    recorded: list[int] = []
    streak = streak_of(recorded)
    for n in range(14):
        took(streak, n, "timeout: no reply within 5 s" if n else None)
    streak.end(stopped=False)
    assert (recorded, streak.given_up) == (list(range(14)), None)
