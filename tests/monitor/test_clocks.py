"""Wrong clocks: what counts is decided by the log alone, and one record from the future silences nobody."""

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from live_logs import NOON, alerts, at, in_pieces, lines, record, replayed, run, told, traffic, write
from ragworthy.load.sources import Block
from ragworthy.monitor.intake import ENOUGH, Intake, Options
from ragworthy.monitor.reading import now
from ragworthy.monitor.source import Source
from ragworthy.monitor.times import MILLION


def counts(found: dict[str, Any]) -> dict[str, int]:
    return {name: one["count"] for name, one in found["problems"].items()}


@pytest.mark.parametrize("ahead", [3, 4, 7, 30, 59, 61, 600, 60 * 24 * 400])
@pytest.mark.parametrize("times", [1, 2])
def test_a_wrong_clock_silences_nobody(tmp_path: Path, ahead: int, times: int) -> None:
    wrong = [record(at(3 + ahead, n), f"wrong{n}", error={"status": 401}) for n in range(times)]
    log = [*traffic(1, 3, 30), *wrong, *traffic(4, 9, 30)]
    _, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    assert problems == {"future": times}
    assert sum(one["records"] for one in minutes) == 9 * 30


def test_a_record_a_minute_ahead_counts(tmp_path: Path) -> None:
    """It makes nobody late: there is no reason to refuse it."""
    log = [*traffic(1, 3, 30), record(at(3, 50), "early"), *traffic(4, 9, 30)]
    _, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    assert problems == {}
    assert [one["records"] for one in minutes] == [30, 30, 30, 31, 30, 30, 30, 30, 30]


def test_with_more_lateness_more_is_in_order(tmp_path: Path) -> None:
    log = [*traffic(1, 3, 30), record(at(12), "early"), *traffic(4, 30, 30)]
    path = write(tmp_path / "live.jsonl", log)
    assert counts(told(path)) == {"future": 1}
    found = told(path, "--lateness", "600")
    assert (found["counted"], counts(found)) == (len(log), {})


def test_a_wrong_record_that_is_shipped_again_does_not_confirm_itself(tmp_path: Path) -> None:
    wrong = record(at(50), "wrong")
    log = [*traffic(1, 3, 30), wrong, wrong, wrong, wrong, *traffic(4, 9, 30)]
    _, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    assert problems == {"twice": 3, "future": 1}
    assert sum(one["records"] for one in minutes) == 9 * 30


@pytest.mark.parametrize("gap", [2, 6, 30, 90, 60 * 24])
def test_a_quiet_log_loses_nothing(tmp_path: Path, gap: int) -> None:
    """So long between any two records; every other one is followed by one that is a little late."""
    log = []
    for n in range(20):
        log += [record(at(n * gap, 50), f"q{n}")] + ([record(at(n * gap, 5), f"slow{n}")] if n % 2 else [])
    _, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    assert (problems, sum(one["records"] for one in minutes)) == ({}, 30)


def test_a_late_record_does_not_speak_against_the_one_before_it(tmp_path: Path) -> None:
    log = [*traffic(1, 9, 30), record(at(40), "after a pause"), record(at(2), "late"), *traffic(42, 45, 30)]
    _, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    assert problems == {"late": 1}
    assert sum(one["records"] for one in minutes) == 13 * 30 + 1


@pytest.mark.parametrize("wrong", [at(60 * 24), at(-60 * 24), at(30)])
@pytest.mark.parametrize("times", [1, 2])
def test_the_first_records_of_a_log(tmp_path: Path, wrong: str, times: int) -> None:
    log = [*(record(wrong, f"wrong{n}") for n in range(times)), *traffic(1, 9, 30)]
    _, minutes, problems = replayed(write(tmp_path / "live.jsonl", log), now())
    old = wrong < at(0)  # nothing speaks against an old one: traffic came after it
    assert problems == ({} if old else {"future": times})
    assert sum(one["records"] for one in minutes) == 9 * 30 + times * old


def test_a_first_record_from_the_future_does_not_make_its_log_the_last_one(tmp_path: Path) -> None:
    busy = traffic(1, 60, 30)
    write(tmp_path / "a.jsonl", busy[::2])
    write(tmp_path / "b.jsonl", [record(at(60 * 24), "wrong"), *busy[1::2]])
    found = told(tmp_path)
    assert (found["counted"], counts(found)) == (len(busy), {"future": 1})


def test_a_whole_log_of_the_future_counts_and_is_named(tmp_path: Path) -> None:
    year = 365 * 24 * 60
    log = traffic(10 * year + 1, 10 * year + 10, 30, error={"status": 401})
    found = told(write(tmp_path / "live.jsonl", log), "--alerts", tmp_path / "a.jsonl")
    assert (found["counted"], counts(found)) == (300, {"ahead": 300})
    assert found["problems"]["ahead"]["first"][0] == "live.jsonl:1"
    assert ("auth_failure", "firing", "12:01") in alerts(tmp_path / "a.jsonl")
    said = run(tmp_path / "live.jsonl", "--once").stdout
    assert "300 ahead: counted, but more than 5 minutes ahead of the clock of this machine" in said


def test_any_hour_of_the_clock_gives_the_same_alerts(tmp_path: Path) -> None:
    """The log of the tester: one clock is half an hour ahead, and the replay is made right then."""
    log = [*traffic(1, 20, 60), record(at(50), "wrong"), *traffic(21, 40, 60, answer={"coverage": 0.1})]
    path = write(tmp_path / "live.jsonl", log)
    noon = int(NOON) * MILLION
    found = [replayed(path, noon + minutes * 60 * MILLION) for minutes in (-600, 0, 21, 30, 45, 50, 60 * 24)]
    assert len({one[0] for one in found}) == 1
    assert all(one[1] == found[0][1] for one in found)
    assert found[0][0].count(b"\n") > 1
    assert [one[2].get("future") for one in found] == [1] * 7
    assert [one[2].get("ahead", 0) > 0 for one in found] == [True, True, True, True, False, False, False]


STEPS = st.one_of(
    st.integers(0, 20), st.integers(0, 20), st.integers(-70, 70), st.sampled_from([-7200, -600, 90, 400, 1800, 4000])
)
WRONG = st.sampled_from([0, 0, 0, 0, 0, 0, 70, 200, 400, 1800, 86_400, -400])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_log_in_any_pieces_at_any_time(data: st.DataObject) -> None:
    times, present = [], int(NOON)
    for step, wrong in data.draw(st.lists(st.tuples(STEPS, WRONG), min_size=1, max_size=120)):
        present += step
        times.append(present + wrong)
    log = lines([record(ts, f"q{n % 97}", error={"status": 401 if n % 3 else 500}) for n, ts in enumerate(times)])
    clock = st.integers(int(NOON) - 90_000, int(NOON) + 90_000).map(lambda seconds: seconds * MILLION)
    whole = in_pieces(log, [], [data.draw(clock)])
    cuts = data.draw(st.lists(st.integers(0, len(log)), max_size=12))
    assert in_pieces(log, cuts, data.draw(st.lists(clock, min_size=1, max_size=4))) == whole
    counted = sum(one["records"] for one in whole[1])
    assert counted + sum(whole[2].values()) == len(times)  # nothing is lost, and nothing is counted twice


def test_what_waits_is_kept_between_two_runs(tmp_path: Path) -> None:
    """Cut right after records that wait, as a kill would."""
    wrong = [record(at(50), "wrong1"), record(at(50, 1), "wrong2")]
    log = [*traffic(1, 9, 30), *wrong, *traffic(10, 20, 30), *traffic(60, 70, 30, error={"status": 401})]
    whole = told(write(tmp_path / "whole.jsonl", log), "--alerts", tmp_path / "whole.alerts")
    assert counts(whole) == {"future": 2}
    for end in (271, 272, 273, 602, 603, 604, len(log)):
        write(tmp_path / "live.jsonl", log[:end])
        last = ["--close"] if end == len(log) else []
        run(tmp_path / "live.jsonl", "--once", "--state", tmp_path / "m.db", "--alerts", tmp_path / "a", "-q", *last)
    found = told(tmp_path / "live.jsonl", "--state", tmp_path / "m.db", "--close")
    assert (found["counted"], counts(found)) == (whole["counted"], counts(whole))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "whole.alerts").read_bytes()


def test_what_waits_in_a_log_that_is_gone_is_counted(tmp_path: Path) -> None:
    state = tmp_path / "m.db"
    first = write(tmp_path / "1.jsonl", [*traffic(1, 9, 30), record(at(40), "last")])
    assert run(first, "--once", "--state", state, "-q").returncode in (0, 1, 3)
    first.unlink()
    found = told(write(tmp_path / "2.jsonl", traffic(40, 50, 30)), "--state", state, "--close")
    assert (found["counted"], counts(found)) == (20 * 30 + 1, {})


def test_a_state_in_which_one_record_waits_goes_on() -> None:
    """As states were before several could wait."""
    source = Source("live.jsonl")
    state = source.state() | {"waiting": [60 * MILLION, 7, [None], ["b1", "h1"], "live.jsonl:1", ["region=eu"]]}
    (waiting,) = Source.restore(json.loads(json.dumps(state))).waiting
    assert (waiting.at, waiting.built, waiting.slices, waiting.early) == (
        60 * MILLION,
        ("b1", "h1"),
        ("region=eu",),
        False,
    )


def test_many_wrong_clocks_stay_small() -> None:
    """Every other record is wrong, each in another way: no more than two wait, and nobody is late for it."""
    draw, intake, source = random.Random(5), Intake(Options()), Source("live.jsonl")
    log = []
    for n in range(4000):
        log += [record(NOON + n, f"q{n}"), record(NOON + n + draw.choice([120, 900, 9000, 900_000]), f"w{n}")]
    data = lines(log)
    intake.take(source, Block(0, data), round(time.time() * MILLION))
    assert len(source.waiting) < ENOUGH
    assert len(intake.open) < 80
    assert intake.problems.counts.get("late", 0) == 0
