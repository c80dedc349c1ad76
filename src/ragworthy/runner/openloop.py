"""An open loop: questions leave on a fixed schedule, whatever is still in flight.

Latency is counted from the moment a question was due, not from the moment it left. A target that stalls therefore
shows the whole wait of everybody who would have come meanwhile, and so does a sender that is late.
"""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from itertools import accumulate, cycle, islice
from typing import NamedTuple

import msgspec

from ragworthy.runner.contract import Ask, Reply, Target
from ragworthy.runner.faults import SURE, same_fault

_LEAD = 0.05
"""Seconds between the start and the first question."""
_NEAR = 0.002
"""Seconds before a question is due from which on the clock is watched instead of slept by."""
Told = Callable[[int, int, int], None]
"""Hears how many are done, in flight and errored."""


class Shot(NamedTuple):
    """One question that left, and what came of it; times in milliseconds."""

    ask: Ask
    warmup: bool
    at: float
    """When it was due, in seconds since 1970."""
    lag_ms: float
    """How much later than due it left."""
    e2e_ms: float
    """From due to replied."""
    reply: Reply


class Fired(NamedTuple):
    """Everything that left, in the order of the schedule, and the rate at which it did."""

    shots: tuple[Shot, ...]
    rate: float
    held_rate: float | None
    """Questions a second as they really left, warm-up and overload left out; None below two questions."""
    most_in_flight: int
    overloaded: int
    """How many were not asked, for too many were in flight."""
    hopeless: bool = False
    """Whether it was given up because the first questions all reached nothing, or all got the same useless reply."""


class _Loop:
    """What is in flight, and what has come back."""

    def __init__(self, target: Target, timeout: float, limit: int, told: Told | None) -> None:
        self.target, self.timeout, self.limit, self.told = target, timeout, limit, told
        self.shots: dict[int, Shot] = {}
        self.sent: dict[int, float] = {}
        self.flying = self.most = self.errors = self.overloaded = 0

    async def shoot(self, place: int, ask: Ask, warmup: bool, due: float, at: float) -> None:
        """Ask one question now and note what comes back, or that there was no room for it."""
        left = time.perf_counter()
        if self.flying >= self.limit:
            self.overloaded += 1
            reply = Reply({}, f"overload: {self.limit} questions were in flight", 0)
        else:
            self.sent[place] = left
            self.flying += 1
            self.most = max(self.most, self.flying)
            try:
                reply = await self.target.ask(ask, self.timeout)
            finally:
                self.flying -= 1
        took = time.perf_counter() - due
        self.errors += reply.error is not None
        if reply.error is None:  # what came back is told only where it is wrong
            reply = msgspec.structs.replace(reply, raw="")
        self.shots[place] = Shot(ask, warmup, at, _ms(left - due), _ms(took), reply)
        if self.told is not None:
            self.told(len(self.shots), self.flying, self.errors)

    def hopeless(self, total: int) -> bool:
        """Whether the first questions have all come back without having reached anything, or with the same mistake."""
        first = [shot.reply for place in range(min(SURE, total)) if (shot := self.shots.get(place)) is not None]
        if len(first) < min(SURE, total):
            return False
        faults = {same_fault(reply.error) for reply in first}
        return all(reply.unreachable for reply in first) or (
            len(first) == SURE and len(faults) == 1 and None not in faults
        )


async def fire(
    target: Target,
    asks: Sequence[Ask],
    rate: float,
    timeout: float,
    *,
    most_in_flight: int = 1000,
    warmup: int = 0,
    warm: Sequence[Ask] = (),
    poisson: int | None = None,
    told: Told | None = None,
    keep_going: bool = False,
) -> Fired:
    """Ask everything at `rate` questions a second, after the questions in `warm`, or `warmup` of them, at that rate.

    The target is open. With `poisson`, a seed, the gaps are drawn like those between independent users. Unless it is to
    `keep_going`, it ends when the first questions reach nothing, or all get the same useless reply.
    """
    head = list(warm or islice(cycle(asks), warmup)) if asks else []
    planned = [(ask, True) for ask in head] + [(ask, False) for ask in asks]
    offsets = schedule(len(head), rate) + [len(head) / rate + one for one in schedule(len(asks), rate, poisson)]
    loop = _Loop(target, timeout, most_in_flight, told)
    start = time.perf_counter() + _LEAD
    wall = time.time() + _LEAD
    tasks: list[asyncio.Task[None]] = []
    try:
        for place, ((ask, first), offset) in enumerate(zip(planned, offsets, strict=True)):
            await _until(start + offset)
            if not keep_going and loop.hopeless(len(planned)):
                break
            tasks.append(asyncio.create_task(loop.shoot(place, ask, first, start + offset, wall + offset)))
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    shots = tuple(loop.shots[place] for place in sorted(loop.shots))
    sent = [loop.sent[place] for place in sorted(loop.sent) if place >= len(head)]
    hopeless = bool(planned) and not keep_going and loop.hopeless(len(planned))
    return Fired(shots, rate, held(sent), loop.most, loop.overloaded, hopeless)


def schedule(count: int, rate: float, poisson: int | None = None) -> list[float]:
    """When each question is due, in seconds after the first; random gaps are scaled to keep the rate exactly.

    >>> schedule(4, 20)
    [0.0, 0.05, 0.1, 0.15]
    >>> round(schedule(4, 20, poisson=1)[-1], 9)
    0.15
    """
    if poisson is None or count < 2:
        return [place / rate for place in range(count)]
    draw = random.Random(f"ragworthy.openloop:{poisson}")  # noqa: S311 - a load pattern, not a secret
    gaps = [draw.expovariate(1.0) for _ in range(count - 1)]
    scale = (count - 1) / rate / sum(gaps)
    return list(accumulate((gap * scale for gap in gaps), initial=0.0))


def held(sent: Sequence[float]) -> float | None:
    """Questions a second between the first and the last that left.

    >>> held([0.0, 0.5, 1.0]), held([0.0])
    (2.0, None)
    """
    span = max(sent) - min(sent) if sent else 0.0
    return (len(sent) - 1) / span if span > 0 else None


async def _until(due: float) -> None:
    """Sleep until just before, then let the others work until the moment has come."""
    await asyncio.sleep(due - time.perf_counter() - _NEAR)
    while time.perf_counter() < due:
        await asyncio.sleep(0)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
