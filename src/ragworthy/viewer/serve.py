"""The server: an address, a token where others can reach it, and an end that is clean."""

import ipaddress
import os
import secrets
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.errors import missing_extra, usage_error
from ragworthy.viewer.site import Site

if TYPE_CHECKING:
    from ragworthy.viewer.door import Door

LOOPBACK = ("localhost", "127.0.0.1", "::1")
MOST_CONNECTIONS = 100
PACKAGES = "starlette uvicorn sqlalchemy"
LEAST_TOKEN = 16
"""Characters of a token that somebody else chose."""


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int
    local: bool
    """Whether only this machine can reach it."""

    @property
    def every(self) -> bool:
        """Whether it is every address of this machine."""
        return ipaddress.ip_address(self.host).is_unspecified

    def url(self, port: int) -> str:
        """As a browser takes it."""
        host = ("[::1]" if ":" in self.host else "127.0.0.1") if self.every else self.host
        return f"http://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{port}/"


def address(host: str, port: int) -> Address:
    """What --host and --port name."""
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    try:
        return Address(host, port, ipaddress.ip_address(host).is_loopback)
    except ValueError:
        raise usage_error(f"--host: expected an IP address or localhost, got {host}", code="RW-U18") from None


def token_for(where: Address, named: str | None, environment: Mapping[str, str] = os.environ) -> tuple[str, bool]:
    """The token that visitors must show, and whether it was made here; none where only this machine comes in."""
    if named is None:
        return ("", False) if where.local else (secrets.token_urlsafe(24), True)
    given = environment.get(named, "").strip()
    if len(given) < LEAST_TOKEN:
        message = f"--token-env: expected a token of {LEAST_TOKEN} characters or more in {named}, got {len(given)}"
        raise usage_error(message, code="RW-U18")
    return given, False


def check_installed() -> None:
    """Refuse to begin without the packages of the extra."""
    for package in PACKAGES.split():
        try:
            __import__(package)
        except ImportError:
            raise missing_extra(PACKAGES, "view", "ragworthy view") from None


class Listening:
    """A server that has its address and does not answer yet."""

    def __init__(self, site: Site, where: Address, token: str, names: Sequence[str] = ()) -> None:
        self.socket = _bound(where)
        self.port: int = self.socket.getsockname()[1]
        self.url = where.url(self.port)
        self._door = _door(site, where, token, names, self.port)

    def run(self) -> None:
        """Answer until somebody ends it."""
        import uvicorn

        from ragworthy.viewer.door import LARGEST_HEAD
        from ragworthy.viewer.patient import Patient

        how: dict[str, Any] = {
            "log_config": None, "log_level": "critical", "access_log": False, "lifespan": "off", "ws": "none",
            "http": Patient, "loop": "asyncio", "interface": "asgi3", "server_header": False, "proxy_headers": False,
            "h11_max_incomplete_event_size": LARGEST_HEAD, "limit_concurrency": MOST_CONNECTIONS,
            "timeout_keep_alive": 5, "timeout_graceful_shutdown": 3,
        }  # fmt: skip
        with suppress(ValueError):  # only the main thread hears signals
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            uvicorn.Server(uvicorn.Config(self._door, **how)).run(sockets=[self.socket])
        except KeyboardInterrupt:  # how it is ended
            return
        finally:
            self.socket.close()


def _bound(where: Address) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in where.host else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((where.host, where.port))
        made.listen(128)
    except OSError as error:
        made.close()
        message = f"--port: expected an address to listen at, got {where.host}:{where.port}: {error.strerror or error}"
        raise usage_error(message, code="RW-U18") from None
    return made


def _door(site: Site, where: Address, token: str, names: Sequence[str], port: int) -> "Door":
    from ragworthy.report.html.env import script_hashes
    from ragworthy.report.html.page import SCRIPTS
    from ragworthy.viewer import pages
    from ragworthy.viewer.app import application
    from ragworthy.viewer.door import Door, Rules
    from ragworthy.viewer.sessions import Sessions

    sessions = Sessions(token, f"ragworthy_{port}")
    hosts = {*(LOOPBACK if where.local or where.every else ()), where.host, *names}
    rules = Rules(sessions, frozenset(one.lower() for one in hosts), where.every, script_hashes(SCRIPTS))
    return Door(application(site, sessions), rules, pages.plain)
