"""What a viewer shows and whom it lets in: everything that the command line decides, for all requests alike."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragworthy.history.home import Home
from ragworthy.rollout.logs import Logs

if TYPE_CHECKING:
    from ragworthy.history.store import Store


class Files(NamedTuple):
    """Files besides the history. No page can name another one."""

    ledger: Path
    """The moves of a rollout."""
    receipts: tuple[Path, ...] = ()
    """What a step of the rollout may rest on."""
    reports: tuple[Path, ...] = ()
    logs: Logs = Logs()
    """Live traffic, for a step out of a canary."""
    alerts: Path | None = None
    """The lines that `monitor --alerts` appends to."""
    monitor: Path | None = None
    """The state of a monitor."""


class Site(NamedTuple):
    """What is shown."""

    home: Home
    store: str | None
    """What --store said."""
    config: str | None
    files: Files

    def opened(self) -> "Store":
        """The history, opened again for each request: it may have been made, or changed, since the last one."""
        from ragworthy.history.store import open_store

        return open_store(self.home.place(self.store), create=False)

    @property
    def place(self) -> str:
        """Where the history is, as people may see it."""
        return (
            os.path.relpath(where) if (where := self.home.place(self.store).path) else str(self.home.place(self.store))
        )
