"""Stores of both kinds: a file, and a PostgreSQL server that these tests start and stop."""

import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli
from ragworthy import starter
from ragworthy.history.commit import VARIABLES

_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin")) + sorted(Path("/opt/homebrew/opt").glob("postgresql@*/bin"))


def _binary(name: str) -> str | None:
    return shutil.which(name) or next((found for one in _PLACES if (found := shutil.which(name, path=str(one)))), None)


def _user() -> str | None:
    """PostgreSQL refuses to run as root: then it runs as somebody else."""
    if os.geteuid() != 0:
        return None
    import pwd

    names = {one.pw_name for one in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here gates keep their runs, as they do for everybody."""
    monkeypatch.delenv("RAGWORTHY_STORE")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a PostgreSQL server of our own; no network, no disk that is waited for."""
    pytest.importorskip("psycopg", reason="PostgreSQL is not tried: psycopg is not installed (extra: postgres)")
    initdb, postgres = _binary("initdb"), _binary("postgres")
    if initdb is None or postgres is None:
        pytest.skip("PostgreSQL is not tried: initdb and postgres are not on this machine")
    folder = Path(tempfile.mkdtemp(prefix="rw-pg-", dir="/tmp"))
    user: Any = _user()
    if user is not None:
        shutil.chown(folder, user)
    how = {"user": user, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    subprocess.run([initdb, "-D", folder / "data", "-A", "trust", "-U", "rw", "--no-sync"], check=True, **how)
    quick = ["-c", "fsync=off", "-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
    running = subprocess.Popen([postgres, "-D", folder / "data", *quick], **how)
    try:
        _wait(f"postgresql://rw@/postgres?host={folder}")
        yield f"host={folder}"
    finally:
        running.terminate()
        running.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(url: str) -> None:
    import psycopg

    for _ in range(200):
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("PostgreSQL did not start")


def _sqlite(request: pytest.FixtureRequest) -> str:
    folder: Path = request.getfixturevalue("tmp_path")
    return str(folder / "store" / "history.db")


def _postgres(request: pytest.FixtureRequest) -> str:
    """A schema of its own, which is made in no time; a database takes longer."""
    import psycopg

    host: str = request.getfixturevalue("server")
    name = f"rw_{uuid.uuid4().hex}"
    with psycopg.connect(f"postgresql://rw@/postgres?{host}", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"postgresql://rw@/postgres?{host}&options=-csearch_path%3D{name}"


@pytest.fixture(params=[_sqlite, _postgres], ids=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> str:
    """An empty store of each kind."""
    kind: Callable[[pytest.FixtureRequest], str] = request.param
    return kind(request)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A report as the gate writes it."""
    import json

    folder = tmp_path_factory.mktemp("gated")
    starter.init(folder)
    done = run_cli("gate", "-q", "--no-history", "-c", folder / "ragworthy.toml", "-o", folder / "report.json")
    assert done.code == 0
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found
