"""Runs that are killed at random moments, cut at any byte, stopped by hand: nothing is lost and nothing repeated."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import G1, G2, G3, T1, T2, T3, Cli, write_jsonl
from places import SERVERS
from ragworthy.runner import run as running
from ragworthy.runner.contract import Options
from ragworthy.runner.ended import Header
from ragworthy.runner.journal import Journal
from ragworthy.runner.run import RunOptions
from soak import SOAK

KILLS = 20 if SOAK else 8
QUESTIONS = 480
AT_A_TIME = 4


class Served(NamedTuple):
    url: str
    log: Path

    def asked(self) -> list[str]:
        return [json.loads(line)["qid"] for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("server") / "asked.jsonl"
    command = [sys.executable, str(SERVERS / "ask_server.py"), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Served(f"http://127.0.0.1:{int(process.stdout.readline())}/ask", log)
        process.kill()


def gold_of(folder: Path, texts: list[str]) -> Path:
    rows = [{"qid": f"Q{n}", "question": text, "answerable": True} for n, text in enumerate(texts)]
    return write_jsonl(folder / "gold.jsonl", rows)


def command(target: str, gold: Path, out: Path, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "ragworthy", "run", "--target", target, "--gold", str(gold)),
        *("--out", str(out), "--concurrency", str(AT_A_TIME), *more),
    ]


def journaled(out: Path) -> list[int]:
    """The places of the plan with a whole line in the journal."""
    path = out / "journal.jsonl"
    whole = path.read_bytes().rpartition(b"\n")[0].split(b"\n")[1:] if path.exists() else []
    return [json.loads(line)["n"] for line in whole]


def kill_in_the_middle(started: "subprocess.Popen[bytes]", server: Served, chance: random.Random, nth: int) -> None:
    """Kill a run: every fourth time at any moment of its start, else a moment after so many more questions."""
    if nth % 4 == 0:
        time.sleep(chance.uniform(0, 0.6))
    else:
        wanted = server.log.stat().st_size + 75 * chance.randrange(1, 20)
        while server.log.stat().st_size < wanted and started.poll() is None:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.03))
    started.send_signal(signal.SIGKILL)
    started.wait()


def test_killed_at_random_moments_a_run_loses_and_repeats_nothing(server: Served, tmp_path: Path) -> None:
    chance = random.Random(20)
    gold = gold_of(tmp_path, [f"slow {chance.uniform(0.005, 0.03):.4f} {n}" for n in range(QUESTIONS)])
    out = tmp_path / "killed"
    killed = 0
    for nth in range(KILLS):
        before = journaled(out)
        asked_before = len(server.asked())
        started = subprocess.Popen(command(server.url, gold, out, "--resume"), stdout=subprocess.PIPE)
        kill_in_the_middle(started, server, chance, nth)
        assert started.stdout is not None
        started.stdout.close()
        killed += started.returncode == -signal.SIGKILL
        session = server.asked()[asked_before:]
        assert not {f"Q{n}" for n in before} & set(session)  # what has a reply is not asked again
        assert journaled(out)[: len(before)] == before  # and stays
    assert killed == KILLS
    assert 0 < len(journaled(out)) < QUESTIONS
    assert not (out / "traces.jsonl").exists()
    done = subprocess.run(command(server.url, gold, out, "--resume"), capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == f"run: {QUESTIONS} replies (exit 0)"
    counts = Counter(server.asked())
    assert sorted(journaled(out)) == list(range(QUESTIONS))
    assert set(counts) == {f"Q{n}" for n in range(QUESTIONS)}
    assert counts.total() - QUESTIONS <= KILLS * AT_A_TIME  # only what was in flight was asked again
    undisturbed = tmp_path / "undisturbed"
    subprocess.run(command(server.url, gold, undisturbed), capture_output=True, check=True)
    for name in ("traces.jsonl", "run.json"):
        assert (out / name).read_bytes() == (undisturbed / name).read_bytes()


@pytest.fixture
def small(tmp_path: Path, cli: Cli) -> tuple[Path, Path, Path]:
    """A finished run of three questions: gold, recorded traces, folder."""
    gold = write_jsonl(tmp_path / "gold.jsonl", [G1(), G2(), G3()])
    recorded = write_jsonl(tmp_path / "t.jsonl", [T1(), T2(), T3()])
    assert cli("run", "--target", f"replay:{recorded}", "--gold", gold, "--out", tmp_path / "whole").code == 0
    return gold, recorded, tmp_path / "whole"


def test_a_journal_cut_at_any_byte_goes_on(small: tuple[Path, Path, Path], tmp_path: Path) -> None:
    gold, recorded, whole = small
    data = (whole / "journal.jsonl").read_bytes()
    ends = [match.end() for match in re.finditer(rb"\n", data)]
    cuts = sorted({*range(0, len(data), 11), *ends, *(end - 1 for end in ends), *(end + 1 for end in ends[:-1])})
    plan = running.plan(gold)
    for cut in cuts:
        out = tmp_path / f"cut{cut}"
        out.mkdir()
        (out / "journal.jsonl").write_bytes(data[:cut])
        told: list[running.Progress] = []
        target = running.open_target(f"replay:{recorded}", Options())
        ran = running.run(plan, target, RunOptions(out, resume=True, told=told.append))
        assert ran.finished
        kept = max(0, data[:cut].count(b"\n") - 1)
        assert (len(told), ran.counts.asked) == (3 - kept, 3)  # asked is what had no whole line, once
        assert (out / "traces.jsonl").read_bytes() == (whole / "traces.jsonl").read_bytes()
        assert (out / "journal.jsonl").read_bytes().startswith(data[: max([0, *(e for e in ends if e <= cut)])])


def first_problem(cli: Cli, *args: object) -> str:
    done = cli(*args)
    assert (done.code, done.out) == (2, "")
    return done.err.splitlines()[0]


def test_a_journal_of_another_run_is_not_gone_on_with(small: tuple[Path, Path, Path], cli: Cli) -> None:
    gold, recorded, out = small
    before = (out / "journal.jsonl").read_bytes()
    was = json.loads(before.splitlines()[0])
    args = ("run", "--gold", gold, "--out", out, "--resume", "--target")
    other = recorded.with_name("u.jsonl")
    other.write_bytes(recorded.read_bytes())
    said = "expected the run that the journal was begun with"
    assert first_problem(cli, *args, f"replay:{other}") == (
        f"{out / 'journal.jsonl'}: target: {said} (replay:{recorded}), got another (replay:{other}) [RW-J02]"
    )
    knobs = running.plan(gold, knobs={"k": 1})
    assert first_problem(cli, *args, f"replay:{recorded}", "--knob", "k=1") == (
        f"{out / 'journal.jsonl'}: config_id: {said} ({was['config_id']}), got another ({knobs.config_id}) [RW-J02]"
    )
    for flag, value, name, old in (("--limit", 2, "limit", "none"), ("--seed", 5, "seeds", "0")):
        assert first_problem(cli, *args, f"replay:{recorded}", flag, value) == (
            f"{out / 'journal.jsonl'}: {name}: {said} ({old}), got another ({value}) [RW-J02]"
        )
    assert cli(*args, f"replay:{recorded}", "--limit", 100).code == 0, "that changes nothing"
    (out / "journal.jsonl").write_bytes(before)
    write_jsonl(gold, [G1(), G2(), G3() | {"gold_citations": []}])
    changed = running.plan(gold).gold_sha256
    assert first_problem(cli, *args, f"replay:{recorded}") == (
        f"{out / 'journal.jsonl'}: gold_sha256: {said} ({was['gold_sha256']}), got another ({changed}) [RW-J02]"
    )
    assert (out / "journal.jsonl").read_bytes() == before


def test_a_journal_that_names_no_settings_says_that_the_plans_differ(small: tuple[Path, Path, Path], cli: Cli) -> None:
    gold, recorded, out = small
    path = out / "journal.jsonl"
    first, _, rest = path.read_bytes().partition(b"\n")
    header = json.loads(first)
    del header["settings"]
    path.write_bytes(json.dumps(header, separators=(",", ":")).encode() + b"\n" + rest)
    args = ("run", "--target", f"replay:{recorded}", "--gold", gold, "--out", out, "--resume")
    assert first_problem(cli, *args, "--limit", 2) == (
        f"{path}: plan_sha256: expected the run that the journal was begun with ({header['plan_sha256']}), "
        f"got another ({running.plan(gold, limit=2).sha256}) [RW-J02]"
    )
    assert cli(*args).code == 0


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{}\n", "expected a reply, got: Object missing required field `n`"),
        (b"garbage\n", "expected a reply, got: JSON is malformed: invalid character (byte 0)"),
        (
            b'{"n":-1,"e2e_ms":1,"attempts":1,"started":""}\n',
            "expected a reply, got: Expected `int` >= 0 - at `$.n`",
        ),
        (
            b'{"n":1,"e2e_ms":1,"attempts":1,"started":""}\n',
            "expected a reply, got: Object missing required field `answer_json`",
        ),
        (
            b'{"n":1,"fields":{"answer_json":{"claim":4},"retrieved_ids":[]},"e2e_ms":1,"attempts":1,"started":""}\n',
            "expected a reply, got: Expected `str`, got `int` - at `$.answer_json.claim`",
        ),
    ],
)
def test_a_damaged_journal_says_where(small: tuple[Path, Path, Path], cli: Cli, line: bytes, problem: str) -> None:
    gold, recorded, out = small
    path = out / "journal.jsonl"
    parts = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*parts[:2], line, *parts[3:]]))
    args = ("run", "--target", f"replay:{recorded}", "--gold", gold, "--out", out, "--resume")
    assert first_problem(cli, *args) == f"{path}:3: {problem} [RW-J03]"
    path.write_bytes(b"".join([*parts[:2], *parts[3:]]))  # as the advice says
    assert cli(*args).code == 0
    past = b'{"n":7,"error":"x","e2e_ms":1,"attempts":1,"started":""}\n'
    path.write_bytes(b"".join([*parts[:3], past, *parts[3:]]))
    assert first_problem(cli, *args) == f"{path}:4: n: expected places from 0 to 2, got 7 [RW-J03]"
    path.write_bytes(b"".join([parts[0].replace(b'"asks":3', b'"asks":"3"'), *parts[1:]]))
    done = cli(*args)
    assert done.err.splitlines() == [
        f"{path}:1: expected the journal of a run, got: Expected `int`, got `str` - at `$.asks` [RW-J07]",
        "  not_a_journal: Name a new folder; what is in this one is left alone.",
    ]


@pytest.mark.parametrize("text", ["my notes\n", "my notes", '{"schema":"other"}\n', '{"schema":"o'])
@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_a_file_of_the_same_name_is_left_alone(tmp_path: Path, cli: Cli, text: str, resume: tuple[str, ...]) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", [G1()])
    path = tmp_path / "out" / "journal.jsonl"
    path.parent.mkdir()
    path.write_text(text)
    got = first_problem(cli, "run", "--target", f"replay:{gold}", "--gold", gold, "--out", path.parent, *resume)
    assert got == f'{path}:1: expected the journal of a run, got "{text.strip()}" [RW-J07]'
    assert path.read_text() == text


def test_a_run_that_got_no_reply_can_be_begun_again_with_another_target(tmp_path: Path, cli: Cli) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", [G1()])
    recorded = write_jsonl(tmp_path / "t.jsonl", [T1()])
    args = ("run", "--gold", gold, "--out", tmp_path / "out", "--target")
    assert first_problem(cli, *args, "cmd:no-such-program-x").endswith("[RW-J06]")
    assert first_problem(cli, *args, "replay:nothing.jsonl").endswith("[RW-F01]")
    assert cli(*args, f"replay:{recorded}").code == 0


def test_two_runs_cannot_share_a_folder(tmp_path: Path, cli: Cli) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", [G1()])
    recorded = write_jsonl(tmp_path / "t.jsonl", [T1()])
    out = tmp_path / "out"
    header = Header(target="t", gold_sha256="g", config_id="c", plan_sha256="p", asks=1)
    held = Journal(out, header, resume=False)
    args = ("run", "--target", f"replay:{recorded}", "--gold", gold, "--out", out, "--resume")
    assert first_problem(cli, *args) == (
        f"{out / 'journal.jsonl'}: expected a folder of its own, got one in which another run is at work [RW-J04]"
    )
    held.close()
    assert cli(*args).code == 0  # the lock is gone with its holder, and nothing was in that journal


def wait_until(so: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_finishes_what_is_in_flight_and_resumes(server: Served, tmp_path: Path, how: int) -> None:
    gold = gold_of(tmp_path, [f"slow 0.3 {n}" for n in range(40)])
    out = tmp_path / "out"
    before = len(server.asked())
    with subprocess.Popen(
        command(server.url, gold, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        wait_until(lambda: len(journaled(out)) >= 2)
        started.send_signal(how)
        told, complaint = started.communicate(timeout=30)
    assert started.returncode == 130
    assert complaint == "stopping when what is in flight is done; Ctrl-C again stops at once\n"
    safe = len(journaled(out))
    assert told.splitlines()[-1] == (
        f"stopped: {safe} of 40 replies are safe in {out}; the same command with --resume goes on from there (exit 130)"
    )
    assert sorted(server.asked()[before:]) == sorted(f"Q{n}" for n in journaled(out))  # nothing asked was dropped
    assert sorted(one.name for one in out.iterdir()) == ["journal.jsonl"]
    done = subprocess.run(command(server.url, gold, out, "--resume"), capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "run: 40 replies (exit 0)"
    assert Counter(server.asked()[before:]) == dict.fromkeys([f"Q{n}" for n in range(40)], 1)


@pytest.mark.parametrize("target", ["http", "cmd", "slow_callables:stuck", "slow_callables:stubborn"])
def test_a_second_ctrl_c_stops_at_once(server: Served, tmp_path: Path, target: str) -> None:
    gold = gold_of(tmp_path, [*("what?",) * (target in ("http", "cmd")), *("hang",) * 8])
    name = {"http": server.url, "cmd": f"cmd:{sys.executable} {SERVERS / 'line_target.py'}"}.get(target, target)
    out = tmp_path / "out"
    with subprocess.Popen(
        command(name, gold, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=SERVERS
    ) as started:
        assert started.stderr is not None
        wait_until(lambda: (out / "journal.jsonl").exists() and len(journaled(out)) == (target in ("http", "cmd")))
        time.sleep(0.3)
        started.send_signal(signal.SIGINT)
        assert started.stderr.readline().startswith("stopping when what is in flight is done")
        begun = time.monotonic()
        started.send_signal(signal.SIGINT)
        told, complaint = started.communicate(timeout=30)
    assert time.monotonic() - begun < 15  # each question may take 60 s
    assert (started.returncode, complaint) == (130, "")
    safe = 1 if target in ("http", "cmd") else 0
    verb = "is" if safe else "are"
    assert f"stopped: {safe} of {8 + safe} replies {verb} safe in " in told


def test_ctrl_c_in_a_terminal_does_not_reach_the_processes_of_a_command(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, [f"slow {n}" for n in range(200)])
    out = tmp_path / "out"
    target = f"cmd:{sys.executable} {SERVERS / 'line_target.py'}"
    with subprocess.Popen(command(target, gold, out), stdout=subprocess.PIPE, text=True, process_group=0) as started:
        wait_until(lambda: len(journaled(out)) >= 5)
        os.killpg(started.pid, signal.SIGINT)  # a terminal sends it to all that run in the foreground
        told, _ = started.communicate(timeout=30)
    assert started.returncode == 130
    assert (
        told.splitlines()[0] == f"asked {len(journaled(out))} = answered {len(journaled(out))} + refused 0 + errored 0"
    )


def running_with(mark: str) -> list[int]:
    """The processes that live and have a word in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has just ended
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="SKIPPED: no /proc here")
@pytest.mark.parametrize("verb", [("run",), ("experiment", "stability"), ("experiment", "latency")])
def test_a_terminated_run_leaves_no_process_behind(tmp_path: Path, verb: tuple[str, ...]) -> None:
    gold = gold_of(tmp_path, ["what?", *("hang",) * 8])
    copy = tmp_path / "line_target_left_behind.py"
    copy.write_bytes((SERVERS / "line_target.py").read_bytes())
    words = [sys.executable, "-m", "ragworthy", *verb, "--target", f"cmd:{sys.executable} {copy}"]
    out = tmp_path / "out"
    with subprocess.Popen(
        [*words, "--gold", str(gold), "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        wait_until(lambda: len(running_with(str(copy))) >= 3)  # itself and two processes
        started.send_signal(signal.SIGTERM)
        time.sleep(1.2)  # within a second it would be the same SIGTERM
        started.send_signal(signal.SIGTERM)
        told, complaint = started.communicate(timeout=30)
    assert started.returncode == 130, complaint
    assert told.splitlines()[-1].endswith("; the same command with --resume goes on from there (exit 130)")
    assert running_with(str(copy)) == []
