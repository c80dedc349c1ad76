"""Alerts to an address: retries, a receiver that never answers, what is sent after a kill."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from live_logs import at, record, run, told, traffic, write
from places import ROOT
from ragworthy.monitor.webhook import MOST_WAITING, Webhook

pytest.importorskip("httpx")


class Receiver(ThreadingHTTPServer):
    """Takes alerts, after so many refusals, or never answers."""

    daemon_threads = True

    def __init__(self, refusals: int = 0, silent: bool = False) -> None:
        self.refusals = refusals
        self.silent = silent
        self.taken: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/alerts"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.silent:
            time.sleep(30)
            return
        if self.server.refusals:
            self.server.refusals -= 1
            self.send_response(503)
        else:
            self.server.taken.append(json.loads(data))
            self.send_response(204)
        self.end_headers()

    def log_message(self, *words: Any) -> None:
        return


@contextmanager
def receiver(**how: Any) -> Iterator[Receiver]:
    one = Receiver(**how)
    thread = threading.Thread(target=one.serve_forever, daemon=True)
    thread.start()
    try:
        yield one
    finally:
        one.shutdown()
        one.server_close()


def troubled(path: Path) -> Path:
    return write(path, [*traffic(1, 3, 10), record(at(3.5), "x", error={"status": 401}), *traffic(5, 12, 10)])


def test_every_alert_is_posted_as_it_is_written(tmp_path: Path) -> None:
    with receiver(refusals=2) as one:
        found = told(troubled(tmp_path / "live.jsonl"), "--webhook", one.url, "--alerts", tmp_path / "a.jsonl")
        assert found["webhook"] == {"sent": 2, "failed": 0, "dropped": 0}
        lines = (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
        assert one.taken == [json.loads(line) for line in lines]
        assert [alert["state"] for alert in one.taken] == ["firing", "resolved"]


def test_what_became_of_alerts_is_said_in_text(tmp_path: Path) -> None:
    with receiver() as one:
        said = run(troubled(tmp_path / "live.jsonl"), "--once", "--webhook", one.url).stdout
    assert "  webhook: 2 alerts sent, 0 failed after all tries, 0 given up\n" in said


def test_what_was_not_sent_before_a_kill_is_sent_by_the_next_run(tmp_path: Path) -> None:
    log, state, out = troubled(tmp_path / "live.jsonl"), tmp_path / "m.db", tmp_path / "a.jsonl"
    words = [str(log), "--state", str(state), "--alerts", str(out), "--webhook"]
    with receiver(silent=True) as one:
        child = subprocess.Popen([sys.executable, "-m", "ragworthy", "monitor", *words, one.url, "--follow"], cwd=ROOT)
        end = time.monotonic() + 20
        while not out.exists() or out.read_bytes().count(b"\n") < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        child.kill()
        child.wait()
    with receiver() as one:
        for _ in range(2):
            run(*words, one.url, "--once", "--close")
        assert [alert["state"] for alert in one.taken] == ["firing", "resolved"]


def test_a_receiver_that_never_answers_keeps_nobody_waiting() -> None:
    with receiver(silent=True) as one:
        hook = Webhook(one.url)
        begun = time.monotonic()
        taken = [hook.offer(nth, b"{}") for nth in range(1, 2 * MOST_WAITING)]
        assert time.monotonic() - begun < 2
        assert MOST_WAITING <= sum(taken) <= MOST_WAITING + 1
        counts = hook.close(0.2)
        assert (counts.sent, counts.dropped) == (0, sum(taken))


def test_no_address_is_told(tmp_path: Path) -> None:
    done = run(troubled(tmp_path / "live.jsonl"), "--once", "--webhook", "nowhere")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("--webhook: expected an address, got ")
