"""However a log is cut, and whoever is killed: no record is lost or counted twice, and the alerts are the same."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from live_logs import NOON, record, run, told
from places import ROOT
from soak import SOAK

KILLS = 20 if SOAK else 7
RECORDS = 300_000 if SOAK else 105_000
FILE = RECORDS // 5
"""So many records are in a file when it is moved on."""


def restless(count: int, each: int = 400, seed: int = 7) -> list[bytes]:
    """Records whose numbers come and go by the minute; some twice, some late, some without a time, some broken."""
    draw = random.Random(seed)
    plain = json.dumps(record(0, "QID"), ensure_ascii=False).replace('"ts": 0', '"ts": TS')
    made: list[bytes] = []
    for n in range(count):
        ts = NOON + n * 60 / each
        minute = n // each
        line = plain.replace("QID", f"q{n}").replace("TS", f"{ts:.3f}")
        if minute % 23 < 9:
            line = line.replace('"coverage": 0.9', '"coverage": 0.1')
        if minute % 17 < 6:
            line = line.replace('"ΔS": 0.2', f'"ΔS": {draw.choice([0.2, 0.62, 0.71])}')
        if minute % 31 < 4 and n % 5 == 0:
            line = line.replace('"context"', '"error": "boom", "context"')
        chance = draw.random()
        if chance < 0.01 and made:
            made.append(made[-draw.randrange(1, min(len(made), 50) + 1)])  # twice
        elif chance < 0.02:
            line = line.replace(f"{ts:.3f}", f"{ts - 600:.3f}")  # late
        elif chance < 0.021:
            line = line.replace(f'"ts": {ts:.3f}', '"ts": null')
        elif chance < 0.022:
            line = line[:40]
        made.append(line.encode() + b"\n")
    return made


def expected(folder: Path, log: list[bytes]) -> tuple[bytes, dict[str, Any]]:
    """What one replay of the whole log gives."""
    path = folder / "whole.jsonl"
    path.write_bytes(b"".join(log))
    found = told(path, "--alerts", folder / "whole.alerts.jsonl")
    return (folder / "whole.alerts.jsonl").read_bytes(), numbers(found)


def numbers(found: dict[str, Any]) -> dict[str, Any]:
    counts = {name: one["count"] for name, one in found["problems"].items()}
    return {name: found[name] for name in ("records", "counted", "last", "fields", "firing", "budgets")} | counts


@pytest.mark.parametrize("seed", [1, 2])
def test_in_pieces_it_is_the_same(tmp_path: Path, seed: int) -> None:
    log = restless(40 * 400)
    alerts, whole = expected(tmp_path, log)
    assert alerts.count(b"\n") > 10
    data, cut = b"".join(log), random.Random(seed)
    grown = tmp_path / "live.jsonl"
    ends = sorted(cut.randrange(len(data)) for _ in range(6))
    for end in [*ends, len(data)]:
        grown.write_bytes(data[:end])  # most ends are in the middle of a line
        last = ["--close"] if end == len(data) else []
        done = run(grown, "--once", "--state", tmp_path / "m.db", "--alerts", tmp_path / "a.jsonl", "-q", *last)
        assert done.returncode in (0, 1, 3), done.stderr
    assert (tmp_path / "a.jsonl").read_bytes() == alerts
    assert numbers(told(grown, "--state", tmp_path / "m.db", "--close")) == whole


def test_the_logs_of_a_rotation_one_after_the_other(tmp_path: Path) -> None:
    log = restless(30 * 400)
    alerts, whole = expected(tmp_path, log)
    for n in range(3):
        (tmp_path / f"{n}.jsonl").write_bytes(b"".join(log[n * 4000 + 60 * n : (n + 1) * 4000 + 60 * (n + 1)]))
        last = ["--close"] if n == 2 else []
        run(tmp_path / f"{n}.jsonl", "--once", "--state", tmp_path / "m.db", "--alerts", tmp_path / "a.jsonl", *last)
    assert (tmp_path / "a.jsonl").read_bytes() == alerts
    assert numbers(told(tmp_path / "2.jsonl", "--state", tmp_path / "m.db", "--close")) == whole


@pytest.mark.parametrize("header", [b"", b'{"service": "rag"}\n'])
def test_kills_under_load(tmp_path: Path, header: bytes) -> None:
    """A log that grows and is rotated while whoever follows it is killed again and again; with a first line that all
    of its files share, too.
    """
    log = restless(RECORDS, each=1000)
    alerts, whole = expected(tmp_path, log)
    files = -(-len(log) // FILE) if header else 0
    whole |= {"records": whole["records"] + files, "untimed": whole["untimed"] + files}
    folder = tmp_path / "logs"
    folder.mkdir()
    ended = threading.Event()

    def writes() -> None:
        live = folder / "live.jsonl"
        for n in range(0, len(log), 3000):
            if n and n % FILE == 0:
                live.rename(folder / f"live.jsonl.{n // FILE}")
            if n % FILE == 0 and header:
                live.write_bytes(header)
                time.sleep(0.05)
            with live.open("ab") as file:
                file.write(b"".join(log[n : n + 3000])[:-7])
                file.flush()
                file.write(b"".join(log[n : n + 3000])[-7:])
            time.sleep(0.1)
        ended.set()

    words = ["--state", str(tmp_path / "m.db"), "--alerts", str(tmp_path / "a.jsonl"), "-q"]
    command = [sys.executable, "-m", "ragworthy", "monitor", str(folder / "live.jsonl*"), *words]
    writer = threading.Thread(target=writes)
    writer.start()
    draw, killed, before = random.Random(3), 0, 0

    def kept() -> int:
        """When something was kept last."""
        wal = tmp_path / "m.db-wal"
        return wal.stat().st_mtime_ns if wal.exists() else 0

    while killed < KILLS:
        child = subprocess.Popen([*command, "--follow"], cwd=ROOT)
        until = time.monotonic() + 4
        while kept() == before and time.monotonic() < until:
            time.sleep(0.02)
        before = kept()
        time.sleep(draw.uniform(0.1, 0.6))
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        killed += 1
    writer.join()
    assert ended.is_set()
    there = len((tmp_path / "a.jsonl").read_bytes())
    assert len(alerts) // 10 < there <= len(alerts)  # much of the work was done by those who were killed
    done = subprocess.run([*command, "--once", "--close", "--format", "json"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    assert numbers(json.loads(done.stdout)) == whole
    assert (tmp_path / "a.jsonl").read_bytes() == alerts


def test_kills_while_three_servers_log_side_by_side(tmp_path: Path) -> None:
    """What is read first is chance, and what comes of it is not."""
    log = restless(60_000, each=600)
    folder, whole = tmp_path / "logs", tmp_path / "whole"
    folder.mkdir()
    whole.mkdir()
    draw = random.Random(11)
    shares: list[list[bytes]] = [[], [], []]
    for n, line in enumerate(log):
        shares[n % 3 if n < 3 else draw.randrange(3)].append(line)
    for n, share in enumerate(shares):
        (whole / f"{n}.jsonl").write_bytes(b"".join(share))
    found = told(whole, "--alerts", tmp_path / "whole.alerts.jsonl")
    words = ["--state", str(tmp_path / "m.db"), "--alerts", str(tmp_path / "a.jsonl"), "-q"]
    command = [sys.executable, "-m", "ragworthy", "monitor", str(folder), *words]
    for step in range(6):  # each server has written another part of its share, and never the same
        for n, share in enumerate(shares):
            end = len(share) if step == 5 else len(share) * step // 6 + draw.randrange(1, 400)
            (folder / f"{n}.jsonl").write_bytes(b"".join(share[:end]))
        child = subprocess.Popen([*command, "--follow"], cwd=ROOT)
        time.sleep(draw.uniform(0.8, 1.4))
        child.kill()
        child.wait()
    done = subprocess.run([*command, "--once", "--close", "--format", "json"], cwd=ROOT, capture_output=True, text=True)
    assert numbers(json.loads(done.stdout)) == numbers(found)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "whole.alerts.jsonl").read_bytes()
