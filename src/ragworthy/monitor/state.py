"""What the monitor keeps between two runs, in a SQLite file of its own: how far each log was read, the open minutes,
the minutes of the last weeks, the alerts.

All of it changes in one transaction. Whoever is killed goes on where the last one ended, and comes to the same alerts.
It is plain sqlite3 and not the history's engine: a few blobs are written every half second, by one process, and nobody
asks for anything but the last of them.
"""

import sqlite3
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import DataError, data_error
from ragworthy.live.minutes import Minute
from ragworthy.monitor.intake import Intake, Open
from ragworthy.monitor.source import Source

VERSION = 3
READABLE = (2, 3)
"""From version 3 on more records can wait. A state of version 2 goes on as one of version 3."""
DAYS = (30, 90)
"""How many days of minutes and alerts are kept: at least, and at most."""
_BEGINNING = b"SQLite format 3\x00"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS logs (id TEXT PRIMARY KEY, value BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS open (at INTEGER PRIMARY KEY, value BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS keys (at INTEGER NOT NULL, value BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS keys_at ON keys (at)",
    "CREATE TABLE IF NOT EXISTS minutes (at INTEGER PRIMARY KEY, value BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS alerts (nth INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,"
    " line BLOB NOT NULL, filed INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL DEFAULT 0)",
)
_encode = msgspec.json.encode
_decode = msgspec.json.decode


class Kept(NamedTuple):
    """An alert that is kept."""

    nth: int
    line: bytes


class Store:
    """The file, held by one process."""

    def __init__(self, path: Path, settings: dict[str, Any], days: int = DAYS[0]) -> None:
        """`settings` are those that decide what is late and what is looked at: they hold for good."""
        self.path = path
        self.days = days
        self._minutes: list[Minute] = []
        self._alerts: list[tuple[int, bytes]] = []
        _check(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = self._asked(lambda: self._opened(settings))

    def _opened(self, settings: dict[str, Any]) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=2, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            db.execute(table)
        held = dict(db.execute("SELECT name, value FROM meta WHERE name IN ('version', 'settings')").fetchall())
        if held and _decode(held["version"]) in READABLE and _decode(held["settings"]) == settings:
            db.execute("UPDATE meta SET value = ? WHERE name = 'version'", (_encode(VERSION),))
        if not held:
            db.execute("INSERT INTO meta VALUES ('version', ?), ('settings', ?)", (_encode(VERSION), _encode(settings)))
        db.execute("COMMIT")
        if held and _decode(held["version"]) not in READABLE:
            message = f"expected a state of version {VERSION}, got version {_decode(held['version'])}"
            raise data_error("RW-O03", message, where=str(self.path))
        if held and _decode(held["settings"]) != settings:
            message = f"expected the settings {_told(_decode(held['settings']))}, got {_told(settings)}"
            raise data_error("RW-O04", message, where=str(self.path))
        return db

    def _asked(self, work: "Callable[[], Any]") -> Any:
        try:
            return work()
        except sqlite3.Error as error:
            locked = "locked" in str(error)
            got = "one that another monitor holds" if locked else str(error)
            raise data_error("RW-O03", f"expected a state that can be used, got {got}", where=str(self.path)) from None

    def get(self, name: str) -> Any:
        """A value that was kept under a name; None where there is none."""
        row = self._asked(lambda: self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone())
        return None if row is None else _decode(row[0])

    def sources(self) -> dict[str, Source]:
        """Every log that was read before."""
        rows = self._asked(lambda: self._db.execute("SELECT id, value FROM logs").fetchall())
        return {name: Source.restore(_decode(value)) for name, value in rows}

    def restore(self, intake: Intake) -> None:
        """The open minutes, and what tells records that come twice."""
        held = self.get("intake")
        if held is None:
            return
        intake.closed, intake.records, intake.held = held["closed"], held["records"], held["held"]
        intake.problems.restore(held["problems"])
        for at, value in self._asked(lambda: self._db.execute("SELECT at, value FROM open").fetchall()):
            intake.open[at] = one = Open(at)
            one.minute = Minute.restore(_decode(value), intake.options.watched)
            one.changed = False
        for at, value in self._asked(lambda: self._db.execute("SELECT at, value FROM keys").fetchall()):
            keys = array("Q")
            keys.frombytes(value)
            intake.open[at].keys.update(keys)
        intake.keys = sum(len(one.keys) for one in intake.open.values())

    def minutes(self, after: int) -> list[Minute]:
        """The closed minutes after one."""
        query = "SELECT value FROM minutes WHERE at > ? ORDER BY at"
        rows = self._asked(lambda: self._db.execute(query, (after,)).fetchall())
        return [Minute.restore(_decode(value)) for (value,) in rows]

    def add(self, minute: Minute, lines: Iterable[bytes]) -> None:
        """A closed minute with the alerts that begin or end with it, for the next transaction."""
        if minute.records:
            self._minutes.append(minute)
        self._alerts += [(minute.at, line) for line in lines]

    def commit(self, intake: Intake, read: dict[str, Source], values: dict[str, Any]) -> None:
        """Keep everything, or nothing of it."""
        self._asked(lambda: self._commit(intake, read, values))
        self._minutes.clear()
        self._alerts.clear()
        for one in intake.open.values():
            one.changed = False
            one.fresh.clear()

    def _commit(self, intake: Intake, read: dict[str, Source], values: dict[str, Any]) -> None:
        db = self._db
        held: dict[str, Any] = {"closed": intake.closed, "records": intake.records, "held": intake.held}
        held |= {"problems": intake.problems.state()}
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute("DELETE FROM open WHERE at <= ?", (intake.closed,))
            db.execute("DELETE FROM keys WHERE at <= ?", (intake.closed,))
            changed = [one for one in intake.open.values() if one.changed]
            db.executemany(
                "INSERT OR REPLACE INTO open VALUES (?, ?)",
                [(one.minute.at, _encode(one.minute.state())) for one in changed],
            )
            fresh = [(one.minute.at, array("Q", one.fresh).tobytes()) for one in changed if one.fresh]
            db.executemany("INSERT INTO keys VALUES (?, ?)", fresh)
            rows = [(name, _encode(source.state())) for name, source in read.items()]
            db.executemany("INSERT OR REPLACE INTO logs VALUES (?, ?)", rows)
            closed = [(one.at, _encode(one.state())) for one in self._minutes]
            db.executemany("INSERT OR REPLACE INTO minutes VALUES (?, ?)", closed)
            db.executemany("INSERT INTO alerts (at, line) VALUES (?, ?)", self._alerts)
            named = [(name, _encode(value)) for name, value in {**values, "intake": held}.items()]
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", named)
            if closed:
                last = self._minutes[-1].at - self.days * 24 * 60
                db.execute("DELETE FROM minutes WHERE at <= ?", (last,))
                db.execute("DELETE FROM alerts WHERE at <= ? AND filed AND sent", (last,))
            db.execute("COMMIT")
        finally:
            if db.in_transaction:  # something went wrong
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")

    def forget(self, names: Iterable[str]) -> None:
        """Logs that will never come again."""
        self._asked(lambda: self._db.executemany("DELETE FROM logs WHERE id = ?", [(name,) for name in names]))

    def waiting(self, column: str) -> list[Kept]:
        """The alerts that are not yet in the file (`filed`), or not yet sent."""
        query = f"SELECT nth, line FROM alerts WHERE NOT {column} ORDER BY nth LIMIT 10000"  # noqa: S608 - a name of ours
        return [Kept(*row) for row in self._asked(lambda: self._db.execute(query).fetchall())]

    def done(self, column: str, last: int) -> None:
        """The alerts up to one are in the file, or sent."""
        query = f"UPDATE alerts SET {column} = 1 WHERE nth <= ? AND NOT {column}"  # noqa: S608 - a name of ours
        self._asked(lambda: self._db.execute(query, (last,)))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def _told(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _check(path: Path) -> None:
    """Refuse a file that is something else, before anything is written to it."""
    try:
        if path.exists() and not path.is_file():
            raise data_error("RW-O03", "expected a state, got no regular file", where=str(path))
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(len(_BEGINNING))
            if start and start != _BEGINNING:
                raise data_error("RW-O03", "expected a state, got another file", where=str(path))
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> DataError:
    return data_error("RW-O03", f"expected a state that can be used, got: {error.strerror}", where=str(path))
