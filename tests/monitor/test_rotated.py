"""Which file is which log: rotation, packing and cutting of logs that all begin with the same lines."""

import gzip
import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from live_logs import at, ended, following, lines, record, run, soon, told, traffic, write
from ragworthy.monitor.intake import Intake, Options
from ragworthy.monitor.reading import QUIET, Reading, now

HEADER: list[dict[str, Any]] = [{"service": "rag", "schema": 3}]


def once(folder: Path, *more: str) -> None:
    done = run(folder / "live.jsonl*", "--once", "--state", folder / "m.db", "-q", *more)
    assert done.returncode in (0, 1, 3), done.stderr


def total(folder: Path) -> tuple[int, dict[str, int]]:
    found = told(folder / "live.jsonl*", "--state", folder / "m.db", "--close")
    return found["counted"], {name: one["count"] for name, one in found["problems"].items()}


def other(first: int, last: int) -> list[dict[str, Any]]:
    """Traffic of another server."""
    return traffic(first, last, 20, context={"client": "another"})


def append(path: Path, records: list[dict[str, Any]]) -> None:
    with path.open("ab") as file:
        file.write(lines(records))


@pytest.mark.parametrize("packed", [False, True])
def test_a_header_line_and_a_rotation_after_each_run(tmp_path: Path, packed: bool) -> None:
    """The log of the tester: every file begins with the same line, and is moved on while nobody looks."""
    live = tmp_path / "live.jsonl"
    for n in range(7):
        for k in range(n, 0, -1):  # 1 becomes 2, and so on
            for end in ("", ".gz"):
                old = tmp_path / f"live.jsonl.{k}{end}"
                if old.exists():
                    old.rename(tmp_path / f"live.jsonl.{k + 1}{end}")
        if n:
            live.rename(tmp_path / "live.jsonl.1")
        if packed and n > 1:
            (tmp_path / "live.jsonl.2.gz").write_bytes(gzip.compress((tmp_path / "live.jsonl.2").read_bytes()))
            (tmp_path / "live.jsonl.2").unlink()
        write(live, HEADER)
        once(tmp_path)
        append(live, traffic(5 * n + 1, 5 * n + 2, 80))
        once(tmp_path)
        append(live, traffic(5 * n + 3, 5 * n + 5, 80))  # the last of it is read under its next name
    assert total(tmp_path) == (7 * 5 * 80, {"untimed": 7})


def test_a_header_line_in_one_replay(tmp_path: Path) -> None:
    write(tmp_path / "live.jsonl", HEADER)  # the newest has nothing else yet
    for n in range(3):
        write(tmp_path / f"live.jsonl.{3 - n}", HEADER + traffic(5 * n + 1, 5 * n + 5, 80))
    found = told(tmp_path / "live.jsonl*")
    assert (found["counted"], found["problems"]["copied"]["count"]) == (3 * 5 * 80, 1)
    assert found["problems"]["untimed"]["count"] == 3


def test_two_servers_with_the_same_first_lines_side_by_side(tmp_path: Path) -> None:
    same = HEADER + traffic(1, 2, 20)
    paths = [write(tmp_path / f"live.jsonl.{name}", same) for name in "ab"]
    once(tmp_path)
    for nth, path in enumerate(paths):
        append(path, traffic(3, 12, 40)[nth::2])
    once(tmp_path)
    assert total(tmp_path) == (40 + 400, {"untimed": 2, "twice": 40})  # what both begin with came twice


@pytest.mark.parametrize("large", [False, True])
def test_followed_and_rotated_with_a_header_line(tmp_path: Path, large: bool) -> None:
    each = 60 if large else 5  # a minute of 60 has 30 KiB: the first 64 are full after two
    live, state = write(tmp_path / "live.jsonl", HEADER), tmp_path / "m.db"
    with following(str(tmp_path / "live.jsonl*"), "--state", state) as child:
        for n in range(4):
            append(live, traffic(5 * n + 1, 5 * n + 5, each))
            time.sleep(0.4 * n)
            live.rename(tmp_path / f"live.jsonl.{n}")
            write(live, HEADER)
        time.sleep(2.5)
        append(live, traffic(21, 25, each))
        time.sleep(2)
        assert ended(child)[0] == 0
    assert total(tmp_path) == (25 * each, {"untimed": 5})


@pytest.mark.parametrize("header", [[], HEADER])
def test_cut_and_written_anew_beyond_where_it_was_read(tmp_path: Path, header: list[dict[str, Any]]) -> None:
    """copytruncate, and so much comes after it that the file is longer than before."""
    live, state = write(tmp_path / "live.jsonl", header + traffic(1, 6, 20)), tmp_path / "m.db"
    with following(live, "--state", state) as child:
        soon(lambda: state.exists())
        time.sleep(1.5)
        with live.open("r+b") as file:
            file.truncate(0)
            file.write(lines(header + traffic(7, 20, 20)))
        time.sleep(2.5)
        assert ended(child)[0] == 0
    counted, problems = total(tmp_path)
    assert (counted, problems) == (20 * 20, {"untimed": 2} if header else {})


def test_cut_between_two_runs(tmp_path: Path) -> None:
    live = write(tmp_path / "live.jsonl", HEADER + traffic(1, 6, 20))
    once(tmp_path)
    write(live, HEADER + traffic(7, 20, 20))  # the same inode, and longer
    once(tmp_path)
    assert total(tmp_path) == (20 * 20, {"untimed": 2})


def test_a_shorter_copy_of_a_large_log_says_nothing_new(tmp_path: Path) -> None:
    log = traffic(1, 30, 20)
    live = write(tmp_path / "live.jsonl", log)
    once(tmp_path)
    write(tmp_path / "live.jsonl.0-backup", log[:400])
    append(live, traffic(31, 33, 20))
    once(tmp_path)
    assert total(tmp_path)[0] == 33 * 20


def test_a_copy_does_not_take_the_place_of_the_log(tmp_path: Path) -> None:
    log = traffic(1, 30, 20)
    live = write(tmp_path / "live.jsonl.b", log)
    once(tmp_path)
    write(tmp_path / "live.jsonl.a", log)
    append(live, traffic(31, 33, 20))
    once(tmp_path)
    assert total(tmp_path)[0] == 33 * 20


def test_a_state_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """There a log was known by its first line alone."""
    live = write(tmp_path / "live.jsonl", traffic(1, 6, 20))
    once(tmp_path)
    with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None)) as db:
        for name, value in db.execute("SELECT id, value FROM logs").fetchall():
            kept = json.loads(value)
            assert kept.pop("print")[0] == live.stat().st_size
            assert kept.pop("place") == [live.stat().st_dev, live.stat().st_ino]
            db.execute("UPDATE logs SET value = ? WHERE id = ?", (json.dumps(kept).encode(), name))
    append(live, traffic(7, 9, 20))
    once(tmp_path)
    live.rename(tmp_path / "live.jsonl.1")
    append(tmp_path / "live.jsonl.1", traffic(10, 12, 20))
    assert total(tmp_path) == (12 * 20, {})


def test_a_log_that_is_renamed_while_logs_are_looked_for_is_not_read_after_the_one_that_follows_it(
    tmp_path: Path,
) -> None:
    """The first listing has one name; when it is opened, that name leads to the next log."""
    live = write(tmp_path / "live.jsonl", traffic(1, 60, 20))

    def listing() -> list[Path]:
        paths = sorted(tmp_path.glob("live.jsonl*"))
        if len(paths) == 1:
            live.rename(tmp_path / "live.jsonl.1")
            write(live, traffic(61, 120, 20))
        return paths

    intake = Intake(Options())
    reading = Reading(intake, whole=False)
    reading.look(listing)
    closed = []
    while (minutes := reading.read(now())) is not None:
        closed += minutes
    assert sum(one.records for one in closed) + sum(one.minute.records for one in intake.open.values()) == 120 * 20
    assert intake.problems.counts == {}
    for feed in reading.feeds.values():
        feed.log.close()


def test_what_a_log_got_after_it_was_read_to_its_end_comes_before_the_log_that_follows_it(tmp_path: Path) -> None:
    """It was at its end for a moment; before anybody looks again it grows, is moved away, and the next one begins."""
    live = write(tmp_path / "live.jsonl", traffic(1, 30, 20))

    def listing() -> list[Path]:
        return sorted(tmp_path.glob("live.jsonl*"))

    intake = Intake(Options())
    reading = Reading(intake, whole=False)
    reading.look(listing)
    closed = []
    (feed,) = reading.feeds.values()
    while not feed.ended:
        closed += reading.read(now()) or []
    append(live, traffic(31, 60, 20))
    live.rename(tmp_path / "live.jsonl.1")
    write(live, traffic(61, 120, 20))
    reading.look(listing)
    for _ in range(2):
        while (minutes := reading.read(now())) is not None:
            closed += minutes
        reading.wake()
    assert intake.problems.counts == {}
    assert sum(one.records for one in closed) + sum(one.minute.records for one in intake.open.values()) == 120 * 20
    for one in reading.feeds.values():
        one.log.close()


def test_a_log_that_ended_holds_an_hour_of_the_others_open_and_no_more(tmp_path: Path) -> None:
    """No --close, and its file has just been written: the clock does not say that it has ended."""
    intake = Intake(Options())
    reading = Reading(intake, whole=False)
    paths = [write(tmp_path / "a.jsonl", other(1, 3)), write(tmp_path / "b.jsonl", traffic(1, 600, 20))]
    reading.look(lambda: paths)
    closed = []
    while (minutes := reading.read(now())) is not None:
        closed += minutes
        assert len(intake.open) < 160  # an hour, and what one block has
    assert len(intake.open) == 62
    assert sum(one.records for one in closed) + sum(one.minute.records for one in intake.open.values()) == 12_060
    assert intake.problems.counts == {}
    os.utime(tmp_path / "a.jsonl", (time.time() - QUIET - 5, time.time() - QUIET - 5))
    still = len(intake.open)
    assert still - len(reading.close(reading.over())) == 2
    for feed in reading.feeds.values():
        feed.log.close()


def test_how_much_an_ended_log_holds_open_does_not_depend_on_how_it_is_read(tmp_path: Path) -> None:
    ended_early, long = other(1, 3), traffic(1, 300, 20)
    found = []
    for pieces in (1, 4):
        folder = tmp_path / str(pieces)
        folder.mkdir()
        write(folder / "live.jsonl.a", ended_early)
        for n in range(1, pieces + 1):
            write(folder / "live.jsonl.b", long[: len(long) * n // pieces])
            once(folder, "--alerts", str(folder / "alerts"))
        said = told(folder / "live.jsonl*", "--state", folder / "m.db")
        found.append((said["counted"], said["waiting"], said["last"], said["problems"]))
    assert found[0] == found[1]
    assert found[0][0] + found[0][1] == 303 * 20
    assert found[0][2] == at(238)


def test_a_record_of_a_log_that_was_given_up_is_late(tmp_path: Path) -> None:
    write(tmp_path / "live.jsonl.b", traffic(1, 300, 20))
    short = write(tmp_path / "live.jsonl.a", other(1, 3))
    once(tmp_path)
    append(short, [record(at(4), "x"), *other(301, 303)])
    once(tmp_path)
    assert total(tmp_path) == (306 * 20, {"late": 1})
