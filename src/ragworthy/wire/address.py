"""Addresses: what is sent where, and what of an address may be shown."""

import base64
import re
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
"""Strict, so that whoever else reads the address finds the same host in it."""
_SCHEME = re.compile(r"(?:https?|ftp|wss?|chat|openai):", re.IGNORECASE)


_ANYBODY = frozenset(("admin", "anonymous", "api", "assistant", "bot", "guest", "root", "system", "test", "user"))
"""Users that tell nothing, and words that replies are full of: `"role": "user"`."""


class Address(NamedTuple):
    """An http or https address in its parts."""

    url: str
    """Where requests go: without user and password."""
    shown: str
    """As it may be shown and written: without the query, too."""
    authorization: str | None
    """The header that user and password make."""
    secrets: tuple[str, ...]
    """What of it is never shown: user, password and query. A user that is anyone is none beside a password."""

    @property
    def is_plain(self) -> bool:
        """Whether it holds nothing but a place: no user, no query, no fragment."""
        return self.url == self.shown and self.authorization is None


def parsed(url: str) -> Address:
    """An address in its parts; a ValueError says what is wrong with it without showing it.

    >>> parsed("http://me:p%40ss@host:80/ask?key=1").shown
    'http://host:80/ask'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("got one with a wrong host or port") from None
    userinfo, _, place = parts.netloc.rpartition("@")
    if port == 0 or not url.isascii() or re.search(r"[\s\x00-\x1f\x7f\\]", url) or not _HOST.fullmatch(place):
        raise ValueError("got one without a host, or with spaces or letters that must be escaped")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    authorization = base64.b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    values = (value for _, value in parse_qsl(parts.query))
    packed = (authorization, authorization.rstrip("="))
    carried = (userinfo, *telling(user, password), *packed, parts.query, parts.fragment, *values)
    return Address(
        url=parts._replace(netloc=place).geturl(),
        shown=f"{parts.scheme}://{place}{parts.path}",
        authorization=f"Basic {authorization}" if authorization else None,
        secrets=tuple(text for text in carried if text),
    )


def telling(user: str, password: str) -> tuple[str, ...]:
    """What of a user and a password is secret: both, but not a user that is anyone. Alone, a user may be a key.

    >>> telling("me", "x"), telling("User", "x"), telling("user", "")
    (('me', 'x'), ('x',), ('user', ''))
    """
    return (password,) if password and user.lower() in _ANYBODY else (user, password)


def shown(text: str) -> str:
    """A text that may hold an address which could not be read, as far as it may be shown.

    >>> shown("nonsense"), shown("https:/me:secret@host/x?t=secret"), shown("me:secret@host/x")
    ('nonsense', 'https:…', '…')
    """
    if scheme := _SCHEME.match(text):
        return f"{scheme[0]}…"
    return "…" if re.search(r"[/@?#%]", text) else text
