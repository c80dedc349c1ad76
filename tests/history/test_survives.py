"""What was confirmed is there: with many writers at once, and with writers that are killed."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ragworthy.history import open_store
from soak import SOAK

WRITERS = Path(__file__).with_name("writers.py")
PROCESSES, RUNS, KILLS = 8, 6, 50 if SOAK else 15

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="os.fork and SIGKILL")


def written(tmp_path: Path, report: dict[str, Any], place: str, what: str, *numbers: int) -> tuple[list[str], str]:
    (tmp_path / "report.json").write_text(json.dumps(report))
    told = tmp_path / "confirmed"
    command = [sys.executable, str(WRITERS), what, place, str(tmp_path / "report.json"), str(told), *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return told.read_text().split(), done.stdout


def test_eight_writers_at_once_lose_nothing(tmp_path: Path, report: dict[str, Any], place: str) -> None:
    confirmed, _ = written(tmp_path, report, place, "together", PROCESSES, RUNS)
    assert len(set(confirmed)) == PROCESSES * RUNS
    store = open_store(place, create=False)
    runs = store.runs()
    assert {one.id for one in runs} == set(confirmed)
    attempts = store.attempts(runs[0].gold_sha256, "c0ffee")
    assert [one.number for one in attempts] == list(range(1, PROCESSES * RUNS + 1))
    assert store.check() == []
    assert {len(store.summaries(one.id)) for one in runs[:3]} == {len(report["suites"]["answers"]["metrics"])}


def test_kills_lose_nothing_that_was_confirmed(tmp_path: Path, report: dict[str, Any], place: str) -> None:
    confirmed, said = written(tmp_path, report, place, "killed", KILLS)
    assert said == f"killed {KILLS}\n"
    store = open_store(place)
    there = {one.id for one in store.runs()}
    assert len(confirmed) >= KILLS, "the writers were killed before they could write"
    assert set(confirmed) <= there
    assert len(there) <= len(set(confirmed)) + KILLS  # each may have been killed between the commit and the word
    assert store.check() == []
    for run in confirmed[:: len(confirmed) // 5]:
        assert store.report(run)["verdict"] == report["verdict"]
        assert store.receipt(run) is not None
    assert store.add({**report, "verdict": "NO-SHIP"}, commit="c0ffee").new


def test_threads_that_each_open_the_store_keep_their_locks(tmp_path: Path, report: dict[str, Any]) -> None:
    """Whoever closes a file drops the locks that the whole process has on it. SQLite of another process, which then
    finds nobody there, takes the log of changes away: "disk I/O error"."""
    place, failed = str(tmp_path / "history.db"), list[Exception]()
    open_store(place)
    reads = f"from ragworthy.history import open_store\nwhile True: open_store({place!r}, create=False).runs()"

    def write(thread: int) -> None:
        for nth in range(20):
            try:
                open_store(place).add({**report, "provenance": {"thread": thread, "nth": nth}}, commit="c0ffee")
            except Exception as error:  # noqa: BLE001 - told below
                failed.append(error)

    with subprocess.Popen([sys.executable, "-c", reads], stderr=subprocess.PIPE) as reader:
        threads = [threading.Thread(target=write, args=(nth,)) for nth in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert reader.poll() is None
        reader.kill()
    assert failed == []
    store = open_store(place, create=False)
    assert len(store.runs()) == 40 and store.check() == []
