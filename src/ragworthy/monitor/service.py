"""The monitor that goes on: logs that grow and are rotated, spans that are sent, minutes that the clock closes."""

import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from ragworthy.monitor.alerts import Told
from ragworthy.monitor.listen import Listener
from ragworthy.monitor.logs import found, same
from ragworthy.monitor.reading import Feed, now
from ragworthy.monitor.running import Monitor
from ragworthy.monitor.spool import SpoolLog
from ragworthy.monitor.summary import summary
from ragworthy.monitor.times import MILLION, MINUTE
from ragworthy.monitor.view import Screen

PAUSE = 0.2
"""Seconds between two looks at logs that did not grow."""
LOOK = 1.0
"""Seconds between two looks for new logs."""
GRACE = 60 * MILLION
"""Where nothing comes, the clock closes a minute so long after records of it would be late."""
LAST = 5.0
"""Seconds that are spent on what was received, before the end."""
RECEIVED = "received"
"""The name of what was sent here, among the logs."""
LIVE = 2 * 3600 * MILLION
"""A log whose last record is older is not a live one: its minutes are closed by its own records alone."""


class Service:
    """Reads on until it is stopped."""

    def __init__(self, monitor: Monitor, logs: Sequence[str], screen: Screen, listener: Listener | None = None) -> None:
        self.monitor = monitor
        self.logs = list(logs)
        self.screen = screen
        self.reading = monitor.reading(whole=False)
        self.listener = listener
        self.received = None if listener is None else self.reading.begin(RECEIVED, SpoolLog(listener.spool))
        self.stopped = threading.Event()
        self._looked = 0.0
        self._dirty = False

    def run(self) -> None:
        """Until a signal ends it; what was read is kept."""
        before = {one: signal.signal(one, self._stop) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not self.stopped.is_set():
                if not self.turn():
                    self.stopped.wait(PAUSE)
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
            self._read_out()
            self.monitor.keep(self.reading, at_once=True)
            self.screen.draw(lambda: summary(self.monitor), at_once=True)

    def _read_out(self) -> None:
        """Take nothing more, and read what was taken; what is left after a while is read by the next run."""
        if self.listener is None or self.received is None:
            return
        self.listener.stop()
        end = time.monotonic() + LAST
        while self.received.source.offset < self.listener.spool.end and time.monotonic() < end:
            self.turn()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopped.set()

    def turn(self) -> bool:
        """Read a block, if there is one; whether there was."""
        if time.monotonic() - self._looked >= LOOK:
            self.look()
        minutes = self.reading.read(now())
        if minutes is None:
            self.reading.wake()
            over = self.reading.close(self.reading.over())
            self._dirty = self._dirty or bool(over)
            self._tell(self.monitor.take(over))
            self._tell(self._by_clock(now()))
            self._keep()
            return any(not feed.ended for feed in self.reading.feeds.values())
        self._dirty = True
        self._tell(self.monitor.take(minutes))
        self._keep()
        return True

    def look(self) -> None:
        """For logs that are new."""
        file = self.monitor.file

        def listing() -> list[Path]:
            return [path for path in found(self.logs, growing=True) if file is None or not same(path, file.path)]

        self.reading.look(listing)
        self._looked = time.monotonic()

    def _keep(self) -> None:
        if self._dirty and self.monitor.keep(self.reading):
            if self.listener is not None and self.received is not None:
                self.listener.spool.done(self.received.source.offset)
            self._dirty = any(not feed.ended for feed in self.reading.feeds.values())

    def _tell(self, alerts: list[Told]) -> None:
        self.screen.alerts(alerts)
        self.screen.draw(lambda: summary(self.monitor))

    def _by_clock(self, present: int) -> list[Told]:
        """Nothing is left to read: what is over by the clock is closed."""
        intake = self.monitor.intake
        due = present - intake.lateness - GRACE
        until = due // MINUTE
        if until <= intake.closed or not any(
            _latest(feed, due) > present - LIVE for feed in self.reading.feeds.values()
        ):
            return []
        self._dirty = True
        alerts = self.monitor.take(self.reading.close(until))
        return [*alerts, *self.monitor.until(until)]


def _latest(feed: Feed, due: int) -> int:
    """The latest time of a log; what waits for more of it says something only once its time is past. 0 without any."""
    source = feed.source
    return max([source.mark or 0, *(one.at for one in source.waiting if one.at <= due)])
