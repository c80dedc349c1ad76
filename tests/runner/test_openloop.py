"""The open loop holds its rate, counts from the due time and hides no stall; a closed loop shown beside it does."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragworthy.runner.contract import Ask, Reply, checked
from ragworthy.runner.openloop import Fired, fire, held, schedule

SERVER = """
import asyncio, json, sys

SERVICE = float(sys.argv[1])
BODY = json.dumps({"answer_json": {"claim": "yes", "citations": []}, "retrieved_ids": []}).encode()

async def serve(reader, writer):
    head = await reader.readuntil(b"\\r\\n\\r\\n")
    size = int(head.lower().partition(b"content-length:")[2].partition(b"\\r\\n")[0])
    await reader.readexactly(size)
    await asyncio.sleep(SERVICE)
    writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\nconnection: close\\r\\n"
                 b"content-length: %d\\r\\n\\r\\n" % len(BODY) + BODY)
    await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""
STALL = 2.0


class Served(NamedTuple):
    """A server in a process of its own."""

    pid: int
    port: int


@contextmanager
def serving(service: float) -> Iterator[Served]:
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(service)], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        try:
            yield Served(process.pid, int(process.stdout.readline()))
        finally:
            process.kill()


class Loopback:
    """A target over plain sockets: what it adds to the server's time is as little as can be."""

    name = "loopback"

    def __init__(self, port: int) -> None:
        self.port = port

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        import json

        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            body = json.dumps({"qid": ask.qid, "q": ask.q}).encode()
            writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            whole = await reader.read()
            writer.close()
            await writer.wait_closed()
        return checked(json.loads(whole.partition(b"\r\n\r\n")[2]))


class Local:
    """A target in this process that does what it is told."""

    name = "local"

    def __init__(self, *, sleeps: float = 0.0, blocks: float = 0.0, every: int = 1, unreachable: bool = False) -> None:
        self.sleeps, self.blocks, self.every, self.unreachable = sleeps, blocks, every, unreachable
        self.asked: list[str] = []
        self.cancelled = 0

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        self.asked.append(ask.qid)
        if self.blocks and len(self.asked) % self.every == 1 % self.every:
            time.sleep(self.blocks)  # the point: nothing else runs meanwhile
        try:
            await asyncio.sleep(self.sleeps)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.unreachable:
            return Reply({}, "unreachable: connection refused", 1, True)
        return Reply({"retrieved_ids": []})


def asks(count: int) -> list[Ask]:
    return [Ask(f"Q{place}", f"question {place}?") for place in range(count)]


def fired(work: Coroutine[Any, Any, Fired]) -> Fired:
    return asyncio.run(work)


def test_the_rate_is_held_however_slow_the_target_is() -> None:
    with serving(0.4) as served:
        done = fired(fire(Loopback(served.port), asks(121), 20, 30))
    assert [shot.reply.error for shot in done.shots] == [None] * 121
    assert done.rate == 20
    assert done.held_rate == pytest.approx(20, rel=0.02)  # one client that waits for replies could hold 2.5
    assert done.most_in_flight >= 7  # 20 a second, 0.4 s each: about 8 at a time
    assert min(shot.e2e_ms for shot in done.shots) >= 399


def expected(due: float, stopped: float, resumed: float, service: float) -> float:
    """Seconds from due to reply at a server that does nothing between two moments."""
    if stopped <= due < resumed:
        return resumed - due + service
    return max(service, resumed - due) if due < stopped < due + service else service


async def one_by_one(target: Loopback, seconds: float) -> list[float]:
    """A closed loop with one client: each question waits for the reply to the one before."""
    times = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        await target.ask(Ask("Q", "q"), 30)
        times.append(time.perf_counter() - began)
    return times


def test_a_stall_shows_in_full_and_a_closed_loop_hides_it() -> None:
    service, rate, count = 0.2, 20, 160
    moments: list[float] = []

    async def stall(pid: int) -> None:
        await asyncio.sleep(3)
        os.kill(pid, signal.SIGSTOP)
        moments.append(time.time())
        await asyncio.sleep(STALL)
        os.kill(pid, signal.SIGCONT)
        moments.append(time.time())

    async def both(served: Served) -> tuple[Fired, list[float]]:
        target = Loopback(served.port)
        opened, closed, _ = await asyncio.gather(
            fire(target, asks(count), rate, 30), one_by_one(target, count / rate), stall(served.pid)
        )
        return opened, closed

    with serving(service) as served:
        opened, closed = asyncio.run(both(served))
    stopped, resumed = moments
    wanted = np.array([expected(shot.at, stopped, resumed, service) for shot in opened.shots])
    seen = np.array([shot.e2e_ms / 1000 for shot in opened.shots])
    during = [place for place, shot in enumerate(opened.shots) if stopped <= shot.at < resumed]
    lasted = resumed - stopped  # a slow machine may wake up late
    assert lasted >= STALL
    assert len(during) == pytest.approx(rate * lasted, abs=3)
    assert wanted[during].max() == pytest.approx(lasted + service, abs=0.1)
    off = seen - wanted
    turns = (stopped - service, stopped, resumed)  # a slow machine may bring a question to the other side of these
    sure = [p for p, shot in enumerate(opened.shots) if not any(-0.2 < shot.at - turn < 0.05 for turn in turns)]
    assert len(set(sure) & set(during)) >= 30
    assert off[sure].min() > -0.03, "nobody can be answered before the server goes on"
    assert np.median(np.abs(off[during])) < 0.15
    assert np.abs(off[sure]).max() < 0.6
    p95 = float(np.percentile(seen, 95))
    assert p95 == pytest.approx(float(np.percentile(wanted, 95)), abs=0.3)
    assert p95 > 1.4

    assert len(closed) >= 21
    assert max(closed) > STALL - 0.1, "the closed loop met the same stall, once"
    assert float(np.percentile(closed, 95)) < service + 0.3, "and its P95 does not know of it"


def test_latency_and_lag_count_from_the_due_time() -> None:
    done = fired(fire(Local(blocks=0.1), asks(5), 50, 5))
    for place, shot in enumerate(done.shots):  # question n is due at 20n ms and has to wait for n blocks of 100 ms
        assert shot.lag_ms >= 80 * place - 1
        assert shot.e2e_ms >= shot.lag_ms + 99
    assert done.shots[4].at - done.shots[0].at == pytest.approx(4 / 50)


def test_lateness_does_not_add_up() -> None:
    done = fired(fire(Local(blocks=0.05, every=10), asks(150), 100, 5))
    assert max(shot.lag_ms for shot in done.shots) > 35
    # sleeping 10 ms between questions would lose 40 ms in every 100 ms and give 71 a second
    assert done.held_rate == pytest.approx(100, rel=0.1)


def test_over_the_limit_a_question_is_an_error_and_never_waits() -> None:
    target = Local(sleeps=1.0)
    done = fired(fire(target, asks(6), 100, 5, most_in_flight=4))
    assert [shot.reply.error for shot in done.shots] == [None] * 4 + ["overload: 4 questions were in flight"] * 2
    assert [shot.reply.attempts for shot in done.shots] == [1, 1, 1, 1, 0, 0]
    assert target.asked == ["Q0", "Q1", "Q2", "Q3"]
    assert (done.most_in_flight, done.overloaded) == (4, 2)
    assert max(shot.e2e_ms for shot in done.shots[4:]) < 500


def test_warm_up_comes_first_at_the_same_rate_and_is_flagged() -> None:
    target = Local()
    done = fired(fire(target, asks(3), 50, 5, warmup=4))
    assert target.asked == ["Q0", "Q1", "Q2", "Q0", "Q0", "Q1", "Q2"]
    assert [shot.warmup for shot in done.shots] == [True] * 4 + [False] * 3
    gaps = np.diff([shot.at for shot in done.shots])
    assert gaps == pytest.approx([0.02] * 6)


def test_the_held_rate_leaves_warm_up_out() -> None:
    done = fired(fire(Local(), asks(1), 50, 5, warmup=3))
    assert done.held_rate is None
    assert held([1.0, 1.25, 2.0]) == 2.0


def test_nothing_to_ask() -> None:
    assert fired(fire(Local(), [], 5, 5, warmup=3)) == Fired((), 5, None, 0, 0)


def test_a_target_that_is_not_there_is_given_up_early() -> None:
    target = Local(unreachable=True)
    done = fired(fire(target, asks(500), 50, 5))
    assert done.hopeless
    assert 10 <= len(target.asked) < 60
    few = fired(fire(Local(unreachable=True), asks(3), 50, 5))
    assert few.hopeless
    assert len(few.shots) == 3


def test_progress_is_told_after_every_reply() -> None:
    heard: list[tuple[int, int, int]] = []
    fired(fire(Local(), asks(3), 50, 5, told=lambda done, flying, errors: heard.append((done, flying, errors))))
    assert heard == [(1, 0, 0), (2, 0, 0), (3, 0, 0)]


def test_stopping_leaves_nothing_in_flight() -> None:
    target = Local(sleeps=30)

    async def stopped() -> int:
        work = asyncio.create_task(fire(target, asks(100), 50, 60))
        await asyncio.sleep(0.3)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        return len(asyncio.all_tasks())

    assert asyncio.run(stopped()) == 1
    assert target.cancelled == len(target.asked) > 0


@given(st.integers(2, 300), st.floats(0.1, 500), st.integers(0, 10**6))
def test_random_gaps_keep_the_rate(count: int, rate: float, seed: int) -> None:
    offsets = schedule(count, rate, seed)
    assert len(offsets) == count
    assert offsets[0] == 0
    assert offsets == sorted(offsets)
    assert offsets[-1] == pytest.approx((count - 1) / rate)
    assert offsets == schedule(count, rate, seed)


def test_random_gaps_look_like_those_of_independent_users() -> None:
    gaps = np.diff(schedule(5000, 1.0, 7))
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.06)  # exponential: deviation equals mean
    assert np.mean(gaps < np.log(2)) == pytest.approx(0.5, abs=0.03)  # and its median is log 2
