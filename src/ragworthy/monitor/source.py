"""A log that is read: how far, up to when, and which of its records wait."""

from typing import Any, NamedTuple

from ragworthy.live.records import Memory
from ragworthy.monitor.logs import Head, Print
from ragworthy.monitor.stretches import Stretch
from ragworthy.monitor.traces import Traces


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
    nth: int = 0
    """Which record of its log it is."""


class Source:
    """How far a log was read, and what is remembered of it."""

    __slots__ = (
        "against", "head", "line", "mark", "memory", "name", "offset", "place", "records", "refused", "shut",
        "stretch", "traces", "waiting",
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
        """Records that are ahead of the mark, the earliest first; fewer than `MOST_WAITING`."""
        self.against = 0
        """How many late records came since the first of those that wait, or since the mark last jumped."""
        self.refused = 0
        """How many records were refused as being from the future since the mark last jumped."""
        self.stretch = Stretch()
        """How many of its last records could not be judged."""
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
        made |= {"refused": self.refused, "stretch": self.stretch.state()}
        if self.waiting:
            made |= {"waiting": [list(one) for one in self.waiting], "against": self.against}
        return made

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "Source":
        """From plain values."""
        made = cls(state["name"])
        made.offset, made.line, made.records = state["offset"], state["line"], state["records"]
        made.mark, made.shut = state["mark"], state["shut"]
        made.against, made.refused = state.get("against", 0), state.get("refused", 0)
        made.stretch = Stretch(*state.get("stretch", ()))
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
    odd: str = "", early: bool = False, wording: bool = False, nth: int = 0,
) -> Taken:  # fmt: skip
    """A record that waits, from plain values."""
    pair = None if built is None else (built[0], built[1])
    return Taken(at, key, units, pair, place, tuple(slices), odd, early, wording, nth)
