"""Where the history of a policy is, and runs out of it as files, for whoever reads reports."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragworthy.errors import DataError, RagworthyError, data_error, usage_error
from ragworthy.files import check_inside, check_ours, write_whole
from ragworthy.history.places import Place, chosen, find_place, named_by
from ragworthy.load.checker import load_toml
from ragworthy.names import REPORT_SCHEMA
from ragworthy.policy.kept import BLESSED, blessed_path, is_name
from ragworthy.policy.read import find_policy
from ragworthy.safe import json_text

if TYPE_CHECKING:
    from ragworthy.history.entries import Blessing
    from ragworthy.history.store import Store

COMMIT = "commit:"


class Home(NamedTuple):
    """What a policy says of the history; that of no policy is where we stand."""

    policy: Path
    store: str | None = None
    eval: str | None = None
    baseline: str | None = None

    @property
    def folder(self) -> Path:
        """Where the usual store lies."""
        return self.policy.parent

    def place(self, given: str | None) -> Place:
        """The store; `given` comes first, then the environment."""
        return find_place(given, self.folder, self.store)


def home_of(config: str | None) -> Home:
    """What the policy says. Its gates do not matter here, so one that would not run today is good enough."""
    try:
        path = find_policy(config)
    except RagworthyError:
        return Home(Path("ragworthy.toml"))
    table = load_toml(path)
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("ragworthy", {})
    kept = table.get("history")
    kept = kept if isinstance(kept, dict) else {}
    said = (kept.get("store"), kept.get("eval"), table.get("baseline"))
    return Home(path, *(one if isinstance(one, str) else None for one in said))


def opened(given: str | None, config: str | None = None, *, create: bool = False) -> "Store":
    """The store that somebody means; the policy is read only where nothing nearer names one."""
    from ragworthy.history.store import open_store

    if chosen(given) or named_by(os.environ):
        return open_store(find_place(given, Path()), create=create)
    return open_store(home_of(config).place(None), create=create)


def is_stored(written: str) -> bool:
    """Whether a text names a run of the history and no file.

    >>> is_stored("history:main"), is_stored("commit:5f0c2e1"), is_stored("report.json")
    (True, True, False)
    """
    return written.startswith((BLESSED, COMMIT))


def as_baseline(store: "Store", run: str, blessed: "Blessing | None") -> bytes:
    """The report of a run as a file to compare with, with how many questions change between runs like it; and with
    what was accepted where it is INVALID for want of a baseline alone.
    """
    from ragworthy.history.unjudged import accepted

    report = store.report(run)
    if blessed is None:
        return json_text(report).encode()
    told = {"flips": dict(blessed.flips), "accepted": accepted(report)}
    return json_text(report | {key: one for key, one in told.items() if one}).encode()


def fetched(written: str, home: Home, given: str | None = None) -> Path:
    """The report of `history:NAME`, `history:RUN` or `commit:SHA` as a file, which receipts and later looks can name.

    It comes from the store, each time: a file that was written before, and that anyone can change, is replaced.
    """
    name = written.removeprefix(BLESSED)
    if not is_name(name.removeprefix(COMMIT)):
        raise usage_error(f"expected {BLESSED}NAME, {BLESSED}RUN or {COMMIT}SHA, got {written[:60]}")
    store = _store_of(home, given)
    if store is None:
        message = f"expected a run called {name}, got no history"
        raise data_error("RW-H08", message, where=str(home.place(given)))
    return _written(store, store.find(name).id, name, home)


def blessed_file(written: str, home: Home, given: str | None = None) -> Path | None:
    """The report of the run that a policy names as its baseline (`history:NAME`); None where none is blessed so."""
    name = written.removeprefix(BLESSED)
    store = _store_of(home, given)
    blessed = store.baseline(name) if store is not None else None
    return _written(store, blessed.run, name, home) if store is not None and blessed is not None else None


def blessed_at(policy: Path) -> Path | None:
    """The same for the policy of a file; None, too, where it names a file or nothing."""
    home = home_of(str(policy))
    named = home.baseline or ""
    return blessed_file(named, home) if named.startswith(BLESSED) else None


def why_unblessed(written: str, home: Home, given: str | None = None) -> str:
    """Where a baseline was looked for, and that a file that was written before does not take its place."""
    name, place = written.removeprefix(BLESSED), home.place(given)
    there = place.path is None or place.path.exists()
    told = f"{place} has no run that is blessed as {name}" if there else f"there is no history at {place}"
    old = blessed_path(home.folder, name)
    copy = f"; {old} is a copy that nothing vouches for, and is not used" if old.is_file() else ""
    again = "restore the history, or bless a run again" if copy else "bless a run when there is one"
    return f"history: {told}{copy}: nothing is compared; {again}"


def _store_of(home: Home, given: str | None) -> "Store | None":
    return store_at(home.place(given))


def store_at(place: Place) -> "Store | None":
    """The store at a place; None where none was made yet."""
    if place.path is not None and not place.path.exists():
        return None
    from ragworthy.history.store import open_store

    try:
        return open_store(place, create=False)
    except DataError as error:
        if error.problems[0].code != "RW-H01":
            raise
        return None


def check_replaced(path: Path, folder: Path) -> None:
    """Refuse to replace what is not a baseline of ours. Whatever is in `.ragworthy/baselines` itself is a copy of the
    store; what a link leads to may be somebody's.
    """
    check_inside(path, folder, "the baseline")
    copy = path.resolve() == blessed_path(folder.resolve(), path.stem)
    check_ours(path, lambda start: copy or REPORT_SCHEMA.encode() in start)


def _written(store: "Store", run: str, name: str, home: Home) -> Path:
    """The report of a run as a file beside the policy; refused where the store was changed behind its ledger."""
    if wrong := store.check_blessed(run):
        raise data_error("RW-R07", wrong[0], where=str(store.place))
    path = blessed_path(home.folder, name.removeprefix(COMMIT))
    blessed = store.baseline(name) or next((one for one in store.blessings()[::-1] if one.run == run), None)
    data = as_baseline(store, run, blessed)
    check_replaced(path, home.folder)
    if not path.is_file() or path.read_bytes() != data:
        write_whole(path, data)
    return path
