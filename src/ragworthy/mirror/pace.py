"""How fast a shadow is asked, and how much at most: a rate, a number of requests, an amount of money.

Every request is counted in a file before it leaves, one byte each. So a budget holds over any number of runs, however
they ended: what was sent by one that was killed is known to the next.
"""

import os
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from ragworthy.metrics.cost import Price, Prices, spend_of

FILE = "requests"
_AGAIN = 0.02
"""Seconds after which it is looked again whether there is room in the budget."""


class Pace:
    """When the next question may leave."""

    def __init__(
        self,
        folder: Path,
        *,
        rate: float | None = None,
        requests: int | None = None,
        spend: Fraction | None = None,
        price: Fraction | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`price` is that of a thousand tokens."""
        folder.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(
            folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666
        )
        self.sent = os.fstat(self._handle).st_size
        """Requests, those of earlier runs among them."""
        self._before = self.sent
        self._known = 0
        self._gap = 0.0 if rate is None else 1 / rate
        self._requests, self._most = requests, spend
        self._prices = Prices("", (Price(None, None, price, price),)) if price is not None else None
        self._clock = clock
        self._due = float("-inf")
        self.replied = 0
        self.spent = Fraction(0)
        self._dearest = Fraction(0)
        self.unknown = ""
        """Why nobody knows what a reply cost; nothing more is asked then, where there is a limit."""
        self.over = ""
        """Which budget is used up."""

    def admit(self) -> float | None:
        """0 where a question may leave now: it is counted; else how long to wait; None where the budget is used up."""
        if self._requests is not None and self.sent >= self._requests:
            self.over = f"{self._requests} requests"
            return None
        if (wait := self._paid()) != 0:
            return wait
        now = self._clock()
        if self._due > now:
            return self._due - now
        self._due = now + self._gap
        os.write(self._handle, b".")
        self.sent += 1
        return 0

    def _paid(self) -> float | None:
        """Whether there is money for one more. What is under way may cost as much as the most expensive reply."""
        if self._most is None:
            return 0
        if self.unknown:
            self.over = f"a spend of {float(self._most):g}: what a reply costs is not known ({self.unknown})"
            return None
        under_way = self.sent - self._before - (self.replied - self._known)
        if not self.replied and under_way:
            return _AGAIN  # nobody knows yet what one costs
        lost = max(0, self._before - self._known)  # sent by a run that was killed before it had the reply
        spent = self.spent + lost * self._dearest
        if self._most <= 0 or spent + self._dearest > self._most:
            self.over = f"a spend of {float(self._most):g}"
            return None
        return 0 if spent + (under_way + 1) * self._dearest <= self._most else _AGAIN

    def know(self, usage: Any, *, errored: bool) -> None:
        """Note what a reply cost that an earlier run got."""
        self._known += 1
        self.take(usage, errored=errored)

    def take(self, usage: Any, *, errored: bool) -> None:
        """Note what a reply cost."""
        self.replied += 1
        if self._most is None:
            return
        cost = spend_of(usage if isinstance(usage, dict) else None, self._prices, errored=errored)
        if isinstance(cost, str):
            self.unknown = cost
        else:
            self.spent += cost
            self._dearest = max(self._dearest, cost)

    def close(self) -> None:
        """Have the count on the disk."""
        os.fsync(self._handle)
        os.close(self._handle)
