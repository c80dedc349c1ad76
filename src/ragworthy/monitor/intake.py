"""Records of logs to minutes, by the time in the records.

Each log has a mark, the latest time in it. A minute is over for a log when the mark is past its end by more than the
lateness; a record of such a minute is late. What is late depends on its log alone: not on how the log is cut into
pieces, nor on what other logs hold. A minute is closed when it is over for every log that is still read.

A wrong clock must not move the mark, since everything after it would be late. So a record that is far ahead of the mark
waits, and the log votes: each record at the time of the log refuses two of those that wait as being from the future,
and when `enough` wait the mark jumps to the earliest. So it jumps where clearly more than two records in three are
ahead, or so many in a row. What waits counts, too, when the mark catches up, or when the log ends. A log that is in
order up to the lateness loses nothing by that. The clock of this machine decides nothing: it only tells.
"""

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy.live.minutes import Minute
from ragworthy.live.records import Reader, Settings, of_its_log
from ragworthy.live.shapes import Live
from ragworthy.load.decode import Decoder, Fault, Found
from ragworthy.load.sources import Block
from ragworthy.monitor import problems as p
from ragworthy.monitor.logs import Head
from ragworthy.monitor.source import Source, Taken
from ragworthy.monitor.stretches import Run
from ragworthy.monitor.times import MILLION, MINUTE, microseconds
from ragworthy.records import explained
from ragworthy.text import clip

LATENESS = 60
"""Seconds that a record may come after a later one."""
AHEAD = 300 * MILLION
"""A clock may go wrong by so many microseconds before its records are named."""
ENOUGH = 32
"""So many records that wait move the mark, if they last: of two processes, one comes 32 times in a row once in billions
of records.
"""
LASTING = 30 * MILLION
"""Half of those that wait must be so far after the earliest: a process that writes whole buffers comes often in a row,
but not for a minute.
"""
MOST_WAITING = 256
"""So many move the mark in any case."""
REFUSED = 2
"""So many of those that wait are refused by each record at the time of the log."""
_LAST_KEY = (1 << 64) - 1
MOST_KEYS = 400_000
"""So many records of the open minutes are remembered, to tell whether one comes twice."""

Keep = Callable[[Live], bool]


class Open:
    """A minute that is not over yet."""

    __slots__ = ("changed", "fresh", "keys", "minute")

    def __init__(self, at: int, watched: Collection[str] = ()) -> None:
        self.minute = Minute(at, watched)
        self.keys: set[int] = set()
        self.fresh: list[int] = []
        """Keys that came since the last time the state was kept."""
        self.changed = True


class Options(NamedTuple):
    """How records are read."""

    settings: Settings = Settings()
    lateness: int = LATENESS
    share: float = 1.0
    """Which share of the records is looked at, chosen by their keys."""
    keep: Keep | None = None
    watched: frozenset[str] = frozenset()
    """Slices that minutes count apart, such as region=eu."""
    remember: bool = False
    """Whether new keys are listed for whoever keeps the state."""


class Intake:
    """The open minutes, and what was wrong."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.lateness = options.lateness * MILLION
        self.ahead = max(self.lateness, MINUTE)
        """A record that is further ahead of the mark could make others late: it waits."""
        self.problems = p.Problems()
        self.open: dict[int, Open] = {}
        self.closed = -1
        """The last minute that is closed."""
        self.keys = 0
        self.records = 0
        self.held = 0
        """Records that are ahead of their logs, and wait."""
        self.run = Run()
        """What this run could not judge."""
        self._most = int(options.share * (1 << 64))
        self._all: Callable[[bytes], list[Live]] = msgspec.json.Decoder(Live).decode_lines
        self._decoder = Decoder(Live, _explain)

    def take(self, source: Source, block: Block, now: int) -> None:
        """Count the records of a block; `now` is what is the present, in microseconds."""
        data = block.data
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        records: list[Live] | None = None
        if data.count(b"}\n{") == lines - 1:  # one record on each line, as `load.decode` has it
            try:
                if not data.isascii():
                    data.decode()
                records = self._all(data)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                records = None
        if records is not None and len(records) == lines:
            numbered: Iterable[tuple[int, Live]] = enumerate(records, source.line)
        else:
            numbered = self._one_by_one(source, block)
        self._count(source, numbered, data, now)
        source.line += lines
        source.offset = block.offset + len(data)
        if isinstance(source.head, Head):
            source.head.add(data)

    def _one_by_one(self, source: Source, block: Block) -> Iterator[tuple[int, Live]]:
        for nth, line in enumerate(block.data.split(b"\n"), source.line):
            if not line or line.isspace():
                continue
            record = self._decoder.read(line + b"\n", 0)
            if record is not None:
                yield nth, record
                continue
            fault = self._decoder.faults[0]
            self._decoder.faults.clear()
            self.problems.add(p.UNREADABLE, f"{source.name}:{nth}: {_told(fault)}")

    def _count(self, source: Source, numbered: Iterable[tuple[int, Live]], data: bytes, now: int) -> None:
        settings, keep, most = self.options.settings, self.options.keep, self._most
        first = source.line
        lines: list[bytes] | None = None
        for nth, record in numbered:
            if record.spans:
                lines = data.split(b"\n") if lines is None else lines
                self._spans(source, lines[nth - first], nth, now)
                continue
            source.records += 1
            self.records += 1
            if keep is not None and not keep(record):
                continue
            self.one(source, Reader(record, settings), nth, now, most)

    def one(self, source: Source, reader: Reader, nth: int, now: int, most: int) -> None:
        """Count one record, or say why not."""
        at = microseconds(reader.time)
        if at is None:
            self.problems.add(p.UNTIMED, f"{source.name}:{nth}")
            return
        key = reader.key(at)
        if most <= _LAST_KEY and (key if key is not None else reader.draw(at)) >= most:
            self.problems.add(p.SAMPLED, f"{source.name}:{nth}")
            return
        self.run.look(source.stretch)
        mark = source.mark
        if mark is None or at > mark + self.ahead:
            self._wait(source, reader, at, key, f"{source.name}:{nth}", at > now + AHEAD)
            return
        minute = -(-at // MINUTE)
        if source.waiting:
            self._vote(source, at, late=minute <= source.shut)
        if minute <= source.shut or minute <= self.closed:
            self._miss(source, p.LATE, f"{source.name}:{nth}")
            return
        held = self.open.get(minute)
        if held is None:
            held = self.open[minute] = Open(minute, self.options.watched)
        units = reader.units(source.memory, key)
        if key is not None and not self._new(held, key):
            self.problems.add(p.TWICE, f"{source.name}:{nth}")
            self._again(held, units, reader.wording, self._slices(reader))
            return
        held.minute.take(units, reader.built, self._slices(reader))
        held.changed = True
        if reader.odd:
            self.problems.add(p.ODD, f"{source.name}:{nth}: {reader.odd}")
        if at > now + AHEAD:
            self.problems.add(p.AHEAD, f"{source.name}:{nth}")
        if at > mark:
            source.mark = at
            source.shut = self.over(at)
            if source.waiting:
                self._catch_up(source)

    def over(self, mark: int) -> int:
        """The last minute that is over for a log with this mark."""
        return -(-(mark - self.lateness) // MINUTE) - 1

    def _slices(self, reader: Reader) -> tuple[str, ...]:
        return reader.slices if self.options.watched else ()

    def _again(self, held: Open, units: list[int | None], wording: bool, slices: tuple[str, ...]) -> None:
        """A record that was counted is a run of every log that has it, whichever of them is read first."""
        mine = of_its_log(units, wording)
        if any(one is not None for one in mine):
            held.minute.take(mine, None, slices, records=0)
            held.changed = True

    def _new(self, held: Open, key: int) -> bool:
        """Whether a record has not been here before, as far as that is remembered."""
        if key in held.keys:
            return False
        if self.keys >= MOST_KEYS:
            self.problems.add(p.UNCHECKED, "")
            return True
        held.keys.add(key)
        self.keys += 1
        if self.options.remember:
            held.fresh.append(key)
        return True

    def _wait(self, source: Source, reader: Reader, at: int, key: int | None, place: str, early: bool) -> None:
        """Keep a record that is ahead of its log; where enough of them wait, the mark jumps to the earliest."""
        if key is not None and any(one.key == key for one in source.waiting):  # it must not confirm itself
            self.problems.add(p.TWICE, place)
            return
        units = reader.units(source.memory, key)
        slices = self._slices(reader)
        taken = Taken(at, key, units, reader.built, place, slices, reader.odd, early, reader.wording, source.records)
        source.against = source.against if source.waiting else 0
        insort(source.waiting, taken, key=_time)
        self.held += 1
        if enough(source.waiting, begun=source.mark is not None):
            source.against = source.refused = 0
            slow = [] if source.mark is not None else slow_ones(source.waiting, self.ahead)
            source.waiting = [one for one in source.waiting if one not in slow]
            self._settle(source, source.waiting.pop(0))
            for one in slow:
                self._slow(source, one)
            self._catch_up(source)

    def _slow(self, source: Source, taken: Taken) -> None:
        """A record from before the beginning of its log."""
        if -(-taken.at // MINUTE) > source.shut:
            self._settle(source, taken)
            return
        self.held -= 1
        self._miss(source, p.LATE, taken.place)

    def _vote(self, source: Source, at: int, *, late: bool) -> None:
        """The log goes on at its own time: the furthest of what is far ahead of that is from the future. A late record
        says less, since slow ones come after any jump: as soon as there are more of them, all that waits is refused.
        """
        most = REFUSED
        if late:
            source.against += 1
            most = len(source.waiting) if source.against > len(source.waiting) else 0
        while most and source.waiting and source.waiting[-1].at > at + self.ahead:
            self._refuse(source)
            most -= 1

    def _refuse(self, source: Source) -> None:
        """The furthest of the records that wait is from the future."""
        source.refused += 1
        self.held -= 1
        self._miss(source, p.FUTURE, source.waiting.pop().place)

    def _miss(self, source: Source, name: str, place: str) -> None:
        """A record that is not judged because of its time."""
        self.problems.add(name, place)
        self.run.miss(source.stretch, place)

    def _catch_up(self, source: Source) -> None:
        """Count what is no longer ahead."""
        while source.waiting and source.mark is not None and source.waiting[0].at <= source.mark + self.ahead:
            self._settle(source, source.waiting.pop(0))

    def settle(self, source: Source, until: int | None = None) -> None:
        """Count what waits, or as much of it as lies in minutes up to one: nothing more comes that could decide. Where
        the log refused more of the kind before, it goes the same way.
        """
        if until is None and source.refused > len(source.waiting):
            while source.waiting:
                self._refuse(source)
        while source.waiting and (until is None or -(-source.waiting[0].at // MINUTE) <= until):
            self._settle(source, source.waiting.pop(0))

    def _settle(self, source: Source, taken: Taken) -> None:
        self.held -= 1
        minute = -(-taken.at // MINUTE)
        if source.mark is None or taken.at > source.mark:
            source.mark = taken.at
            source.shut = self.over(taken.at)
        if minute <= self.closed:
            self._miss(source, p.LATE, taken.place)
            return
        held = self.open.get(minute)
        if held is None:
            held = self.open[minute] = Open(minute, self.options.watched)
        if taken.key is not None and not self._new(held, taken.key):
            self.problems.add(p.TWICE, taken.place)
            self._again(held, taken.units, taken.wording, taken.slices)
            return
        held.minute.take(taken.units, taken.built, taken.slices)
        held.changed = True
        if taken.odd:
            self.problems.add(p.ODD, f"{taken.place}: {taken.odd}")
        if taken.early:
            self.problems.add(p.AHEAD, taken.place)

    def _spans(self, source: Source, line: bytes, nth: int, now: int) -> None:
        """Spans wait for the outermost one of their trace; a trace is then one record."""
        for made in source.traces.take(line, f"{source.name}:{nth}"):
            self._trace(source, made, nth, now)

    def _trace(self, source: Source, made: Any, nth: int, now: int) -> None:
        if made.problem:
            self.problems.add(made.problem, f"{source.name}:{nth}: {made.why}")
            return
        source.records += 1
        self.records += 1
        if made.received is not None and (microseconds(made.record.ts) or 0) > made.received + AHEAD:
            self.run.look(source.stretch)
            self._miss(source, p.FUTURE, f"{source.name}:{nth}")
            return
        if self.options.keep is None or self.options.keep(made.record):
            self.one(source, Reader(made.record, self.options.settings), nth, now, self._most)

    def end(self, source: Source, now: int) -> None:
        """Nothing more comes of a log: traces without their outermost span are told, what waits is counted."""
        for made in source.traces.rest():
            self._trace(source, made, source.line, now)
        self.settle(source)

    def close(self, until: int) -> list[Minute]:
        """The minutes that are over, in order; records of them are late from now on."""
        over = sorted(at for at in self.open if at <= until)
        made = []
        for at in over:
            held = self.open.pop(at)
            self.keys -= len(held.keys)
            made.append(held.minute)
        self.closed = max(self.closed, until)
        return made


def _time(taken: Taken) -> int:
    return taken.at


def slow_ones(waiting: Sequence[Taken], ahead: int) -> list[Taken]:
    """Those of the first records of a log that came after far later ones: more than half of what came before them is
    far ahead. A log that is in order has none, and none of them says where it begins.
    """
    came = sorted(waiting, key=lambda one: one.nth)
    return [one for nth, one in enumerate(came) if 2 * sum(before.at > one.at + ahead for before in came[:nth]) > nth]


def enough(waiting: Sequence[Taken], *, begun: bool) -> bool:
    """Whether the records that wait show that the time of their log jumped; the earliest is the first. A log that has
    not begun has nothing to lose.
    """
    count = len(waiting)
    return count >= ENOUGH and (not begun or count >= MOST_WAITING or waiting[count // 2].at - waiting[0].at >= LASTING)


def _told(fault: Fault) -> str:
    told = clip(f"{fault.field}: {fault.message}" if fault.field else fault.message, 160)
    return f"{told} [{fault.code}]"


def _explain(value: dict[str, Any]) -> list[Found]:
    try:
        msgspec.convert(value, Live)
    except msgspec.ValidationError as error:
        return [Found("RW-O01", *explained(error))]
    return []
