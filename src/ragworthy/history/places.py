"""Which store: the one that was named, else that of the environment, else that of the policy, else the usual file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ragworthy.errors import usage_error
from ragworthy.files import check_inside

USUAL = ".ragworthy/history.db"
VARIABLE = "RAGWORTHY_STORE"
OFF = "off"
"""With this in the variable, or after --store, gates keep nothing."""
POSTGRESQL = ("postgresql", "postgres")


class Place(NamedTuple):
    """A file, or the address of a PostgreSQL database."""

    path: Path | None
    url: str = ""

    def __str__(self) -> str:
        """As people may see it: without a password."""
        if self.path is not None:
            return str(self.path)
        scheme, _, rest = self.url.partition("://")
        user, at, host = rest.rpartition("@")
        return f"{scheme}://{user.partition(':')[0]}{at}{host.partition('?')[0]}"


def place_of(written: str | Path) -> Place:
    """What somebody wrote, as a place.

    >>> str(place_of("postgresql://me:secret@db.example:5432/eval?sslmode=require"))
    'postgresql://me@db.example:5432/eval'
    """
    text = str(written)
    scheme, colon, rest = text.partition("://")
    if isinstance(written, Path) or not colon:
        return Place(Path(written))
    if scheme in POSTGRESQL:
        return Place(None, f"postgresql://{rest}")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return Place(Path(rest[1:]))
    raise usage_error(f"expected a path or postgresql://…, got {scheme}://…", code="RW-H03")


def named_by(environment: Mapping[str, str]) -> str | None:
    """The store that the environment names.

    >>> named_by({"RAGWORTHY_STORE": "runs.db"}), named_by({"RAGWORTHY_STORE": "off"}), named_by({})
    ('runs.db', None, None)
    """
    written = environment.get(VARIABLE)
    return written if written and written != OFF else None


def chosen(given: str | None) -> str | None:
    """The store that --store names; `off` names none, as in the variable.

    >>> chosen("runs.db"), chosen("off"), chosen(None)
    ('runs.db', None, None)
    """
    if given is not None and not given.strip():
        raise usage_error("--store: expected a file, postgresql://… or off, got nothing")
    return given if given != OFF else None


def is_off(given: str | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether gates keep nothing: --store says so, or the environment where no store is named."""
    return given == OFF or (chosen(given) is None and environment.get(VARIABLE) == OFF)


def find_place(
    given: str | None, folder: Path, named: str | None = None, environment: Mapping[str, str] = os.environ
) -> Place:
    """The store to use. A path that a policy names stays inside the policy's folder."""
    if written := chosen(given) or named_by(environment):
        return place_of(written)
    place = place_of(named) if named else Place(Path(USUAL))
    if place.path is None:
        return place
    path = folder / place.path
    check_inside(path, folder, "the history")
    return Place(path)
