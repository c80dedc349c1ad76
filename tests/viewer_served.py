"""A viewer as a process of its own, and what talks to it."""

import http.client
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

FORM = "application/x-www-form-urlencoded"
SIGN = re.compile(r'name="sign" value="([0-9a-f]{64})"')


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: str


class Here:
    """A viewer that runs, and a browser's cookies for it."""

    def __init__(self, child: "subprocess.Popen[str]", port: int, told: str, host: str = "127.0.0.1") -> None:
        self.child, self.port, self.told, self.host = child, port, told, host
        self.cookies: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}) -> Answer:
        talk = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        more = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        try:
            talk.request(method, path, body, {**more, **headers})
            reply = talk.getresponse()
            found = Answer(reply.status, dict(reply.getheaders()), reply.read().decode("utf-8", "replace"))
        finally:
            talk.close()
        for line in reply.headers.get_all("set-cookie") or ():
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
        return found

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, fields: Mapping[str, str], headers: Mapping[str, str] = {}) -> Answer:
        return self.ask("POST", path, urlencode(fields).encode(), {"Content-Type": FORM, **headers})

    def sent(self, page: str, path: str, **fields: str) -> Answer:
        """A form of a page, sent as a browser sends it."""
        sign = SIGN.search(self.get(page).body)
        assert sign is not None, page
        return self.post(path, {**fields, "sign": sign[1]}, {"Origin": "null", "Sec-Fetch-Site": "same-origin"})

    def raw(self, data: bytes, patience: float = 20.0) -> bytes:
        """What comes back for some bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience) as talk:
            talk.sendall(data)
            pieces = []
            try:
                while piece := talk.recv(65536):
                    pieces.append(piece)
            except (ConnectionResetError, TimeoutError):
                pass
            return b"".join(pieces)

    def ended(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        """Its exit code, and what it said on stdout and stderr."""
        self.child.send_signal(how)
        out, errors = self.child.communicate(timeout=30)
        return self.child.returncode, self.told + out, errors


def clean() -> dict[str, str]:
    """The environment as people have it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAGWORTHY")}


def started(folder: Path, *words: object, env: Mapping[str, str] = {}) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ragworthy", "view", "--port", "0", *map(str, words)]
    return subprocess.Popen(
        command, cwd=folder, env={**clean(), **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def serving(folder: Path, *words: object, env: Mapping[str, str] = {}) -> Iterator[Here]:
    """A viewer in a folder."""
    child = started(folder, *words, env=env)
    try:
        yield _here(child)
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()


def _here(child: "subprocess.Popen[str]") -> Here:
    told, port = "", 0
    assert child.stdout is not None
    end = time.monotonic() + 60
    while not port and time.monotonic() < end:
        if child.poll() is not None:
            break
        if select.select([child.stdout], [], [], 0.2)[0]:
            line = child.stdout.readline()
            told += line
            found = re.match(r"viewer: http://\S+:(\d+)/ ", line)
            port = int(found[1]) if found else 0
    if not port:
        out, errors = child.communicate()
        raise AssertionError(told + out + errors)
    return Here(child, port, told)


def wait_for(what: Any, seconds: float = 20.0) -> Any:
    """The first true answer."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.05)
    return found
