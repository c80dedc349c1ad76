"""What is kept, for how long, and what waits: all of it bounded."""

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from live_logs import alerts, at, record, run, told, traffic, write
from ragworthy.monitor import intake as taking
from ragworthy.monitor import traces as waiting
from ragworthy.monitor.alerts import AlertFile, overlap
from ragworthy.monitor.intake import Intake, Options
from ragworthy.monitor.reading import Reading, closing, now
from ragworthy.monitor.spool import Spool, SpoolLog
from ragworthy.monitor.traces import Traces

DAY = 24 * 60


def rows(state: Path, table: str) -> int:
    with sqlite3.connect(state) as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.parametrize(("days", "kept", "said"), [(30, 4, 4), (40, 6, 5)])
def test_minutes_and_alerts_are_kept_for_their_days(tmp_path: Path, days: int, kept: int, said: int) -> None:
    log = []
    for day in (0, 35, 36):  # two minutes each, the first with a 401
        log += [record(at(day * DAY, 1), f"{day}", error={"status": 401}), record(at(day * DAY, 61), f"{day}b")]
    state = tmp_path / "m.db"
    for n in range(3):
        path = write(tmp_path / f"{n}.jsonl", log[2 * n : 2 * n + 2])
        assert run(path, "--once", "--close", "--state", state, "--days", days).returncode == 1
    assert rows(state, "minutes") == kept
    assert rows(state, "alerts") == said  # by the minute at which they were known
    assert rows(state, "open") == rows(state, "keys") == 0
    assert rows(state, "logs") == (2 if days == 30 else 3)


def test_a_state_that_ends_in_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.db").mkdir()
    log = write(tmp_path / "live.jsonl", traffic(1, 2, 2))
    done = run(log, "--once", "--state", tmp_path / "m.db")
    assert done.stderr.splitlines()[0] == f"{tmp_path}/m.db: expected a state, got no regular file [RW-O03]"
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    done = run(log, "--once", "--state", broken)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{broken}: expected a state that can be used, got ")


def test_spans_that_never_end_are_told_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_TRACES", 50)
    held = Traces()
    lost = 0
    for n in range(500):
        span = {
            "traceId": f"{n:032x}", "spanId": "1" * 16, "parentSpanId": "2" * 16, "name": "x",
            "attributes": [{"key": "a", "value": {"stringValue": "y" * 100}}],
        }  # fmt: skip
        line = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
        lost += sum(made.problem == "unfinished" for made in held.take(line, "here"))
    assert (len(held.waiting), lost) == (50, 450)
    again = Traces.restore(msgspec.json.decode(msgspec.json.encode(held.state())))
    assert again.bytes == held.bytes == sum(held.sizes.values())
    monkeypatch.setattr(waiting, "MOST_BYTES", held.bytes // 2)
    assert sum(made.problem == "unfinished" for made in held.take(line, "here")) > 20
    assert len(list(again.rest())) == 50
    assert again.bytes == 0


def test_more_records_than_can_be_remembered_are_counted_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "MOST_KEYS", 100)
    log = traffic(1, 1, 150)
    intake = Intake(Options())
    reading = Reading(intake, whole=True)
    reading.add(write(tmp_path / "live.jsonl", [*log, *log[:10]]))
    (minute,) = closing(reading, now())
    assert minute.records == 150
    assert intake.problems.counts == {"unchecked": 50, "twice": 10}
    assert intake.keys == 0


def test_what_the_end_of_a_file_has_is_not_written_twice(tmp_path: Path) -> None:
    file = AlertFile(tmp_path / "a.jsonl")
    lines = [b'{"n":1}\n', b'{"n":2}\n', b'{"n":3}\n']
    whole = b"".join(lines)
    for cut in range(len(whole) + 1):  # killed at any byte
        (tmp_path / "a.jsonl").write_bytes(b'{"n":0}\n' + whole[:cut])
        file.append(lines)
        assert (tmp_path / "a.jsonl").read_bytes() == b'{"n":0}\n' + whole
    assert overlap(b"", whole) == 0


def test_a_long_file_goes_on_after_a_kill_in_no_time(tmp_path: Path) -> None:
    lines = [b'{"rule":"errors","n":%06d,"state":"firing"}\n' % n for n in range(40_000)]
    whole, before = b"".join(lines), b'{"n":0}\n' * 5
    (tmp_path / "a.jsonl").write_bytes(before + whole[: len(whole) // 2 + 7])  # in the middle of a line
    begun = time.process_time()
    AlertFile(tmp_path / "a.jsonl").append(lines)
    AlertFile(tmp_path / "a.jsonl").append([b'{"n":1}\n'])
    assert time.process_time() - begun < 5  # comparing at every byte takes minutes
    assert (tmp_path / "a.jsonl").read_bytes() == before + whole + b'{"n":1}\n'


def test_alerts_go_on_in_a_file_that_was_moved_away(tmp_path: Path) -> None:
    first = [*traffic(1, 3, 10), record(at(3.5), "x", error={"status": 401}), *traffic(5, 6, 10)]
    state, out = tmp_path / "m.db", tmp_path / "a.jsonl"
    log = write(tmp_path / "live.jsonl", first)
    run(log, "--once", "--state", state, "--alerts", out)
    assert alerts(out) == [("auth_failure", "firing", "12:04")]
    out.rename(tmp_path / "old.jsonl")
    write(log, [*first, *traffic(7, 12, 10)])
    run(log, "--once", "--state", state, "--alerts", out)
    assert alerts(out) == [("auth_failure", "resolved", "12:09")]


def test_a_spool_is_read_in_its_order_and_goes_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragworthy.monitor import spool as spooled

    monkeypatch.setattr(spooled, "SEGMENT", 100)
    monkeypatch.setattr(spooled, "MOST", 1000)
    spool, lines = Spool(tmp_path / "s"), [b'{"n":%d}\n' % n * 3 for n in range(60)]
    taken = [spool.append(line) for line in lines]
    assert not all(taken) and taken[0]  # there is no more room
    kept = b"".join(line for line, was in zip(lines, taken, strict=True) if was)
    spool.close()
    last = max((tmp_path / "s").iterdir())
    with last.open("ab") as file:
        file.write(b'{"n":')  # killed in the middle of a line
    spool = Spool(tmp_path / "s")
    log, read = SpoolLog(spool), b""
    while (block := log.read()) is not None:
        assert block.offset == len(read)
        read += block.data
    assert read == kept
    spool.done(len(read))
    assert len(list((tmp_path / "s").iterdir())) == 1
    assert spool.append(b"{}\n")
    again = SpoolLog(spool)
    assert again.size() == len(kept) + 3
    again.seek(len(kept))
    assert again.read() == (len(kept), b"{}\n")
    spool.close()


def test_a_baseline_that_is_none(tmp_path: Path) -> None:
    log = write(tmp_path / "live.jsonl", traffic(1, 2, 2))
    wrong: dict[str, Any] = {
        "[1]": "expected an object, got something else [RW-O02]",
        "{": "expected JSON, got: Input data was truncated [RW-O02]",
        '{"reason_ms": "fast"}': "reason_ms: expected milliseconds, got 'fast' [RW-O02]",
    }
    for text, message in wrong.items():
        (tmp_path / "b.json").write_text(text, encoding="utf-8")
        done = run(log, "--once", "--baseline", tmp_path / "b.json")
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"{tmp_path}/b.json: {message}")
    (tmp_path / "b.json").write_text('{"retrieve_ms": 10, "reason_ms": 20.5}', encoding="utf-8")
    assert told(log, "--baseline", tmp_path / "b.json")["exit_code"] == 3
