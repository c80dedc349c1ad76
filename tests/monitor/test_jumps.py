"""When the time of a log jumps: after a night, and not because one clock of several is wrong."""

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from live_logs import NOON, alerts, at, in_pieces, lines, record, replayed, run, told, traffic, write
from places import ROOT
from ragworthy.load.sources import Block
from ragworthy.monitor.intake import ENOUGH, MOST_WAITING, Intake, Options
from ragworthy.monitor.reading import now
from ragworthy.monitor.source import Source
from ragworthy.monitor.stretches import Run, Stretch
from ragworthy.monitor.times import MILLION
from soak import SOAK

THREE = 3 * 3600
Log = list[dict[str, Any]]


def coverage(n: int) -> dict[str, Any]:
    """It falls after two thirds of the log."""
    return {"answer": {"coverage": 0.9 if n < 4000 else 0.3}}


def processes(
    offsets: Sequence[int], count: int = 6000, *, chunk: int = 1, rate: int = 5, seed: int = 1,
    more: Callable[[int], dict[str, Any]] = coverage,
) -> Log:  # fmt: skip
    """Records of several processes in one file, in the order in which they are written, whole buffers at a time."""
    draw = random.Random(seed)
    made: Log = []
    while len(made) < count:
        who = draw.randrange(len(offsets))
        for n in range(len(made), len(made) + chunk):
            made.append(record(NOON + n / rate + offsets[who], f"p{who}n{n}", **more(n)))
    return made[:count]


def of(log: Log, wrong: int) -> int:
    return sum(one["qid"].startswith(f"p{wrong}n") for one in log)


@pytest.mark.parametrize(("chunk", "seed"), [(1, 1), (12, 1), *([(1, 2), (1, 3), (12, 2)] if SOAK else [])])
@pytest.mark.parametrize("ahead", [90, THREE, 400 * 86400])
def test_one_clock_of_four_is_ahead(tmp_path: Path, ahead: int, chunk: int, seed: int) -> None:
    """What the three others said is judged as if the fourth were not there, byte for byte."""
    log = processes([0, 0, 0, ahead], chunk=chunk, seed=seed)
    right = [one for one in log if not one["qid"].startswith("p3n")]
    said, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    without = replayed(write(tmp_path / "right.jsonl", right), now())
    assert problems == {"future": of(log, 3)}
    assert (said, minutes) == without[:2]
    assert said.count(b"firing") >= 2


@pytest.mark.parametrize("seed", [1, 2, 3] if SOAK else [1])
@pytest.mark.parametrize("behind", [-150, -THREE])
def test_one_clock_of_four_is_behind(tmp_path: Path, behind: int, seed: int) -> None:
    """The log may begin at the wrong time. It leaves it soon, and the fall of coverage is found."""
    log = processes([0, 0, 0, behind], seed=seed)
    found = told(write(tmp_path / "live.jsonl", log), "--alerts", tmp_path / "a.jsonl")
    counts = {name: one["count"] for name, one in found["problems"].items()}
    assert set(counts) <= {"future", "late"}
    assert counts.get("future", 0) < 400
    assert of(log, 3) - 200 < counts["late"] < of(log, 3) + 200
    assert found["exit_code"] == 1
    fired = {rule: when for rule, state, when in alerts(tmp_path / "a.jsonl") if state == "firing"}
    assert fired["coverage_batch"] == "12:14"


@pytest.mark.parametrize("offsets", [[0, THREE], [0, -THREE], [-THREE, 0, THREE], [THREE, THREE, 0, 0]])
def test_where_no_clear_majority_is_right_nothing_is_said(tmp_path: Path, offsets: list[int]) -> None:
    log = processes(offsets, more=lambda n: {})
    done = run(write(tmp_path / "live.jsonl", log), "--once", "-q")
    assert done.returncode == 3, done.stdout
    assert "records were late or from the future (first: live.jsonl:" in done.stdout.replace(str(tmp_path) + "/", "")
    assert "give each process a log of its own" in done.stdout


def test_three_clocks_of_four_are_the_time_of_the_log(tmp_path: Path) -> None:
    log = processes([0, THREE, THREE, THREE], more=lambda n: {})
    _, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    assert sum(one["records"] for one in minutes) > 4000
    assert problems["late"] > of(log, 0) - 250


def row(count: int, gap: float, offset: float = 0.0) -> Log:
    """So many records three hours ahead."""
    return [record(NOON + THREE + offset + n * gap, f"ahead{n}") for n in range(count)]


HERE = [record(at(9, n), f"here{n}") for n in range(40)]
"""The log goes on at its own time."""


@pytest.mark.parametrize(
    ("count", "gap", "jumps"),
    [
        (ENOUGH - 1, 5, False),
        (ENOUGH, 5, True),
        (ENOUGH, 30 / 16, True),  # half of them are exactly 30 seconds after the first
        (ENOUGH, 29.99 / 16, False),
        (ENOUGH + 1, 29.99 / 16, False),
        (ENOUGH + 2, 29.99 / 16, True),  # now the middle one is the one after it
        (MOST_WAITING - 1, 0.1, False),
        (MOST_WAITING, 0.1, True),
    ],
)
def test_so_many_in_a_row(tmp_path: Path, count: int, gap: float, jumps: bool) -> None:
    log = [*traffic(1, 9, 30), *row(count, gap), *HERE, *(HERE[0] | {"qid": f"more{n}"} for n in range(100))]
    _, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    assert problems == ({"late": 140} if jumps else {"future": count})
    assert sum(one["records"] for one in minutes) == 270 + (count if jumps else 140)


def waiting(log: Log) -> tuple[int, dict[str, int], Source]:
    """How many wait after a log that begins with nine minutes of traffic."""
    intake, source = Intake(Options()), Source("live.jsonl")
    intake.take(source, Block(0, lines([*traffic(1, 9, 30), *log])), now())
    assert intake.held == len(source.waiting)
    return len(source.waiting), dict(intake.problems.counts), source


def test_each_record_at_the_time_of_the_log_refuses_two() -> None:
    first, then = row(ENOUGH - 1, 5), row(9, 5, 3600)
    assert waiting(first)[0] == ENOUGH - 1
    held, problems, source = waiting([*first, HERE[0]])
    assert (held, problems) == (ENOUGH - 3, {"future": 2})
    assert source.waiting[-1].at == round((NOON + THREE + (ENOUGH - 4) * 5) * MILLION)  # the furthest went
    assert waiting([*first, HERE[0], *then[:2]])[:2] == (ENOUGH - 1, {"future": 2})
    held, problems, source = waiting([*first, HERE[0], *then[:3]])
    assert problems == {"future": 2}
    assert source.mark is not None and source.mark > (NOON + THREE) * MILLION
    assert held < ENOUGH


def test_late_records_say_less() -> None:
    late = [record(at(2, n), f"late{n}") for n in range(9)]
    three = row(3, 5)
    assert waiting([*three, *late[:3]])[:2] == (3, {"late": 3})
    assert waiting([*three, *late[:4]])[:2] == (0, {"late": 4, "future": 3})
    # those from before the first that waits do not count, nor those before the last jump
    assert waiting([*late, *three, *late[:3]])[:2] == (3, {"late": 9 + 3})
    jumped = [*row(ENOUGH - 1, 5), *late, *row(9, 5, 3600)]
    assert waiting(jumped)[2].against == 0


@pytest.mark.parametrize("gap", [2, 60, 600])
@pytest.mark.parametrize("count", [1, 31, 32, 255, 256, 2000])
def test_a_night_without_traffic_loses_nothing(tmp_path: Path, gap: int, count: int) -> None:
    """However much comes after it: the log ends there, and nothing ever spoke against it."""
    morning = [record(at(gap, n * 0.5 + 5), f"r{n}", error={"status": 401}) for n in range(count)]
    path = write(tmp_path / "live.jsonl", [*traffic(1, 2, 30), *morning])
    said, minutes, problems = replayed(path, now())
    assert problems == {}
    assert sum(one["records"] for one in minutes) == 60 + count
    assert b"auth_failure" in said


def test_after_a_night_slow_records_cost_little(tmp_path: Path) -> None:
    """One clock in four stayed where the log was before: it is behind now, and the rest goes on."""
    morning = processes([THREE, THREE, THREE, 0], more=lambda n: {})
    path = write(tmp_path / "live.jsonl", [*traffic(-9, 0, 30), *morning])
    _, minutes, problems = replayed(path, now())
    assert problems["future"] < 500
    assert sum(one["records"] for one in minutes) > 300 + 4500 - 500


@pytest.mark.parametrize(("refused", "counted"), [(0, 2), (2, 2), (3, 0)])
def test_what_waits_in_the_end_goes_the_way_of_what_was_refused(tmp_path: Path, refused: int, counted: int) -> None:
    log = [*traffic(1, 9, 30)]
    for n, wrong in enumerate(row(refused, 5)):
        log += [wrong, HERE[n]]
    log += [*HERE[refused:], *row(2, 5, 60)]
    _, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    assert sum(one["records"] for one in minutes) == 270 + 40 + counted
    assert problems.get("future", 0) == refused + 2 - counted


def corrected() -> Log:
    """One process: right for ten minutes, three hours ahead for ten, and right again."""
    return [record(NOON + n / 5 + THREE * (3000 <= n < 6000), f"q{n}") for n in range(9000)]


def test_a_clock_that_is_set_right_again(tmp_path: Path) -> None:
    """What it said at the wrong time is judged, so what comes later is late: that is said, and not that all is well."""
    path = write(tmp_path / "live.jsonl", corrected())
    found = told(path)
    assert found["problems"]["late"]["count"] == 3000
    assert found["exit_code"] == 3
    assert found["blind"] == {"first": "live.jsonl:6001", "missed": 1000, "records": 1000}
    done = run(path, "--once")
    assert done.stdout.splitlines()[-1] == "too much was late or from the future to say that nothing fires (exit 3)"
    assert "1,000 of 1,000 records were late or from the future" in done.stdout
    one_of_four = processes([0, 0, 0, THREE], 3000, more=lambda n: {})
    right = [record(NOON + n / 5, f"p3n{n}") for n in range(3000, 6000)]
    found = told(write(tmp_path / "four.jsonl", [*one_of_four, *right]))
    assert found["problems"].keys() == {"future"}
    assert found["problems"]["future"]["count"] == of(one_of_four, 3)
    assert (found["exit_code"], found["blind"]) == (0, None)


def test_an_alert_is_worth_more_than_what_was_not_judged(tmp_path: Path) -> None:
    log = corrected()
    log[10]["error"] = {"status": 401}
    found = told(write(tmp_path / "live.jsonl", log))
    assert (found["exit_code"], found["blind"]["missed"]) == (1, 1000)


def test_each_run_answers_for_what_it_reads(tmp_path: Path) -> None:
    log = [*corrected(), *(record(NOON + 2 * THREE + n / 5, f"r{n}") for n in range(9000))]
    codes = []
    for end in (3000, 6000, 6150, 6300, 9000, 18000, 18000):
        write(tmp_path / "live.jsonl", log[:end])
        codes.append(run(tmp_path / "live.jsonl", "--once", "--state", tmp_path / "m.db", "-q").returncode)
    # 150 late records are too few to say anything, and with no minute judged it is 3 either way
    assert codes == [0, 0, 3, 3, 3, 0, 3]


@pytest.mark.parametrize(
    ("looked", "missed", "blind"),
    [(199, 199, False), (200, 80, False), (200, 81, True), (1000, 400, False), (1000, 401, True)],
)
def test_the_edges_of_what_is_too_little(looked: int, missed: int, blind: bool) -> None:
    assert (Stretch(looked, missed, "a:1").blind is not None) is blind
    whole, stretch = Run(), Stretch()
    for n in range(looked):
        whole.look(stretch)
        if n < missed:
            whole.miss(stretch, f"a:{n}")
    assert (whole.blind is not None) is blind


def test_one_blind_log_of_many_is_found(tmp_path: Path) -> None:
    for n in range(5):
        write(tmp_path / f"{n}.jsonl", [record(NOON + i / 5, f"{n}q{i}") for i in range(9000)])
    assert told(tmp_path)["exit_code"] == 0
    write(tmp_path / "5.jsonl", corrected())
    found = told(tmp_path)
    assert (found["exit_code"], found["blind"]["records"]) == (3, 1000)
    assert found["blind"]["first"].endswith("5.jsonl:6001")


OFFSETS = st.lists(st.sampled_from([0, 0, 0, 90, 400, THREE, -150, -THREE]), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_processes_in_any_pieces(data: st.DataObject) -> None:
    offsets, chunk = data.draw(OFFSETS), data.draw(st.sampled_from([1, 2, 12, 40]))
    count, rate = data.draw(st.integers(1, 700)), data.draw(st.sampled_from([1, 5, 50]))
    made = processes(offsets, count, chunk=chunk, rate=rate, seed=data.draw(st.integers(0, 99)))
    if data.draw(st.booleans()):
        made += processes([THREE + 7200 for _ in offsets], count, rate=rate)  # a pause, and on
    log, clock = lines(made), int(NOON) * MILLION
    cuts = data.draw(st.lists(st.integers(0, len(log)), max_size=8))
    whole = in_pieces(log, [], [clock])
    assert in_pieces(log, cuts, [clock + 7 * 3600 * MILLION, clock]) == whole
    assert sum(one["records"] for one in whole[1]) + sum(whole[2].values()) == len(made)


def wild() -> Log:
    """Four processes, a clock that is right again, a night, and processes that write whole buffers."""
    first = processes([0, 0, 0, THREE], 12000, rate=20, more=lambda n: coverage(n % 6000))
    day = 86400
    night = processes([day, day, day, day - THREE], 12000, chunk=12, rate=20, more=lambda n: coverage(n % 6000))
    return [*first, *({**one, "qid": f"n{one['qid']}"} for one in night)]


def test_pieces_and_kills_give_the_same_alerts(tmp_path: Path) -> None:
    log = wild()
    whole = told(write(tmp_path / "whole.jsonl", log), "--alerts", tmp_path / "whole.alerts")
    expected = (tmp_path / "whole.alerts").read_bytes()
    assert expected.count(b"\n") >= 4
    draw = random.Random(4)
    ends = sorted(draw.randrange(len(log)) for _ in range(5))
    for end in [*ends, len(log)]:  # pieces
        write(tmp_path / "live.jsonl", log[:end])
        last = ["--close"] if end == len(log) else []
        run(tmp_path / "live.jsonl", "--once", "--state", tmp_path / "p.db", "--alerts", tmp_path / "p", "-q", *last)
    assert (tmp_path / "p").read_bytes() == expected
    words = ["--state", str(tmp_path / "k.db"), "--alerts", str(tmp_path / "k"), "-q"]
    command = [sys.executable, "-m", "ragworthy", "monitor", str(tmp_path / "live.jsonl"), *words]
    data = lines(log)
    kills = 8 if SOAK else 4
    for step in range(1, kills + 1):  # at any place of a line
        (tmp_path / "live.jsonl").write_bytes(data[: len(data) * step // kills - draw.randrange(300)])
        child = subprocess.Popen([*command, "--follow"], cwd=ROOT)
        time.sleep(draw.uniform(0.7, 1.3))
        child.kill()
        child.wait()
    (tmp_path / "live.jsonl").write_bytes(data)
    done = subprocess.run([*command, "--once", "--close", "--format", "json"], cwd=ROOT, capture_output=True, text=True)
    found = json.loads(done.stdout)
    for name in ("records", "counted", "fields"):
        assert found[name] == whole[name]
    assert {name: one["count"] for name, one in found["problems"].items()} == {
        name: one["count"] for name, one in whole["problems"].items()
    }
    assert (tmp_path / "k").read_bytes() == expected


def test_a_state_of_the_version_before_goes_on_and_one_of_a_later_version_does_not(tmp_path: Path) -> None:
    log, state = processes([0, 0, 0, THREE], 1500), tmp_path / "m.db"
    live = write(tmp_path / "live.jsonl", [*log[:700], *row(2, 5)])
    run(live, "--once", "--state", state, "-q")
    with sqlite3.connect(state) as db:
        db.execute("UPDATE meta SET value = '2' WHERE name = 'version'")
        ((name, value),) = db.execute("SELECT id, value FROM logs").fetchall()
        held = json.loads(value)
        assert len(held["waiting"]) >= 2
        for key in ("against", "refused", "stretch"):
            held.pop(key, None)
        db.execute("UPDATE logs SET value = ? WHERE id = ?", (json.dumps(held).encode(), name))
    db.close()
    write(live, [*log[:700], *row(2, 5), *log[700:]])
    found = told(live, "--state", state, "--close")
    assert found["counted"] == len(log) - of(log, 3)
    with sqlite3.connect(state) as db:
        assert db.execute("SELECT value FROM meta WHERE name = 'version'").fetchall()[0][0] in (b"3", "3")
        db.execute("UPDATE meta SET value = '4' WHERE name = 'version'")
    db.close()
    done = run(live, "--once", "--state", state)
    assert done.returncode == 2
    assert "expected a state of version 3, got version 4 [RW-O03]" in done.stderr


def test_a_sample_takes_its_share_of_records_without_a_question_too(tmp_path: Path) -> None:
    log = [record(NOON + n / 20, "", perf={"t_retrieve_ms": n % 50}) for n in range(6000)]
    for one in log:
        del one["qid"], one["question"]
    path = write(tmp_path / "live.jsonl", log)
    found = told(path, "--sample", "0.1")
    assert 500 < found["counted"] < 700
    assert found["problems"] == told(path, "--sample", "0.1")["problems"]
    assert found["counted"] + found["problems"]["sampled"]["count"] == 6000
    assert told(path)["counted"] == 6000
