"""How a viewer begins and ends: addresses, tokens, what is missing, Ctrl-C."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import site_laid
from conftest import run_cli
from viewer_served import clean, serving, started, wait_for


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lifetime")
    site_laid.lay(made)
    site_laid.gated(made, "a1" * 20)
    return made


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_also_with_connections_that_stay_open(folder: Path, how: signal.Signals) -> None:
    with serving(folder) as here, socket.create_connection(("127.0.0.1", here.port)) as idle:
        idle.sendall(b"GET /runs HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(100).startswith(b"HTTP/1.1 200")
        code, out, errors = here.ended(how)
    assert (code, out) == (0, f"viewer: http://127.0.0.1:{here.port}/ (Ctrl-C ends it)\nviewer: ended\n")
    assert re.fullmatch(r"GET /runs 200 \d+ ms\n", errors)


def test_beyond_this_machine_a_token_is_made_and_printed_once(folder: Path) -> None:
    with serving(folder, "--host", "0.0.0.0") as here:
        assert here.child.stdout is not None
        token = here.child.stdout.readline().removeprefix("token: ").strip()
        assert len(token) >= 32
        assert here.get("/runs").status == 303
        assert here.get("/runs", Authorization=f"Bearer {token}").status == 200
        assert here.get("/runs", Host="192.0.2.7:80", Authorization=f"Bearer {token}").status == 200
        assert here.get("/runs", Host="evil.example", Authorization=f"Bearer {token}").status == 421
        _, out, errors = here.ended()
    assert token not in out + errors


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        (["--host", "example.org"], {}, "--host: expected an IP address or localhost, got example.org [RW-U18]"),
        (["--host", "0.0.0.0", "--token-env", "T"], {"T": "short"},
         "--token-env: expected a token of 16 characters or more in T, got 5 [RW-U18]"),
        (["--host", "0.0.0.0", "--token-env", "T"], {},
         "--token-env: expected a token of 16 characters or more in T, got 0 [RW-U18]"),
        (["--store", "none.db"], {}, "none.db: expected a store, got nothing at this path [RW-H01]"),
        (["--receipt", "none.json"], {}, "expected a receipt or a report, got nothing at none.json [RW-U01]"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_before_anything_is_served(
    folder: Path, words: list[str], env: dict[str, str], said: str
) -> None:
    child = started(folder, *words, env=env)
    out, errors = child.communicate(timeout=60)
    assert (child.returncode, out) == (2, "") and errors.splitlines()[0] == said


def test_a_port_that_is_taken_is_named(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        child = started(folder, "--port", port)
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 2
    assert errors.startswith(f"--port: expected an address to listen at, got 127.0.0.1:{port}: ") and "RW-U18" in errors


def test_without_its_packages_it_names_the_command_that_brings_them(folder: Path) -> None:
    code = (
        "import sys; sys.modules['starlette'] = None\n"
        "from ragworthy.cli.main import main\nsys.exit(main(['view', '--port', '0']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=clean(), capture_output=True, text=True)
    assert done.returncode == 2
    packages = "starlette uvicorn sqlalchemy"
    said = f"ragworthy view needs {packages}: pip install {packages} (extra: view) [RW-F15]"
    assert done.stderr.splitlines()[0] == said


def test_it_is_opened_in_a_browser_where_that_is_asked_for(folder: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    with serving(folder, "--open", env={"BROWSER": f"{browser} %s"}) as here:
        opened = tmp_path / "opened"
        assert wait_for(lambda: opened.is_file() and opened.read_text().strip()) == f"{here.url}/"


def test_help_names_every_flag() -> None:
    done = run_cli("view", "--help")
    for flag in ("--host", "--port", "--open", "--store", "--token-env", "--allow-host", "--ledger", "--receipt"):
        assert flag in done.out
