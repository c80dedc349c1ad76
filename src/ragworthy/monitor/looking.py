"""What a monitor has kept, for others to look at: its alerts, its rules and its last hour. Nothing is written."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import open_input
from ragworthy.live.minutes import Minute
from ragworthy.live.rules import LONGEST
from ragworthy.live.watch import FIRING, Watch
from ragworthy.monitor.alerts import Told
from ragworthy.monitor.summary import rule_told
from ragworthy.monitor.times import written

TAIL = 1 << 20
"""So many bytes of the end of a file of alerts are read."""
WAIT = 0.3
"""Seconds to wait for a monitor that is writing."""


class Kept(NamedTuple):
    """A state as it was kept last."""

    at: str
    """The last minute that was judged; empty before the first."""
    records: int
    firing: dict[str, str]
    """Since when a rule fires."""
    rules: list[dict[str, Any]]
    """Every rule at that minute, without a baseline of times."""
    alerts: list[Told]
    """The newest first."""
    minutes: list[tuple[str, int]]
    """The records of each minute of the last hour that has any."""


def state_of(path: Path, most: int) -> Kept | str:
    """What is in the state of a monitor; why not, in words, where a monitor that runs holds it."""
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=WAIT, isolation_level=None)
    except sqlite3.Error as error:
        raise data_error("RW-O03", f"expected a state that can be used, got {error}", where=str(path)) from None
    try:
        return _kept(db, most)
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return "a monitor that runs holds its state: what it writes with --alerts FILE is shown meanwhile"
        raise data_error("RW-O03", f"expected a state that can be used, got {error}", where=str(path)) from None
    except (sqlite3.Error, msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
        raise data_error("RW-O03", f"expected a state that can be used, got {error}", where=str(path)) from None
    finally:
        db.close()


def _kept(db: sqlite3.Connection, most: int) -> Kept:
    db.execute("BEGIN")
    meta = {name: msgspec.json.decode(value) for name, value in db.execute("SELECT name, value FROM meta")}
    lines = [line for (line,) in db.execute("SELECT line FROM alerts ORDER BY nth DESC LIMIT ?", (most,))]
    held, intake = meta.get("monitor"), meta.get("intake") or {"records": 0}
    at = held["watch"]["at"] if held else None
    if held is None or at is None:
        return Kept("", intake["records"], {}, [], _decoded(lines), [])
    query = "SELECT value FROM minutes WHERE at > ? ORDER BY at"
    minutes = [Minute.restore(msgspec.json.decode(value)) for (value,) in db.execute(query, (at - LONGEST,))]
    watch = Watch()
    watch.restore(held["watch"], minutes)
    rules = [rule_told(rule, tick, watch) for rule, tick in watch.ticks()]
    firing = {rule: written(since) for rule, since in sorted(watch.firing.items())}
    said = [(written(one.at), one.records) for one in minutes]
    return Kept(written(at), intake["records"], firing, rules, _decoded(lines), said)


def alerts_of(path: Path, most: int) -> tuple[list[Told], dict[str, str]]:
    """The last alerts of a file that a monitor appends to, the newest first, and those that began and did not end.

    Of a file that is longer than its tail the first line may be half of one; it is left out.
    """
    with open_input(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL))
        lines = file.read(TAIL).split(b"\n")
    every = _decoded(lines[1:] if size > TAIL else lines)
    firing: dict[str, str] = {}
    for one in every:
        name = f"{one['rule']} [{one['slice']}]" if one.get("slice") else str(one["rule"])
        if one["state"] == FIRING:
            firing[name] = str(one["at"])
        else:
            firing.pop(name, None)
    return every[::-1][:most], firing


def _decoded(lines: Iterable[bytes]) -> list[Told]:
    """Lines as alerts; what is none, such as a line that is being written, is left out."""
    found = []
    for line in lines:
        try:
            one = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if (
            isinstance(one, dict)
            and {"rule", "at", "state", "value", "limit", "sign", "samples", "minutes"} <= one.keys()
        ):
            found.append(one)
    return found
