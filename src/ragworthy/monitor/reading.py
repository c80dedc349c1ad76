"""Several logs at once: always the one that is furthest behind goes on, so that their minutes close together."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragworthy.errors import DataError
from ragworthy.files import shown_path
from ragworthy.live.minutes import Minute
from ragworthy.live.shapes import Live
from ragworthy.monitor.intake import Intake
from ragworthy.monitor.logs import HEAD, START, Head, Log, Print, identity, longest
from ragworthy.monitor.problems import COPIED
from ragworthy.monitor.source import Source
from ragworthy.monitor.times import MILLION, microseconds, minute_of

QUIET = 120
"""A log that did not grow for so many seconds holds no minute open."""
MOVED = 5
"""The same for a log that was moved away: who writes has a new one by then."""
HOUR = 3600 * MILLION
"""A log that was read to its end holds no more of the others open."""
_FIRST = 3
"""So many records of a log are asked where it begins: the clock of one may be wrong."""
_LOOKS = 20
"""So often at most: some other program may rename files all the time."""
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
        """Up to where it was read; of a log without a mark where it begins, for all that is known."""
        if self.source.mark is not None:
            return self.source.mark
        return min([self.first, *(one.at for one in self.source.waiting)])


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
        self._looked: dict[str, _Look] = {}
        """What was found at each path."""
        self._families: dict[str, set[str]] = {}
        """The names of the logs that begin with the same line."""
        for name in self.known:
            self._families.setdefault(_family(name), set()).add(name)

    def look(self, listing: Callable[[], Iterable[Path]]) -> None:
        """Begin or go on with logs. Files that were read before come first: a copy must not take the place of one.

        A log may be renamed while this lists and opens files. It is then in the next listing only, and the log that
        goes on after it must not be read before: so look again until nothing has moved.
        """
        before: dict[Path, tuple[int, int] | None] | None = None
        for _ in range(_LOOKS):
            there = {path: Log(path, whole=False).place() for path in listing()}
            if there == before:
                break
            before, places = there, {source.place for source in self.known.values()}
            for path in sorted(there, key=lambda one: there[one] not in places):
                self.add(path)
        if not self.whole:
            self.wake()  # what a log got after its last look is older than the log that follows it

    def add(self, path: Path, *, whole: bool | None = None) -> Feed | None:
        """Begin with a log, or go on with it; None where it has no line yet, is a copy of another one, or cannot be
        told from another one until more is written.
        """
        log = Log(path, whole=self.whole if whole is None else whole)
        place, size = log.place(), log.size()
        before = self._looked.get(str(path))
        if (
            before is not None
            and before.place == place
            and (size == before.size or (before.sure and size > before.size))
        ):
            return None
        try:
            if not log.whole:
                log.open()
                place, size = log.place(), log.size()
            head = log.head()
        except DataError:
            if self.whole or os.path.lexists(path):
                raise
            return None  # renamed since it was found: it will be found again
        feed = self._begun(log, head, place, size)
        if feed is None:
            log.close()
        return feed

    def _begun(self, log: Log, head: bytes, place: tuple[int, int] | None, size: int) -> Feed | None:
        path, first = log.path, log.first(head)
        if not first:
            return None
        name = identity(first)
        family = [one for one in (*sorted(self._families.get(name, ())), _old(first, path)) if one in self.known]
        sure, source_name = self._told(log, head, family)
        self._looked[str(path)] = _Look(place, size, sure)
        if not sure or source_name is None:
            return None
        if source_name == "":
            source_name = next(one for one in _names(name) if one not in self.known)
            self.known[source_name] = Source(shown_path(path))
            self._families.setdefault(name, set()).add(source_name)
        source = self.known[source_name]
        known = source.print
        source.head = Head(head[: min(source.offset, HEAD) if known is None else known.length])
        source.place = place
        log.start = head[:START]
        return self.begin(source_name, log, source, _first_time(head))

    def _told(self, log: Log, head: bytes, family: Sequence[str]) -> tuple[bool, str | None]:
        """Whether it is sure what a file is, and which log: None for one that is read already, "" for a new one."""
        free = {name: self.known[name] for name in family if name not in self.feeds}
        found = longest(head, {name: source.print or Print() for name, source in free.items()})
        found.sort(key=lambda name: (free[name].place != log.place(), name))
        if found and free[found[0]].place == log.place() and log.size() >= free[found[0]].offset:
            return True, found[0]
        reading = [self.feeds[name] for name in family if name in self.feeds]
        for feed in reading:
            if feed.log.is_at(log.path):
                feed.log.path = log.path  # perhaps under another name
                return True, None
        for feed in reading:
            if not _alike(feed.log.start, head):
                continue
            other = feed.log.head()  # after `head`: a copy that is being made is never the longer one
            if other.startswith(head):
                if self.whole:
                    self.intake.problems.add(COPIED, shown_path(log.path))
                return self.whole or len(head) == HEAD, None
            # The longer one is the log, and all that was read is in both; unless more was read of it before.
            if head.startswith(other) and (not found or _read(feed.source) > _read(free[found[0]])):
                self._leave(feed)
                return True, feed.id
        found = found or [name for name, source in free.items() if source.print is None]
        fits = [name for name in found if log.packed or log.size() >= free[name].offset]
        if found and not fits and len(head) == HEAD:
            return False, None  # a copy that is shorter than what was read: nothing in it is new
        return True, fits[0] if fits else ""

    def _leave(self, feed: Feed) -> None:
        """Read a log from another file, which goes on further; this one is looked at again when it grows."""
        feed.log.close()
        del self.feeds[feed.id]
        if self.whole:
            self.intake.problems.add(COPIED, shown_path(feed.log.path))
        for path in {feed.home, feed.log.path}:
            self._looked[str(path)] = _Look(feed.log.place(), feed.log.size(), False)

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
        block = feed.log.read()
        if block is not None or feed.source.offset:  # what was never read is not a log to go on with
            self.changed[feed.id] = feed.source
        if block is None:
            feed.ended = True
            feed.log.close() if self.whole or feed.log.packed else None
            if self.whole:
                self.intake.end(feed.source, now)
        else:
            self.intake.take(feed.source, block, now)
        return self.close(self.over())

    def close(self, until: int) -> list[Minute]:
        """Close the minutes up to one. What waits for a log that holds none of them open counts now, or never."""
        if self.intake.held:
            for name, source in self.known.items():
                if source.waiting and minute_of(source.waiting[0].at) <= until:
                    self.intake.settle(source, until)
                    self.changed[name] = source
        return self.intake.close(until)

    def wake(self) -> None:
        """Go on with logs that grew, begin again with those that were cut, and let go of those that were moved away."""
        for feed in list(self.feeds.values()):
            if not feed.ended or feed.log.packed:
                continue
            size = feed.log.size()
            if feed.log.cut:
                self._drop(feed)
            elif size > feed.log.offset and size != feed.seen:
                feed.ended, feed.seen = False, size
            elif size < feed.log.offset or (_quiet(feed) and not feed.log.is_at(feed.home)):
                self._drop(feed)

    def _drop(self, feed: Feed) -> None:
        feed.log.close()
        del self.feeds[feed.id]
        for path in (feed.home, feed.log.path):
            self._looked.pop(str(path), None)

    def over(self) -> int:
        """The last minute that is over for every log that may still say something of it."""
        live = [feed for feed in self.feeds.values() if not feed.ended or not (self.whole or self._done(feed))]
        live = [feed for feed in live if not feed.ended or feed.mark > _LONG_AGO]
        if live:
            # Those that go on are read in step. One that has ended must not keep a day of the others open.
            furthest = max(feed.mark for feed in self.feeds.values())
            going = min((feed.mark for feed in live if not feed.ended), default=furthest)
            behind = max(min(feed.mark for feed in live), going - HOUR)
        else:
            behind = max((feed.mark for feed in self.feeds.values()), default=_LONG_AGO)
        if behind == _LONG_AGO:
            return self.intake.closed
        return max(self.intake.over(behind), self.intake.closed)

    def _done(self, feed: Feed) -> bool:
        """Whether a log that was read to its end holds no minute open: it is quiet, or another one goes on after it."""
        after = feed.mark - self.intake.lateness
        return any(other.first >= after for other in self.feeds.values() if other is not feed) or _quiet(feed)

    def finish(self, now: int) -> list[Minute]:
        """Nothing more comes: every minute is over."""
        for feed in self.feeds.values():
            self.changed[feed.id] = feed.source
            self.intake.end(feed.source, now)
        for name, source in self.known.items():  # also of logs that are gone by now
            if source.waiting:
                self.changed[name] = source
                self.intake.settle(source)
        last = max(self.intake.open, default=self.intake.closed)
        return self.close(last)


def _quiet(feed: Feed) -> bool:
    """Whether a log holds no minute open any more: it did not grow for a while, or was moved away."""
    return feed.log.age() > (QUIET if feed.log.is_at(feed.home) else MOVED)


class _Look(NamedTuple):
    """What was found at a path."""

    place: tuple[int, int] | None
    size: int
    sure: bool
    """Whether it stays so, however much it grows."""


def _read(source: Source) -> int:
    """How many of the bytes that a log is known by were read."""
    return 0 if source.print is None else source.print.length


def _family(name: str) -> str:
    return name.partition(".")[0]


def _names(family: str) -> Iterator[str]:
    """What logs with the same first line are called."""
    yield family
    for nth in count(2):
        yield f"{family}.{nth}"


def _old(first: bytes, path: Path) -> str:
    """What an earlier version called the second log with a first line."""
    return identity(first + b"\n" + str(path).encode("utf-8", "surrogateescape"))


def _alike(one: bytes, other: bytes) -> bool:
    """Whether two files begin alike, as far as both go."""
    size = min(len(one), len(other))
    return one[:size] == other[:size]


def _first_time(head: bytes) -> int:
    """Where a log begins: the earliest time of its first records."""
    times: list[int] = []
    for line in head.split(b"\n"):
        try:
            record = msgspec.json.decode(line, type=Live)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        given = next((one for one in (record.ts, record.timestamp, record.started) if one is not None), None)
        at = microseconds(given)
        if at is not None:
            times.append(at)
        if len(times) == _FIRST:
            break
    return min(times, default=_LONG_AGO)


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
    reading.look(lambda: paths)
    return reading
