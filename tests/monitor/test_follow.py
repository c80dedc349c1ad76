"""`ragworthy monitor --follow`: real processes, logs that grow, are renamed, packed and cut."""

import gzip
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

from live_logs import alerts, at, ended, following, lines, record, run, soon, told, traffic, write
from places import ROOT


def counted(*words: object) -> int:
    found = told(*words, "--close")
    assert found["problems"] == {}
    return int(found["counted"])


def test_a_log_that_is_renamed_packed_and_begun_anew(tmp_path: Path) -> None:
    live, state, out = tmp_path / "live.jsonl", tmp_path / "m.db", tmp_path / "a.jsonl"
    write(live, traffic(1, 6, 20))
    with following(str(tmp_path / "live.jsonl*"), "--state", state, "--alerts", out) as child:
        soon(lambda: state.exists())
        with live.open("ab") as file:
            file.write(lines([record(at(6.5), "x", error={"status": 401})]) + lines(traffic(8, 10, 20)))
        soon(lambda: out.exists() and len(alerts(out)) == 1)
        live.rename(tmp_path / "live.jsonl.1")
        write(live, traffic(11, 13, 20))
        time.sleep(1.5)
        (tmp_path / "live.jsonl.1.gz").write_bytes(gzip.compress((tmp_path / "live.jsonl.1").read_bytes()))
        (tmp_path / "live.jsonl.1").unlink()
        with live.open("ab") as file:
            file.write(lines(traffic(14, 20, 20)))
        soon(lambda: len(alerts(out)) == 2)
        code, said = ended(child)
    assert code == 0
    page = said.splitlines()
    assert page[2:4] == ["", "live traffic: 381 records, 2026-03-02T12:01:00Z to 2026-03-02T12:18:00Z"]
    assert page[:2] == [
        "2026-03-02T12:07:00Z firing auth_failure: 1 >= 1, 81 samples in 5 min",
        "2026-03-02T12:12:00Z resolved auth_failure: now 0, 100 samples in 5 min",
    ]
    assert counted(str(tmp_path / "live.jsonl*"), "--state", state) == 6 * 20 + 1 + 3 * 20 + 10 * 20


def test_a_log_that_is_cut_to_nothing_and_goes_on(tmp_path: Path) -> None:
    live, state = write(tmp_path / "live.jsonl", traffic(1, 6, 20)), tmp_path / "m.db"
    with following(live, "--state", state) as child:
        soon(lambda: state.exists())
        time.sleep(1.0)
        live.write_bytes(b"")
        time.sleep(1.5)
        write(live, traffic(7, 9, 20))
        time.sleep(2.5)
        assert ended(child)[0] == 0
    assert counted(live, "--state", state) == 9 * 20


def test_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    live, state, out = tmp_path / "live.jsonl", tmp_path / "m.db", tmp_path / "a.jsonl"
    data = lines([record(at(1), "x", error={"status": 401}), *traffic(2, 6, 25)])
    with following(live, "--state", state, "--alerts", out) as child:
        time.sleep(0.8)  # the log is not there yet
        with live.open("wb", buffering=0) as file:
            for start in range(0, len(data), 997):
                file.write(data[start : start + 997])
                time.sleep(0.02)
        soon(lambda: out.exists() and len(alerts(out)) == 1)
        assert ended(child)[0] == 0
    assert counted(live, "--state", state) == 126


def test_live_traffic_that_stops_is_judged_by_the_clock(tmp_path: Path) -> None:
    """Records of the present: nothing comes after them, and still their minute is closed."""
    present = time.time()
    live = write(tmp_path / "live.jsonl", [record(present - 185 + n, f"q{n}", error={"status": 401}) for n in range(5)])
    out = tmp_path / "a.jsonl"
    with following(live, "--state", tmp_path / "m.db", "--alerts", out) as child:
        soon(lambda: out.exists() and len(alerts(out)) == 1)
        ended(child)


def test_a_second_monitor_of_the_same_state_is_refused(tmp_path: Path) -> None:
    live, state = write(tmp_path / "live.jsonl", traffic(1, 3, 5)), tmp_path / "m.db"
    with following(live, "--state", state) as child:
        soon(lambda: state.exists())
        time.sleep(0.5)
        done = run(live, "--once", "--state", state)
        assert done.returncode == 2
        assert done.stderr.splitlines()[0] == (
            f"{state}: expected a state that can be used, got one that another monitor holds [RW-O03]"
        )
        ended(child)


def test_a_state_with_other_settings_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    live, state = write(tmp_path / "live.jsonl", traffic(1, 3, 5)), tmp_path / "m.db"
    run(live, "--once", "--state", state)
    done = run(live, "--once", "--state", state, "--lateness", "5")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        f"{state}: expected the settings lateness 60, sample 1.0, got lateness 5, sample 1.0 [RW-O04]"
    )
    (tmp_path / "other.db").write_text("mine", encoding="utf-8")
    done = run(live, "--once", "--state", tmp_path / "other.db")
    assert done.stderr.splitlines()[0] == f"{tmp_path}/other.db: expected a state, got another file [RW-O03]"
    assert (tmp_path / "other.db").read_text(encoding="utf-8") == "mine"


def test_on_a_terminal_the_page_is_drawn_again(tmp_path: Path) -> None:
    live = write(tmp_path / "live.jsonl", traffic(1, 10, 100, context={"region": "\x1b[31mred"}))
    mine, its = pty.openpty()
    command = [sys.executable, "-m", "ragworthy", "monitor", str(live), "--follow", "--state", str(tmp_path / "m.db")]
    child = subprocess.Popen(command, cwd=ROOT, stdout=its, stderr=its)
    os.close(its)
    shown, asked = b"", False
    end = time.monotonic() + 20
    while not asked or shown.count(b"\x1b[H\x1b[J") < 2:
        assert time.monotonic() < end
        shown += os.read(mine, 65536)
        if b"live traffic: 1,000 records" in shown and not asked:
            asked = True
            child.send_signal(signal.SIGINT)
    assert child.wait(20) == 0
    os.close(mine)
    assert b"coverage_drop" in shown
    assert b"\x1b[31m" not in shown


def test_what_was_refused_is_said_in_the_end(tmp_path: Path) -> None:
    live = tmp_path / "live.jsonl"
    live.write_bytes(lines([*traffic(1, 10, 20), record(at(2), "late")]) + b"{\n")
    with following(live, "--state", tmp_path / "m.db") as child:
        soon(lambda: (tmp_path / "m.db").exists())
        time.sleep(1)
        said = ended(child)[1].splitlines()
    late = next(line for line in said if line.startswith("  1 late: of a minute that was already judged (first: "))
    assert late.endswith("live.jsonl:201)")
    assert any(line.startswith("  1 unreadable: no record") for line in said)


def test_the_last_word_as_json(tmp_path: Path) -> None:
    live = write(tmp_path / "live.jsonl", traffic(1, 10, 100))
    with following(live, "--state", tmp_path / "m.db", "--format", "json") as child:
        soon(lambda: (tmp_path / "m.db").exists())
        time.sleep(1)
        code, out = ended(child)
    assert code == 0
    assert json.loads(out)["records"] == 1000
