"""What replies in a row say of a target: whether it is away for a moment, makes the same mistake again, or is dead.

A reply is recorded as soon as it is known to count. Those that make the same mistake are held back until it is known
whether all do. Those that reached nothing, or were told to come later, are asked once more when the others are done.
"""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from ragworthy.errors import DataError
from ragworthy.runner.contract import Ask, Reply, reason_of
from ragworthy.runner.faults import SURE, give_up, same_fault

PATIENCE = 30.0
"""So many seconds a target may be away, once it has answered, before it counts as dead; less with a short timeout."""
_FIRST, _LONGEST = 0.25, 5.0
"""Seconds before the next question after the first reply of a target that is away, and the most of them."""
_BUSY = re.compile(r"status (408|425|429|502|503|504)(?![0-9])")
_BROKE = "died: the connection broke"
_AWAY = "away"


class Asked(NamedTuple):
    """One question with its reply."""

    n: int
    ask: Ask
    reply: Reply
    e2e_ms: float
    started: str


class Clock:
    """When a question left, and how long it took."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._begun = time.perf_counter()

    def asked(self, n: int, ask: Ask, reply: Reply) -> Asked:
        """The question with its reply, now."""
        return Asked(n, ask, reply, round((time.perf_counter() - self._begun) * 1000, 3), self.started)


def is_away(reply: Reply) -> bool:
    """Whether nothing was reached, or the target said that it may answer later.

    >>> is_away(Reply({}, "status 503: loading")), is_away(Reply({}, "status 500: oops"))
    (True, False)
    """
    return reply.unreachable or bool(_BUSY.match(reply.error or ""))


def may_pass(reply: Reply) -> bool:
    """Whether the same question may be answered a little later: the target is away, or the connection broke."""
    return is_away(reply) or (reply.error or "").startswith(_BROKE)


class Streak:
    """The replies of one drive, as they come."""

    def __init__(
        self, name: str, record: Callable[[Asked], None], *, again: bool, keep_going: bool, patience: float, sure: int
    ) -> None:
        self._name, self._record = name, record
        self._again, self._keep_going = again, keep_going
        self._patience, self._sure = min(PATIENCE, patience), sure
        self.later: list[tuple[int, Ask]] = []
        """What is asked once more, when nothing else is left."""
        self.given_up: DataError | None = None
        self._before: dict[int, int] = {}
        """How often each question was sent that is asked once more."""
        self._held: list[Asked] = []
        self._fault: str | None = None
        """What all replies that are held have in common."""
        self._row = 0
        """How many replies in a row have it."""
        self._qids: list[str] = []
        """The question of each of them."""
        self._since = 0.0
        self._others = False
        """Whether a reply of another kind came before those that are held."""
        self._passing = 0
        """How many replies in a row may have been better a little later."""

    def take(self, asked: Asked) -> None:
        """Record a reply; hold those back that make the same mistake until it is known whether all do."""
        reply = asked.reply
        self._passing = self._passing + 1 if may_pass(reply) else 0
        fault = None if self._keep_going else self._fault_of(reply)
        if fault is None or fault != self._fault:
            self._others = self._others or self._fault is not None or fault is None
            self._release()
            self._row, self._qids, self._since = 0, [], time.monotonic()
        self._fault = fault
        if fault is None:
            self._keep(asked)
        elif self.given_up is None:
            self._hold(asked)

    def pause(self) -> float:
        """Seconds to wait before the next question: a target that is away is not run down."""
        if not self._again or not self._passing or (self._fault == _AWAY and not self._others and self._lost):
            return 0.0
        return float(min(_LONGEST, _FIRST * 2 ** (self._passing - 1)))

    def ask_held_again(self) -> None:
        """Nothing else is left: what is held because the target was away is asked once more."""
        held, self._held = self._held, []
        for one in held:
            if not self._put_off(one):
                self._held.append(one)

    def end(self, *, stopped: bool) -> None:
        """Record what is held; what may pass is asked again by the next run where somebody stopped this one."""
        if self.given_up is None and not stopped and self._fault == _AWAY and self._row >= SURE and self._held:
            self._give_up()
        if self.given_up is not None:
            raise self.given_up
        held, self._held = self._held, []
        for one in held:
            if not (stopped and may_pass(one.reply)):
                self._write(one)

    @property
    def _lost(self) -> bool:
        return bool(self._held) and all(one.reply.unreachable for one in self._held)

    def _fault_of(self, reply: Reply) -> str | None:
        if reply.unreachable or (self._again and is_away(reply)):
            return _AWAY
        if reply.error is not None and reason_of(reply.error) == "timeout":
            return None if self._others else "timeout"
        return same_fault(reply.error)

    def _hold(self, asked: Asked) -> None:
        """Hold a reply back; when there are enough of them, ask no more, and let what is in flight finish."""
        self._held.append(asked)
        self._row += 1
        self._qids.append(asked.ask.qid)
        never = self._lost and not self._others
        waiting = self._fault == _AWAY and self._again and not never
        if self._row < (self._sure if never else SURE):
            return
        if waiting and time.monotonic() - self._since < self._patience:
            return
        self._give_up()
        self._held = []
        if asked.reply.unreachable and self.given_up is not None:
            raise self.given_up

    def _give_up(self) -> None:
        first = min(self._held, key=lambda one: one.n)  # the same one, whoever was quickest
        self.given_up = give_up(self._name, first.ask, first.reply, qids=self._qids, others=self._others)

    def _release(self) -> None:
        held, self._held = self._held, []
        for one in held:
            self._keep(one)

    def _keep(self, asked: Asked) -> None:
        if not self._put_off(asked):
            self._write(asked)

    def _put_off(self, asked: Asked) -> bool:
        """Whether a question is asked once more: its target was away, and it was not asked twice already."""
        if not self._again or asked.n in self._before or not may_pass(asked.reply):
            return False
        self._before[asked.n] = asked.reply.attempts
        self.later.append((asked.n, asked.ask))
        return True

    def _write(self, asked: Asked) -> None:
        before = self._before.get(asked.n, 0)
        if before:
            reply = msgspec.structs.replace(asked.reply, attempts=asked.reply.attempts + before)
            asked = asked._replace(reply=reply)
        self._record(asked)
