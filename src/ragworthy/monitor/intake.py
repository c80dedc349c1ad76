"""Records of logs to minutes, by the time in the records.

Each log has a mark, the latest time in it. A minute is over for a log when the mark is past its end by more than the
lateness; a record of such a minute is late. What is late depends on its log alone: not on how the log is cut into
pieces, nor on what other logs hold. A minute is closed when it is over for every log that is still read.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from ragworthy.live.minutes import Minute
from ragworthy.live.records import Memory, Reader, Settings
from ragworthy.live.shapes import Live
from ragworthy.load.decode import Decoder, Fault, Found
from ragworthy.load.sources import Block
from ragworthy.monitor import problems as p
from ragworthy.monitor.times import MILLION, MINUTE, microseconds
from ragworthy.monitor.traces import Traces
from ragworthy.records import explained
from ragworthy.text import clip

LATENESS = 60
"""Seconds that a record may come after a later one."""
AHEAD = 300 * MILLION
"""A clock may go wrong by so many microseconds before its records are from the future."""
JUMP = 3600 * MILLION
"""A record that is so far ahead of its log counts when the next one is not far behind it."""
MOST_KEYS = 400_000
"""So many records of the open minutes are remembered, to tell whether one comes twice."""

Keep = Callable[[Live], bool]


class Taken(NamedTuple):
    """A record whose time is ahead of its log: it waits for the next one."""

    at: int
    key: int | None
    units: list[int | None]
    built: tuple[str, str] | None
    place: str
    slices: tuple[str, ...] = ()


class Source:
    """How far a log was read, and what is remembered of it."""

    __slots__ = ("line", "mark", "memory", "name", "offset", "records", "shut", "traces", "waiting")

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
        self.waiting: Taken | None = None
        self.traces = Traces()

    def state(self) -> dict[str, Any]:
        """As plain values."""
        made: dict[str, Any] = {name: getattr(self, name) for name in ("name", "offset", "line", "records", "mark")}
        made |= {"shut": self.shut, "memory": self.memory.state(), "traces": self.traces.state()}
        return made | ({"waiting": list(self.waiting)} if self.waiting else {})

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "Source":
        """From plain values."""
        made = cls(state["name"])
        made.offset, made.line, made.records = state["offset"], state["line"], state["records"]
        made.mark, made.shut = state["mark"], state["shut"]
        made.memory = Memory.restore(state["memory"])
        made.traces = Traces.restore(state["traces"])
        if held := state.get("waiting"):
            at, key, units, built, place, slices = held
            pair = None if built is None else (built[0], built[1])
            made.waiting = Taken(at, key, units, pair, place, tuple(slices))
        return made


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
        if at > now + AHEAD:
            self.problems.add(p.FUTURE, f"{source.name}:{nth}")
            return
        key = reader.key(at)
        if key is not None and key >= most:
            self.problems.add(p.SAMPLED, f"{source.name}:{nth}")
            return
        mark = source.mark
        if source.waiting is not None:
            self._decide(source, at)
            mark = source.mark
        if mark is None or at > mark + JUMP:
            units = reader.units(source.memory)
            source.waiting = Taken(at, key, units, reader.built, f"{source.name}:{nth}", self._slices(reader))
            self.held += 1
            return
        minute = -(-at // MINUTE)
        if minute <= source.shut or minute <= self.closed:
            self.problems.add(p.LATE, f"{source.name}:{nth}")
            return
        held = self.open.get(minute)
        if held is None:
            held = self.open[minute] = Open(minute, self.options.watched)
        if key is not None and not self._new(held, key):
            self.problems.add(p.TWICE, f"{source.name}:{nth}")
            return
        held.minute.take(reader.units(source.memory), reader.built, self._slices(reader))
        held.changed = True
        if reader.odd:
            self.problems.add(p.ODD, f"{source.name}:{nth}: {reader.odd}")
        if at > mark:
            source.mark = at
            source.shut = -(-(at - self.lateness) // MINUTE) - 1

    def _slices(self, reader: Reader) -> tuple[str, ...]:
        return reader.slices if self.options.watched else ()

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

    def _decide(self, source: Source, at: int) -> None:
        """Whether a record that was ahead of its log is confirmed by the time of the next one."""
        held = source.waiting
        if held is not None and at < held.at - JUMP:
            self.problems.add(p.FUTURE, held.place)
            source.waiting = None
            self.held -= 1
            return
        self.settle(source)

    def settle(self, source: Source) -> None:
        """Count the record that waits, if one does."""
        taken, source.waiting = source.waiting, None
        if taken is None:
            return
        self.held -= 1
        minute = -(-taken.at // MINUTE)
        source.mark = taken.at
        source.shut = -(-(taken.at - self.lateness) // MINUTE) - 1
        if minute <= self.closed:
            self.problems.add(p.LATE, taken.place)
            return
        held = self.open.setdefault(minute, Open(minute, self.options.watched))
        if taken.key is not None and not self._new(held, taken.key):
            self.problems.add(p.TWICE, taken.place)
            return
        held.minute.take(taken.units, taken.built, taken.slices)
        held.changed = True

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
