"""Live logs for tests: records, files, and runs of the command."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from places import ROOT
from ragworthy.live.watch import Watch
from ragworthy.load.sources import Block
from ragworthy.monitor.intake import MOST_WAITING, Intake, Options
from ragworthy.monitor.reading import Reading, closing
from ragworthy.monitor.running import Monitor
from ragworthy.monitor.source import Source

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp()


def at(minute: float, second: float = 0.0) -> str:
    """A time so many minutes after noon."""
    return datetime.fromtimestamp(NOON + 60 * minute + second, UTC).isoformat().replace("+00:00", "Z")


def record(ts: Any, qid: str = "q1", **more: Any) -> dict[str, Any]:
    """A record as the sources have it; what is given replaces parts of it."""
    made: dict[str, Any] = {
        "qid": qid,
        "question": f"What is {qid}?",
        "retrieval": {
            "topk": ["a#1", "a#2", "b#1"], "metric": "cosine", "analyzer": "en", "index_hash": "h1",
            "embed_model": "m", "ΔS_list": [0.2, 0.3, 0.5], "λ_states": ["→"],
        },
        "answer": {"citations": ["a#1"], "coverage": 0.9, "ΔS": 0.2, "λ_final": "→"},
        "perf": {"t_retrieve_ms": 50, "t_reason_ms": 400},
        "context": {"client": "c", "build": "b1", "region": "eu"},
        "ts": ts,
    }  # fmt: skip
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(made.get(name), dict):
            made[name] = made[name] | value
        else:
            made[name] = value
    return made


def traffic(first: int, last: int, each: int = 50, **more: Any) -> list[dict[str, Any]]:
    """So many records in each minute that ends at one of these."""
    return [
        record(at(minute - 1, 1 + n * 58 / each), f"m{minute}n{n}", **more)
        for minute in range(first, last + 1)
        for n in range(each)
    ]


def lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in records)


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_bytes(lines(records))
    return path


def run(*words: object, cwd: Path | None = None, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """`ragworthy monitor` in a process of its own."""
    command = [sys.executable, "-m", "ragworthy", "monitor", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd or ROOT, timeout=timeout)


def told(*words: object) -> dict[str, Any]:
    """What a replay says in the end, as JSON."""
    done = run(*words, "--once", "--format", "json")
    assert done.returncode in (0, 1, 3), done.stderr
    found = json.loads(done.stdout)
    assert found["exit_code"] == done.returncode
    assert isinstance(found, dict)
    return found


def alerts(path: Path) -> list[tuple[str, str, str]]:
    """Rule, state and time of the alerts in a file."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(one["rule"], one["state"], one["at"][11:16]) for one in found]


@contextmanager
def following(*words: object) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "ragworthy", "monitor", *map(str, words), "--follow"]
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
        child.communicate()


def ended(child: "subprocess.Popen[str]") -> tuple[int, str]:
    child.send_signal(signal.SIGTERM)
    out, errors = child.communicate(timeout=20)
    assert errors == ""
    return child.returncode, out


def soon(holds: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def replayed(path: Path, present: int) -> tuple[bytes, list[dict[str, Any]], dict[str, int]]:
    """Alerts, closed minutes and problems of a log, at some time of the clock."""
    monitor = Monitor(Intake(Options()), Watch())
    reading = monitor.reading(whole=True)
    reading.add(path)
    minutes = list(closing(reading, present))
    monitor.take(minutes)
    return monitor.lines(), [one.state() for one in minutes], dict(monitor.intake.problems.counts)


def in_pieces(data: bytes, cuts: list[int], clocks: list[int]) -> tuple[bytes, list[dict[str, Any]], dict[str, int]]:
    """The same, cut anywhere; everything but the pieces goes through the state between two of them."""
    monitor, source, minutes = Monitor(Intake(Options()), Watch()), Source("live.jsonl"), []
    intake = monitor.intake
    ends = sorted({data.rfind(b"\n", 0, cut) + 1 for cut in cuts} | {len(data)})
    begun = 0
    for nth, end in enumerate(ends):
        source = Source.restore(msgspec.json.decode(msgspec.json.encode(source.state())))
        assert len(source.waiting) < MOST_WAITING
        reading = Reading(intake, whole=False, known={"it": source})
        if end > begun:
            intake.take(source, Block(begun, data[begun:end]), clocks[nth % len(clocks)])
        if source.mark is not None:
            minutes += reading.close(max(intake.closed, intake.over(source.mark)))
        begun = end
    minutes += Reading(intake, whole=True, known={"it": source}).finish(clocks[0])
    monitor.take(minutes)
    assert intake.held == 0
    problems = {name: times for name, times in intake.problems.counts.items() if name != "ahead"}
    return monitor.lines(), [one.state() for one in minutes], problems
