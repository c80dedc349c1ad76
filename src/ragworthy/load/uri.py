"""Names of files that are on no disk of this machine: hdfs://…, s3a://…"""

import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from ragworthy.errors import usage_error

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Uri(NamedTuple):
    """A file, a folder or a pattern by its URI, as it was written."""

    text: str

    @property
    def label(self) -> str:
        """What reports show of it: its name, without the host and the folders.

        >>> Uri("s3a://logs/2026/11/traces.jsonl").label
        'traces.jsonl'
        """
        return self.text.rstrip("/").rpartition("/")[2]


def path_or_uri(text: str) -> Uri | Path:
    """What a text names. That of file:// is a path like any other.

    >>> path_or_uri("hdfs://nn/logs"), path_or_uri("file:///a%20b.jsonl").as_posix(), path_or_uri("a.jsonl").as_posix()
    (Uri(text='hdfs://nn/logs'), '/a b.jsonl', 'a.jsonl')
    """
    if not _SCHEME.match(text):
        return Path(text)
    return Path(unquote(urlsplit(text).path)) if text.lower().startswith("file://") else Uri(text)


def path_here(text: str | Path, what: str) -> Path:
    """The path that a text names, of a file that is read on this machine whoever reads the records."""
    found = path_or_uri(text) if isinstance(text, str) else text
    if isinstance(found, Uri):
        raise usage_error(f"{what}: expected a path on this machine, got {text}", code="RW-S06")
    return found


def is_uri(value: Any) -> bool:
    """Whether a text has a scheme."""
    return isinstance(value, str) and _SCHEME.match(value) is not None
