"""A database behind a store: opened, migrated, and asked in transactions. Nothing else here knows which one it is."""

import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, make_url, text
from sqlalchemy.pool import NullPool

from ragworthy.errors import RagworthyError, data_error, missing_extra
from ragworthy.history import migrations
from ragworthy.history.places import Place

WAIT = 60
"""So many seconds a writer waits for the others."""
_LOCK = 0x726167776F7274  # "ragwort": the advisory lock of writers
_BEGINNING = b"SQLite format 3\x00"
_KNOWN: set[tuple[int, int]] = set()
"""The files that this process opened as stores. Each is looked into once, before SQLite opens it: whoever closes a file
drops every lock that the process has on it, so a second look would take the locks of SQLite in other threads away."""
_KNOWING = threading.Lock()


def connect(place: Place, *, now: Callable[[], str], create: bool = True, reads: bool = False) -> Engine:
    """The engine of a store, at the newest schema; one that only `reads` writes nothing, no schema either."""
    with explained(place):
        engine = _file(place, create, reads) if place.path is not None else _server(place)
        while True:
            with reading(engine) as connection:
                version = migrations.version_of(connection)
            if version > migrations.VERSION:
                message = f"expected a store of version {migrations.VERSION} or older, got version {version}"
                raise data_error("RW-H05", message, where=str(place))
            if version == migrations.VERSION:
                return engine
            if version == 0 and not create:
                raise data_error("RW-H01", "expected a store, got a database without one", where=str(place))
            if reads:
                message = f"expected a store of version {migrations.VERSION}, got version {version}: "
                raise data_error("RW-H04", f"{message}'ragworthy history list' brings it up to date", where=str(place))
            with writing(engine) as connection:
                if migrations.version_of(connection) == version:  # or somebody else was here first
                    migrations.step(connection, version + 1, now())


def _file(place: Place, create: bool, reads: bool = False) -> Engine:
    path = place.path
    assert path is not None  # noqa: S101 - whoever calls has looked
    if not path.exists() and not create:
        raise data_error("RW-H01", "expected a store, got nothing at this path", where=str(place))
    if path.exists():
        _check_file(place)
        if not create and not path.stat().st_size:
            raise data_error("RW-H01", "expected a store, got an empty file", where=str(place))
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        _make_file(path)
    url = URL.create("sqlite", database=str(path))  # no text: a path may have any sign in it
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": WAIT, "check_same_thread": False})
    event.listen(engine, "connect", _prepare_reading if reads else _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _check_file(place: Place) -> None:
    """Refuse a file that is something else, before anything is written to it."""
    path = place.path
    assert path is not None  # noqa: S101 - whoever calls has looked
    if not path.is_file():
        raise data_error("RW-H02", "expected a store, got no regular file", where=str(place))
    with _KNOWING:
        if _identity(path) in _KNOWN:
            return
        with path.open("rb") as file:
            start = file.read(len(_BEGINNING))
        if start and start != _BEGINNING:
            raise data_error("RW-H02", "expected a store, got another file", where=str(place))
        _KNOWN.add(_identity(path))


def _make_file(path: Path) -> None:
    with _KNOWING:
        path.touch()
        _KNOWN.add(_identity(path))


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _prepare(connection: Any, _: object) -> None:
    """WAL: readers and a writer do not wait for each other. FULL: what was committed is on the disk."""
    connection.isolation_level = None  # transactions begin where we say so
    for _attempt in range(WAIT * 20):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:  # the change of the mode does not wait by itself
            if "locked" not in str(error):
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA busy_timeout = {WAIT * 1000}")


def _prepare_reading(connection: Any, _: object) -> None:
    """Nothing is written, not even the mode of the journal."""
    connection.isolation_level = None
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA busy_timeout = {WAIT * 1000}")


def _begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get("ragworthy_reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _server(place: Place) -> Engine:
    try:
        import psycopg  # noqa: F401 - only to say what is missing
    except ImportError:
        raise missing_extra("psycopg[binary]", "postgres", "a history in PostgreSQL") from None
    try:
        url = make_url(place.url).set(drivername="postgresql+psycopg")
    except (exc.ArgumentError, ValueError):
        message = "expected postgresql://USER@HOST/DATABASE, got an address that cannot be read"
        raise data_error("RW-H03", message, where=str(place)) from None
    return create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": 10})


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One look at the store: what is read in it belongs together."""
    how: dict[str, Any] = {"ragworthy_reads": True}
    if engine.dialect.name == "postgresql":
        how |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine.connect().execution_options(**how) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One change of the store; writers come one after the other, since each seals what the one before it wrote."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        yield connection


@contextmanager
def explained(place: Place) -> Iterator[None]:
    """What a database says, as an error of ours."""
    try:
        yield
    except RagworthyError:
        raise
    except (exc.SQLAlchemyError, sqlite3.Error, OSError, ValueError, TypeError, LookupError, zlib.error) as error:
        reason = getattr(error, "orig", None) or error
        if getattr(reason, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise data_error("RW-H02", "expected a store, got another file", where=str(place)) from None
        said = " ".join(str(reason).split("\n")[0].split())[:200]
        raise data_error("RW-H04", f"expected a store that can be used, got: {said}", where=str(place)) from None
