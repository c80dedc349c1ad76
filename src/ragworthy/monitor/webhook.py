"""Alerts to an address, in a thread of its own: a slow receiver keeps nobody waiting."""

import asyncio
import threading
from collections import deque
from typing import NamedTuple

from ragworthy.errors import usage_error
from ragworthy.wire.address import parsed
from ragworthy.wire.again import sent
from ragworthy.wire.client import Answer, Client

MOST_WAITING = 1000
RETRIES = 5
PATIENCE = 60.0
"""Seconds for an alert, with all its tries."""
_LARGEST = 1 << 20


class Counts(NamedTuple):
    """What became of alerts."""

    sent: int
    failed: int
    """After all their tries."""
    dropped: int
    """Because too many waited, or time was up."""


class Webhook:
    """Posts alerts one after the other."""

    def __init__(self, url: str) -> None:
        try:
            place = parsed(url)
            self._client = Client(place, "--webhook", most_bytes=_LARGEST)
        except ValueError as error:
            raise usage_error(f"--webhook: expected an address, {error}") from None
        self.done = 0
        """The last alert that is sent, or given up."""
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._changed = threading.Condition()
        self._ending = False
        self._sent = self._failed = self._dropped = self._busy = 0
        self._thread = threading.Thread(target=self._run, name="ragworthy-webhook", daemon=True)
        self._thread.start()

    @property
    def counts(self) -> Counts:
        """What became of alerts so far."""
        return Counts(self._sent, self._failed, self._dropped)

    def offer(self, nth: int, body: bytes) -> bool:
        """Take an alert, if there is room; returns at once."""
        with self._changed:
            if len(self._waiting) >= MOST_WAITING:
                return False
            self._waiting.append((nth, body))
            self._changed.notify_all()
            return True

    def give_up(self) -> None:
        """Count an alert for which there is no room, and which nobody keeps."""
        with self._changed:
            self._dropped += 1

    def close(self, seconds: float) -> Counts:
        """Wait so long for what is left; the rest is given up and counted."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self._thread.join(seconds)
        with self._changed:
            self._dropped += len(self._waiting) + self._busy
            self._waiting.clear()
            self._busy = 0
        return self.counts

    def _run(self) -> None:
        asyncio.run(self._posting())

    async def _posting(self) -> None:
        await self._client.open()
        try:
            while (one := await asyncio.to_thread(self._next)) is not None:
                nth, body = one
                done = await sent(self._client, body, PATIENCE, retries=RETRIES, name=f"alert {nth}")
                good = isinstance(done.got, Answer) and done.got.is_success
                with self._changed:
                    self._busy = 0
                    self._sent += good
                    self._failed += not good
                    self.done = nth
        finally:
            await self._client.close()

    def _next(self) -> tuple[int, bytes] | None:
        with self._changed:
            while not self._waiting:
                if self._ending:
                    return None
                self._changed.wait()
            self._busy = 1
            return self._waiting.popleft()
