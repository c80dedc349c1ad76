"""Several logs at once: always the one that is furthest behind goes on, so that their minutes close together."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from ragworthy.files import shown_path
from ragworthy.live.minutes import Minute
from ragworthy.live.shapes import Live
from ragworthy.monitor.intake import Intake, Source
from ragworthy.monitor.logs import Log, identity
from ragworthy.monitor.problems import COPIED
from ragworthy.monitor.times import MILLION, MINUTE, microseconds

QUIET = 120
"""A log that did not grow for so many seconds holds no minute open."""
MOVED = 5
"""The same for a log that was moved away: who writes has a new one by then."""
_SAME = 1 << 16
_LONG_AGO = -(1 << 62)


class Feed:
    """A log while it is read."""

    __slots__ = ("ended", "first", "home", "id", "log", "seen", "source")

    def __init__(self, id: str, log: Log, source: Source, first: int) -> None:
        self.id = id
        self.log = log
        self.home = log.path
        """Where it was found first."""
        self.source = source
        self.first = first
        """The time of its first record."""
        self.ended = False
        self.seen = -1
        """How long the file was when it was looked at last."""

    @property
    def mark(self) -> int:
        """Up to where it was read."""
        return self.first if self.source.mark is None else self.source.mark


class Reading:
    """Logs, and the minutes that close as they are read. `whole` says that the logs have ended and grow no more."""

    def __init__(self, intake: Intake, *, whole: bool, known: Mapping[str, Source] | None = None) -> None:
        self.intake = intake
        self.whole = whole
        self.feeds: dict[str, Feed] = {}
        self.known = dict(known or {})
        """Logs that were read before."""
        self.changed: dict[str, Source] = {}
        """Logs of which something was read since the state was kept."""
        self._looked: dict[str, tuple[int, int, int]] = {}
        """Which file each path led to, and how long it was, when it was looked at."""

    def add(self, path: Path, *, whole: bool | None = None) -> Feed | None:
        """Begin with a log, or go on with it; None where it has no line yet, or is a copy of another one."""
        log = Log(path, whole=self.whole if whole is None else whole)
        before, size = self._looked.get(str(path)), log.size()
        if before is not None and log.is_the(before) and size >= before[2]:
            return None  # it was looked at, and has only grown
        first = log.first()
        if not first:
            return None
        self._looked[str(path)] = log.mark()
        name = identity(first)
        there = self.feeds.get(name)
        if there is not None:
            if there.log.is_at(path):
                there.log.path = path  # perhaps under another name
                return None
            if _same_start(there.log, log):
                if self.whole:
                    self.intake.problems.add(COPIED, shown_path(path))
                return None
            name = identity(first + b"\n" + str(path).encode())
            if name in self.feeds:
                return None
        source = self.known.get(name)
        if source is None:
            source = self.known[name] = Source(shown_path(path))
        return self.begin(name, log, source, _first_time(first))

    def begin(self, name: str, log: Log, source: Source | None = None, first: int = _LONG_AGO) -> Feed:
        """Read a log under a name of its own, from where it was read last."""
        source = source or self.known.setdefault(name, Source(name))
        log.seek(source.offset)
        self.feeds[name] = feed = Feed(name, log, source, first)
        return feed

    def read(self, now: int) -> list[Minute] | None:
        """Read a block of the log that is furthest behind; the minutes that this closes. None at the end of all."""
        going = [feed for feed in self.feeds.values() if not feed.ended]
        if not going:
            return None
        feed = min(going, key=lambda one: one.mark)
        self.changed[feed.id] = feed.source
        block = feed.log.read()
        if block is None:
            feed.ended = True
            feed.log.close() if self.whole or feed.log.packed else None
            if self.whole:
                self.intake.end(feed.source, now)
        else:
            self.intake.take(feed.source, block, now)
        return self.intake.close(self.over())

    def wake(self) -> None:
        """Go on with logs that grew, begin anew with those that were cut, and let go of those that were moved away."""
        for feed in list(self.feeds.values()):
            if not feed.ended or feed.log.packed:
                continue
            size = feed.log.size()
            if size > feed.log.offset and size != feed.seen:
                feed.ended, feed.seen = False, size
            elif size < feed.log.offset or (_quiet(feed) and not feed.log.is_at(feed.home)):
                feed.log.close()
                del self.feeds[feed.id]
                for path in (feed.home, feed.log.path):
                    self._looked.pop(str(path), None)

    def over(self) -> int:
        """The last minute that is over for every log that may still say something of it."""
        live = [feed for feed in self.feeds.values() if not feed.ended or not (self.whole or self._done(feed))]
        live = [feed for feed in live if not feed.ended or feed.mark > _LONG_AGO]
        if live:
            behind = min(feed.mark for feed in live)
        else:
            behind = max((feed.mark for feed in self.feeds.values()), default=_LONG_AGO)
        if behind == _LONG_AGO:
            return self.intake.closed
        return max(-(-(behind - self.intake.lateness) // MINUTE) - 1, self.intake.closed)

    def _done(self, feed: Feed) -> bool:
        """Whether a log that was read to its end holds no minute open: it is quiet, or another one goes on after it."""
        after = feed.mark - self.intake.lateness
        return any(other.first >= after for other in self.feeds.values() if other is not feed) or _quiet(feed)

    def finish(self, now: int) -> list[Minute]:
        """Nothing more comes: every minute is over."""
        for feed in self.feeds.values():
            self.changed[feed.id] = feed.source
            self.intake.end(feed.source, now)
        last = max(self.intake.open, default=self.intake.closed)
        return self.intake.close(last)


def _quiet(feed: Feed) -> bool:
    """Whether a log holds no minute open any more: it did not grow for a while, or was moved away."""
    return feed.log.age() > (QUIET if feed.log.is_at(feed.home) else MOVED)


def _first_time(line: bytes) -> int:
    try:
        record = msgspec.json.decode(line, type=Live)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _LONG_AGO
    given = next((one for one in (record.ts, record.timestamp, record.started) if one is not None), None)
    at = microseconds(given)
    return _LONG_AGO if at is None else at


def _same_start(one: Log, other: Log) -> bool:
    """Whether two files begin alike, as far as both go."""
    starts = one.start(_SAME), other.start(_SAME)
    size = min(map(len, starts))
    return starts[0][:size] == starts[1][:size]


def now() -> int:
    """The present, in microseconds."""
    return round(time.time() * MILLION)


def closing(reading: Reading, present: int) -> Iterator[Minute]:
    """Every minute of logs that have ended."""
    while (minutes := reading.read(present)) is not None:
        yield from minutes
    yield from reading.finish(present)


def opened(intake: Intake, paths: Sequence[Path], *, whole: bool) -> Reading:
    """A reading of some files."""
    reading = Reading(intake, whole=whole)
    for path in paths:
        reading.add(path)
    return reading
