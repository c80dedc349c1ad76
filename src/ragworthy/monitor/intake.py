"""Records of logs to minutes, by the time in the records.

Each log has a mark, the latest time in it. A minute is over for a log when the mark is past its end by more than the
lateness; a record of such a minute is late. What is late depends on its log alone: not on how the log is cut into
pieces, nor on what other logs hold. A minute is closed when it is over for every log that is still read.

A wrong clock must not move the mark, since everything after it would be late. So a record that is far ahead of the mark
waits. It counts when two more in a row are ahead, too, when the mark catches up, or when the log ends. It is from the
future when the log goes on so far behind it that one of the two must be wrong. A log that is in order up to the
lateness loses nothing by that. The clock of this machine decides nothing: it only tells.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from ragworthy.live.minutes import Minute
from ragworthy.live.records import Memory, Reader, Settings, of_its_log
from ragworthy.live.shapes import Live
from ragworthy.load.decode import Decoder, Fault, Found
from ragworthy.load.sources import Block
from ragworthy.monitor import problems as p
from ragworthy.monitor.logs import Head, Print
from ragworthy.monitor.times import MILLION, MINUTE, microseconds
from ragworthy.monitor.traces import Traces
from ragworthy.records import explained
from ragworthy.text import clip

LATENESS = 60
"""Seconds that a record may come after a later one."""
AHEAD = 300 * MILLION
"""A clock may go wrong by so many microseconds before its records are named."""
ENOUGH = 3
"""So many records that are ahead of their log confirm each other."""
MOST_KEYS = 400_000
"""So many records of the open minutes are remembered, to tell whether one comes twice."""

Keep = Callable[[Live], bool]


class Taken(NamedTuple):
    """A record whose time is ahead of its log: it waits for the next ones."""

    at: int
    key: int | None
    units: list[int | None]
    built: tuple[str, str] | None
    place: str
    slices: tuple[str, ...] = ()
    odd: str = ""
    early: bool = False
    """Whether it was ahead of the clock, too."""
    wording: bool = False
    """Whether it is a wording of a mirrored question."""


class Source:
    """How far a log was read, and what is remembered of it."""

    __slots__ = (
        "head", "line", "mark", "memory", "name", "offset", "place", "records", "shut", "traces", "waiting",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.offset = 0
        self.line = 1
        self.records = 0
        self.mark: int | None = None
        """The latest time, in microseconds."""
        self.shut = -1
        """The last minute that is over for this log."""
        self.memory = Memory()
        self.waiting: list[Taken] = []
        """Records that are ahead of the mark, the earliest first; fewer than `ENOUGH`."""
        self.traces = Traces()
        self.head: Head | Print | None = Head()
        """What the log is known by; as it was kept, until the log is found again. None where nothing was kept."""
        self.place: tuple[int, int] | None = None
        """Device and inode of the file that it was read from last."""

    @property
    def print(self) -> Print | None:
        """What the log is known by; None where an earlier version kept nothing."""
        return self.head.print() if isinstance(self.head, Head) else self.head

    def state(self) -> dict[str, Any]:
        """As plain values."""
        made: dict[str, Any] = {name: getattr(self, name) for name in ("name", "offset", "line", "records", "mark")}
        made |= {"print": self.print, "place": self.place}
        made |= {"shut": self.shut, "memory": self.memory.state(), "traces": self.traces.state()}
        return made | ({"waiting": [list(one) for one in self.waiting]} if self.waiting else {})

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "Source":
        """From plain values."""
        made = cls(state["name"])
        made.offset, made.line, made.records = state["offset"], state["line"], state["records"]
        made.mark, made.shut = state["mark"], state["shut"]
        made.memory = Memory.restore(state["memory"])
        made.traces = Traces.restore(state["traces"])
        kept, place = state.get("print"), state.get("place")
        made.head = None if kept is None else Print(*kept)
        made.place = None if place is None else (place[0], place[1])
        held = state.get("waiting") or []
        # before, one record could wait, and no more
        made.waiting = [_taken(*one) for one in ([held] if held and isinstance(held[0], int) else held)]
        return made


def _taken(
    at: int, key: int | None, units: list[int | None], built: list[str] | None, place: str, slices: list[str],
    odd: str = "", early: bool = False, wording: bool = False,
) -> Taken:  # fmt: skip
    """A record that waits, from plain values."""
    pair = None if built is None else (built[0], built[1])
    return Taken(at, key, units, pair, place, tuple(slices), odd, early, wording)


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
        if key is not None and key >= most:
            self.problems.add(p.SAMPLED, f"{source.name}:{nth}")
            return
        mark = source.mark
        if mark is None or at > mark + self.ahead:
            self._wait(source, reader, at, key, f"{source.name}:{nth}", at > now + AHEAD)
            return
        minute = -(-at // MINUTE)
        if source.waiting and minute > source.shut:
            self._refuse(source, at)
        if minute <= source.shut or minute <= self.closed:
            self.problems.add(p.LATE, f"{source.name}:{nth}")
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
        """Keep a record that is ahead of its log; where there are enough of them, the earliest is right."""
        if key is not None and any(one.key == key for one in source.waiting):  # it must not confirm itself
            self.problems.add(p.TWICE, place)
            return
        units = reader.units(source.memory, key)
        slices = self._slices(reader)
        taken = Taken(at, key, units, reader.built, place, slices, reader.odd, early, reader.wording)
        source.waiting.append(taken)
        source.waiting.sort(key=lambda one: one.at)
        self.held += 1
        if len(source.waiting) >= ENOUGH:
            self._settle(source, source.waiting.pop(0))
            self._catch_up(source)

    def _refuse(self, source: Source, at: int) -> None:
        """The log goes on at a time: what is still far ahead of it is from the future."""
        while source.waiting and source.waiting[-1].at > at + self.ahead:
            self.problems.add(p.FUTURE, source.waiting.pop().place)
            self.held -= 1

    def _catch_up(self, source: Source) -> None:
        """Count what is no longer ahead."""
        while source.waiting and source.mark is not None and source.waiting[0].at <= source.mark + self.ahead:
            self._settle(source, source.waiting.pop(0))

    def settle(self, source: Source, until: int | None = None) -> None:
        """Count what waits, or as much of it as lies in minutes up to one: nothing more comes that could decide."""
        while source.waiting and (until is None or -(-source.waiting[0].at // MINUTE) <= until):
            self._settle(source, source.waiting.pop(0))

    def _settle(self, source: Source, taken: Taken) -> None:
        self.held -= 1
        minute = -(-taken.at // MINUTE)
        if source.mark is None or taken.at > source.mark:
            source.mark = taken.at
            source.shut = self.over(taken.at)
        if minute <= self.closed:
            self.problems.add(p.LATE, taken.place)
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
            self.problems.add(p.FUTURE, f"{source.name}:{nth}")
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


def _told(fault: Fault) -> str:
    told = clip(f"{fault.field}: {fault.message}" if fault.field else fault.message, 160)
    return f"{told} [{fault.code}]"


def _explain(value: dict[str, Any]) -> list[Found]:
    try:
        msgspec.convert(value, Live)
    except msgspec.ValidationError as error:
        return [Found("RW-O01", *explained(error))]
    return []
